"""Latch statistics by their published formulas, and latch figures where mutexes guard the row cache."""

from dataclasses import fields

import pytest

from collectors.model import Delta, Row
from rules.context import SignalContext
from rules.latch import (
    LatchStatistics,
    latch_statistics,
    misplaced_latch_wait,
    misplaced_notes,
    misplaced_sleeps,
    ratio,
)
from tests.rules.contexts import delta_of

# name: seconds, gets, misses, sleeps, wait µs → rho, kappa, W (s/s), average wait (µs), published hold (µs); gets follow.
WORKED = {
    "result cache, T2, 8 processes": (57.29, 69_820, 0.304, 1.65e-5, 5.2e-5, 149, 4.4),
    "result cache, T2, 12 processes": (59.30, 101_180, 0.503, 4.06e-4, 1.0e-3, 48.9, 5.0),
    "result cache, i7, 6 processes": (6.23, 481_541, 0.173, 2.1e-5, 2.9e-5, 16, 0.36),
    "result cache, i7, 12 processes": (10.21, 587_661, 0.622, 4.9e-5, 1.2e-2, 674, 1.06),
    "11.2.0.4 RAC report": (2_220, 20_462, 0.0029, 0.0036, 0.0005, 2_000, None),
    "12.1.0.2 report": (3_614, 92_226, 0.0039, 0.0012, 0.0036, 9_000, None),
    "12.1.0.2 collapse": (3_689, 19_673, 0.0052, 0.067, 1.45, 210_000, None),
}


@pytest.mark.parametrize("name", WORKED)
def test_latch_statistics_match_the_worked_numbers(name: str) -> None:
    seconds, rate, rho, kappa, _, average, hold = WORKED[name]
    gets = rate * seconds
    row = {"gets": gets, "misses": gets * rho, "sleeps": gets * rho * kappa, "wait_time": gets * rho * kappa * average}
    got = latch_statistics(row, seconds)
    assert got.gets_per_second == pytest.approx(rate)
    assert got.miss_ratio == pytest.approx(rho)
    assert got.sleep_ratio == pytest.approx(kappa)
    assert got.wait_seconds_per_sleep == pytest.approx(average / 1e6)
    assert got.hold_seconds == pytest.approx(rho / rate)
    assert hold is None or got.hold_seconds == pytest.approx(hold / 1e6, rel=0.02)


def test_latch_statistics_match_the_parse_heavy_public_report() -> None:
    """awr-12.1.0.2: 333,340,108 gets, 1,283,882 misses, 1,488 sleeps, 1,282,460 spin gets in 3,614 s."""
    row = {"gets": 333_340_108, "misses": 1_283_882, "sleeps": 1_488, "spin_gets": 1_282_460}
    got = latch_statistics(row, 3_614)
    assert got.recurrent_sleep_ratio == pytest.approx(0.044, abs=0.001)
    assert got.spin_ratio == pytest.approx(0.9989, abs=0.0001)


def test_collision_correction_excludes_the_requester_itself() -> None:
    row = {"gets": 100, "misses": 35}
    assert [latch_statistics(row, 10, cpus).utilisation for cpus in (1, 0, None)] == [0.35] * 3
    got = latch_statistics(row, 10, cpus=8)
    assert got.utilisation == pytest.approx(0.4)
    assert got.hold_seconds == pytest.approx(0.04)


def test_latch_statistics_give_waits_per_sleep_of_totals_ratios_and_no_rate_and_clamp_nothing() -> None:
    got = latch_statistics({"gets": 1_000, "misses": 100, "sleeps": 50, "wait_time": 2_000_000}, 4)
    assert got.wait_seconds_per_sleep == 0.04
    row = {"gets": 1_000, "misses": 100, "sleeps": 50, "spin_gets": 60, "wait_time": 10}
    got = latch_statistics(row, None)
    assert (got.miss_ratio, got.sleep_ratio, got.spin_ratio) == (0.1, 0.5, 0.6)
    assert (got.gets_per_second, got.hold_seconds) == (None, None)
    got = latch_statistics({"gets": 10, "misses": 10, "sleeps": 30, "spin_gets": 12}, 1)
    assert got.sleep_ratio == 3
    assert got.spin_ratio == 1.2
    assert got.recurrent_sleep_ratio == pytest.approx(3.2 / 3)


@pytest.mark.parametrize("row", [{}, {"gets": 0, "misses": 0, "sleeps": 0, "spin_gets": 0, "wait_time": 0}])
def test_latch_statistics_without_events_are_none(row: dict[str, int]) -> None:
    got = latch_statistics(row, 0)
    derived = {field.name for field in fields(LatchStatistics)} - {"gets", "misses", "sleeps"}
    assert {name: getattr(got, name) for name in derived} == dict.fromkeys(derived)


def test_ratio_is_known_only_with_both_parts() -> None:
    assert (ratio(1, 4), ratio(None, 4), ratio(1, None), ratio(1, 0), ratio(0, 4)) == (0.25, None, None, None, 0)


def nineteen(waited: int | None = None, sleeps: int = 0, db_time: int | None = 10_000_000) -> Delta:
    events: list[Row] = [] if waited is None else [{"event": "latch: row cache objects", "time_waited_micro": waited}]
    time: list[Row] = [] if db_time is None else [{"stat_name": "DB time", "value": db_time}]
    children: list[Row] = [{"child#": 1, "sleeps": sleeps}, {"child#": 2, "sleeps": None}]
    return delta_of({"v$system_event": events, "v$sys_time_model": time, "v$latch_children": children})


@pytest.mark.parametrize(
    ("waited", "db_time", "doubted"),
    [
        (4_700_000, 10_000_000, True),
        (400_000, 100_000_000, False),
        (None, 10_000_000, False),
        (4_700_000, None, True),
        (900_000, None, False),
    ],
)
def test_wait_is_doubted_where_it_costs_something(waited: int | None, db_time: int | None, doubted: bool) -> None:
    delta = nineteen(waited, db_time=db_time)
    seconds = SignalContext(delta).finished_seconds("latch: row cache objects")
    assert (misplaced_latch_wait(delta, "mutex", seconds) is not None) is doubted
    assert misplaced_latch_wait(delta, "latch", seconds) is None
    assert misplaced_latch_wait(delta, None, seconds) is None


def test_sleeps_are_ignored_aloud_and_once() -> None:
    (ignored,) = misplaced_notes(nineteen(sleeps=7_000), "mutex", 0.0)
    assert ignored.startswith("7,000 sleeps on the latch row cache objects are ignored")
    (doubted,) = misplaced_notes(nineteen(4_700_000, sleeps=7_000), "mutex", 4.7)
    assert doubted.startswith("latch: row cache objects takes 47.0 % of DB time, which should not be")
    (timeless,) = misplaced_notes(nineteen(4_700_000, db_time=None), "mutex", 4.7)
    assert timeless.startswith("latch: row cache objects keeps 0.16 sessions waiting, which should not be")
    assert misplaced_notes(nineteen(), "mutex", None) == ()
    assert misplaced_notes(nineteen(4_700_000, sleeps=7_000), "latch", 4.7) == ()
    assert misplaced_sleeps(nineteen(sleeps=7_000), "latch") == 0
