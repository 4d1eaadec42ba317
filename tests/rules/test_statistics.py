"""Latch statistics against the worked numbers of published measurements and reports."""

from dataclasses import fields

import pytest

from rules.model import Known, Unknown
from rules.statistics import LatchStatistics, collision_correction, latch_statistics, ratio, share
from tests.each import each

# name: seconds, gets, misses, sleeps, wait µs → rho, kappa, W (s/s), average wait (µs); gets follow from the rate.
WORKED = {
    "result cache, T2, 8 processes": (57.29, 69_820, 0.304, 1.65e-5, 5.2e-5, 149),
    "result cache, T2, 12 processes": (59.30, 101_180, 0.503, 4.06e-4, 1.0e-3, 48.9),
    "result cache, i7, 6 processes": (6.23, 481_541, 0.173, 2.1e-5, 2.9e-5, 16),
    "result cache, i7, 12 processes": (10.21, 587_661, 0.622, 4.9e-5, 1.2e-2, 674),
    "11.2.0.4 RAC report": (2_220, 20_462, 0.0029, 0.0036, 0.0005, 2_000),
    "12.1.0.2 report": (3_614, 92_226, 0.0039, 0.0012, 0.0036, 9_000),
    "12.1.0.2 collapse": (3_689, 19_673, 0.0052, 0.067, 1.45, 210_000),
}

LACKING = Unknown("v$latch", "refused", "grant it")


@each("name", WORKED)
def test_latch_statistics_match_the_worked_numbers(name: str) -> None:
    seconds, rate, rho, kappa, wait, average = WORKED[name]
    gets = rate * seconds
    row = {"gets": gets, "misses": gets * rho, "sleeps": gets * rho * kappa, "wait_time": gets * rho * kappa * average}
    got = latch_statistics(row, seconds)
    assert got.gets_per_second == pytest.approx(rate)
    assert got.miss_ratio == pytest.approx(rho)
    assert got.sleep_ratio == pytest.approx(kappa)
    assert got.sleeping_sessions == pytest.approx(wait, rel=0.15)  # the source gives one or two digits
    assert got.wait_seconds_per_sleep == pytest.approx(average / 1e6)
    assert got.hold_seconds == pytest.approx(rho / rate)


@each(
    ("name", "microseconds"),
    [
        ("result cache, T2, 8 processes", 4.4),
        ("result cache, T2, 12 processes", 5.0),
        ("result cache, i7, 6 processes", 0.36),
        ("result cache, i7, 12 processes", 1.06),
    ],
)
def test_hold_seconds_match_the_published_measurements(name: str, microseconds: float) -> None:
    seconds, rate, rho, *_ = WORKED[name]
    got = latch_statistics({"gets": rate * seconds, "misses": rate * seconds * rho}, seconds)
    assert got.hold_seconds is not None
    assert got.hold_seconds * 1e6 == pytest.approx(microseconds, rel=0.02)


def test_latch_statistics_match_the_parse_heavy_public_report() -> None:
    """awr-12.1.0.2: 333,340,108 gets, 1,283,882 misses, 1,488 sleeps, 1,282,460 spin gets in 3,614 s."""
    row = {"gets": 333_340_108, "misses": 1_283_882, "sleeps": 1_488, "spin_gets": 1_282_460}
    got = latch_statistics(row, 3_614)
    assert got.recurrent_sleep_ratio == pytest.approx(0.044, abs=0.001)
    assert got.spin_ratio == pytest.approx(0.9989, abs=0.0001)
    assert got.spin_inefficiency == pytest.approx(0.00116, abs=0.00001)


def test_collision_correction_excludes_the_requester_itself() -> None:
    assert collision_correction(8) == pytest.approx(8 / 7)
    assert [collision_correction(cpus) for cpus in (1, 0, None)] == [1.0, 1.0, 1.0]
    got = latch_statistics({"gets": 100, "misses": 35}, 10, cpus=8)
    assert got.utilisation == pytest.approx(0.4)
    assert got.hold_seconds == pytest.approx(0.04)


def test_wait_seconds_are_given_per_get_and_per_sleep() -> None:
    got = latch_statistics({"gets": 1_000, "misses": 100, "sleeps": 50, "wait_time": 2_000_000}, 4)
    assert (got.wait_seconds_per_get, got.wait_seconds_per_sleep, got.sleeping_sessions) == (0.002, 0.04, 0.5)


def test_latch_statistics_of_totals_give_ratios_and_no_rate() -> None:
    row = {"gets": 1_000, "misses": 100, "sleeps": 50, "spin_gets": 60, "wait_time": 10}
    got = latch_statistics(row, None)
    assert (got.miss_ratio, got.sleep_ratio, got.spin_ratio) == (0.1, 0.5, 0.6)
    assert (got.gets_per_second, got.hold_seconds, got.sleeping_sessions) == (None, None, None)


def test_latch_statistics_are_not_clamped() -> None:
    got = latch_statistics({"gets": 10, "misses": 10, "sleeps": 30, "spin_gets": 12}, 1)
    assert got.sleep_ratio == 3
    assert got.spin_ratio == 1.2
    assert got.recurrent_sleep_ratio == pytest.approx(3.2 / 3)


@pytest.mark.parametrize("row", [{}, {"gets": 0, "misses": 0, "sleeps": 0, "spin_gets": 0, "wait_time": 0}])
def test_latch_statistics_without_events_are_none(row: dict[str, int]) -> None:
    got = latch_statistics(row, 0)
    derived = {field.name for field in fields(LatchStatistics)} - {"gets", "misses", "sleeps"}
    assert {name: getattr(got, name) for name in derived} == dict.fromkeys(derived)


def test_ratio_is_none_for_unknown_parts_or_a_zero_divisor() -> None:
    assert (ratio(1, 4), ratio(None, 4), ratio(1, None), ratio(1, 0), ratio(0, 4)) == (0.25, None, None, None, 0)


def test_share_of_known_numbers_says_what_it_comes_from() -> None:
    assert share(Known(1_000), Known(4_000)) == Known(0.25, "1,000 of 4,000")


def test_share_with_an_unknown_part_or_whole_is_unknown() -> None:
    assert share(LACKING, Known(1)) is LACKING
    assert share(Known(1), LACKING) is LACKING
