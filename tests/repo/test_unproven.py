"""docs/unproven.md: each statement has its source, the cost of a wrong guess, and a way to settle it or the reason why there
is none.
"""

import re
from collections.abc import Iterator

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


def statements() -> Iterator[list[str]]:
    """Id, statement, source, cost of a wrong guess, way to settle it."""
    for line in TEXT.splitlines():
        if re.match(r"\| [A-Z]\d+ \|", line):
            yield [cell.strip() for cell in line.strip("| ").split(" | ")]


STATEMENTS = list(statements())


LEDGER = (ROOT / "docs" / "settled.yaml").read_text(encoding="utf-8")


def test_page_counts_every_statement_and_each_that_a_real_database_settled() -> None:
    names = {row[0] for row in STATEMENTS}
    assert len(STATEMENTS) == len(names) >= 35, "each once"
    assert set(build.unproven(TEXT)) == names, "a statement that the count leaves out"
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


def test_statement_says_what_it_rests_on_what_a_wrong_guess_costs_and_how_to_settle_it() -> None:
    for name, statement, rests_on, cost, way in STATEMENTS:
        assert rests_on in RESTS_ON and len(statement) > 20 and len(cost) > 10, name
        command = re.search(r"`[^`]*\b(make|docker|latchscope) [^`]+`", way)
        assert command or re.match(r"none(?: of (?:our commands|the tests))?[^:]*: .{10}", way), name
        assert {*re.findall(r"make test-live-load … ONLY=([\w-]+)", way)} <= {load.name for load in LOADS}, name
        for test, cause in re.findall(r'make test-live \S+ ONLY="?(\w+)(?: and ([\w-]+)")?', way):
            assert test == name if test in QUESTIONS else f"def {test}" in LIVE, test
            assert not cause or catalogue()[cause].confirm


def test_question_is_asked_by_a_statement_of_its_name_reads_one_value_and_needs_no_licence() -> None:
    assert {name for row in STATEMENTS for name in re.findall(r"ONLY=([A-Z]\d+)", row[4])} == set(QUESTIONS)
    for name, question in QUESTIONS.items():
        parsed = sqlglot.parse_one(question.sql, read="oracle")
        assert parsed.key == "select" and len(parsed.assert_is(exp.Query).selects) == 1, name
        assert not re.search(r"active_session_history|dba_hist_|dba_addm", question.sql), name
