"""What an older release wrote still works: its store, its export, its configuration, its captures, and polls that it left on
disk. The files are the releases' own work, see README.md here. Intended differences are applied here, next to the test
that found them, with their reason. The files stay unchanged.
"""

import asyncio
import base64
import gzip
import hashlib
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import yaml
from click.testing import Result
from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from sqlalchemy.exc import SQLAlchemyError
from typer.testing import CliRunner

from collectors.capture import dump_snapshot, load_snapshot
from collectors.delta import between
from collectors.model import Delta
from rules.engine import diagnose
from service.app import create_app
from service.cli.main import cli
from service.config import load as configuration
from service.config.load import password_of, read_secret
from service.config.settings import DatabaseSettings, Settings
from service.intake.uploads import Uploads
from service.notify.delivery import Webhooks
from service.state.board import PollRecord
from service.store.admin import read_history, write_history
from service.store.engine import out_of_order
from service.store.migrations.old_exports import TABLES
from service.store.migrations.to_0015 import PACKED
from service.store.record import from_bytes, record_of, to_bytes
from service.store.replicas import FleetStatusTable, SharedLeases
from service.store.reports import StoredReportSummary
from service.store.repository import Repository
from service.store.tables import NUMBERS
from tests.paths import ROOT
from tests.service.receiver import receiver
from tests.service.stage import CENTURY, FOR_EVER, Client, diagnoses
from tests.service.store.test_engine import drift
from tests.upgrade.old import BETWEEN, FIRST, MADE, OldStore

EXPECTED = json.loads((MADE / "expected.json").read_text(encoding="utf-8"))
OF_FIRST = json.loads((FIRST / "expected.json").read_text(encoding="utf-8"))
NAMES = list(EXPECTED["kept"]["databases"])
EVER = FOR_EVER.model_copy(update=dict.fromkeys(("snapshots", "diagnoses", "episodes"), CENTURY))
BEGIN, END = datetime(2026, 3, 1, 12, tzinfo=UTC), datetime(2026, 3, 2, 13, 45, 10, tzinfo=UTC)
"""From the first poll of the old store to the last."""
PROSE = {"title", "why", "sentence", "notes"}


@pytest.fixture
def store(old: OldStore) -> Iterator[Repository]:
    """The old store, brought up to today in place."""
    opened = Repository(old.url, EVER)
    yield opened
    opened.close()


def agrees(told: Any, expected: Any, where: str = "") -> None:
    """Assert that nothing is missing. There may be more members, and words may have changed."""
    if isinstance(expected, dict):
        assert isinstance(told, dict), where
        for name, value in expected.items():
            assert name in told, f"{where}.{name} is gone"
            if name not in PROSE:
                agrees(told[name], value, f"{where}.{name}")
    elif isinstance(expected, list):
        assert isinstance(told, list), where
        found = of_series(told, expected) if where.endswith(".series") else told
        assert len(found) == len(expected), f"{where}: {len(found)} instead of {len(expected)}"
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            agrees(one, other, f"{where}[{place}]")
    elif isinstance(expected, float):
        assert told == pytest.approx(expected, rel=1e-9, abs=1e-12), where
    elif isinstance(expected, str) and expected.endswith(UNKNOWN):
        assert told.startswith(expected.removesuffix(UNKNOWN)), where
    else:
        assert told == expected, where


UNKNOWN = " (unknown)"
"""Which cache a child latch guards. Only a replica that has seen a poll of the database knows it."""


def of_series(told: list[Any], expected: list[Any]) -> list[Any]:
    """The requested series in the requested order. There may be more that never changed."""
    by_name = {series_name(one): one for one in told}
    return [by_name[series_name(one)] for one in expected]


def series_name(one: dict[str, Any]) -> tuple[str, str]:
    """The subject of a series; for a child latch only its number."""
    of = one["of"] or ""
    return one["metric"], of.partition(" (")[0] if of.startswith("child ") else of


def plain(model: Any) -> Any:
    """A model in JSON's types."""
    return json.loads(model.model_dump_json())


def run(*arguments: object) -> Result:
    """The command line."""
    return CliRunner().invoke(cli, [str(one) for one in arguments])


def asked(app: FastAPI, *paths: str) -> list[httpx.Response]:
    """The answers of an app to some requests."""
    return [Client(app).get(path) for path in paths]


@contextmanager
def standing(url: str) -> Iterator[FastAPI]:
    """The app over a store and the three databases of it, which are not polled."""
    databases = [DatabaseSettings(name=name, dsn=f"demo:{name}", cluster="shop", interval=10) for name in NAMES]
    app = create_app(Settings(store=url, databases=databases, history=EVER))
    try:
        yield app
    finally:
        app.state.close()


def polls_of(old: OldStore) -> int:
    """Polls without the five minutes of before, which became some too."""
    return int(old.query("select count(*) from polls where kind is null or kind <> 'five minutes'")[0][0])


def of_today(path: str, wanted: Any, told: Any) -> tuple[Any, Any]:
    """What REST said, and says, without the differences that are meant.

    Five minutes are summed from polls when somebody asks: the last ones need not be over, and those without an interval are not
    kept of an older release. Details of steps come from snapshots, which reach back two days.
    """
    if "/compare" in path:
        return {name: value for name, value in wanted.items() if name != "headline"}, told
    if "/history" not in path:
        return wanted, told
    places = [place for place, at in enumerate(wanted["times"]) if at in told["times"]]
    taken = [told["times"].index(wanted["times"][place]) for place in places]
    left = set(wanted["times"]) - set(told["times"])
    assert not left or "resolution=5m" in path

    def cut(answer: Any, at: list[int]) -> Any:
        def of(one: Any) -> Any:
            detail = one["of"] is not None and "resolution=poll" not in path
            values = [] if detail else [one["values"][each] for each in at]
            return {**one, "values": values, "highest": None}

        lists = {name: [answer[name][each] for each in at] for name in ("times", "seconds")}
        return {**answer, **lists, "series": [of(one) for one in answer["series"]]}

    return cut(wanted, places), cut(told, taken)


# The store


def test_tables_keep_all_their_rows_after_the_upgrade(old: OldStore) -> None:
    Repository(old.url).close()
    wanted = EXPECTED["kept" if old.kind == "sqlite" else "postgresql"]["counts"]
    gone = {"old_deltas", "old_five_minutes", "old_hours"}
    kept = {name: count for name, count in wanted.items() if name not in gone}
    found = {name: old.rows(name) for name in kept} | {"polls": polls_of(old)}
    assert found == kept, "those of packed figures by the views of their names"
    assert {wanted[name] for name in gone} == {0}
    for name in PACKED:
        with pytest.raises((psycopg.Error, sqlite3.Error), match="view"):
            old.query(f"delete from {name}")


def test_tables_are_those_of_a_new_store_beside_the_old_ones(old: OldStore) -> None:
    opened = Repository(old.url)
    assert drift(opened.engine) == []
    opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 20, 35, 60])
def test_process_killed_in_the_middle_of_the_migration_leaves_the_store_as_it_was(old: OldStore, after: int) -> None:
    """After so many statements. The next start migrates it."""
    before = old.content()
    code = (
        "import os, signal, sys; from sqlalchemy import event; from sqlalchemy.engine import Engine\n"
        "from service.store.migrations import to_0015; from service.store.repository import Repository\n"
        "left = [int(sys.argv[2])]; done = to_0015.migrate\n"
        "def kill(*_):\n    left[0] -= 1\n    left[0] >= 0 or os.kill(os.getpid(), signal.SIGKILL)\n"
        "def migrate(connection):\n"
        "    event.listen(Engine, 'before_cursor_execute', kill); done(connection)\n"
        "to_0015.migrate = migrate\nRepository(sys.argv[1])\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, old.url, str(after)], cwd=ROOT, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    if old.kind == "postgresql":
        assert old.content() == before
    else:
        assert old.query("select version_num from alembic_version") == [("0010",)]
        assert not old.query("select 1 from sqlite_master where name like 'old_figures%' or name = 'hours'")
    Repository(old.url).close()
    assert (
        old.rows("hours") > 0
        and old.rows("figures") == EXPECTED["kept" if old.kind == "sqlite" else "postgresql"]["counts"]["figures"]
    )


@pytest.mark.parametrize("old", ["sqlite", "postgresql"], indirect=True)
def test_replica_of_the_old_release_that_still_runs_gets_an_error_and_writes_nothing(old: OldStore) -> None:
    """So its polls wait on disk. These are its statements, those of a poll in its order."""
    opened = Repository(old.url)
    before = polls_of(old), old.rows("figures")
    blob = "'\\x01'" if old.kind == "postgresql" else "x'01'"
    poll = "insert into polls (database_id, at, severity, missing) values (1, {at}, 'info', '[]')"
    for place, statement in enumerate(
        (
            f"insert into figures (database_id, at, body) values (1, 1772460000000, {blob})",
            "insert into unrolled (width, database_id, at, times) values (300, 1, 1772460000000, 1) "
            "on conflict (width, database_id, at) do update set times = unrolled.times + 1",
            "insert into items (view, key, \"column\", gauge) values ('v', 'k', 'c', false)",
            "update buckets set polls = 1",
            "delete from figures_1h",
        )
    ):
        with opened.engine.connect() as connection:
            connection.exec_driver_sql(poll.format(at=1772460000000 + place))
            with pytest.raises(SQLAlchemyError) as refused:
                connection.exec_driver_sql(statement)
        assert out_of_order(refused.value), "the old release puts the poll into its spool, and does not set it aside"
    assert (polls_of(old), old.rows("figures")) == before
    opened.close()


@pytest.mark.slow
def test_store_check_finds_the_store_whole(old: OldStore, tmp_path: Path) -> None:
    config = tmp_path / "latchscope.yaml"
    config.write_text(yaml.safe_dump({"store": old.url, "databases": [{"name": NAMES[0], "dsn": f"demo:{NAMES[0]}"}]}))
    told = run("store", "check", "--config", config)
    assert told.exit_code == 0 and told.stderr.endswith("the store is whole\n")
    assert "drop view figures; drop table old_figures;" in told.stderr


@pytest.mark.parametrize("name", NAMES)
def test_snapshots_diagnoses_and_open_episodes_can_be_read(store: Repository, name: str) -> None:
    expected = EXPECTED["kept"]["databases"][name]
    newer, older = store.snapshots.latest(name, 2)
    assert newer.taken_at is not None
    views = dump_snapshot(newer)
    latest = {
        "taken_at": newer.taken_at.isoformat(),
        "release": newer.release,
        "startup_time": newer.startup_time,
        "rows": {view: len(one["rows"]) for view, one in views["views"].items()},
        "missing": sorted(views["missing"]),
    }
    agrees(latest, expected["latest"])
    change = between(older, newer)
    assert isinstance(change, Delta)
    agrees(plain(diagnose(change)), expected["diagnosed_again"])
    agrees([plain(one) for one in diagnoses(store, name, BEGIN)], expected["diagnoses"])
    live = store.confirmations.live(END).get(name, {})
    confirmed = {cause: {"value": one.value, "sql": one.sql, "at": one.at} for cause, one in live.items()}
    agrees(confirmed, expected["confirmed"])
    usual = store.baselines.at(name, list(range(193)))
    agrees(
        sorted([one.metric, one.hour_of_week, one.median, one.low, one.high, one.n] for one in usual), expected["usual"]
    )


def test_diagnosis_with_members_that_left_is_read_from_store_spool_export_and_reports(
    store: Repository, tmp_path: Path
) -> None:
    body = (BETWEEN / "diagnosis.json").read_text(encoding="utf-8")
    kept = json.loads(body)
    verdicts = [one for name in ("findings", "ruled_out", "undetermined") for one in kept[name]]
    assert len(verdicts) == 3 and all(verdict.pop("counter_fact") for verdict in verdicts)
    (last,) = store.snapshots.latest(NAMES[0], 1)
    at = END + timedelta(minutes=1)
    (verdict, *_) = diagnoses(store, NAMES[0], BEGIN)
    record = record_of(replace(last, taken_at=at), verdict, None)
    assert record is not None
    store.write([from_bytes(to_bytes(replace(record, diagnosis=body)))])
    write_history(store.engine, tmp_path / "export.gz")
    other = Repository(f"sqlite:///{tmp_path}/other.sqlite")
    read_history(other, tmp_path / "export.gz")
    for one in (store, other):
        (told,) = diagnoses(one, NAMES[0], at)
        agrees(plain(told), kept)
        assert [finding.nearest_bound for finding in told.findings] == [None]
        assert [verdict.nearest_bound for verdict in told.ruled_out] == [None]
    report = StoredReportSummary("a", at, "a.json", 1, "me", (NAMES[0],), "warning", told.headline)
    content = {"diagnoses": [{"name": "a.json", "diagnosis": json.loads(body), "source": "views"}]}
    other.reports.keep(report, json.dumps(content), b"not kept, so that it cannot be read again")
    found = Uploads(other.reports, 1_000_000).get("a")
    assert found is not None and found.content.diagnoses[0].diagnosis == told
    other.close()


def test_rest_answers_as_the_old_release_did(old: OldStore) -> None:
    expected = EXPECTED["rest"]
    with standing(old.url) as app:
        told = asked(app, *(f"/api/v1/{path}" for path in expected))
    assert len(told) > 15
    for path, answer in zip(expected, told, strict=True):
        assert answer.status_code == 200, f"{path}: {answer.text}"
        wanted, now = of_today(path, expected[path], answer.json())
        agrees(now, wanted, path)


def test_receivers_get_what_still_waits_for_them_once_and_in_order(store: Repository) -> None:
    with receiver() as one:
        names = ("told", "down", "gone", "crashed")
        hooks = [{"url": f"{one.url}-{name}", "name": name} for name in names]
        chosen = Settings(webhooks=hooks, public_url="https://latchscope.example.com")  # type: ignore[arg-type]
        webhooks = Webhooks(chosen, store, CollectorRegistry())
        waiting = [each for each in EXPECTED["kept"]["deliveries"] if each["outcome"] in ("waiting", "sending")]
        for sender in webhooks.senders:
            one.taken.clear()
            open_ones = [each for each in waiting if each["target"] == sender.name]
            assert store.deliveries.next_of(sender.name), sender.name
            while store.deliveries.next_of(sender.name):
                sender.step()
            told = sorted(one.taken, key=lambda each: each["seq"])
            agrees(told, sorted((each["document"] for each in open_ones), key=lambda each: each["seq"]), sender.name)


@pytest.mark.slow
@pytest.mark.parametrize("old", ["postgresql"], indirect=True)
def test_replicas_see_the_last_status_of_one_that_died(old: OldStore, store: Repository) -> None:
    words = FleetStatusTable(store)
    told = words.all()
    assert sorted(told) == sorted(NAMES)
    assert told["undo-storm"].summary is not None and told["undo-storm"].failure is None
    assert told["undo-storm"].polled_at == END.timestamp()
    assert words.asked(NAMES) == [], "its request is too old to carry out"
    leases = SharedLeases(old.url, "second", None, 60.0)
    try:
        first = leases.look(NAMES)
        assert [one.name for one in first.replicas] == ["second"] and first.owners == {}
        assert sorted(one.database for one in leases.take(NAMES)) == sorted(NAMES)
    finally:
        leases.close()


@pytest.mark.slow
def test_retention_deletes_old_rows_when_their_time_is_over(old: OldStore) -> None:
    store = Repository(old.url)
    store.upkeep.sum_hours(END + timedelta(days=1))
    store.prune(END + timedelta(days=10_000))
    store.close()
    gone = ("snapshots", "polls", "hours", "diagnoses", "marks", "frames")
    assert {name: old.rows(name) for name in gone} == dict.fromkeys(gone, 0)
    assert old.rows("episodes") == 1, "an open one is never over"


# Export and import


def content(path: Path, like: dict[str, list[str]] | None = None) -> dict[str, list[str]]:
    """The rows of an exported history by table, with names for numbers. `like` limits the columns."""
    rows: dict[str, list[str]] = {}
    names: dict[str, dict[int, Any]] = {"database_id": {}, "item_id": {}}
    columns: list[str] = []
    table = ""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        next(file)
        for line in map(json.loads, file):
            if isinstance(line, dict):
                table, columns = line["table"], line["columns"]
                rows[table] = []
                continue
            row = dict(zip(columns, line, strict=True))
            if row.get("kind") == "five minutes":
                continue  # what became of those of an older release
            if table in ("databases", "items"):
                names["database_id" if table == "databases" else "item_id"][row["id"]] = [
                    value for name, value in sorted(row.items()) if name != "id"
                ]
                row.pop("id")
            row = {name: names[name][value] if name in names else value for name, value in row.items()}
            if table in ("snapshots", "frames"):
                row["body"] = zlib.decompress(base64.b64decode(row["body"])).decode()
            wanted = row if like is None else {name: row[name] for name in like.get(table, ()) if name in row}
            rows[table].append(json.dumps(wanted, sort_keys=True))
    return {table: sorted(found) for table, found in rows.items() if like is None or table in like}


def columns_of(path: Path) -> dict[str, list[str]]:
    """The columns of each table of an exported history that is not one of packed figures."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        heads = [json.loads(line) for line in file if line.startswith('{"table"')]
    return {head["table"]: head["columns"] for head in heads if head["table"] not in TABLES}


def rows(path: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table of an exported history."""
    found: list[dict[str, Any]] = []
    here, columns = "", list[str]()
    for line in map(json.loads, gzip.decompress(path.read_bytes()).decode().splitlines()[1:]):
        if isinstance(line, dict):
            here, columns = line["table"], line["columns"]
        elif here == table:
            found.append(dict(zip(columns, line, strict=True)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("old", ["sqlite"], indirect=True)
def test_export_of_an_old_store_equals_that_of_the_old_release(tmp_path: Path, old: OldStore) -> None:
    store = Repository(old.url)
    write_history(store.engine, tmp_path / "today.gz")
    store.close()
    before = MADE / "export.jsonl.gz"
    assert content(tmp_path / "today.gz", columns_of(before)) == content(before, columns_of(before))


@pytest.mark.slow
@pytest.mark.parametrize("made", [FIRST, MADE], ids=lambda made: str(made.name))
def test_import_takes_an_old_export(old: OldStore, tmp_path: Path, made: Path) -> None:
    config, before = tmp_path / "latchscope.yaml", made / "export.jsonl.gz"
    url = f"sqlite:///{tmp_path}/new.sqlite" if old.kind == "sqlite" else old.url
    if old.kind == "postgresql":
        emptied(url)
    config.write_text(yaml.safe_dump({"store": url, "databases": [{"name": NAMES[0], "dsn": f"demo:{NAMES[0]}"}]}))
    for _ in range(2 if old.kind == "sqlite" else 1):  # tests/service/cli imports twice into both engines
        told = run("store", "import", before, "--config", config)
        assert told.exit_code == 0, told.output
    store = Repository(url)
    write_history(store.engine, tmp_path / "again.gz")
    store.close()
    assert content(tmp_path / "again.gz", columns_of(before)) == content(before, columns_of(before))
    assert all(
        sum(row["executions"] is not None for row in rows(tmp_path / "again.gz", name)) > 5
        for name in ("polls", "hours")
    )
    told = run("store", "check", "--config", config)
    assert (told.exit_code, told.stderr) == (0, "the store is whole\n")
    if made == FIRST:
        return
    paths = [path for path in EXPECTED["rest"] if "/history" in path]
    with standing(url) as app:
        for path, answer in zip(paths, asked(app, *(f"/api/v1/{path}" for path in paths)), strict=True):
            wanted, now = of_today(path, EXPECTED["rest"][path], answer.json())
            agrees(now, wanted, path)


def emptied(url: str) -> None:
    """Create the database of this URL."""
    store = Repository(url)
    with store.engine.begin() as connection:
        connection.exec_driver_sql("drop schema public cascade")
        connection.exec_driver_sql("create schema public")
    store.close()


# Polls that waited on disk


@contextmanager
def started(old: OldStore, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """The service as it starts after the killed process. No database is reachable."""
    monkeypatch.setenv("UPGRADE_PASSWORD", "tiger")
    unreachable = {"dsn": "127.0.0.1:1/none", "password_env": "UPGRADE_PASSWORD", "interval": 3600}
    databases = [DatabaseSettings(name=name, **unreachable) for name in NAMES]  # type: ignore[arg-type]
    own = {"replica": {"name": "first"}, "spool": {"directory": folder}}
    app = create_app(Settings(store=old.url, databases=databases, history=EVER, **own))  # type: ignore[arg-type]
    with asyncio.Runner() as runner:
        life = app.router.lifespan_context(app)
        runner.run(life.__aenter__())
        try:
            yield Client(app)
        finally:
            runner.run(life.__aexit__(None, None, None))


def test_polls_a_killed_process_left_on_disk_reach_the_store(
    old: OldStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "waiting"
    queue = folder if old.kind == "sqlite" else folder / "first"
    shutil.copytree(MADE / "spool", queue)
    spooled = EXPECTED["spooled"]
    assert len(list(queue.glob("*.poll"))) == len(spooled) > 0
    polls = old.rows("polls")
    begin = f"{END + timedelta(seconds=1):%Y-%m-%dT%H:%M:%SZ}"
    within = f"begin={begin}&end={END + timedelta(minutes=2):%Y-%m-%dT%H:%M:%SZ}"
    with started(old, folder, monkeypatch) as client:
        assert list(queue.iterdir()) == [], "nothing waits, and nothing was set aside"
        assert polls_of(old) == polls + len(spooled)
        for name in NAMES:
            told = client.get(f"/api/v1/databases/{name}/history?{within}&resolution=poll&metric=executions").json()
            wanted = [at for db, at in spooled if db == name]
            times = [datetime.fromisoformat(at).isoformat() for at in told["times"]]
            assert [at for at in times if at in wanted] == wanted
            assert [s for at, s in zip(times, told["seconds"], strict=True) if at in wanted and not s] == []
        everything = f"begin={BEGIN:%Y-%m-%dT%H:%M:%SZ}&end={END + timedelta(minutes=2):%Y-%m-%dT%H:%M:%SZ}"
        episodes = client.get(f"/api/v1/databases/undo-storm/episodes?{everything}").json()
        assert [one["cause"] for one in episodes] == ["undo-segments"] * 2
        assert episodes[0]["end"] is None and datetime.fromisoformat(episodes[0]["begin"]) > END
        (lasting,) = client.get(f"/api/v1/databases/users-mutex/episodes?{everything}").json()
        assert lasting["end"] is None
        assert (
            datetime.fromisoformat(lasting["last_seen"]).isoformat()
            == [at for name, at in spooled if name == "users-mutex"][-1]
        )
    config = tmp_path / "latchscope.yaml"
    config.write_text(yaml.safe_dump({"store": old.url, "databases": [{"name": NAMES[0], "dsn": f"demo:{NAMES[0]}"}]}))
    store = Repository(old.url, EVER)
    store.upkeep.sum_hours(END + timedelta(days=1))
    store.close()
    told = run("store", "check", "--config", config)
    assert told.exit_code == 0 and told.stderr.endswith("the store is whole\n")


@pytest.mark.parametrize("old", ["sqlite"], indirect=True)
def test_poll_record_keeps_the_figures_of_the_old_release(store: Repository) -> None:
    last = {name: store.last_snapshot(name) for name in NAMES}
    for file in sorted((MADE / "spool").iterdir()):
        before = from_bytes(file.read_bytes())
        snapshot, previous = load_snapshot(before.snapshot, before.database, "spool"), last[before.database]
        assert previous is not None
        change = between(previous, snapshot)
        assert isinstance(change, Delta)
        today = record_of(snapshot, diagnose(change), PollRecord(change, previous))
        assert today is not None
        told, wanted = (dict(zip(NUMBERS, poll.numbers, strict=True)) for poll in (today, before))
        known = {name: value for name, value in wanted.items() if value is not None}
        assert {name: told[name] for name in known} == pytest.approx(known, rel=1e-9) and len(known) > 15
        assert told.keys() - known.keys() == {name for name in wanted if told[name] is None}
        for name in ("at", "severity", "seconds", "startup_time", "why"):
            assert getattr(today, name) == getattr(before, name), name
        last[before.database] = snapshot


# Captures


@pytest.mark.parametrize("name", list(OF_FIRST["captures"]))
def test_captures_are_diagnosed_as_by_the_old_release(name: str) -> None:
    told = run("diagnose", FIRST / name, "--format", "json")
    assert told.exit_code == 0, told.output
    agrees(json.loads(told.stdout), OF_FIRST["captures"][name])


# The configuration


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of the old latchscope.yaml, in a folder with its secrets."""
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    for name, text in {"erp1": "tiger", "wallet": "geheim", "night-shift": "signed"}.items():
        (secrets / name).write_text(f"{text}\n")
    digest = hashlib.sha256(b"a token").hexdigest()
    (secrets / "tokens").write_text(f"reader read {digest}\n")
    (tmp_path / "kept").mkdir()
    shutil.copy(FIRST / "latchscope.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ERP2_PASSWORD", "lion")
    return configuration.read(Path("latchscope.yaml"))


def test_configuration_keeps_each_value_in_its_place(configured: Settings) -> None:
    agrees(configured.model_dump(mode="json"), OF_FIRST["configuration"]["settings"])


def test_configuration_still_finds_its_secrets(configured: Settings) -> None:
    erp1, erp2, billing, _ = configured.databases
    assert password_of(erp1) == OF_FIRST["configuration"]["passwords"]["erp1"] == "tiger"
    assert (password_of(erp2), password_of(billing)) == ("lion", "geheim")
    assert configured.webhooks[0].secret_file is not None
    assert read_secret(configured.webhooks[0].secret_file, "secret_file") == "signed"
