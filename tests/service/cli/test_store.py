"""`latchscope store`: it reports damage, removes expired rows, and moves a history between engines without loss or double."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from rules.changes import Change
from service.cli.main import cli
from service.store.admin import OWN, TransferError, problems, read_history, write_history
from service.store.record import IngestRecord, record_of
from service.store.repository import Repository
from service.store.tables import METADATA
from tests.service.stage import BEGAN, Kept, Stage
from tests.service.store.test_topics import DAY
from tests.service.stores import Place, Postgres, Templates

NAMES = ("undo-storm", "parse-storm")
COUNTED = ("polls", "hours", "snapshots", "diagnoses", "frames", "episodes", "marks", "database_changes")


@pytest.fixture(scope="module")
def hour(tmp_path_factory: pytest.TempPathFactory) -> list[IngestRecord]:
    """The polls of an hour of two databases."""
    turns: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        stage = Stage(patch, tmp_path_factory.mktemp("hour"))
        stage.watch(*(one for one in stage.databases if one.name in NAMES))
        stage.keeper = SimpleNamespace(keep=lambda *poll: turns.append(poll))  # type: ignore[assignment]
        stage.poll_all(*(10 + 300 * n for n in range(14)))
    return [record for poll in turns if (record := record_of(*poll))]


def fill(place: Place, hour: list[IngestRecord]) -> None:
    """Write these polls, roll them up, and set a mark."""
    store = Repository(place.url)
    store.write(hour)
    store.marks.add("undo-storm", BEGAN, "a change", "anna")
    with store.engine.begin() as connection:
        change = Change(
            at=BEGAN, kind="ddl", text="TABLE APP.ORDERS changed by DDL", source="dba_objects", not_before=BEGAN
        )
        store.timeline.write(connection, [("undo-storm", change)])
    store.upkeep.sum_hours(BEGAN + DAY)
    store.close()


@pytest.fixture(scope="module")
def filled_stores(
    hour: list[IngestRecord], tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Templates[None]]:
    """A filled store of each engine, to be copied."""
    made = Templates(
        tmp_path_factory.mktemp("filled"),
        lambda: request.getfixturevalue("postgres"),
        lambda place: fill(place, hour),
    )
    yield made
    made.close()


@pytest.fixture
def filled(place: Place, filled_stores: Templates[None]) -> Iterator[Repository]:
    """A store with the polls of an hour, rolled up, and a mark."""
    filled_stores.put(place)
    store = Repository(place.url)
    yield store
    store.close()


def latchscope(folder: Path, url: str, *words: str) -> Result:
    config = folder / "latchscope.yaml"
    config.write_text(
        json.dumps({"store": url, "databases": [{"name": "undo-storm", "dsn": "demo:undo-storm"}]}), encoding="utf-8"
    )
    return CliRunner().invoke(cli, ["store", *words, "--config", str(config)])


def test_check_finds_no_problem_in_a_sound_store(filled: Repository, place: Place, tmp_path: Path) -> None:
    done = latchscope(tmp_path, place.url, "check")
    assert (done.exit_code, done.stderr, done.stdout) == (0, "the store is whole\n", "")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("delete from polls where at = (select max(at) - 600000 from polls)", "300.0 s are missing before"),
        ("update polls set seconds = seconds + 10 where at = (select max(at) from polls)", "10.0 s count twice before"),
        ("update hours set gets = gets + 1", "the hour of 2026-03-01 12:00:00 UTC has "),
        ("update polls set executions = 0 where executions is not null", "of executions, its polls sum to 0"),
        (
            "delete from frames where database = 'undo-storm'",
            "snapshots of 2026-03-01 cannot be read, their frame is gone",
        ),
        ("delete from databases", "databases of polls are not in databases"),
        ("update polls set at = at + 7200000 where at > 1772370000000", "7200.0 s are missing before"),
        (
            "update polls set at = at - 7200000 where at < 1772370000000",
            "the polls of 2026-03-01 10:00:00 UTC are in no hour",
        ),
    ],
)
def test_check_reports_damaged_data(filled: Repository, place: Place, damage: str, said: str, tmp_path: Path) -> None:
    place.execute(damage)
    done = latchscope(tmp_path, place.url, "check")
    assert done.exit_code == 1 and any(said in line for line in done.stderr.splitlines()), done.stderr


def test_check_reports_a_damaged_file(tmp_path: Path, stage: Stage) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    store = Repository(url)
    kept = stage.keeper = Kept([])
    stage.poll_all(40, 42, 44)
    kept.write_to(store)
    store.engine.connect().exec_driver_sql("pragma wal_checkpoint(truncate)").connection.close()  # type: ignore[union-attr]
    store.close()
    path = tmp_path / "store.db"
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 8192] = b"\xff" * 8192
    path.write_bytes(bytes(data))
    done = latchscope(tmp_path, url, "check")
    assert done.exit_code in (1, 2), done.stderr
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) >= 1


def test_prune_reports_what_it_deleted(filled: Repository, place: Place, tmp_path: Path) -> None:
    asked = latchscope(tmp_path, place.url, "prune")
    assert asked.exit_code == 2 and "the newest poll is of 2026-03-01 13:05; if the clock is right" in asked.stderr
    done = latchscope(tmp_path, place.url, "prune", "--yes")
    assert done.exit_code == 0
    assert done.stderr.startswith("deleted: ") and "of snapshots" in done.stderr and "of polls" in done.stderr
    assert place.execute("select count(*) from polls") == [(0,)]
    again = latchscope(tmp_path, place.url, "prune", "--yes")
    assert again.stderr == "deleted: nothing\n"


def test_export_and_import_move_a_history_between_engines(
    filled: Repository, place: Place, tmp_path: Path, postgres: Postgres
) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    other = Place("postgresql", folder, postgres) if place.kind == "sqlite" else Place("sqlite", folder, None)
    file = tmp_path / "history.jsonl.gz"
    done = latchscope(tmp_path, place.url, "export", str(file))
    assert done.exit_code == 0 and f"{len(NAMES) * 14} of polls" in done.stderr, done.stderr
    for _ in range(2):
        done = latchscope(folder, other.url, "import", str(file))
        assert done.exit_code == 0, done.stderr
        counts = [[at.execute(f"select count(*) from {table}") for table in COUNTED] for at in (place, other)]
        assert counts[0] == counts[1]
    moved = Repository(other.url)
    assert list(problems(moved.engine)) == []
    assert moved.last_snapshot("undo-storm") == filled.last_snapshot("undo-storm")
    assert moved.episodes.open() == filled.episodes.open() != ()
    assert moved.marks.between(None, BEGAN, BEGAN + DAY) == filled.marks.between(None, BEGAN, BEGAN + DAY)
    for table in ("polls", "hours"):
        query = f"select * from {table} t join databases d on d.id = t.database_id order by d.name, t.at"
        kept, told = ([[*row[1:-2], row[-1]] for row in where.execute(query)] for where in (place, other))
        assert [*map(repr, kept)] == [*map(repr, told)] != []
    write_history(moved.engine, tmp_path / "again.gz")
    assert sorted(_rows(tmp_path / "again.gz", "marks")) == sorted(_rows(file, "marks"))
    moved.close()
    other.close()


def _rows(file: Path, table: str) -> list[str]:
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    at = next(i for i, line in enumerate(lines) if f'"table": "{table}"' in line)
    after = next((i for i in range(at + 1, len(lines)) if lines[i].startswith("{")), len(lines))
    return lines[at + 1 : after]


def test_export_can_be_limited_to_one_database(filled: Repository, place: Place, tmp_path: Path) -> None:
    file = tmp_path / "one.gz"
    done = latchscope(tmp_path, place.url, "export", str(file), "--database", "undo-storm")
    assert "1 of databases" in done.stderr and "14 of polls" in done.stderr and "14 of snapshots" in done.stderr
    store = Repository(f"sqlite:///{tmp_path}/one.db")
    read_history(store, file)
    assert list(store.names.all()) == ["undo-storm"]
    assert list(problems(store.engine)) == []
    store.close()
    refused = latchscope(tmp_path, place.url, "export", str(file), "--database", "nobody")
    assert refused.exit_code == 2 and "nothing of a database named nobody" in refused.stderr


def test_export_covers_every_table(filled: Repository, tmp_path: Path) -> None:
    counts = write_history(filled.engine, tmp_path / "all.gz")
    assert set(counts) == set(METADATA.tables) - set(OWN)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"plain text", "cannot be read beyond line 0"),
        (gzip.compress(b'{"format": "other"}\n'), "is not a history of version 1"),
        (gzip.compress(b'{"format": "latchscope-history", "version": 1}\n{"table": "x", "columns": []}\n'), "line 2"),
        (gzip.compress(b'{"format": "latchscope-history", "version": 1}\n[1]\n'), "line 2: not a row of any table"),
        (gzip.compress(b'{"format": "latchscope-history", "version": 1}\n')[:-12], "cut off or damaged"),
    ],
    ids=("empty", "text", "other", "table", "row", "cut"),
)
def test_import_refuses_what_is_not_a_history_in_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "file.gz"
    file.write_bytes(content)
    done = latchscope(tmp_path, f"sqlite:///{tmp_path}/store.db", "import", str(file))
    assert done.exit_code == 2 and said in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    store = Repository(f"sqlite:///{tmp_path}/store.db")
    with pytest.raises(TransferError):
        read_history(store, file)
    store.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("import", "nofile"), "there is no file nofile"),
        (("import", "."), "does not name a file"),
        (("export", "nodir/x.gz"), "there is no folder nodir; create it"),
        (("export", "here.gz"), "here.gz exists already; name another file, or replace it with --force"),
    ],
)
def test_export_and_import_name_an_unusable_file_in_plain_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here.gz").write_bytes(b"mine")
    url = f"sqlite:///{tmp_path}/store.db"
    if words[0] == "export":
        Repository(url).close()
    done = latchscope(tmp_path, url, *words)
    assert done.exit_code == 2 and said in done.stderr and "Errno" not in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert Path("here.gz").read_bytes() == b"mine"
    assert (tmp_path / "store.db").exists() == (words[0] == "export"), "check creates no store"


def test_file_is_replaced_with_force_and_no_store_is_made_by_a_check(tmp_path: Path) -> None:
    file, url = tmp_path / "here.gz", f"sqlite:///{tmp_path}/store.db"
    done = latchscope(tmp_path, url, "check")
    assert done.exit_code == 2 and "there is no store" in done.stderr and not (tmp_path / "store.db").exists()
    file.write_bytes(b"mine")
    Repository(url).close()
    done = latchscope(tmp_path, url, "export", str(file), "--force")
    assert done.exit_code == 0 and gzip.decompress(file.read_bytes()), done.stderr
