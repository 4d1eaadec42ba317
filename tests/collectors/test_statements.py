"""Every SQL text that we ship, checked against the views of each release. Planted errors prove that the check catches them."""

import re

import pytest
import sqlglot

from collectors.grants import KINDS, ON_REQUEST, DatabaseKind, grants_script
from collectors.model import Collector
from collectors.ondemand import blockers, holders
from collectors.ondemand.check import MOST_NAMES, limited
from collectors.registry import collectors, groups
from collectors.release import parts, text_for
from rules.cause import Cause, Releases
from rules.cause import catalogue as causes
from tests.collectors.shipped_sql import CONTAINER, MADE_BY_US, RELEASES, catalogue, columns_of, mistakes, releases_of
from tests.collectors.sqlplus.sqlplus_standin import parsed

CONFIRMING = {
    cause.id: {release: (cause.confirm.text(release), cause.confirm.naming(release)) for release in releases_of(cause)}
    for cause in causes().values()
    if cause.confirm
}
"""Each cause's confirming query, and the query that names rows, for each of its releases."""


@pytest.mark.parametrize("view", collectors())
def test_poll_statements_fit_the_releases_they_are_sent_to(view: str) -> None:
    polled = not collectors()[view].on_request
    sent = {release: text_for(collectors()[view].statements, release) for release in RELEASES}
    assert any(sent.values())
    assert {
        release: wrong for release, sql in sent.items() if sql and (wrong := mistakes(sql, release, polled=polled))
    } == {}


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
def test_holders_statement_fits_every_release(release: str) -> None:
    assert mistakes(holders.STATEMENT, release, polled=False) == []
    assert "/* latchscope v$latchholder */" in holders.STATEMENT
    assert mistakes(holders.STATEMENT, release) == ["v$latchholder is never polled"]


@pytest.mark.parametrize("release", RELEASES)
def test_statement_for_a_session_elsewhere_fits_and_is_bounded_to_it(release: str) -> None:
    alone = blockers.ELSEWHERE.replace("inst_id as instance", "sid as instance").replace("inst_id = ", "sid = ")
    assert mistakes(alone.replace("gv$session", "v$session"), release, polled=False) == []
    assert mistakes(blockers.ELSEWHERE, release) == ["gv$session starts parallel slaves on every instance"]
    assert "/* latchscope gv$session */" in blockers.ELSEWHERE
    assert re.search(r"inst_id = :instance\s+and sid = :sid\s+and rownum <= 1$", blockers.ELSEWHERE)


@pytest.mark.parametrize("release", RELEASES)
def test_statement_for_a_coordinator_fits_and_is_bounded_to_it(release: str) -> None:
    assert mistakes(blockers.COORDINATOR, release, polled=False) == []
    assert re.search(r"sid = :sid\s+and rownum <= 1$", blockers.COORDINATOR)


@pytest.mark.parametrize("collector", collectors().values())
def test_statements_name_the_declared_columns(collector: Collector) -> None:
    declared = {column.name for column in collector.columns}
    ours = MADE_BY_US.get(collector.view, frozenset())
    named = {release: _names(sql) for release, sql in collector.statements.items()}
    assert all(len(names) == len(set(names)) for names in named.values())
    assert set().union(*named.values()) == declared - ours, "declared and never read, or read and never declared"
    always = set.intersection(*map(set, named.values()))
    assert set(collector.key) - ours - CONTAINER <= always, "a key that some releases do not have"
    assert ours <= set(collector.key)


def _names(sql: str) -> list[str]:
    return [
        one.alias_or_name.lower() for one in sqlglot.parse_one(sql, read="oracle").assert_is(sqlglot.exp.Query).selects
    ]


READ_FROM = {
    "x$kqrst": "latchscope_kqrst",
    "sys_context": "dual",
    "v$parameter": "v$system_parameter",
    "waiting_sessions": "v$session",
    "row_cache_blockers": "v$rowcache_parent",
    "library_cache_waiters": "v$session",
    "library_cache_sessions": "v$session",
    "chain_sessions": "v$session",
    "running_jobs": "dba_scheduler_running_jobs",
    "jobs_begun": "dba_scheduler_running_jobs",
    "dba_objects": "dba_objects",
    "dba_optstat_operations": "dba_optstat_operations",
    "dba_scheduler_job_run_details": "dba_scheduler_job_run_details",
    "dba_scheduler_window_log": "dba_scheduler_window_log",
    "patches_applied": "dba_registry_sqlpatch",
    "dba_registry_sqlpatch": "dba_registry_sqlpatch",
}
"""Collectors whose name differs from the view that they read."""


@pytest.mark.parametrize("collector", collectors().values())
def test_statements_carry_our_mark_and_read_the_view_they_are_named_for(collector: Collector) -> None:
    for sql in collector.statements.values():
        assert f"/* latchscope {collector.view} */" in sql
        tables = {table.name.lower() for table in sqlglot.parse_one(sql, read="oracle").find_all(sqlglot.exp.Table)}
        own = {READ_FROM.get(collector.view, collector.view), READ_FROM.get(collector.view, "").replace("dba_", "cdb_")}
        assert tables & own and tables <= own | ({"v$session"} if collector.on_request else set())


@pytest.mark.parametrize("kind", KINDS)
def test_grants_are_on_the_views_the_statements_read(kind: DatabaseKind) -> None:
    text = grants_script("LATCHSCOPE", kind)
    granted = {name.lower().replace("v_$", "v$") for name in re.findall(r"(?:on sys\.|object\(')([\w$]+)", text, re.I)}
    wanted = {view for view, one in collectors().items() if one.granted_on} - {
        "x$kqrst",
        "waiting_sessions",
        "library_cache_waiters",
        "library_cache_sessions",
        "chain_sessions",
    }
    wanted = {READ_FROM.get(view, view) for view in wanted}
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
    "select l.gets, l.fastgetz from v$rowcache l": ("19", "FASTGETZ"),
    "select gets, fastgets from v$rowcache": ("11.2", "FASTGETS"),
    "select version_full from v$instance": ("12.2", "VERSION_FULL"),
    "select name from v$latch where con_id = 0": ("11.2", "CON_ID"),
    "select gets from v$latch where latch# in (select latch# from v$latchname where type = 'SGA')": ("12.1", "TYPE"),
    "select name from v$latch order by wait_time_micro": ("19", "WAIT_TIME_MICRO"),
    "select gets from gv$latch": ("19", "gv$latch"),
    "select sample_time from v$active_session_history": ("19", "licensed"),
    "select sleeps from dba_hist_latch": ("19", "licensed"),
    "select cache_name from v$rowcache_parent": ("19", "never polled"),
    "select count(*) from dba_rollback_segs": ("19", "never polled"),
    "select kqrstcln from x$kqrst": ("11.2", "never polled"),
    "select gets from v$latch_children": ("11.2", "latch#"),
    "select gets from v$latch_children where child# = :child": ("11.2", "latch#"),
    "select event from v$event_histogram_micro": ("12.1", "not in the catalogue"),
    "select event from v$made_up": ("19", "not in the catalogue"),
    "select maxconcurrency from v$undostat order by begin_time desc fetch first 6 rows only": ("11.2", "fetch first"),
    "select * from v$latch": ("19", "all columns"),
    "select l.* from v$latch l": ("19", "all columns"),
    "select * from v$latch where gets > (select count(*) from v$latchname)": ("19", "all columns"),
    "select x.n from (select * from v$latchname) x": ("19", "all columns"),
    "select * from (select gets from v$latch), v$latchname": ("19", "all columns"),
    "select count(*) from v$pdbs": ("11.2", "not in the catalogue"),
    "select con_id from v$sgastat": ("11.2", "CON_ID"),
    "select gets from v$latch; select gets from v$latch": ("19", "one SELECT"),
    "delete from v$latch": ("19", "one SELECT"),
    "alter system flush shared_pool": ("19", "one SELECT"),
    "select gets from v$latch for update": ("19", "locks"),
    "select gets form v$latch where": ("19", "parse"),
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
