"""Waiters on a timer: from one grain to another on the emulated latch."""

from dataclasses import replace

import pytest

from rules.contention.timer import fit_timed, timed_latch
from tests.rules.contention import acceptance
from tests.rules.contention.seeds import emulated


def test_figures_hold_their_bounds() -> None:
    judged = list(acceptance.finer_timer())
    assert judged and [figure for figure in judged if not figure.holds] == []


def test_hold_and_think_are_read_back_near_the_emulated_ones() -> None:
    (settings, row) = next(run for run in emulated("timer-3000", 1) if run[0]["gran_us"] == "1000")
    latch = fit_timed(row, 1e-3)
    assert latch.hold == pytest.approx(float(settings["mean_hold_ns"]) / 1e9, rel=0.2)
    assert latch.think == pytest.approx(3e-6, rel=0.2)
    assert latch.work() == pytest.approx(row.gets_per_second, rel=1e-6)


def test_sleepers_of_no_end_leave_one_process_at_work() -> None:
    rate, missed = timed_latch(8, 1e-6, 3e-6, 0.5, 10.0)
    assert rate == pytest.approx(1 / 4e-6, rel=1e-3) and missed < 1e-4


def test_posted_latch_is_refused() -> None:
    (_, row) = next(run for run in emulated("timer-3000", 1) if run[0]["gran_us"] == "1000")
    with pytest.raises(ValueError, match="no waiter slept twice"):
        fit_timed(replace(row, sleeps=row.misses - (row.spin_gets or 0.0)), 1e-3)
    with pytest.raises(ValueError, match="needs sleeps"):
        fit_timed(replace(row, sleeps=0), 1e-3)


def test_sleeps_shorter_than_the_grain_do_not_end_on_it() -> None:
    (_, row) = next(run for run in emulated("timer-3000", 1) if run[0]["gran_us"] == "1000")
    with pytest.raises(ValueError, match="less than a grain of 10 ms"):
        fit_timed(row, 1e-2)
