"""Caches, places and work of two sides: which are told, and what is not there."""

import pytest

from collectors.model import ROW_CACHE_LATCH, Row
from rules.comparison.figures import ComparedSides
from rules.comparison.traffic import cache_changes, location_changes, places, top_cache, work_changes, work_per_second
from rules.context import SignalContext
from tests.rules.contexts import SICK, TOTALS, context_of, with_rows
from tests.rules.printed import scripted
from tests.rules.rich import RICH


def test_caches_are_told_by_name_the_busiest_first_and_the_tiny_not_at_all() -> None:
    tiny: Row = {"cache#": 46, "type": "PARENT", "parameter": "outstanding_alerts", "gets": 9, "modifications": 9}
    pair = ComparedSides(context_of(with_rows("v$rowcache", *SICK["v$rowcache"], tiny)), context_of())
    assert list(dict.fromkeys(one.of for one in cache_changes(pair))) == [
        "dc_rollback_segments",
        "dc_tablespaces",
        "dc_users",
    ]


def test_a_parent_and_its_subordinates_are_one_name() -> None:
    pair = ComparedSides(context_of(), context_of())
    users = next(one for one in cache_changes(pair) if one.of == "dc_users")
    assert users.counted_before == 1_000


def test_places_are_those_of_the_row_cache_latch_and_one_not_listed_has_none() -> None:
    other = [row for row in SICK["v$latch_misses"] if row["location"] != "kqreqd"]
    pair = ComparedSides(context_of(), context_of(with_rows("v$latch_misses", *other)))
    told = {one.of: one for one in location_changes(pair)}
    assert list(told) == ["kqrpre: find obj", "kqreqd: reget", "kqreqd"]
    assert (told["kqreqd"].counted_before, told["kqreqd"].counted_after) == (40, 0)
    assert told["kqrpre: find obj"].counted_before == 850


def test_mutex_places_go_by_function_as_their_numbers_move() -> None:
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


def test_a_missing_view_of_places_is_unknown_on_its_side() -> None:
    told = list(location_changes(ComparedSides(context_of(), context_of(refused=["v$latch_misses"]))))
    assert {one.verdict for one in told} == {"cannot tell"}
    assert {one.counted_after for one in told} == {None}


def test_mutexes_and_latches_have_no_places_in_common() -> None:
    pair = ComparedSides(context_of(), SignalContext(scripted("users-mutex", 30.0)))
    assert list(location_changes(pair)) == []


def test_work_is_per_second_and_of_totals_unknown() -> None:
    rich = context_of(RICH)
    assert work_per_second(rich) == pytest.approx(
        {"executions": 4_000 / 30, "hard_parses": 20, "logons": 2, "db_time": 100 / 30}
    )
    assert work_per_second(context_of(RICH, basis=TOTALS)) == {}
    told = {one.name: one for one in work_changes(ComparedSides(rich, rich))}
    assert told["executions"].unit == "per second"
    assert told["transactions"].why.startswith("not known before: v$sysstat has no user commits and user rollbacks")


def test_the_top_cache_and_its_share() -> None:
    assert top_cache(context_of()) == ("dc_rollback_segments", 0.6)
    assert top_cache(context_of({})) is None
