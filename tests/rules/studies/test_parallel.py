"""One worker against many: Amdahl's law backwards, published figures, and rows that are others added."""

import math
import random

import pytest

from rules.contention.holds import timed_poll_seconds
from rules.studies.parallel import parallel_study, timer_study
from rules.studies.table import BadStudy
from tests.paths import TABLES


def amdahl(workers: int, serial: float) -> float:
    return 1 / (serial + (1 - serial) / workers)


def test_serial_share_follows_amdahl_and_one_worker_has_none() -> None:
    lines = [f"{n},1000,{1000 / amdahl(n, serial)}" for n, serial in ((4, 0.25), (64, 0.1), (2, 0.5))]
    found = parallel_study("\n".join(["workers,before,after", *lines]), "t.csv").rows
    assert [row.serial_share for row in found] == pytest.approx([0.25, 0.1, 0.5])
    assert [row.limit for row in found] == pytest.approx([4, 10, 2])
    one, fast = parallel_study("workers,before,after\n1,10,9\n2,10,4\n", "t.csv").rows
    assert one.serial_share is None and one.limit is None
    assert fast.serial_share is not None and fast.serial_share < 0 and fast.limit is None


@pytest.mark.parametrize(
    ("published", "agrees"), [("6", True), ("5.7", True), ("5.66", True), ("5.6", False), ("5", False)]
)
def test_published_speed_up_agrees_where_it_is_the_computed_one_rounded(published: str, agrees: bool) -> None:
    study = parallel_study(f"workers,before,after,speedup\n32,1386,245,{published}\n32,10,5,2\n", "t.csv")
    assert study.rows[0].agrees is agrees


def test_row_that_is_two_others_added_is_told_once() -> None:
    text = "name,workers,before,after\nwhole,8,30,9\ncreate,8,10,4\ndestroy,8,20,5\nelse,4,10,4\n"
    (found,) = parallel_study(text, "t.csv").sums
    assert (found.whole, found.parts) == ("whole", ("create", "destroy"))


def test_mean_of_speed_ups_is_geometric_and_processors_are_told_from_workers() -> None:
    assert parallel_study("n,before,after\n2,8,4\n2,32,4\n", "t.csv").mean_speed_up == pytest.approx(4.0)
    assert parallel_study("cpus,before,after\n2,8,4\n4,8,4\n", "t.csv").workers_are_cpus
    assert not parallel_study("workers,cpus,before,after\n2,9,8,4\n4,9,8,4\n", "t.csv").workers_are_cpus


def test_time_or_granularity_of_zero_is_refused() -> None:
    with pytest.raises(BadStudy, match=r"t\.csv line 3, after: 0 is less than"):
        parallel_study("workers,before,after\n2,8,4\n2,8,0\n", "t.csv")
    with pytest.raises(BadStudy, match="the granularity must be more than 0"):
        timer_study(granularity=0.0, need=0.001, before=0.01)


def test_every_published_vmtasks_speed_up_follows_from_the_times() -> None:
    study = parallel_study((TABLES / "vmtasks.csv").read_text(encoding="utf-8"), "vmtasks.csv")
    told = [row for row in study.rows if row.published is not None]
    assert [row.published for row in told] == [6, 7, 6, 11, 11, 6, 7, 8, 14]
    assert [round(row.speed_up) for row in told] == [row.published for row in told]
    assert all(row.agrees for row in told)
    assert [(each.whole, each.parts) for each in study.sums] == [
        ("ISM, T4-2", ("ISM create, T4-2", "ISM destroy, T4-2"))
    ]


def test_finer_timer_sleeps_the_need_and_a_coarse_one_the_tick() -> None:
    study = timer_study(granularity=0.001, need=0.001, before=0.010)
    assert study.before.mean_sleep_seconds == pytest.approx(0.0100005, rel=1e-4)
    assert study.after.mean_sleep_seconds == pytest.approx(0.00158, rel=2e-3)
    assert study.posted_factor == 1.0
    assert timed_poll_seconds(1e-9, 0.001) == pytest.approx(0.001, rel=1e-5)
    assert timed_poll_seconds(1.0, 0.001) == pytest.approx(1.0, rel=1e-5)
    study = timer_study(granularity=0.003, need=0.010, before=0.010)
    assert study.after.constant_need_seconds == pytest.approx(0.012)
    assert study.before.constant_need_seconds == pytest.approx(0.010)
    assert timer_study(0.0001, 0.0003, 0.01).after.constant_need_seconds == pytest.approx(0.0003)


@pytest.mark.parametrize(("granularity", "need"), [(1.0, 1.0), (0.3, 1.0), (4.0, 1.0)])
def test_mean_sleep_is_that_of_a_simulated_poll(granularity: float, need: float) -> None:
    draw = random.Random(7)
    slept = [math.ceil(draw.expovariate(1 / need) / granularity) * granularity for _ in range(20_000)]
    assert sum(slept) / len(slept) == pytest.approx(timed_poll_seconds(granularity, need), rel=0.02)


def test_curve_holds_both_granularities_and_never_falls() -> None:
    study = timer_study(granularity=0.0007, need=0.001, before=0.025)
    assert {0.0007, 0.025} <= {point.granularity_seconds for point in study.curve}
    slept = [point.mean_sleep_seconds for point in study.curve]
    assert slept == sorted(slept)
