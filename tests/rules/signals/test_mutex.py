"""Signals of waits and waiters: too few waiters, no looks, locations by function, mutexes as a whole."""

from collections.abc import Sequence
from typing import Any

import pytest

from collectors.model import ROW_CACHE_LOCK_EVENT, ROW_CACHE_MUTEX_EVENT, Row
from rules.context import Known, SignalValue, Unknown
from rules.signals import SIGNALS, Subject, share_of_waiters
from tests.rules.contexts import context_of
from tests.rules.rich import RICH, waiters

UNDO = Subject(("dc_rollback_segments",))
OF_WAITERS = {
    "share_of_mutex_waiters": ROW_CACHE_MUTEX_EVENT,
    "hottest_cache_share_of_mutex_waiters": ROW_CACHE_MUTEX_EVENT,
    "share_of_lock_waiters": ROW_CACHE_LOCK_EVENT,
    "exclusive_share_of_lock_waiters": ROW_CACHE_LOCK_EVENT,
}


def read(name: str, subject: Subject = UNDO, **changed: Sequence[Row]) -> SignalValue:
    views: dict[str, Any] = {**RICH, **{f"v${view}": rows for view, rows in changed.items()}}
    return SIGNALS[name].read(context_of(views), subject)


def why(reading: SignalValue) -> str:
    assert isinstance(reading, Unknown), reading
    return reading.why


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


def test_share_of_lock_waiters_ignores_waiters_of_another_event() -> None:
    mutexes_only = waiters(ROW_CACHE_MUTEX_EVENT, {3: 30})
    assert why(read("share_of_lock_waiters", session=mutexes_only)).startswith("too few waiters: 0 seen")


def test_waiter_shares_count_the_caches_of_the_cause_and_the_modes() -> None:
    crowd = waiters(ROW_CACHE_LOCK_EVENT, {3: 2, 10: 18}, exclusive=4)
    assert read("share_of_lock_waiters", session=crowd) == Known(0.1, "2 of 20 waiters")
    assert read("share_of_lock_waiters", Subject(("dc_users",)), session=crowd) == Known(0.9, "18 of 20 waiters")
    assert read("exclusive_share_of_lock_waiters", session=crowd) == Known(0.2, "4 of 20 waiters")


def test_two_caches_in_trouble_are_each_the_whole_of_what_the_other_leaves_over() -> None:
    crowd = waiters(ROW_CACHE_LOCK_EVENT, {3: 8, 10: 11, 0: 1})
    assert read("share_of_lock_waiters", session=crowd) == Known(8 / 9, "8 of 9 waiters, beside 11 for dc_users")
    users = read("share_of_lock_waiters", Subject(("dc_users",)), session=crowd)
    assert users == Known(11 / 12, "11 of 12 waiters, beside 8 for dc_rollback_segments")
    tablespaces = read("share_of_lock_waiters", Subject(("dc_tablespaces",)), session=crowd)
    assert tablespaces == Known(0.05, "1 of 20 waiters")


def test_share_of_mutex_waiters_counts_a_nameless_cache_in_the_total_only() -> None:
    crowd = waiters(ROW_CACHE_MUTEX_EVENT, {3: 5, 99: 5})
    assert read("share_of_mutex_waiters", session=crowd) == Known(0.5, "5 of 10 waiters")


def test_share_of_mutex_sleeps_ignores_the_number_of_a_location() -> None:
    rows: list[Row] = [{"location": "[13] kqreqd", "sleeps": 60}, {"location": "[10] kqreqd", "sleeps": 40}]
    assert read("share_of_mutex_sleeps", Subject(location="kqreqd"), mutex_sleep=rows) == Known(1.0, "100 of 100")
    assert read("share_of_mutex_sleeps", Subject(location="kqrpre"), mutex_sleep=rows) == Known(0.0, "0 of 100")


def test_mutex_signals_of_a_view_without_rows_count_zero_sleeps() -> None:
    assert "too few events: 0 sleeps" in why(read("share_of_mutex_sleeps", mutex_sleep=[]))
    sleeps = read("row_cache_mutex_sleeps", mutex_sleep=[])
    assert isinstance(sleeps, Known)
    assert sleeps.value == 0
    assert "too few events: 0 sleeps" in why(read("average_mutex_sleep", mutex_sleep=[]))


@pytest.mark.parametrize(("sleeps", "known"), [(9, False), (10, True)])
def test_average_mutex_sleep_needs_ten_sleeps(sleeps: int, known: bool) -> None:
    rows: list[Row] = [{"location": "[19] kqrpre", "sleeps": sleeps, "wait_time": 200_000}]
    assert isinstance(read("average_mutex_sleep", mutex_sleep=rows), Known) is known


def test_average_mutex_sleep_is_unknown_without_a_wait_time() -> None:
    rows: list[Row] = [{"location": "[19] kqrpre", "sleeps": 500}]
    assert why(read("average_mutex_sleep", mutex_sleep=rows)) == "v$mutex_sleep has no wait_time here"


def test_average_lock_wait_leaves_background_processes_out_where_they_are_told_apart() -> None:
    row: Row = {"event": ROW_CACHE_LOCK_EVENT, "total_waits": 510, "time_waited_micro": 50_500_000}
    own: Row = {"total_waits_fg": 500, "time_waited_micro_fg": 500_000}
    assert read("average_lock_wait", system_event=[{**row, **own}]) == Known(1.0, "0.50 s in 500 waits", 500.0, 500.0)
    half: Row = {**row, "time_waited_micro_fg": 500_000}
    whole = read("average_lock_wait", system_event=[half])
    assert isinstance(whole, Known) and whole.derivation == "50.50 s in 510 waits"


def test_average_lock_wait_is_unknown_with_nine_waits() -> None:
    rows: list[Row] = [{"event": ROW_CACHE_LOCK_EVENT, "total_waits": 9, "time_waited_micro": 500_000}]
    assert "too few events: 9 waits" in why(read("average_lock_wait", system_event=rows))
    assert read("average_lock_wait", system_event=[{**rows[0], "total_waits": 500}]) == Known(
        1.0, "0.50 s in 500 waits"
    )
