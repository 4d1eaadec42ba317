"""Caches, places and work of two sides: which ones appear, and which are missing."""

import pytest

from collectors.model import ROW_CACHE_LATCH, Row
from rules.comparison.figures import ComparedSides
from rules.comparison.traffic import cache_changes, location_changes, places, top_cache, work_changes, work_per_second
from rules.context import SignalContext
from tests.each import each
from tests.rules.contexts import SICK, TOTALS, context_of, with_rows
from tests.rules.printed import scripted
from tests.rules.rich import RICH


def test_cache_changes_list_caches_busiest_first_without_tiny_ones() -> None:
    tiny: Row = {"cache#": 46, "type": "PARENT", "parameter": "outstanding_alerts", "gets": 9, "modifications": 9}
    pair = ComparedSides(context_of(with_rows("v$rowcache", *SICK["v$rowcache"], tiny)), context_of())
    assert list(dict.fromkeys(one.of for one in cache_changes(pair))) == [
        "dc_rollback_segments",
        "dc_tablespaces",
        "dc_users",
    ]


def test_cache_changes_join_a_parent_and_its_subordinates_by_name() -> None:
    pair = ComparedSides(context_of(), context_of())
    users = next(one for one in cache_changes(pair) if one.of == "dc_users")
    assert users.counted_before == 1_000


@each(
    ("before", "after", "title", "counted"),
    [
        ({"gets": 14_426}, {"gets": 953, "fastgets": 13_473}, "look-ups in dc_users", (14_426, 14_426)),
        ({"gets": 900, "fastgets": 100}, {"gets": 953, "fastgets": 13_473}, "look-ups in dc_users", (1_000, 14_426)),
        ({"gets": 14_426}, {"gets": 953}, "look-ups in dc_users", (14_426, None)),
        ({"gets": 900, "modifications": 1}, {"gets": 953}, "gets of dc_users", (900, 953)),
    ],
)
def test_gets_are_compared_where_both_sides_count_them_alike_else_lookups(
    before: Row, after: Row, title: str, counted: tuple[float, float | None]
) -> None:
    old = "12.1.0.2.0" if before == {"gets": 14_426} else "19.0.0.0.0"
    sides = ((before, old), (after, "19.0.0.0.0"))
    users: Row = {"cache#": 10, "type": "PARENT", "parameter": "dc_users"}
    pair = ComparedSides(
        *(context_of(with_rows("v$rowcache", {**users, **row}), release=release) for row, release in sides)
    )
    gets = next(change for change in cache_changes(pair) if change.name == "cache_gets")
    assert (gets.title, gets.counted_before, gets.counted_after) == (title, *counted)


def test_location_changes_of_the_latch_count_an_unlisted_location_as_zero() -> None:
    other = [row for row in SICK["v$latch_misses"] if row["location"] != "kqreqd"]
    pair = ComparedSides(context_of(), context_of(with_rows("v$latch_misses", *other)))
    told = {one.of: one for one in location_changes(pair)}
    assert list(told) == ["kqrpre: find obj", "kqreqd: reget", "kqreqd"]
    assert (told["kqreqd"].counted_before, told["kqreqd"].counted_after) == (40, 0)
    assert told["kqrpre: find obj"].counted_before == 850


def test_places_of_mutexes_are_grouped_by_function_ignoring_their_numbers() -> None:
    rows: list[Row] = [
        {"mutex_type": "Row Cache", "location": "[19] kqrpre", "sleeps": 300},
        {"mutex_type": "Row Cache", "location": "[13] kqreqd", "sleeps": 100},
        {"mutex_type": "Row Cache", "location": "[10] kqreqd", "sleeps": 20},
    ]
    assert places(context_of({"v$mutex_sleep": rows}), "mutex") == {"kqrpre": 300, "kqreqd": 120}
    assert places(context_of({}), "mutex") is None
    assert places(context_of({"v$mutex_sleep": []}), "mutex") == {}
    broken: Row = {"parent_name": ROW_CACHE_LATCH, "location": "kqreqd"}
    assert places(context_of({"v$latch_misses": [broken]}), "latch") is None


def test_location_changes_are_unknown_on_a_side_without_the_view() -> None:
    told = list(location_changes(ComparedSides(context_of(), context_of(refused=["v$latch_misses"]))))
    assert {one.verdict for one in told} == {"cannot tell"}
    assert {one.counted_after for one in told} == {None}


def test_location_changes_between_a_latch_and_a_mutex_side_are_empty() -> None:
    pair = ComparedSides(context_of(), SignalContext(scripted("users-mutex", 30.0)))
    assert list(location_changes(pair)) == []


def test_work_is_per_second_and_unknown_for_totals() -> None:
    rich = context_of(RICH)
    assert work_per_second(rich) == pytest.approx(
        {"executions": 4_000 / 30, "hard_parses": 20, "logons": 2, "db_time": 100 / 30}
    )
    assert work_per_second(context_of(RICH, basis=TOTALS)) == {}
    told = {one.name: one for one in work_changes(ComparedSides(rich, rich))}
    assert told["executions"].unit == "per second"
    assert told["transactions"].why.startswith("not known before: v$sysstat has no user commits and user rollbacks")


def test_top_cache_has_a_name_and_a_share() -> None:
    assert top_cache(context_of()) == ("dc_rollback_segments", 0.6)
    assert top_cache(context_of({})) is None
