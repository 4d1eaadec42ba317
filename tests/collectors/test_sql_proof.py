"""The proof that a statement only reads holds for ordinary texts, and each planted danger is found."""

import pytest

from tests.collectors.sql_proof import known_view, parser_faults, token_faults, views_of_tree

MARKED = "select /* latchscope test */"
GOOD = (
    f"{MARKED} gets from v$latch",
    f"{MARKED} sum(gets) as gets, name from v$latch where name in ('it''s', 'for update') group by name",
    f"{MARKED} l.gets from v$latch l, v$latchname n where n.latch# (+) = l.latch# and l.latch# = :latch",
    f"{MARKED} * from (select /*+ no_merge */ max(gets) as n from v$latch) q where rownum <= 1",
)
PLANTED = {
    "gets from v$latch for update": "Lock",
    "gets from v$latch where rownum <= 1 for update skip locked": "Lock",
    "gets from v$latch; delete from t": "one query",
    "gets from v$latch@remote": "@",
    "s.nextval from dual": "sequence",
    "s.currval as n from dual s": "sequence",
    "dbms_lock.sleep(1) from dual": "sleep",
    "owner.f(1) from dual": "f",
    "f(1) from dual": "calls f",
    "gets into x from v$latch": "Into",
    "* from table(f())": "table",
    "n from xmltable('a' passing gets)": "xmltable",
    "httpuritype('http://x').getclob() from dual": "httpuritype",
    "gets from v$latch as of timestamp sysdate": "v$latch",
    "gets from lateral(select 1 from dual)": "Lateral",
    "cursor(select 1 from dual) from dual": "cursor",
    "username from dba_users": "dba_users",
    "gets from v$latch union all select password from sys.user$": "user$",
}
"""Text behind the mark → a word of what the parser's check says, or else the tokens' check."""
BY_TOKENS_ALONE = {
    "f from dual": "word f",
    "p.f from dual": "word p",
    '"gets" from v$latch': '"',
    "gets from v$latch -- all": "has",
    "gets from v$latch /* for you */": "comment",
    "/*+ parallel */ gets from v$latch": "comment",
    "g\u00e9ts from v$latch": "ASCII",
}
"""What a parser lets pass: a function without arguments looks like a column, and comments mean nothing to it."""


@pytest.mark.parametrize("text", GOOD)
def test_proof_holds_for_ordinary_queries(text: str) -> None:
    views = views_of_tree(text)
    assert parser_faults(text, views) == token_faults(text, views) == [] and all(map(known_view, views))


@pytest.mark.parametrize("text", PLANTED)
def test_proof_finds_what_is_planted_by_parser_and_by_tokens(text: str) -> None:
    views = ("v$latch", "dual")
    found = parser_faults(f"{MARKED} {text}", views), token_faults(f"{MARKED} {text}", views)
    assert all(found), found
    assert PLANTED[text].lower() in str(found).lower()


@pytest.mark.parametrize("text", BY_TOKENS_ALONE)
def test_tokens_find_what_a_parser_lets_pass(text: str) -> None:
    assert any(BY_TOKENS_ALONE[text] in fault for fault in token_faults(f"{MARKED} {text}", ("v$latch", "dual")))


@pytest.mark.parametrize(
    "text",
    ["with function f return number is begin return 1; end; select f from dual", "begin null; end;", "delete from t"],
)
def test_anything_but_a_query_is_refused_by_both(text: str) -> None:
    assert parser_faults(text, ("dual",)) and token_faults(text, ("dual",))


def test_statement_without_our_mark_is_refused() -> None:
    assert "lacks our mark" in token_faults("select gets from v$latch", ("v$latch",))


def test_licensed_and_unknown_views_are_not_known() -> None:
    assert (
        not known_view("dba_hist_sqlstat") and not known_view("v$active_session_history") and not known_view("hr.pay")
    )
    assert known_view("gv$session") and known_view("sys.latchscope_kqrst") and known_view("dual")
