"""Signals of the surroundings: the result cache latch, other latches, the shared pool, settings, and rates of work."""

from collections.abc import Sequence
from typing import Any

import pytest

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LATCH, Row
from rules.context import Known, SignalValue, Unknown
from rules.signals import SIGNALS, Subject
from tests.rules.contexts import TOTALS, context_of
from tests.rules.rich import RICH

UNDO = Subject(("dc_rollback_segments",))


def read(
    name: str, subject: Subject = UNDO, context: dict[str, Any] | None = None, **changed: Sequence[Row]
) -> SignalValue:
    views: dict[str, Any] = {**RICH, **{f"v${view}": rows for view, rows in changed.items()}}
    return SIGNALS[name].read(context_of(views, **(context or {})), subject)


def why(reading: SignalValue) -> str:
    assert isinstance(reading, Unknown), reading
    return reading.why


def result_cache(**figures: int) -> list[Row]:
    return [{"name": RESULT_CACHE_LATCH, **figures}]


@pytest.mark.parametrize(
    ("name", "few", "enough"),
    [
        ("result_cache_miss_ratio", {"gets": 9_999, "misses": 5}, {"gets": 10_000, "misses": 5}),
        ("result_cache_sleeps_per_miss", {"misses": 99, "sleeps": 5}, {"misses": 100, "sleeps": 5}),
        ("average_result_cache_sleep", {"sleeps": 99, "wait_time": 5}, {"sleeps": 100, "wait_time": 5}),
    ],
)
def test_result_cache_ratios_need_enough_events(name: str, few: dict[str, int], enough: dict[str, int]) -> None:
    assert "too few events" in why(read(name, latch=result_cache(**few)))
    assert isinstance(read(name, latch=result_cache(**enough)), Known)


def test_result_cache_signals_are_unknown_when_the_latch_was_not_read() -> None:
    only_row_cache: list[Row] = [{"name": ROW_CACHE_LATCH, "sleeps": 1_000, "wait_time": 2_000_000}]
    for name in ("result_cache_sleeps", "result_cache_share_of_db_time", "average_result_cache_sleep"):
        assert why(read(name, latch=only_row_cache)).startswith("v$latch has no")


def test_share_of_result_cache_holders_needs_a_hundred_sleeps() -> None:
    rows: list[Row] = [{"parent_name": RESULT_CACHE_LATCH, "location": "x", "sleep_count": 99}]
    assert "too few events" in why(read("share_of_result_cache_holders", Subject(location="x"), latch_misses=rows))
    rows = [{"parent_name": RESULT_CACHE_LATCH, "location": "x", "sleep_count": 100}]
    assert read("share_of_result_cache_holders", Subject(location="x"), latch_misses=rows) == Known(1.0, "100 of 100")


@pytest.mark.parametrize(
    ("sleeps", "wait_time", "slow"),
    [(10, 500_000, 1), (10, 499_000, 0), (9, 900_000, 0), (2_000, 100_000_000, 1), (2_000, 99_000_000, 0)],
)
def test_slow_neighbours_count_from_ten_sleeps_of_fifty_ms(sleeps: int, wait_time: int, slow: int) -> None:
    rows: list[Row] = [{"name": "shared pool", "sleeps": sleeps, "wait_time": wait_time}]
    reading = read("slow_neighbours", latch=rows)
    assert isinstance(reading, Known)
    assert reading.value == slow


def test_slow_neighbours_exclude_the_row_cache_and_the_result_cache() -> None:
    rows: list[Row] = [
        {"name": name, "sleeps": 900, "wait_time": 90_000_000} for name in (ROW_CACHE_LATCH, RESULT_CACHE_LATCH)
    ]
    assert why(read("slow_neighbours", latch=rows)) == "v$latch has no wait_time here"
    both = read("slow_neighbours", latch=[*rows, {**rows[0], "name": "messages"}, {**rows[0], "name": "shared pool"}])
    assert both == Known(2.0, "messages 100 ms, shared pool 100 ms")


def test_shared_pool_shrinks_is_zero_after_growth_or_no_resize() -> None:
    grew: list[Row] = [{"component": "shared pool", "initial_size": 1, "final_size": 2}]
    assert read("shared_pool_shrinks", sga_resize_ops=grew) == Known(0.0)
    assert read("shared_pool_shrinks", sga_resize_ops=[]) == Known(0.0)


def test_overall_getmiss_ratio_needs_enough_gets() -> None:
    rows: list[Row] = [{"parameter": "dc_users", "gets": 9_999, "getmisses": 900}]
    assert "too few events" in why(read("overall_getmiss_ratio", rowcache=rows))


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("TRUE", 1.0),
        ("false", 0.0),
        ("FORCE", 1.0),
        ("MANUAL", 0.0),
        ("FORCE_TEMP", 1.0),
        ("MANUAL_TEMP", 0.0),
        ("11", 11.0),
        ("0.5", 0.5),
    ],
)
def test_parameter_value_is_a_number(value: str, number: float) -> None:
    rows: list[Row] = [{"name": "p", "value": value}]
    assert read("parameter_value", Subject(parameter="p"), parameter=rows) == Known(number, f"p = {value}")


def test_parameter_value_of_text_or_absent_is_unknown_hidden_is_not_set() -> None:
    rows: list[Row] = [{"name": "undo_tablespace", "value": "UNDOTBS1"}]
    assert "is not a number" in why(read("parameter_value", Subject(parameter="undo_tablespace"), parameter=rows))
    assert "has no parameter" in why(read("parameter_value", Subject(parameter="optimizer_adaptive_features")))
    hidden = read("parameter_value", Subject(parameter="_rollback_segment_count"))
    assert hidden == Known(0.0, "_rollback_segment_count is not set")


def test_undo_signals_use_the_newest_ten_minutes_in_any_row_order() -> None:
    rows = list(reversed(RICH["v$undostat"]))
    assert read("tuned_retention_ratio", undostat=rows) == read("tuned_retention_ratio")
    idle = [{**rows[0], "unexpiredblks": 0, "expiredblks": 0}]
    assert isinstance(read("unexpired_share_of_undo", undostat=idle), Unknown)


@pytest.mark.parametrize("name", ["logons_per_second", "hard_parses_per_second", "commits_per_second"])
def test_rates_are_unknown_for_totals_of_unknown_age(name: str) -> None:
    assert "give no rate" in why(read(name, context={"basis": TOTALS}))


@pytest.mark.parametrize("name", ["lookups_per_logon", "lookups_per_commit", "gets_per_parse", "hard_share_of_parses"])
def test_ratios_per_work_are_unknown_when_no_work_was_done(name: str) -> None:
    idle = [{**row, "value": 0} for row in RICH["v$sysstat"]]
    assert isinstance(read(name, sysstat=idle), Unknown)


def test_shares_need_enough_modifications_or_cluster_requests() -> None:
    rows = [{**row, "modifications": 4, "dlm_requests": 4} for row in RICH["v$rowcache"]]
    assert "too few events: 16 modifications" in why(read("share_of_modifications", rowcache=rows))
    assert "too few events: 4 cluster lock requests" in why(read("cluster_conflict_ratio", rowcache=rows))


def test_cluster_conflict_ratio_is_zero_for_a_single_instance() -> None:
    alone = read("cluster_conflict_ratio", instance=[{"instance_number": 1, "parallel": "NO"}])
    assert alone == Known(0.0, "a single instance, no cluster")


def test_evenness_of_lookups_is_zero_without_gets() -> None:
    idle = [{**row, "gets": 0} for row in RICH["v$rowcache"]]
    assert read("evenness_of_lookups", Subject(("dc_users", "dc_tablespaces")), rowcache=idle) == Known(
        0.0, "no look-ups"
    )


def test_share_of_changing_holders_sums_locations_that_change_entries() -> None:
    rows: list[Row] = [
        {"parent_name": ROW_CACHE_LATCH, "location": place, "sleep_count": slept}
        for place, slept in (("kqrpup", 30), ("kqrcmt: while loop", 20), ("kqrpfl: not dirty", 50), ("kqreqd", 100))
    ]
    reading = read("share_of_changing_holders", latch_misses=rows)
    assert isinstance(reading, Known)
    assert reading.value == pytest.approx(0.5)
    few = [{**row, "sleep_count": 1} for row in rows]
    assert "too few events" in why(read("share_of_changing_holders", latch_misses=few))
    assert "too few events" in why(read("evenness_of_holders", latch_misses=few))


def test_evenness_of_holders_is_the_least_of_three_locations() -> None:
    rows: list[Row] = [
        {"parent_name": ROW_CACHE_LATCH, "location": place, "sleep_count": slept}
        for place, slept in (("kqrpre: find obj", 400), ("kqreqd: reget", 310), ("kqreqd", 290))
    ]
    reading = read("evenness_of_holders", latch_misses=rows)
    assert isinstance(reading, Known)
    assert reading.value == pytest.approx(0.29)
