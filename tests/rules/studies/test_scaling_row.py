"""A line of a scaling table: hold, utilisation and spinning, recovered from the counters of a known latch."""

import pytest

from rules.contention.queueing import latch_state
from rules.studies.scaling_row import COLUMNS, ScalingRow, scaling_row
from rules.studies.table import rows

HOLD, THINK = 2e-6, 20e-6
HEADER = "processes,throughput,gets,misses,sleeps,wait_us,spin_gets,seconds,work_per_process"


def made(*lines: str) -> list[ScalingRow]:
    first, *others = rows("\n".join([HEADER, *lines]), "t.csv", COLUMNS)
    return [scaling_row(row, first) for row in (first, *others)]


def counted(processes: int, wait_us: int = 0) -> str:
    """Ten seconds of a latch whose hold and think time are known; a get is a unit of work."""
    state = latch_state(processes, HOLD / THINK)
    gets = float(state.held[0]) / HOLD * 10
    return f"{processes},{gets / 10},{gets},{gets * float(state.miss_ratio[0])},0,{wait_us},,10,"


def test_hold_and_what_follows_are_found_again_at_every_number_of_processes() -> None:
    alone, *others = made(*(counted(n) for n in (1, 2, 4, 8)))
    assert alone.hold_us is None and alone.utilisation is None and alone.spinning is None
    assert [row.hold_us for row in others] == pytest.approx([2.0] * 3, rel=1e-3)
    assert [row.saturation for row in others] == pytest.approx([11.0] * 3, rel=1e-3)
    assert others[-1].utilisation == pytest.approx(float(latch_state(8, 0.1).held[0]), rel=1e-3)


def test_processes_think_hold_spin_or_sleep_and_do_nothing_else() -> None:
    for row, n in zip(made(*(counted(n) for n in (1, 2, 8)))[1:], (2, 8), strict=True):
        assert row.spinning is not None and row.utilisation is not None
        thinking = row.throughput * THINK / n
        assert thinking + row.utilisation / n + row.spinning == pytest.approx(1.0, rel=1e-4)


def test_time_asleep_is_no_time_spent_spinning() -> None:
    (_, awake), (_, asleep) = made(counted(1), counted(8)), made(counted(1), counted(8, wait_us=40_000))
    assert asleep.asleep == pytest.approx(0.04 / 80) and awake.asleep == 0
    assert asleep.spinning is not None and awake.spinning is not None
    assert awake.spinning - asleep.spinning == pytest.approx(0.04 / 80)


def test_spinning_is_not_told_where_much_of_the_wait_is_slept() -> None:
    assert made(counted(1), counted(8, wait_us=4_000_000))[1].spinning is None


def test_seconds_follow_from_work_and_throughput_where_they_are_not_told() -> None:
    _, row = made("1,100,10,0,0,,,,5000", "2,200,10,0,0,,,,5000")
    assert row.seconds == pytest.approx(50.0)
    assert made("1,100,10,0,0,,,,", "2,200,10,0,0,,,,")[1].seconds is None


def test_spin_gets_tell_the_spin_efficiency_and_sleeps_only_its_bound() -> None:
    told = made("1,9,9,0,0,,,,", "2,9,1000,400,100,,290,,", "4,9,1000,400,100,,,,", "8,9,1000,400,900,,,,")
    assert [row.spin_efficiency for row in told] == [None, pytest.approx(0.725), pytest.approx(0.75), 0.0]


def test_more_misses_than_one_latch_can_make_tell_no_hold() -> None:
    assert made(counted(1), "2,1000,10000,10000,0,0,,10,")[1].hold_us is None
