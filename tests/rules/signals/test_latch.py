"""Signals of latches, mutexes and those who wait for them, of the shared pool, settings, and rates of work."""

from collections.abc import Sequence
from typing import Any

import pytest

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LATCH, ROW_CACHE_LOCK_EVENT, ROW_CACHE_MUTEX_EVENT, Row
from rules.context import Known, SignalValue, Unknown
from rules.signals import SIGNALS, Subject
from rules.signals.waiters import share_of_waiters
from tests.rules.contexts import context_of
from tests.rules.rich import RICH, waiters

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


def test_shared_pool_that_grew_or_never_moved_did_not_shrink() -> None:
    grew: list[Row] = [{"component": "shared pool", "initial_size": 1, "final_size": 2}]
    assert read("shared_pool_shrinks", sga_resize_ops=grew) == Known(0.0)
    assert read("shared_pool_shrinks", sga_resize_ops=[]) == Known(0.0)


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


def test_share_of_cluster_requests_needs_enough_of_them() -> None:
    told = why(read("cluster_conflict_ratio", rowcache=[{**row, "dlm_requests": 4} for row in RICH["v$rowcache"]]))
    assert "too few events: 4 cluster lock requests" in told


def test_conflicts_of_a_single_instance_and_evenness_without_gets_are_zero() -> None:
    alone = read("cluster_conflict_ratio", instance=[{"instance_number": 1, "parallel": "NO"}])
    assert alone == Known(0.0, "a single instance, no cluster")
    idle = [{**row, "gets": 0} for row in RICH["v$rowcache"]]
    assert read("evenness_of_lookups", Subject(("dc_users", "dc_tablespaces")), rowcache=idle) == Known(
        0.0, "no look-ups"
    )


def test_evenness_of_holders_is_the_least_of_three_locations() -> None:
    rows: list[Row] = [
        {"parent_name": ROW_CACHE_LATCH, "location": place, "sleep_count": slept}
        for place, slept in (("kqrpre: find obj", 400), ("kqreqd: reget", 310), ("kqreqd", 290))
    ]
    reading = read("evenness_of_holders", latch_misses=rows)
    few = [{**row, "sleep_count": 1} for row in rows]
    assert "too few events" in why(read("evenness_of_holders", latch_misses=few))
    assert isinstance(reading, Known)
    assert reading.value == pytest.approx(0.29)


OF_WAITERS = {
    "share_of_mutex_waiters": ROW_CACHE_MUTEX_EVENT,
    "hottest_cache_share_of_mutex_waiters": ROW_CACHE_MUTEX_EVENT,
    "share_of_lock_waiters": ROW_CACHE_LOCK_EVENT,
    "exclusive_share_of_lock_waiters": ROW_CACHE_LOCK_EVENT,
}


@pytest.mark.parametrize("name", OF_WAITERS)
def test_fewer_than_ten_waiters_count_where_chance_hardly_says_the_same(name: str) -> None:
    event = OF_WAITERS[name]
    if name != "exclusive_share_of_lock_waiters":
        told = why(read(name, session=waiters(event, {3: 6, 10: 3})))
        assert told == f"too few waiters: 9 seen waiting for {event}, at least 10 are needed"
    assert isinstance(read(name, session=waiters(event, {3: 9, 10: 1})), Known)
    assert isinstance(read(name, session=waiters(event, {3: 8, 10: 1})), Known), "1 of 51 times by chance"
    assert why(read(name, session=waiters(event, {3: 2}))).startswith("too few waiters: 2 seen")


def test_very_few_waiters_count_where_all_name_the_cache_and_then_with_a_doubt() -> None:
    four = read("share_of_lock_waiters", session=waiters(ROW_CACHE_LOCK_EVENT, {3: 4}))
    assert isinstance(four, Known) and four.few
    five = read("share_of_lock_waiters", session=waiters(ROW_CACHE_LOCK_EVENT, {3: 5}))
    assert isinstance(five, Known) and not five.few
    for other in ({10: 4}, {3: 3, 10: 1}):
        assert isinstance(read("share_of_lock_waiters", session=waiters(ROW_CACHE_LOCK_EVENT, other)), Unknown)


def test_bound_far_from_half_needs_more_waiters_below_it_and_few_above() -> None:
    assert isinstance(share_of_waiters(0, 5, "e"), Known), "1 of 32 times by chance"
    for none_of in (5, 17, 28):
        assert why(share_of_waiters(0, none_of, "e", bound=0.1)).endswith("at least 50 are needed")
    for own, met in ((0, 29), (3, 50), (3, 6), (3, 3)):
        assert isinstance(share_of_waiters(own, met, "e", bound=0.1), Known), (own, met)
    assert isinstance(share_of_waiters(1, 5, "e", bound=0.1), Unknown)


@pytest.mark.parametrize("name", OF_WAITERS)
def test_waiter_signals_distinguish_empty_looks_from_no_looks(name: str) -> None:
    met_nobody: list[Row] = [{"sample": look, "sid": None} for look in range(1, 11)]
    assert why(read(name, session=met_nobody)).startswith("too few waiters: 0 seen")
    assert why(read(name, session=[])) == "v$session has no such row here"


def test_waiter_shares_count_the_caches_of_the_cause_the_modes_and_the_event() -> None:
    mutexes_only = waiters(ROW_CACHE_MUTEX_EVENT, {3: 30})
    assert why(read("share_of_lock_waiters", session=mutexes_only)).startswith("too few waiters: 0 seen")
    crowd = waiters(ROW_CACHE_LOCK_EVENT, {3: 2, 10: 18}, exclusive=4)
    assert read("share_of_lock_waiters", session=crowd) == Known(0.1, "2 of 20 waiters")
    assert read("share_of_lock_waiters", Subject(("dc_users",)), session=crowd) == Known(0.9, "18 of 20 waiters")
    assert read("exclusive_share_of_lock_waiters", session=crowd) == Known(0.2, "4 of 20 waiters")
    crowd = waiters(ROW_CACHE_MUTEX_EVENT, {3: 5, 99: 5})
    assert read("share_of_mutex_waiters", session=crowd) == Known(0.5, "5 of 10 waiters")


def test_two_caches_in_trouble_are_each_the_whole_of_what_the_other_leaves_over() -> None:
    crowd = waiters(ROW_CACHE_LOCK_EVENT, {3: 8, 10: 11, 0: 1})
    assert read("share_of_lock_waiters", session=crowd) == Known(8 / 9, "8 of 9 waiters that dc_users leaves")
    users = read("share_of_lock_waiters", Subject(("dc_users",)), session=crowd)
    assert users == Known(11 / 12, "11 of 12 waiters that dc_rollback_segments leaves")
    tablespaces = read("share_of_lock_waiters", Subject(("dc_tablespaces",)), session=crowd)
    assert tablespaces == Known(0.05, "1 of 20 waiters")


def test_mutex_sleeps_ignore_the_number_of_a_location_and_are_zero_of_a_view_without_rows() -> None:
    rows: list[Row] = [{"location": "[13] kqreqd", "sleeps": 60}, {"location": "[10] kqreqd", "sleeps": 40}]
    assert read("share_of_mutex_sleeps", Subject(location="kqreqd"), mutex_sleep=rows) == Known(1.0, "100 of 100")
    assert read("share_of_mutex_sleeps", Subject(location="kqrpre"), mutex_sleep=rows) == Known(0.0, "0 of 100")
    assert "too few events: 0 sleeps" in why(read("share_of_mutex_sleeps", mutex_sleep=[]))
    assert "too few events: 0 sleeps" in why(read("average_mutex_sleep", mutex_sleep=[]))


def test_average_lock_wait_is_of_sessions_where_told_apart_and_needs_ten_waits() -> None:
    row: Row = {"event": ROW_CACHE_LOCK_EVENT, "total_waits": 510, "time_waited_micro": 50_500_000}
    own: Row = {"total_waits_fg": 500, "time_waited_micro_fg": 500_000}
    assert read("average_lock_wait", system_event=[{**row, **own}]) == Known(1.0, "0.50 s in 500 waits", 500.0, 500.0)
    half: Row = {**row, "time_waited_micro_fg": 500_000}
    whole = read("average_lock_wait", system_event=[half])
    assert isinstance(whole, Known) and whole.derivation == "50.50 s in 510 waits"
    rows: list[Row] = [{"event": ROW_CACHE_LOCK_EVENT, "total_waits": 9, "time_waited_micro": 500_000}]
    assert "too few events: 9 waits" in why(read("average_lock_wait", system_event=rows))
    assert read("average_lock_wait", system_event=[{**rows[0], "total_waits": 500}]) == Known(
        1.0, "0.50 s in 500 waits"
    )
