"""The page for a hang: readers find it from where they look, it is complete, and it is careful for a reader in a hurry."""

import re

import pytest
import sqlglot

from collectors.emergency import EMERGENCY_NOTICE, EMERGENCY_PAGE
from rules.catalogue import catalogue
from tests.each import each
from tests.paths import ROOT

PAGE = ROOT / EMERGENCY_PAGE
TEXT = PAGE.read_text(encoding="utf-8")
FENCES = re.findall(r"^ *```(\w*)\n(.*?)^ *```$", TEXT, re.S | re.M)
RUNBOOKS = ROOT / "dashboards" / "runbooks"


@each(
    "words",
    [
        "sqlplus -prelim / as sysdba",
        "oradebug setmypid",
        "oradebug unlimit",
        "oradebug hanganalyze 3",
        "oradebug dump systemstate 258",
        "under Oracle Support guidance",
        "WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK!",
        "ORA-00060",
        "ORA-04031",
        "ORA-04021",
        "LCK0",
        "MMON",
    ],
)
def test_page_has_what_a_reader_looks_for(words: str) -> None:
    assert words in TEXT


@pytest.mark.parametrize("page", ["README.md", "docs/reports.md", "docs/oracle.md"])
def test_page_is_linked_from(page: str) -> None:
    assert re.search(r"\]\((docs/)?emergency\.md[)#]", (ROOT / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("runbook", ["RowCacheLockWaits", "LatchscopeDatabaseDown"])
def test_page_is_named_by_the_runbook(runbook: str) -> None:
    assert EMERGENCY_PAGE in (RUNBOOKS / f"{runbook}.md").read_text(encoding="utf-8")


def test_notice_names_the_page_in_one_sentence() -> None:
    assert EMERGENCY_PAGE in EMERGENCY_NOTICE and EMERGENCY_NOTICE.count(".") == 2


def test_page_tells_what_to_collect_before_what_may_be_killed_by_number() -> None:
    order = [
        TEXT.index(words)
        for words in ("Collect evidence first", "What not to kill", "You may kill one foreground session")
    ]
    assert order == sorted(order)
    assert not re.search(r"kill -9 \d|kill session '", TEXT)


def test_dumps_each_have_their_risk() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| `oradebug ")]
    assert len(rows) == 5
    assert all(len(line.split(" | ")) == 3 and len(line.split(" | ")[2]) > 20 for line in rows)
    shown = set(re.findall(r"^oradebug (\w+)", "\n".join(body for _, body in FENCES), re.M))
    assert shown == {"setorapname", "setmypid", "unlimit", "hanganalyze"}, "a text ready to copy must be harmless"


def test_statements_only_read_and_need_no_licence() -> None:
    statements = [body for language, body in FENCES if language == "sql"]
    assert len(statements) == 5
    for statement in statements:
        assert sqlglot.parse_one(statement.replace("&holder", "1"), read="oracle").key == "select"
        assert not re.search(r"dba_hist_|active_session_history", statement)


def test_causes_named_on_the_page_exist() -> None:
    named = set(re.findall(r"causes show ([a-z-]+)", TEXT))
    named |= set(re.findall(r"\b[a-z]+(?:-[a-z]+)+\b", TEXT.partition("## 6.")[2].partition("## 7.")[0]))
    assert {"row-cache-library-deadlock", "ddl-invalidation"} <= named
    assert named - {"time-out"} <= set(catalogue())
