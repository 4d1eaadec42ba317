"""`latchscope compare` and `mark`: files, windows and marks. The sentence comes first. Bad input is one line and exit 2."""

import json
import re
from email.message import Message
from io import BytesIO
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request

import pytest
from typer.testing import CliRunner, Result

from rules.comparison.changes import Comparison
from service.cli.main import cli
from service.state.time_window import iso
from service.store.repository import Repository
from tests.paths import REPORTS
from tests.service.marked import DB, at, marked, polled
from tests.service.stage import Stage
from tests.service.stores import Place

STORM = str(REPORTS / "awr-11.2.0.4.0-undo-storm.html")
DAY = str(REPORTS / "statspack-11.2.0.3.0-undo-storm.txt")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


@pytest.fixture
def kept(store: Repository, stage: Stage, place: Place) -> Place:
    polled(store, stage, 100, 190, 5)
    marked(store)
    return place


def test_compare_prints_a_sentence_then_a_table_for_two_reports() -> None:
    told = run("compare", STORM, DAY)
    assert told.exit_code == 0, told.output
    lines = told.stdout.splitlines()
    assert lines[0].endswith(".") and lines[1].startswith("Note: the release is"), "warnings come before the figures"
    table = next(n for n, line in enumerate(lines) if line.startswith("figure "))
    assert lines[table].split() == ["figure", "before", "after", "unit", "factor", "verdict"]
    assert any(line.startswith("before: ORDERS") for line in lines[:table])
    assert "gets of dc_rollback_segments" in " ".join(told.stdout.split()) and max(map(len, lines)) < 150
    assert all(line.split()[-1] in ("rose", "fell", "here") for line in lines[table + 1 : lines.index("", table)])
    same = run("compare", STORM, STORM).stdout
    assert re.search(r"^Unchanged, or within noise or the usual \(\d+\): ", same, re.M) and "figure  " not in same


def test_compare_inverts_factors_when_the_sides_are_swapped() -> None:
    there, back = (
        Comparison.model_validate_json(run("compare", *each, "--format", "json").stdout)
        for each in ((STORM, DAY), (DAY, STORM))
    )
    for one in there.changes:
        other = back.find(one.name, one.of)
        if one.factor is not None:
            assert other is not None and other.factor == pytest.approx(1 / one.factor)


def test_compare_takes_a_capture_and_prints_markdown(incident: Path) -> None:
    told = run("compare", STORM, str(incident), "--format", "markdown")
    assert told.exit_code == 0 and told.stdout.startswith("**") and "| figure | before |" in told.stdout
    assert "Cannot tell: " in told.stdout, "a figure that a side lacks is not zero"


def test_compare_takes_a_mark_from_the_store(kept: Place) -> None:
    told = run("compare", "--db", DB, "--mark", "last", "--store", kept.url)
    assert told.exit_code == 0, told.output
    assert told.stdout.startswith("After the mark `undo tablespace recreated`, sleeps on dc_rollback_segments fell ")
    assert "some remain" in told.stdout.splitlines()[0]
    assert "mark:   undo tablespace recreated" in told.stdout


def test_compare_takes_windows_from_the_configured_store(kept: Place, tmp_path: Path) -> None:
    config = tmp_path / "latchscope.yaml"
    config.write_text(
        f"store: {json.dumps(kept.url)}\ndatabases: [{{name: {DB}, dsn: 'demo:{DB}'}}]\n", encoding="utf-8"
    )
    before, after = f"{iso(at(100))}/{iso(at(130))}", f"{iso(at(160))}/{iso(at(190))}"
    asked = ("--before", before, "--after", after, "--config", str(config), "--format", "json")
    told = Comparison.model_validate_json(run("compare", "--db", DB, *asked).stdout)
    slept = told.find("child_sleeps")
    assert slept is not None and slept.direction == "fell"


def test_mark_command_writes_a_mark_that_readers_of_the_store_see(kept: Place, store: Repository) -> None:
    told = run("mark", DB, "parameter set", "--at", iso(at(120)), "--store", kept.url)
    assert told.exit_code == 0 and told.stdout == "" and "parameter set" in told.stderr
    marks = store.marks.between(DB, at(0), at(999)).items
    assert [(one.text, one.at) for one in marks][1] == ("parameter set", at(120))


def test_compare_and_mark_ask_a_running_service(kept: Place, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    app = stage.app(kept.url)

    class Opener:
        """Hands a request to the app without a socket."""

        def __init__(self, *_: object) -> None: ...

        def open(self, asked: Request, timeout: float) -> BytesIO:
            body, headers = asked.data, dict(asked.header_items())
            told = app.get(asked.selector, asked.get_method(), content=body, headers=headers)
            if told.is_error:
                raise HTTPError(asked.full_url, told.status_code, "", Message(), BytesIO(told.content))
            return BytesIO(told.content)

    monkeypatch.setattr("service.client.build_opener", Opener)
    url, last = ("--url", "http://127.0.0.1:8000"), ("compare", "--db", DB, "--mark", "last")
    assert run(*last, *url).stdout == run(*last, "--store", kept.url).stdout != ""
    told = run("mark", DB, "parameter set", "--at", iso(at(120)), *url)
    assert told.exit_code == 0 and f"{DB}: marked at {iso(at(120))}: parameter set (" in told.stderr
    for words, says in ((("compare", "--db", DB), "give before and after, or mark"), (("mark", DB, " "), "1 to 500")):
        told = run(*words, *url)
        assert told.exit_code == 2 and says in told.stderr and told.stderr.count("\n") == 1
    monkeypatch.setattr(Opener, "open", lambda *_, **__: BytesIO(b"{}"))
    for words in (last, ("mark", DB, "x")):
        assert "as another release does" in run(*words, *url).stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("compare",), "name two files"),
        (("compare", STORM), "name two files"),
        (("compare", STORM, "nowhere.txt"), "nowhere.txt does not exist"),
        (("compare", "-", "-"), "standard input can be one side only"),
        (("compare", STORM, DAY, "--mark", "last"), "name it with --db"),
        (("compare", STORM, DAY, "--db", DB), "not both"),
        (("compare", "--db", DB), "give --mark last"),
        (("compare", "--db", DB, "--before", "-2h/-1h"), "give --mark last"),
        (("compare", "--db", DB, "--before", "x", "--after", "y"), "is not a window"),
        (("compare", "--db", DB, "--before", "-2h/-1h", "--after", "-1h/now", "--span", "1m"), "name it with --mark"),
        (("compare", "--db", DB, "--mark", "last", "--span", "x"), "--span is 'x'"),
        (("compare", "--db", DB, "--mark", "last", "--config", "none.yaml"), "none.yaml does not exist"),
        (("compare", "--db", DB, "--mark", "last", "--store", "sqlite:///none.db"), "there is no store none.db"),
        (("mark", DB, "text", "--store", "nonsense"), "--store"),
    ],
)
def test_compare_and_mark_report_bad_input_in_one_line(arguments: tuple[str, ...], says: str) -> None:
    told = run(*arguments)
    assert told.exit_code == 2 and told.stdout == ""
    assert says in told.stderr and told.stderr.count("\n") == 1 and "Traceback" not in told.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("compare", "--db", "nobody", "--mark", "last"), "no database named nobody; the names are: undo-storm"),
        (("compare", "--db", DB, "--mark", "other"), "no mark other"),
        (("mark", "nobody", "text"), "no database named nobody"),
        (("mark", DB, " "), "1 to 500"),
        (("mark", DB, "text", "--at", "soon"), "soon is not a time"),
    ],
)
def test_compare_and_mark_report_what_the_store_refuses_in_one_line(
    kept: Place, arguments: tuple[str, ...], says: str
) -> None:
    told = run(*arguments, "--store", kept.url)
    assert told.exit_code == 2 and says in told.stderr and told.stderr.count("\n") == 1
