"""The scaling study in words: one sentence for each release and verdict, claims, bends, and zeros left out of logarithms."""

from rules.studies.scaling import claim_of, scaling_study
from service.render.study.page import StudyLines, StudyPage
from service.render.study.scaling import scaling_page

HEADER = "machine,release,processes,throughput,gets,misses,sleeps,wait_us,seconds,hardware_threads,pct_linear\n"
CALM = (
    "a,2,1,100,100000,0,0,0,100,8,100\na,2,2,199,199000,9950,1,50,100,8,99.5\na,2,4,390,390000,97500,4,90,100,8,97.5\n"
)
OTHER = CALM.replace("a,2", "b,2")
HOT = "c,1,1,100,100000,0,0,0,100,8,100\nc,1,2,150,150000,30000,9000,9000000,100,8,74\n"


def page(*tables: str, claim: str | None = None) -> StudyPage:
    return scaling_page(scaling_study(HEADER + "".join(tables), "t.csv", claims=[claim_of(claim)] if claim else []))


def test_answer_is_a_sentence_for_each_release_and_verdict() -> None:
    assert page(CALM, OTHER, HOT).answer == (
        "2 (a, b): spin absorbs the collisions; misses are not the problem. 1 (c): spin does not absorb the collisions; "
        "misses turn into sleeps, and the latch is the problem."
    )


def test_mixed_claim_like_for_like_and_wrong_shares_are_told_in_this_order() -> None:
    told = page(CALM, HOT, claim="2:25.00:0.004").findings
    assert told[0].startswith(
        "The published comparison mixed two rows: the 25.00 % and 0.004 % given for 2 processes are those of 4"
    )
    assert "with 2 it is 5.00 % misses per get and 0.0101 % sleeps per miss" in told[0]
    assert (
        told[1].startswith("Like for like, 2 processes: a, 2 has 5.00 % misses per get") and "other machines" in told[1]
    )
    assert told[2] == "c, 1, 2 processes: 74 % of linear is published, the throughputs give 75.00 %."


def test_bend_and_the_processes_that_fill_the_latch_are_told_with_their_limits() -> None:
    calm, hot = page(CALM, HOT).findings[-2:]
    assert "no bend up to 4 processes" in calm and "an upper limit, not a forecast" in calm
    assert "the latch bends at 2 processes (below 90 % of straight)" in hot
    assert any("Without a reference column" in limit for limit in page(CALM).limits)


def test_sleeps_are_drawn_on_a_logarithmic_axis_without_zeros() -> None:
    chart = page(CALM, HOT).parts[-1]
    assert isinstance(chart, StudyLines) and chart.log_y
    assert all(y > 0 for _, y in chart.points) and len(chart.points) == 3


def test_table_without_machine_and_release_has_an_answer_too() -> None:
    lines = [line.split(",", 2)[2] for line in (HEADER + CALM).splitlines()]
    told = scaling_page(scaling_study("\n".join(lines), "t.csv"))
    assert told.answer == "Spin absorbs the collisions; misses are not the problem."
