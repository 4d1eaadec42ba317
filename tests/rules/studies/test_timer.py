"""The timer study: the formula at its ends, and its result for a simulated poll."""

import math
import random

import pytest

from rules.contention.processor import timed_poll_seconds
from rules.studies.table import BadStudy
from rules.studies.timer import timer_study


def test_finer_timer_of_the_published_case_sleeps_a_sixth() -> None:
    study = timer_study(granularity=0.001, need=0.001, before=0.010)
    assert study.before.mean_sleep_seconds == pytest.approx(0.0100005, rel=1e-4)
    assert study.after.mean_sleep_seconds == pytest.approx(0.00158, rel=2e-3)
    assert study.posted_factor == 1.0


def test_mean_sleep_is_the_need_under_a_fine_timer_and_the_tick_under_a_coarse_one() -> None:
    assert timed_poll_seconds(1e-9, 0.001) == pytest.approx(0.001, rel=1e-5)
    assert timed_poll_seconds(1.0, 0.001) == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize(("granularity", "need"), [(1.0, 1.0), (0.3, 1.0), (4.0, 1.0)])
def test_mean_sleep_is_that_of_a_simulated_poll(granularity: float, need: float) -> None:
    draw = random.Random(7)
    slept = [math.ceil(draw.expovariate(1 / need) / granularity) * granularity for _ in range(20_000)]
    assert sum(slept) / len(slept) == pytest.approx(timed_poll_seconds(granularity, need), rel=0.02)


def test_constant_need_is_rounded_up_to_the_next_tick() -> None:
    study = timer_study(granularity=0.003, need=0.010, before=0.010)
    assert study.after.constant_need_seconds == pytest.approx(0.012)
    assert study.before.constant_need_seconds == pytest.approx(0.010)
    assert timer_study(0.0001, 0.0003, 0.01).after.constant_need_seconds == pytest.approx(0.0003)


def test_curve_holds_both_granularities_and_never_falls() -> None:
    study = timer_study(granularity=0.0007, need=0.001, before=0.025)
    assert {0.0007, 0.025} <= {point.granularity_seconds for point in study.curve}
    slept = [point.mean_sleep_seconds for point in study.curve]
    assert slept == sorted(slept)


def test_nothing_is_no_granularity() -> None:
    with pytest.raises(BadStudy, match="the granularity must be more than 0"):
        timer_study(granularity=0.0, need=0.001, before=0.01)
