"""Scaling: recovered hold times, whose curve bends, the verdict, and figures printed for another row."""

from collections.abc import Mapping

import pytest

from rules.contention.queue import latch_state
from rules.studies.scaling import COLUMNS, HeldOut, ScalingRow, ScalingStudy, claim_of, scaling_row, scaling_study
from rules.studies.table import BadStudy, rows
from tests.paths import TABLES

HEADER = "machine,release,processes,throughput,reference,gets,misses,sleeps,wait_us,seconds"


HOLD, THINK = 2e-6, 20e-6


def latch(processes: int, hold: float = HOLD, speed: float = 1.0) -> tuple[float, float]:
    """Gets and misses in ten seconds of a latch whose hold and think time are known; a get is a unit of work."""
    state = latch_state(processes, hold / THINK)
    gets = float(state.held[0]) / hold * 10 * speed
    return gets, gets * float(state.miss_ratio[0])


def lines(machine: str, release: str, sleep_ratio: float = 0.0) -> list[str]:
    """Rows of that latch; a sleep lasts a millisecond."""
    told = []
    for n in (1, 2, 4, 8):
        gets, misses = map(round, latch(n))
        sleeps = round(misses * sleep_ratio)
        alone = 1e5 * n * (1 - 0.05 * (n > 4))
        told.append(f"{machine},{release},{n},{gets / 10},{alone},{gets},{misses},{sleeps},{sleeps * 1000},10")
    return told


def study(*rows: str, claims: tuple[str, ...] = ()) -> ScalingStudy:
    return scaling_study("\n".join([HEADER, *rows]), "t.csv", claims=[claim_of(each) for each in claims])


def test_few_misses_tell_no_hold_and_sleeps_without_time_are_cheap() -> None:
    (group,) = study("m,1,1,100,100,1000,0,0,0,10", "m,1,2,200,200,2000,199,150,10,10").groups
    assert group.rows[-1].hold_us is None
    assert group.verdict == "cannot tell"
    (group,) = study("m,1,1,100,,1000,0,0,0,10", "m,1,2,199,,2000,400,40,100,10").groups
    assert group.verdict == "cheap sleeps"
    assert made(counted(1), "2,1000,10000,10000,0,0,,10,")[1].hold_us is None


@pytest.mark.parametrize(
    ("sleep_ratio", "verdict"), [(0.0, "spin absorbs"), (0.00002, "spin absorbs"), (0.002, "sleeps"), (0.5, "sleeps")]
)
def test_verdict_follows_the_misses_that_become_sleeps(sleep_ratio: float, verdict: str) -> None:
    (group,) = study(*lines("m", "1", sleep_ratio)).groups
    assert group.verdict == verdict


def test_latch_and_machine_bend_apart_and_without_reference_against_linear() -> None:
    rows = [
        f"m,1,{n},{reference * own},{reference},1000,0,0,0,10"
        for n, reference, own in ((1, 100, 1.0), (2, 170, 1.0), (4, 340, 0.8))
    ]
    (group,) = study(*rows).groups
    assert (group.machine_bends_at, group.latch_bends_at) == (2, 4)
    assert group.rows[1].against_reference == pytest.approx(1.0)
    (group,) = study("m,1,1,100,,1000,0,0,0,10", "m,1,2,170,,1000,0,0,0,10").groups
    assert (group.machine_bends_at, group.latch_bends_at) == (None, 2)


def test_releases_are_compared_at_the_most_processes_both_have() -> None:
    rows = [*lines("m", "2"), *lines("m", "1", 0.5)[:3], *lines("o", "1")]
    found = study(*rows).comparisons
    assert [(each.groups, each.processes, each.same_machine) for each in found] == [
        (("m, 2", "m, 1"), 4, True),
        (("m, 2", "o, 1"), 8, False),
    ]
    assert found[0].sleep_ratios == pytest.approx((0.0, 0.5), abs=1e-3)


def test_claim_that_is_the_figures_of_another_row_is_told() -> None:
    rows = lines("m", "1", 0.02)
    (group,) = study(*rows).groups
    last, before = group.rows[-1], group.rows[-2]
    assert last.sleep_ratio is not None
    words = f"{last.miss_ratio * 100:.2f}:{last.sleep_ratio * 100:.3f}"
    (mixed,) = study(*rows, claims=(f"4:{words}",)).mixed
    assert (mixed.claimed_processes, mixed.found_processes) == (4, 8)
    assert mixed.actual_miss_ratio == before.miss_ratio
    assert study(*rows, claims=(f"8:{words}", f"3:{words}", "4:1.00:2.00")).mixed == ()


def test_published_share_of_linear_that_is_wrong_is_told() -> None:
    text = "processes,throughput,gets,misses,sleeps,pct_linear\n1,100,1000,0,0,100\n2,190,2000,0,0,96\n4,360,4000,0,0,90.0\n"
    found = scaling_study(text, "t.csv")
    assert found.checked == 3
    ((processes, published, computed),) = [(slip.processes, slip.published, slip.computed) for slip in found.slips]
    assert (processes, published, computed) == (2, 96, 95)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (("m,1,1,9,9,9,1,1,1,1", "m,1,1,9,9,9,1,1,1,1"), "t.csv has 1 processes twice for m, 1; average repeats"),
        (("m,1,1,9,9,9,1,1,1,1", "m,1,2.5,9,9,9,1,1,1,1"), "t.csv line 3, processes: 2.5 is not a whole number"),
        (
            ("m,1,1,9,9,9,1,1,1,1", "m,1,2,9,9,9,10,1,1,1"),
            "t.csv line 3 has more misses than gets; its counters do not",
        ),
        (("m,1,1,9,9,9,1,1,1,1", "o,1,2,9,9,9,1,1,1,1"), "t.csv has one row for m, 1; measure at two numbers"),
    ],
)
def test_rows_that_make_no_curve_are_refused(rows: tuple[str, ...], told: str) -> None:
    with pytest.raises(BadStudy) as refused:
        study(*rows)
    assert str(refused.value).startswith(told)


def test_result_cache_study_is_reproduced_and_its_mixed_comparison_caught() -> None:
    found = scaling_study((TABLES / "result-cache-scaling.csv").read_text(encoding="utf-8"), "rc.csv")
    assert (found.checked, found.slips) == (64, ())
    by_name = {group.name: group for group in found.groups}
    percents = {}
    for name, processes in (("UltraSPARC T2, 11.2", 12), ("UltraSPARC T2, 11.2", 8), ("Core i7 980X, 11.2", 6)):
        row = by_name[name].at(processes)
        assert row is not None and row.sleep_ratio is not None
        percents[name, processes] = (round(row.miss_ratio * 100, 2), float(f"{row.sleep_ratio * 100:.3g}"))
    assert percents == {
        ("UltraSPARC T2, 11.2", 12): (50.33, 0.0406),
        ("UltraSPARC T2, 11.2", 8): (30.37, 0.00165),
        ("Core i7 980X, 11.2", 6): (17.26, 0.00212),
    }
    assert [group.verdict for group in found.groups] == ["spin absorbs", "spin absorbs", "sleeps"]
    (mixed,) = found.mixed
    assert (mixed.claimed_processes, mixed.found_processes, mixed.group) == (8, 12, "UltraSPARC T2, 11.2")
    assert {each.processes for each in found.comparisons} == {8}


SCALING_ROW_HEADER = "processes,throughput,gets,misses,sleeps,wait_us,spin_gets,seconds,work_per_process"


def made(*lines: str) -> list[ScalingRow]:
    first, *others = rows("\n".join([SCALING_ROW_HEADER, *lines]), "t.csv", COLUMNS)
    return [scaling_row(row, first) for row in (first, *others)]


def counted(processes: int, wait_us: int = 0) -> str:
    gets, misses = latch(processes)
    return f"{processes},{gets / 10},{gets},{misses},0,{wait_us},,10,"


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


def test_time_asleep_is_no_time_spent_spinning_and_much_of_it_hides_the_spin() -> None:
    (_, awake), (_, asleep) = made(counted(1), counted(8)), made(counted(1), counted(8, wait_us=40_000))
    assert asleep.asleep == pytest.approx(0.04 / 80) and awake.asleep == 0
    assert asleep.spinning is not None and awake.spinning is not None
    assert awake.spinning - asleep.spinning == pytest.approx(0.04 / 80)
    assert made(counted(1), counted(8, wait_us=4_000_000))[1].spinning is None


def test_seconds_follow_from_work_and_spin_efficiency_from_spin_gets_or_sleeps_as_a_bound() -> None:
    _, row = made("1,100,10,0,0,,,,5000", "2,200,10,0,0,,,,5000")
    assert row.seconds == pytest.approx(50.0)
    assert made("1,100,10,0,0,,,,", "2,200,10,0,0,,,,")[1].seconds is None
    told = made("1,9,9,0,0,,,,", "2,9,1000,400,100,,290,,", "4,9,1000,400,100,,,,", "8,9,1000,400,900,,,,")
    assert [row.spin_efficiency for row in told] == [None, pytest.approx(0.725), pytest.approx(0.75), 0.0]


SPEED = {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 0.8, 6: 0.7, 8: 0.5}
"""A machine that slows down just where the fitted rows end."""


def check(header: str, processes: Mapping[int, float], hold: float = HOLD) -> HeldOut | None:
    lines = [header]
    for n, speed in processes.items():
        gets, misses = latch(n, hold, speed)
        lines.append(f"{n},{gets / 10},{gets},{misses},0,10,{1000 * n * speed}")
    (group,) = scaling_study("\n".join(lines), "t.csv").groups
    return group.held_out


FULL = "processes,throughput,gets,misses,sleeps,seconds,reference"


def test_rows_of_a_latch_that_follows_the_model_are_predicted_at_the_speed_of_the_reference() -> None:
    found = check(FULL, SPEED)
    assert found is not None
    assert found.fitted == (2, 3, 4) and [row.processes for row in found.rows] == [5, 6, 8]
    assert found.most_error < 0.02 and found.inside == 3
    assert abs(found.median_miss_error) < 0.05


@pytest.mark.parametrize("without", ["seconds", "reference"])
def test_nothing_is_predicted_without_the_time_or_the_machine(without: str) -> None:
    assert check(FULL.replace(without, "unnamed"), SPEED) is None


def test_nothing_is_predicted_from_fewer_than_three_rows_or_of_a_saturated_latch() -> None:
    assert check(FULL, {1: 1.0, 2: 1.0, 4: 1.0, 8: 1.0}) is None
    assert check(FULL, SPEED, hold=2e-3) is None


def test_published_throughput_is_predicted_from_two_to_six_processes() -> None:
    text = (TABLES / "result-cache-scaling.csv").read_text(encoding="utf-8")
    for group in scaling_study(text, "rc.csv").groups[:2]:
        assert group.held_out is not None and group.held_out.fitted == (2, 3, 4, 5, 6)
        assert group.held_out.median_error <= 0.015 and group.held_out.most_error <= 0.03, group.name
        assert group.held_out.inside == 6


def test_claim_fits_ratios_that_round_to_its_figures() -> None:
    claim = claim_of("8:50.33:0.04")
    assert claim.processes == 8 and claim.release is None
    assert claim.fits(0.503316, 0.000406)
    assert not claim.fits(0.5034, 0.000406)
    assert not claim.fits(0.503316, 0.00046)
    assert not claim.fits(0.503316, None)


@pytest.mark.parametrize("words", ["", "8", "8:50.33", "eight:50:1", "8:50.33:-1", "8:50.33:0.04:1"])
def test_what_is_no_claim_is_refused_with_an_example(words: str) -> None:
    with pytest.raises(
        BadStudy, match=r"is not a claim; write PROCESSES:MISSES:SLEEPS in percent, such as 8:50\.33:0\.04"
    ):
        claim_of(words)
