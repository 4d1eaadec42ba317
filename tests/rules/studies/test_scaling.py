"""Scaling: recovered hold times, whose curve bends, the verdict, and figures printed for another row."""

import pytest

from rules.contention.queueing import latch_state
from rules.studies.claims import claim_of
from rules.studies.scaling import ScalingStudy, scaling_study
from rules.studies.table import BadStudy
from tests.each import each
from tests.paths import TABLES

HEADER = "machine,release,processes,throughput,reference,gets,misses,sleeps,wait_us,seconds"


def lines(machine: str, release: str, sleep_ratio: float = 0.0, hold: float = 2e-6, think: float = 20e-6) -> list[str]:
    """Rows of a latch whose hold and think time are known; a get is a unit of work and a sleep lasts a millisecond."""
    told = []
    for n in (1, 2, 4, 8):
        state = latch_state(n, hold / think)
        gets = round(float(state.held[0]) / hold * 10)
        misses = round(gets * float(state.miss_ratio[0]))
        sleeps = round(misses * sleep_ratio)
        alone = 1e5 * n * (1 - 0.05 * (n > 4))
        told.append(f"{machine},{release},{n},{gets / 10},{alone},{gets},{misses},{sleeps},{sleeps * 1000},10")
    return told


def study(*rows: str, claims: tuple[str, ...] = ()) -> ScalingStudy:
    return scaling_study("\n".join([HEADER, *rows]), "t.csv", claims=[claim_of(each) for each in claims])


def test_few_misses_tell_no_hold_and_no_verdict() -> None:
    (group,) = study("m,1,1,100,100,1000,0,0,0,10", "m,1,2,200,200,2000,199,150,10,10").groups
    assert group.rows[-1].hold_us is None
    assert group.verdict == "cannot tell"


@each(
    ("sleep_ratio", "verdict"), [(0.0, "spin absorbs"), (0.00002, "spin absorbs"), (0.002, "sleeps"), (0.5, "sleeps")]
)
def test_verdict_follows_the_misses_that_become_sleeps(sleep_ratio: float, verdict: str) -> None:
    (group,) = study(*lines("m", "1", sleep_ratio)).groups
    assert group.verdict == verdict


def test_sleeps_that_take_no_time_to_speak_of_are_cheap() -> None:
    (group,) = study("m,1,1,100,,1000,0,0,0,10", "m,1,2,199,,2000,400,40,100,10").groups
    assert group.verdict == "cheap sleeps"


def test_latch_and_machine_bend_apart() -> None:
    rows = [
        f"m,1,{n},{reference * own},{reference},1000,0,0,0,10"
        for n, reference, own in ((1, 100, 1.0), (2, 170, 1.0), (4, 340, 0.8))
    ]
    (group,) = study(*rows).groups
    assert (group.machine_bends_at, group.latch_bends_at) == (2, 4)
    assert group.rows[1].against_reference == pytest.approx(1.0)


def test_latch_bends_against_linear_where_there_is_no_reference() -> None:
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


@each(
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
