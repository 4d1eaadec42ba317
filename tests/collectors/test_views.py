"""Every collector of collectors/views: its statements, its columns, and its texts."""

import re
from itertools import pairwise

import pytest

from collectors.model import Collector, ColumnKind, Rows
from collectors.registry import collectors, marker
from collectors.release import parts
from collectors.views.latchname import number_of
from tests.collectors.shipped_sql import CONTAINER, MADE_BY_US

EVERY = pytest.mark.parametrize("one", collectors().values())
STATEMENTS = pytest.mark.parametrize(
    ("one", "release"), [(one, release) for one in collectors().values() for release in one.statements]
)


def selected(statement: str) -> list[str]:
    """The names of the columns that a statement returns: those of its outermost select list."""
    text = re.sub(r"/\*.*?\*/", "", statement, flags=re.DOTALL).strip()
    depth, start, items, place = 0, len("select"), [], len("select")
    while not (depth == 0 and re.match(r"\sfrom\s", text[place:], re.IGNORECASE)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0 and text[place] == ",":
            items.append(text[start:place])
            start = place + 1
        place += 1
    return [item.split()[-1].lower() for item in [*items, text[start:place]]]


@STATEMENTS
def test_statement_columns_are_all_declared(one: Collector, release: str) -> None:
    names = selected(one.statements[release])
    assert set(names) <= {column.name for column in one.columns}
    assert len(set(names)) == len(names)


@EVERY
def test_declared_columns_are_all_read_on_some_release(one: Collector) -> None:
    read = {name for statement in one.statements.values() for name in selected(statement)}
    assert {column.name for column in one.columns} - MADE_BY_US.get(one.view, frozenset()) == read


@STATEMENTS
def test_key_is_read_on_every_release(one: Collector, release: str) -> None:
    ours = MADE_BY_US.get(one.view, frozenset()) | (CONTAINER if parts(release) < (12,) else frozenset())
    assert set(one.key) - ours <= set(selected(one.statements[release]))


@EVERY
def test_newer_release_reads_at_least_what_an_older_one_does(one: Collector) -> None:
    in_order = [set(selected(one.statements[release])) for release in sorted(one.statements, key=parts)]
    assert all(older <= newer for older, newer in pairwise(in_order))


@STATEMENTS
def test_statement_is_marked_read_only_and_bounded(one: Collector, release: str) -> None:
    statement = one.statements[release].strip().lower()
    assert statement.startswith(f"select {marker(one.view)}")
    assert not re.search(r";|\b(insert|update|delete|merge|for update|fetch first|select \*)\b", statement)
    bare = one.view.replace("v$", "").replace("x$", "")
    assert bare in statement


def test_x_tables_are_read_through_a_view_of_sys() -> None:
    for one in collectors().values():
        for statement in one.statements.values():
            assert not re.search(r"\bfrom\s+x\$", statement, re.IGNORECASE)


@pytest.mark.parametrize("statement", collectors()["v$latch_children"].statements.values())
def test_children_are_always_restricted_by_latch(statement: str) -> None:
    assert re.search(r"where\s+latch# = :latch\s*$", statement.strip())


@EVERY
def test_binds_of_a_statement_match_those_of_its_collector(one: Collector) -> None:
    asked = {bind for statement in one.statements.values() for bind in re.findall(r"(?<!')\B:([a-z]\w*)", statement)}
    assert bool(asked) is (one.binds is not None)


@EVERY
def test_collector_says_what_it_is_and_what_is_lost_without_it(one: Collector) -> None:
    assert one.about and one.without
    assert all(column.about for column in one.columns)
    read_from = {
        "waiting_sessions": "v$session",
        "library_cache_waiters": "v$session",
        "library_cache_sessions": "v$session",
        "row_cache_blockers": "v$rowcache_parent",
        "chain_sessions": "v$session",
        "running_jobs": "dba_scheduler_running_jobs",
        "jobs_begun": "dba_scheduler_running_jobs",
        "patches_applied": "dba_registry_sqlpatch",
        "x$kqrst": "latchscope_kqrst",
        "v$parameter": "v$system_parameter",
    }.get(one.view, one.view)
    own = "" if one.view in ("sys_context", "all_users") else "sys." + read_from.replace("$", "_$", 1)
    assert one.granted_on == own


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


@pytest.mark.parametrize(("where", "unit"), UNITS.items())
def test_units_are_those_oracle_documents(where: tuple[str, str], unit: str) -> None:
    view, name = where
    assert collectors()[view].column(name).unit == unit


def test_v_rowcache_key_tells_rows_apart_where_names_repeat() -> None:
    assert collectors()["v$rowcache"].key == ("cache#", "type", "subordinate#")
    assert collectors()["x$kqrst"].key == ("cache#", "type", "subordinate#")


def test_views_whose_rows_appear_on_first_use_start_at_zero() -> None:
    for view in ("v$latch_misses", "v$system_event"):
        assert collectors()[view].starts_at_zero
    for view in ("v$latch", "v$latch_children", "v$rowcache", "v$sysstat", "v$sys_time_model"):
        assert not collectors()[view].starts_at_zero


def test_latch_number_is_found_by_name() -> None:
    rows = Rows("v$latchname", ({"latch#": 280, "name": "row cache objects"},))
    assert number_of("row cache objects", "v$latch_children", {"v$latchname": rows}) == {"latch": 280}
