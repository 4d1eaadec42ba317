"""docs/unproven.md: each statement has its source, the cost of a wrong guess, and a way to settle it or the reason why there
is none.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlglot
import yaml
from sqlglot import exp

from docs import build
from rules.cause import catalogue
from tests.live.load.statements import LOADS
from tests.live.questions import QUESTIONS
from tests.paths import ROOT

TEXT = (ROOT / "docs" / "unproven.md").read_text(encoding="utf-8")
LIVE = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests" / "live").glob("test_*.py")))
RESTS_ON = {"public source", "our stand-in", "assumption"}
IMPOSSIBLE = {"RAC": "N1", "RDS": "G3", "standby": "N3"}


def statements() -> Iterator[list[str]]:
    """Id, statement, source, cost of a wrong guess, way to settle it."""
    for line in TEXT.splitlines():
        if re.match(r"\| [A-Z]\d+ \|", line):
            yield [cell.strip() for cell in line.strip("| ").split(" | ")]


STATEMENTS = list(statements())
each_statement = pytest.mark.parametrize("row", STATEMENTS)


def test_page_holds_the_statements_once_each() -> None:
    names = [row[0] for row in STATEMENTS]
    assert len(names) >= 35 and len(set(names)) == len(names)


LEDGER = (ROOT / "docs" / "settled.yaml").read_text(encoding="utf-8")


def test_page_counts_every_statement_and_each_that_a_real_database_settled() -> None:
    assert set(build.unproven(TEXT)) == {row[0] for row in STATEMENTS}, "a statement that the count leaves out"
    assert build.settled(TEXT, LEDGER) in TEXT
    line = '- {id: S4, release: "19.21", date: 2027-01-31, sent: test-live, showed: none is listed}\n'
    once, twice = (build.settled(TEXT, line * times) for times in (1, 2))
    for said in (once, twice):
        assert said.startswith(f"**A real database has settled 1 of {len(STATEMENTS)} statements.**")
    assert once.endswith("| S4 | 19.21 | 2027-01-31 | test-live | none is listed |")


def test_ledger_names_statements_and_what_was_sent() -> None:
    for row in yaml.safe_load(LEDGER):
        assert set(row) == {"id", "release", "date", "sent", "showed"}
        assert row["id"] in {each[0] for each in STATEMENTS} and row["sent"] in ("test-live", "test-live-load")
        assert len(row["showed"]) > 10


def test_front_page_and_foot_of_each_page_say_what_the_ledger_says() -> None:
    settled = len({row["id"] for row in yaml.safe_load(LEDGER)})
    front = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    foot = (ROOT / "service/web/templates/base.html").read_text(encoding="utf-8").partition("<footer")[2]
    assert f"{settled} of {len(STATEMENTS)} claims" in front
    assert ("never run on a real Oracle" in front) == ("Not yet run on a real Oracle" in foot) == (settled == 0)
    assert 'href="/docs/unproven.html"' in foot


DISCLAIMERS = re.compile(r"(?i)nobody has (?:tried|run)|\b(?:not|none|never)\b.{0,30}\b(?:tried|run|tested) on a real")


def test_doubt_is_said_on_one_page() -> None:
    """Elsewhere a link into this page is enough."""
    assert DISCLAIMERS.search("Nobody has tried thick mode") and DISCLAIMERS.search(
        "None of this was tried on a real one"
    )
    pages = [path for path in (ROOT / "docs").glob("*.md") if path.name != "unproven.md"]
    texts = {path.name: " ".join(path.read_text(encoding="utf-8").split()) for path in pages}
    assert {name: found[0] for name, text in texts.items() if (found := DISCLAIMERS.search(text))} == {}


def test_page_counts_what_one_run_of_the_loads_settles() -> None:
    said = re.search(r"settles the (\d+) lines below for its release,\nand ([^:]+) with them: (\d+) lines", TEXT)
    assert said
    own, others = sum(row[0].startswith("T") for row in STATEMENTS), re.findall(r"[A-Z]\d+", said[2])
    assert (int(said[1]), int(said[3])) == (own, own + len(others))
    assert set(others) <= {row[0] for row in STATEMENTS}


@each_statement
def test_statement_says_what_it_rests_on_and_what_a_wrong_guess_costs(row: list[str]) -> None:
    _, statement, rests_on, cost, _ = row
    assert rests_on in RESTS_ON
    assert len(statement) > 20 and len(cost) > 10


@each_statement
def test_statement_names_a_command_or_says_why_there_is_none(row: list[str]) -> None:
    settled = row[4]
    command = re.search(r"`[^`]*\b(make|docker|latchscope) [^`]+`", settled)
    reason = re.match(r"none(?: of (?:our commands|the tests))?[^:]*: .{10}", settled)
    assert command or reason, settled


@each_statement
def test_statement_command_leads_to_a_live_test_that_is_there(row: list[str]) -> None:
    loads = re.findall(r"make test-live-load … ONLY=([\w-]+)", row[4])
    assert set(loads) <= {load.name for load in LOADS}
    for name, cause in re.findall(r'make test-live \S+ ONLY="?(\w+)(?: and ([\w-]+)")?', row[4]):
        assert name in QUESTIONS or f"def {name}" in LIVE, name
        assert name not in QUESTIONS or name == row[0]
        assert not cause or catalogue()[cause].confirm


def test_question_is_asked_by_a_statement_of_its_name() -> None:
    asked = {name for row in STATEMENTS for name in re.findall(r"ONLY=([A-Z]\d+)", row[4])}
    assert asked == set(QUESTIONS)


@pytest.mark.parametrize("name", QUESTIONS)
def test_question_reads_one_value_and_needs_no_licence(name: str) -> None:
    parsed = sqlglot.parse_one(QUESTIONS[name].sql, read="oracle")
    assert parsed.key == "select" and len(parsed.assert_is(exp.Query).selects) == 1
    assert not re.search(r"active_session_history|dba_hist_|dba_addm", QUESTIONS[name].sql)


@pytest.mark.parametrize(("kind", "name"), IMPOSSIBLE.items())
def test_page_says_what_no_free_image_can_be(kind: str, name: str) -> None:
    (row,) = [row for row in STATEMENTS if row[0] == name]
    assert row[4].startswith("none: ") and kind in row[4]


def make(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LATCHSCOPE_TEST_")}
    kept = {name: value for name, value in kept.items() if name not in ("DSN", "ONLY", "MAKEFLAGS")}
    return subprocess.run(
        ["make", *words], cwd=Path(ROOT), env=kept | environment, capture_output=True, text=True, check=False
    )


def test_live_target_says_what_it_needs_and_sends_nothing() -> None:
    done = make("test-live", "DSN=db1:1521/free")
    assert done.returncode != 0 and "pytest" not in done.stdout
    for needed in ("DSN=host:port/service", "LATCHSCOPE_TEST_USER", "LATCHSCOPE_TEST_PASSWORD", "docs/oracle.md"):
        assert needed in done.stderr


def test_live_target_would_run_the_live_tests() -> None:
    done = make("-n", "test-live", "DSN=db1:1521/free", "ONLY=S4")
    assert done.returncode == 0, done.stderr
    assert 'LATCHSCOPE_TEST_DSN="db1:1521/free"' in done.stdout
    assert 'pytest -q -s -m oracle tests/live/test_live.py tests/live/test_questions.py -k "S4"' in done.stdout


def test_target_of_the_loads_would_run_them_and_hands_on_what_it_was_given() -> None:
    given = ("ONLY=sequence grants", "DRY_RUN=1", "CLEAN=1", "CONFIG=my.yaml", "MONITOR_DSN=db1:1521/root")
    done = make("-n", "test-live-load", "DSN=db1:1521/free", *given)
    assert done.returncode == 0, done.stderr
    assert 'LATCHSCOPE_TEST_DSN="db1:1521/free" LATCHSCOPE_TEST_MONITOR_DSN="db1:1521/root"' in done.stdout
    assert '--only sequence grants --config "my.yaml" --dry-run --clean' in done.stdout
    assert "DISPOSABLE" not in done.stdout, "only you say that"
