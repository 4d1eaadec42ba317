"""Every SQL text that we ship, checked against the views of each release, and the bill of them.

Planted errors prove that the check catches them.
"""

import importlib
import pkgutil
import re
from itertools import pairwise

import pytest
import sqlglot

from collectors import ondemand
from collectors.grants import KINDS, ON_REQUEST, DatabaseKind, grants_script
from collectors.model import Collector, ColumnKind, Rows
from collectors.ondemand import blockers, holders
from collectors.ondemand.blockers import of_look
from collectors.ondemand.check import MOST_NAMES, limited
from collectors.registry import collectors, groups, under_older_name
from collectors.release import parts, text_for
from collectors.sql_list import accepted, spans, statements, texts
from collectors.statement import HASH_LENGTH, Statement, words
from collectors.views.latchname import LATCHES, numbers_of
from rules.cause import Cause, Releases
from rules.cause import catalogue as causes
from tests.collectors.shipped_sql import (
    CONTAINER,
    MADE_BY_US,
    RELEASES,
    VERSIONS,
    catalogue,
    columns_of,
    mistakes,
    releases_of,
)
from tests.collectors.sqlplus.sqlplus_standin import parsed

CONFIRMING = {
    cause.id: {release: (cause.confirm.text(release), cause.confirm.naming(release)) for release in releases_of(cause)}
    for cause in causes().values()
    if cause.confirm
}
"""Each cause's confirming query, and the query that names rows, for each of its releases."""


@pytest.mark.parametrize("one", collectors().values())
def test_poll_statements_fit_the_releases_they_are_sent_to(one: Collector) -> None:
    sent = {release: sql for release in RELEASES if (sql := text_for(one.statements, release))}
    wrong = {release: mistakes(sql, release, polled=not one.on_request) for release, sql in sent.items()}
    assert wrong and not any(wrong.values()), wrong


@pytest.mark.parametrize("group", groups())
def test_statements_of_groups_fit_the_releases_they_are_sent_to(group: str) -> None:
    sent = {release: groups()[group].text(release) for release in RELEASES}
    assert {release: wrong for release, text in sent.items() if text and (wrong := mistakes(text.sql, release))} == {}


@pytest.mark.parametrize("cause", CONFIRMING)
def test_confirming_queries_fit_the_releases_of_their_cause(cause: str) -> None:
    assert CONFIRMING[cause]
    for release, (sql, naming) in CONFIRMING[cause].items():
        assert sql is not None, release
        assert mistakes(sql, release, polled=False) == [], release
        assert mistakes(limited(sql, release), release, polled=False) == [], f"{release}, as it is sent"
        assert len(parsed(sql).assert_is(sqlglot.exp.Query).selects) == 1, "a confirming query returns one number"
        if naming is not None:
            assert mistakes(naming, release, polled=False) == [], release
            assert mistakes(limited(naming, rows=MOST_NAMES), release, polled=False) == [], f"{release}, as it is sent"
            assert 1 < len(parsed(naming).assert_is(sqlglot.exp.Query).selects) <= 6
            assert " order by " in naming, "the first five of what?"


def test_confirming_queries_are_all_proven() -> None:
    proven = {text for texts in CONFIRMING.values() for both in texts.values() for text in both if text}
    queries = [cause.confirm for cause in causes().values() if cause.confirm]
    written = [texts for query in queries for texts in (query.sql, query.names) if texts]
    assert {text for texts in written for text in ([texts] if isinstance(texts, str) else texts.values())} == proven


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        (None, None, RELEASES),
        ("12.1", "12.1", ("12.1",)),
        ("11.2.0.1", "11.2.0.3", ("11.2",)),
        ("11.2.0.4", "12.1.0.1", ("11.2", "12.1")),
        ("19", "19.7", ("19",)),
        ("12.2", None, ("12.2", "18", "19", "21", "23")),
        ("10.2.0.4", "11.1.0.7", ("11.2",)),
    ],
)
def test_releases_of_lists_those_of_a_cause(since: str | None, until: str | None, expected: tuple[str, ...]) -> None:
    cause: Cause = next(iter(causes().values())).model_copy(update={"releases": Releases(since=since, until=until)})
    assert releases_of(cause) == expected


@pytest.mark.parametrize("release", RELEASES)
def test_statements_on_demand_fit_every_release_and_are_bounded(release: str) -> None:
    alone = blockers.ELSEWHERE.replace("inst_id as instance", "sid as instance").replace("inst_id = ", "sid = ")
    for text in (holders.STATEMENT, blockers.COORDINATOR, alone.replace("gv$session", "v$session")):
        assert mistakes(text, release, polled=False) == []
    assert mistakes(holders.STATEMENT, release) == ["v$latchholder is never polled"]
    assert mistakes(blockers.ELSEWHERE, release) == ["gv$session starts parallel slaves on every instance"]
    assert "/* latchscope v$latchholder */" in holders.STATEMENT and "/* latchscope gv$session */" in blockers.ELSEWHERE
    assert re.search(r"inst_id = :instance\s+and \(sid = :sid or .*\)\s+and rownum <= 9$", blockers.ELSEWHERE)
    assert re.search(r"sid = :sid\s+and rownum <= 1$", blockers.COORDINATOR)


NOT_FETCHED = {"v$rowcache": {"scans", "scanmisses", "scancompletes", "flushes", "dlm_releases"}}
"""Columns that reports and captures of older releases have, and that no verdict reads."""


@pytest.mark.parametrize("collector", collectors().values())
def test_statements_name_the_declared_columns(collector: Collector) -> None:
    declared = {column.name for column in collector.columns}
    ours = MADE_BY_US.get(collector.view, frozenset())
    named = {release: _names(sql) for release, sql in collector.statements.items()}
    assert all(len(names) == len(set(names)) for names in named.values())
    assert set().union(*named.values()) == declared - ours - NOT_FETCHED.get(collector.view, set()), (
        "declared and never read, or read and never declared"
    )
    always = set.intersection(*map(set, named.values()))
    assert set(collector.key) - ours - CONTAINER <= always, "a key that some releases do not have"
    assert ours <= set(collector.key)


def _names(sql: str) -> list[str]:
    return [
        one.alias_or_name.lower() for one in sqlglot.parse_one(sql, read="oracle").assert_is(sqlglot.exp.Query).selects
    ]


def opened(one: Collector) -> str:
    """The view that the grant of a collector opens. PUBLIC may read what needs none."""
    return one.granted_on.removeprefix("sys.").replace("v_$", "v$") or {"sys_context": "dual"}.get(one.view, one.view)


@pytest.mark.parametrize("collector", collectors().values())
def test_statements_carry_our_mark_and_read_what_their_grant_opens(collector: Collector) -> None:
    for sql in collector.statements.values():
        assert f"/* latchscope {collector.view} */" in sql
        tables = {table.name.lower() for table in sqlglot.parse_one(sql, read="oracle").find_all(sqlglot.exp.Table)}
        own = {opened(collector), opened(collector).replace("dba_", "cdb_")}
        assert tables & own and tables <= own | ({"v$session"} if collector.on_request else set())


EVERY = pytest.mark.parametrize("one", collectors().values())


@EVERY
def test_newer_release_reads_at_least_what_an_older_one_does(one: Collector) -> None:
    in_order = [set(_names(one.statements[release])) for release in sorted(one.statements, key=parts)]
    assert all(older <= newer for older, newer in pairwise(in_order))


@EVERY
def test_binds_of_a_statement_match_those_of_its_collector(one: Collector) -> None:
    asked = {bind for statement in one.statements.values() for bind in re.findall(r"(?<!')\B:([a-z]\w*)", statement)}
    assert bool(asked) is (one.binds is not None)


@EVERY
def test_collector_says_what_it_is_and_what_is_lost_without_it(one: Collector) -> None:
    assert one.about and one.without
    assert all(column.about for column in one.columns)
    assert one.granted_on.startswith("sys.") or one.view in ("sys_context", "all_users")


@EVERY
def test_number_columns_have_units_and_key_columns_have_none(one: Collector) -> None:
    for column in one.columns:
        if column.kind in (ColumnKind.COUNTER, ColumnKind.GAUGE):
            assert column.unit, f"{one.view} {column.name}"
        elif column.kind is ColumnKind.KEY:
            assert not column.unit, f"{one.view} {column.name}"


UNITS = {
    ("v$latch", "wait_time"): "us",
    ("v$latch_children", "wait_time"): "us",
    ("v$system_event", "time_waited_micro"): "us",
    ("v$sys_time_model", "value"): "us",
    ("v$instance", "uptime_seconds"): "s",
    ("v$rowcache", "usage"): "entries",
}


def test_units_are_those_oracle_documents() -> None:
    assert {(view, name): collectors()[view].column(name).unit for view, name in UNITS} == UNITS


def test_rows_are_told_apart_where_names_repeat_and_start_at_zero_where_they_appear_on_first_use() -> None:
    assert collectors()["v$rowcache"].key == collectors()["x$kqrst"].key == ("cache#", "type", "subordinate#")
    views = ("v$latch", "v$latch_children", "v$rowcache", "v$sysstat", "v$sys_time_model")
    found = {view for view in ("v$latch_misses", "v$system_event", *views) if collectors()[view].starts_at_zero}
    assert found == {"v$latch_misses", "v$system_event"}


def test_latch_number_is_found_by_name() -> None:
    rows = Rows("v$latchname", ({"latch#": 280, "name": "row cache objects"},))
    assert numbers_of("v$latch", {"v$latchname": rows}) == {**dict.fromkeys(LATCHES, -1), "latch": 280}


@pytest.mark.parametrize("kind", KINDS)
def test_grants_are_on_the_views_the_statements_read(kind: DatabaseKind) -> None:
    text = grants_script("LATCHSCOPE", kind)
    granted = {name.lower().replace("v_$", "v$") for name in re.findall(r"(?:on sys\.|object\(')([\w$]+)", text, re.I)}
    wanted = {opened(one) for one in collectors().values() if one.granted_on and one.view != "x$kqrst"}
    granted = {name.replace("cdb_", "dba_") for name in granted}
    assert granted - {"latchscope_kqrst"} == wanted | set(ON_REQUEST)
    for columns in re.findall(r"as select (.+?) from x\$kqrst", text):
        assert set(columns.split(", ")) <= columns_of("x$kqrst", "11.2")
    assert ("latchscope_kqrst" in granted) == (kind in ("11.2", "cdb", "standby"))


def test_catalogue_is_in_order_and_without_repeats() -> None:
    for view, releases in catalogue().items():
        assert list(releases) == sorted(releases, key=parts), view
        listed = [column for columns in releases.values() for column in columns]
        assert len(listed) == len(set(listed)), f"{view} has a column twice"
        assert set(releases) <= set(RELEASES), view


PLANTED = {
    "select gets, mises from v$latch": ("11.2", "MISES"),
    "select gets, fastgets from v$rowcache": ("11.2", "FASTGETS"),
    "select name from v$latch where con_id = 0": ("11.2", "CON_ID"),
    "select gets from v$latch where latch# in (select latch# from v$latchname where type = 'SGA')": ("12.1", "TYPE"),
    "select gets from gv$latch": ("19", "gv$latch"),
    "select sample_time from v$active_session_history": ("19", "licensed"),
    "select cache_name from v$rowcache_parent": ("19", "never polled"),
    "select gets from v$latch_children": ("11.2", "latch#"),
    "select event from v$made_up": ("19", "not in the catalogue"),
    "select maxconcurrency from v$undostat order by begin_time desc fetch first 6 rows only": ("11.2", "fetch first"),
    "select * from v$latch": ("19", "all columns"),
    "select x.n from (select * from v$latchname) x": ("19", "all columns"),
    "select * from (select gets from v$latch), v$latchname": ("19", "all columns"),
    "select count(*) from v$pdbs": ("11.2", "not in the catalogue"),
    "select gets from v$latch; select gets from v$latch": ("19", "one SELECT"),
    "alter system flush shared_pool": ("19", "one SELECT"),
    "select gets from v$latch for update": ("19", "locks"),
    "select where from v$latch_misses": ("11.2", "parse"),
}


@pytest.mark.parametrize("sql", PLANTED)
def test_mistakes_catches_planted_errors(sql: str) -> None:
    release, expected = PLANTED[sql]
    found = mistakes(sql, release)
    assert any(expected.lower() in one.lower() for one in found), found


@pytest.mark.parametrize("release", RELEASES)
def test_mistakes_finds_nothing_in_ordinary_texts(release: str) -> None:
    for sql in (
        'select "WHERE", sleep_count from v$latch_misses',
        "select sysdate, systimestamp, count(*) from v$latch where rownum <= 6",
        "select x.n from (select max(gets) as n from v$latch) x",
        "select l.gets from v$latch_children l, v$latchname n where l.latch# = n.latch# and l.latch# = :latch",
        "select count(*) from sys.latchscope_kqrst where kqrstcln = 1",
        "select * from (select max(gets) from v$latch) where rownum <= 1",
    ):
        assert mistakes(sql, release) == []


# The bill of the collectors: complete without being written down, and each statement of it described.


@pytest.mark.parametrize("version", [version for patched in VERSIONS.values() for version in patched])
def test_list_has_every_text_that_a_poll_sends_to_a_release(version: str) -> None:
    sent = {text_for(one.statements, version) for one in collectors().values()} - {None}
    together = {text.sql for group in groups().values() if (text := group.text(version))}
    assert sent | together <= texts() and sent and together


def test_list_has_the_texts_for_the_names_of_older_grants() -> None:
    older = [one for one in collectors().values() if one.formerly]
    assert older
    for one in older:
        assert {under_older_name(one, text_for(one.statements, None) or "")} <= texts()


def test_list_has_every_marked_text_that_a_module_of_ondemand_holds() -> None:
    """A text beside those that the module declares would be refused the first time it is needed: in a hang."""
    marked = {
        value: f"{module.name}.{name}"
        for module in pkgutil.iter_modules(ondemand.__path__, f"{ondemand.__name__}.")
        for name, value in vars(importlib.import_module(module.name)).items()
        if isinstance(value, str) and re.match(r"\s*select /\* latchscope ", value)
    }
    assert len(marked) >= 4
    assert [where for text, where in marked.items() if text not in texts()] == [], "declare it in STATEMENTS"


def test_statement_joins_the_list_by_being_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    new = Statement("look", "v$new", "select /* latchscope v$new */ a from v$new", "why", "when", "once")
    monkeypatch.setattr("collectors.ondemand.sampling.STATEMENTS", (new,), raising=False)
    statements.cache_clear()
    try:
        assert new in statements()
    finally:
        monkeypatch.undo()
        statements.cache_clear()
    assert new not in statements()


@pytest.mark.parametrize("one", statements())
def test_each_statement_is_described_and_hashed_apart(one: Statement) -> None:
    assert one.why and one.when and one.how_often and one.releases
    assert one.deadline_seconds == (3.0 if of_look(one.text) else 5.0)
    assert [other.name for other in statements() if other.hash == one.hash] == [one.name]


def test_text_of_the_driver_at_login_is_not_accepted_from_a_session() -> None:
    login = Statement("login", "the driver", "alter session set x = 1", "why", "when", "once")
    assert accepted([login, statements()[0]]) == {statements()[0].text}


def test_spans_say_which_releases_a_text_is_for() -> None:
    assert spans(["11.2"]) == {"11.2": "11.2 and later"}
    assert spans(["18", "11.2"]) == {"11.2": "11.2 to below 18", "18": "18 and later"}


# What the bill says of a statement: its hash and SQL_ID, what it reads, its binds and its row limit.


def statement(text: str) -> Statement:
    return Statement("poll", "test", text, "why", "when", "how often")


@pytest.mark.parametrize(
    ("text", "sql_id"),
    [
        ("select * from dual", "a5ks9fhw2v9s1"),
        ("select 1 from dual", "520mkxqpf15q8"),
        ("SELECT 1 FROM DUAL", "bunvx480ynf57"),
        ("select sysdate from dual", "7h35uxf5uhmm1"),
    ],
)
def test_sql_id_is_the_one_that_oracle_gives(text: str, sql_id: str) -> None:
    """Published many times, in reports and in v$sql of many databases."""
    assert statement(text).sql_id == sql_id


def test_hash_is_the_beginning_of_what_sha256sum_prints() -> None:
    one = statement("select * from dual")
    assert one.digest == "1fa2ed16cda82320d39c519b15d665543aa1a2fa29f0c0890c36dc388295222f"
    assert one.hash == one.digest[:HASH_LENGTH] and len(one.hash) == HASH_LENGTH
    assert one.hash != statement("select * from dual ").hash


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("select 1 from dual", ("dual",)),
        ("select (select count(*) from v$sql) from dual, v$x l where l.name = 'from v$y'", ("v$sql", "dual", "v$x")),
        ("select a from (select b from v$x union all select c from v$x) q, v$session", ("v$x", "v$session")),
        (
            "select a from v$latch join v$session on a = b where (c, d) in (select e, f from Sys.X)",
            ("v$latch", "v$session", "sys.x"),
        ),
        ("select a, b from v$latch group by a, b order by a, b", ("v$latch",)),
        ("with q as (select a from v$latch) select a from q", ("v$latch",)),
        ("select /* from x */ a -- from y\n from v$latch", ("v$latch",)),
        ("alter session set time_zone='+00:00'", ()),
    ],
)
def test_reads_names_every_view_once(text: str, reads: tuple[str, ...]) -> None:
    assert statement(text).reads == reads


def test_binds_are_the_names_behind_colons_outside_of_literals() -> None:
    assert statement("select ':no' from v$latch where latch# = :latch and :latch > :least").binds == ("latch", "least")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("select a from v$latch where rownum <= 20", 20),
        ("select a from (select b from v$latch where rownum <= 20)", None),
        ("select a from (select b from v$latch) where c = 1 and rownum <= 5", 5),
        ("select a from v$latch", None),
    ],
)
def test_row_limit_is_that_of_the_whole_statement(text: str, rows: int | None) -> None:
    assert statement(text).most_rows == rows


def test_words_leave_out_comments_and_keep_literals() -> None:
    assert words("SELECT /* x */ 'It''s' FROM V$Latch -- y") == ["select", "'It''s'", "from", "v$latch"]
