"""The proof that a statement only reads holds for ordinary texts, and each planted danger is found."""

import pytest

from tests.collectors.sql_proof import faults, known_view, views_of_tree

MARKED = "select /* latchscope test */"
GOOD = (
    f"{MARKED} gets from v$latch",
    f"{MARKED} sum(gets) as gets, name from v$latch where name in ('it''s', 'for update') group by name",
    f"{MARKED} l.gets from v$latch l, v$latchname n where n.latch# (+) = l.latch# and l.latch# = :latch",
    f"{MARKED} * from (select /*+ no_merge */ max(gets) as n from v$latch) q where rownum <= 1",
)
PLANTED = {
    "gets from v$latch for update": "Lock",
    "gets from v$latch; delete from t": "semicolon",
    "gets from v$latch@remote": "@",
    "s.nextval from dual": "sequence",
    "dbms_lock.sleep(1) from dual": "sleep",
    "f(1) from dual": "calls f",
    "gets into x from v$latch": "Into",
    "* from table(f())": "table",
    "httpuritype('http://x').getclob() from dual": "httpuritype",
    "gets from v$latch as of timestamp sysdate": "v$latch",
    "gets from lateral(select 1 from dual)": "Lateral",
    "cursor(select 1 from dual) from dual": "cursor",
    "username from dba_users": "dba_users",
    "gets from v$latch union all select password from sys.user$": "one query",
    "f from dual": "word f",
    '"gets" from v$latch': '"',
    "gets from v$latch -- all": "comment",
    "gets from v$latch /* for you */": "comment",
    "/*+ parallel */ gets from v$latch": "parallel",
    "g\u00e9ts from v$latch": "ASCII",
}
"""Text behind the mark → a word of what the check says."""


@pytest.mark.parametrize("text", GOOD)
def test_proof_holds_for_ordinary_queries(text: str) -> None:
    views = views_of_tree(text)
    assert faults(text, views) == [] and all(map(known_view, views))


@pytest.mark.parametrize("text", PLANTED)
def test_proof_finds_what_is_planted(text: str) -> None:
    found = faults(f"{MARKED} {text}", ("v$latch", "dual"))
    assert PLANTED[text].lower() in str(found).lower()


@pytest.mark.parametrize(
    "text",
    ["with function f return number is begin return 1; end; select f from dual", "begin null; end;", "delete from t"],
)
def test_anything_but_a_query_is_refused(text: str) -> None:
    assert faults(text, ("dual",))
    assert "lacks our mark" in faults("select gets from v$latch", ("v$latch",))


def test_licensed_and_unknown_views_are_not_known() -> None:
    assert not any(map(known_view, ("dba_hist_sqlstat", "v$active_session_history", "hr.pay")))
    assert all(map(known_view, ("gv$session", "sys.latchscope_kqrst", "dual")))
