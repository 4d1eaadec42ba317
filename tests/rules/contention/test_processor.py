"""Small formulas, by hand."""

from math import exp

import pytest

from rules.contention.holds import times_of
from rules.contention.processor import (
    hidden_spin_seconds,
    hidden_spin_share,
    hold_factor,
    hold_seconds,
    timed_poll_seconds,
)
from rules.contention.queueing import mean_wait
from rules.contention.readings import LatchCounts


def test_hold_follows_from_counters_of_the_processor() -> None:
    assert hold_seconds(3157, 1.0, 3.157e9) == pytest.approx(1e-6)
    assert hold_factor(2.7, 1.35) == 0.5


def test_spins_cost_what_wait_time_does_not_hold() -> None:
    row = LatchCounts(8, 10, gets=1e6, misses=1e5, sleeps=100, spin_gets=99_900, wait_seconds=0.5)
    assert hidden_spin_seconds(row, 2e-6, 33e-6) == pytest.approx(99_900 * 2e-6 + 100 * 33e-6)


def test_poll_of_a_need_of_a_millisecond_takes_ten_or_1_6() -> None:
    assert timed_poll_seconds(10e-3, 1e-3) == pytest.approx(10e-3, rel=1e-3)
    assert timed_poll_seconds(1e-3, 1e-3) == pytest.approx(1e-3 / (1 - exp(-1)))
    assert timed_poll_seconds(1e-3, 1e-3) == pytest.approx(1.582e-3, rel=1e-3)


def test_hidden_spin_of_an_interval_rests_on_the_wait_of_the_queue() -> None:
    row = LatchCounts(8, 10, gets=1e6, misses=2e5, sleeps=1e3, spin_gets=1.99e5)
    low, high = hidden_spin_share(row, (1e-5, 1e-1))
    assert high - low >= 1e3 * (1e-1 - 1e-5) / 10  # each sleep had a full spin before it
    times = times_of(row)
    assert 0 < low < 8 and low <= 1.99e4 * 1e-5 + 1e-3 + 1e-9
    assert mean_wait(8, times.hold / times.think) * times.hold * 1e5 < 8  # a process that waits does no work
