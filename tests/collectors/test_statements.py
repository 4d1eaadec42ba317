"""Every SQL text we ship, held against what each release's views have; and planted errors, so that the net is seen to catch."""

import re

import pytest
import sqlglot

from collectors.grants import script
from collectors.model import Collector
from collectors.registry import collectors
from collectors.release import parts, text_for
from rules.catalogue import catalogue as causes
from tests.collectors.shipped_sql import RELEASES, catalogue, columns_of, mistakes

CONFIRMING = {cause.id: cause.confirm.sql for cause in causes().values() if cause.confirm}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("view", collectors())
def test_every_poll_statement_fits_the_release_it_is_sent_to(view: str, release: str) -> None:
    statement = text_for(collectors()[view].statements, release)
    assert statement is None or mistakes(statement, release) == []


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("cause", CONFIRMING)
def test_every_confirming_query_fits_every_release(cause: str, release: str) -> None:
    sql = CONFIRMING[cause]
    assert mistakes(sql, release, polled=False) == []
    assert len(sqlglot.parse_one(sql, read="oracle").selects) == 1, "a confirming query returns one number"


@pytest.mark.parametrize("collector", collectors().values(), ids=list(collectors()))
def test_statements_name_the_declared_columns(collector: Collector) -> None:
    declared = {column.name for column in collector.columns}
    named = {release: _names(sql) for release, sql in collector.statements.items()}
    assert all(len(names) == len(set(names)) for names in named.values())
    assert set().union(*named.values()) == declared, "declared and never asked for, or the other way round"
    assert set(collector.key) <= set.intersection(*map(set, named.values())), "a key that some release does not give"


def _names(sql: str) -> list[str]:
    return [one.alias_or_name.lower() for one in sqlglot.parse_one(sql, read="oracle").selects]


@pytest.mark.parametrize("collector", collectors().values(), ids=list(collectors()))
def test_statements_carry_our_mark_and_the_view_they_are_named_for(collector: Collector) -> None:
    for sql in collector.statements.values():
        assert f"/* latchscope {collector.view} */" in sql
        tables = {table.name.lower() for table in sqlglot.parse_one(sql, read="oracle").find_all(sqlglot.exp.Table)}
        assert tables == {{"x$kqrst": "x_$kqrst", "sys_context": "dual"}.get(collector.view, collector.view)}


@pytest.mark.parametrize("kind", ["11.2", "cdb", "rds"])
def test_grants_are_on_the_views_the_statements_read(kind: str) -> None:
    text = script("LATCHSCOPE", kind)  # type: ignore[arg-type]
    granted = {name.lower().replace("v_$", "v$") for name in re.findall(r"(?:on sys\.|object\(')([\w$]+)", text, re.I)}
    wanted = {view for view, one in collectors().items() if one.granted_on} - {"x$kqrst"}
    assert granted - {"x_$kqrst"} == wanted
    for columns in re.findall(r"as select (.+?) from x\$kqrst", text):
        assert set(columns.split(", ")) <= columns_of("x$kqrst", "11.2")
    assert ("x_$kqrst" in granted) == (kind != "rds")


def test_the_catalogue_is_whole() -> None:
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
    "select gets from v$latch; select gets from v$latch": ("19", "one SELECT"),
    "delete from v$latch": ("19", "one SELECT"),
    "alter system flush shared_pool": ("19", "one SELECT"),
    "select gets from v$latch for update": ("19", "locks"),
    "select gets form v$latch where": ("19", "parse"),
    "select where from v$latch_misses": ("11.2", "parse"),
}


@pytest.mark.parametrize("sql", PLANTED)
def test_planted_errors_are_caught(sql: str) -> None:
    release, expected = PLANTED[sql]
    found = mistakes(sql, release)
    assert any(expected.lower() in one.lower() for one in found), found


@pytest.mark.parametrize("release", RELEASES)
def test_ordinary_texts_are_not_caught(release: str) -> None:
    for sql in (
        'select "WHERE", sleep_count from v$latch_misses',
        "select sysdate, systimestamp, count(*) from v$latch where rownum <= 6",
        "select x.n from (select max(gets) as n from v$latch) x",
        "select l.gets from v$latch_children l, v$latchname n where l.latch# = n.latch# and l.latch# = :latch",
        "select count(*) from sys.x_$kqrst where kqrstcln = 1",
    ):
        assert mistakes(sql, release) == []
