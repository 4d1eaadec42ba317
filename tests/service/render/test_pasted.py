"""Every statement that is printed for people pastes into SQL*Plus as one, by a splitter that follows its rules."""

import re
from collections.abc import Iterator

import pytest

from rules.cause import Cause, catalogue
from service.escape import fenced, pasted
from service.render.parts import code_lines, variants
from tests.paths import ROOT

LONGEST_LINE = 2_400
"""SQL*Plus cuts an input line somewhere beyond it."""


def taken(lines: list[str]) -> Iterator[str]:
    """What SQL*Plus runs of pasted lines: `;` at the end of a line ends SQL, `/` alone ends PL/SQL, an empty line gives up."""
    held: list[str] = []
    for line in lines:
        assert len(line) < LONGEST_LINE
        stripped = line.strip()
        block = bool(held or stripped) and (held[0] if held else stripped).split()[0].lower() in ("begin", "declare")
        if not stripped:
            assert not held, f"an empty line drops {held}"
        elif stripped == "/":
            yield "\n".join(held)
            held = []
        elif stripped.endswith(";") and not block:
            yield "\n".join([*held, stripped.removesuffix(";")])
            held = []
        else:
            held.append(stripped)
    assert held == [], f"SQL*Plus waits for more: {held}"


def plain(sql: str) -> str:
    return " ".join(sql.split()).rstrip("; /")


def statements(cause: Cause) -> Iterator[str]:
    for texts in (cause.confirm and cause.confirm.sql, cause.confirm and cause.confirm.names):
        yield from (text for _, text in variants(texts))
    for step in cause.remedy_steps:
        yield from (text for _, text in variants(step.sql))
        yield from (other.sql for _, other in step.elsewhere.items() if other.sql)


@pytest.mark.parametrize("cause", catalogue().values(), ids=list(catalogue()))
def test_statements_that_are_printed_are_those_that_run(cause: Cause) -> None:
    for sql in statements(cause):
        if pasted(sql) == sql:
            assert sql.split()[0].lower() in ("show", "exec"), f"neither SQL nor known: {sql}"
            continue
        for printed in (code_lines(sql, "       "), fenced(sql).splitlines()[1:-1], pasted(sql).splitlines()):
            (run,) = taken(printed)
            assert plain(run) == plain(sql)


def test_emergency_page_pastes_statement_by_statement() -> None:
    page = (ROOT / "docs" / "emergency.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sql\n(.*?)```", page, re.S)
    assert len(blocks) > 4
    for block in blocks:
        (run,) = taken(block.splitlines())
        assert run.startswith("select ")


def test_text_in_quotes_is_never_broken_and_settings_stay_as_they_are() -> None:
    sql = "select to_char(sysdate, 'YYYY-MM-DD HH24:MI:SS and some more words of a format') from dual " * 3
    assert all(line.count("'") % 2 == 0 for line in code_lines(sql, "  "))
    assert pasted("SQLNET.EXPIRE_TIME = 10") == "SQLNET.EXPIRE_TIME = 10"
    assert pasted("begin dbms_lock.sleep(1); end;\n\n") == "begin dbms_lock.sleep(1); end;\n/"
