"""A study on a terminal: at most 100 columns, names without effect, and numbers that tell something."""

import pytest

from rules.contention.queue import DemandTerms, table_throughput
from rules.studies.cpu import cpu_study
from rules.studies.parallel import parallel_study, timer_study
from rules.studies.partitions import partition_study
from rules.studies.scaling import claim_of, scaling_study
from service.cli.study import as_html
from service.render.study import (
    WIDTH,
    StudyPage,
    StudyTable,
    as_text,
    cpu_page,
    duration,
    figure,
    parallel_page,
    partitions_page,
    scaling_page,
    share,
    table,
    timer_page,
)
from tests.service.web.pages.test_export import self_contained

LONG = "a name that goes on and on " * 5


def test_page_is_the_answer_then_findings_parts_and_limits() -> None:
    page = StudyPage(
        "T", "The answer.", ("first", "second"), (StudyTable("Table", ("a", "b"), (("x", "1"),)),), ("a limit",)
    )
    assert as_text(page).split("\n") == [
        "The answer.", "", "- first", "- second", "", "Table", "a  b", "x  1", "", "Limits", "- a limit"
    ]  # fmt: skip


def test_no_line_is_longer_than_the_width() -> None:
    rows = StudyTable(LONG, (LONG,) * 3, ((LONG,) * 3,), words=3)
    told = as_text(StudyPage(LONG, LONG * 3, (LONG * 3,), (rows,), (LONG * 3,))).split("\n")
    assert max(map(len, told)) <= WIDTH and any(len(line) > WIDTH - 10 for line in told)


def test_page_runs_and_fetches_nothing_whatever_a_table_holds() -> None:
    hostile = "<script>alert('x')</script><img src=http://x.example/>&\"'</style>"
    rows = StudyTable(hostile, (hostile, "n"), ((hostile, "7"),))
    text = as_html(StudyPage(hostile, hostile, (hostile,), (rows,), (hostile,)), hostile)
    self_contained(text)
    assert "<script" not in text and "<img" not in text and '<td class="n">7</td>' in text


def test_percent_sign_stays_with_its_number_and_numbers_of_a_table_end_below_each_other() -> None:
    page = StudyPage("T", "x" * (WIDTH - 7) + " 50.33 % and more", (), (), ())
    assert as_text(page).split("\n")[1] == "50.33 % and more"
    told = table(StudyTable("t", ("name", "value"), (("a", "1"), ("b", "1,000"))))
    assert told == ["t", "name  value", "a         1", "b     1,000"]


HEADER = "machine,release,processes,throughput,gets,misses,sleeps,wait_us,seconds,hardware_threads,pct_linear\n"
CALM = (
    "a,2,1,100,100000,0,0,0,100,8,100\na,2,2,199,199000,9950,1,50,100,8,99.5\na,2,4,390,390000,97500,4,90,100,8,97.5\n"
)
OTHER = CALM.replace("a,2", "b,2")
HOT = "c,1,1,100,100000,0,0,0,100,8,100\nc,1,2,150,150000,30000,9000,9000000,100,8,74\n"


def page(*tables: str, claim: str | None = None) -> StudyPage:
    return scaling_page(scaling_study(HEADER + "".join(tables), "t.csv", claims=[claim_of(claim)] if claim else []))


def test_answer_is_a_sentence_for_each_release_and_verdict_or_one_without_release() -> None:
    assert page(CALM, OTHER, HOT).answer == (
        "2 (a, b): spin absorbs the collisions; misses are not the problem. 1 (c): spin does not absorb the collisions; "
        "misses turn into sleeps, and the latch is the problem."
    )
    lines = [line.split(",", 2)[2] for line in (HEADER + CALM).splitlines()]
    told = scaling_page(scaling_study("\n".join(lines), "t.csv"))
    assert told.answer == "Spin absorbs the collisions; misses are not the problem."


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


def test_bends_are_told_with_their_limits() -> None:
    calm, hot = page(CALM, HOT).findings[-2:]
    assert "no bend up to 4 processes" in calm and "an upper limit, not a forecast" in calm
    assert "the latch bends at 2 processes (below 90 % of straight)" in hot
    assert any("Without a reference column" in limit for limit in page(CALM).limits)


def test_numbers_keep_the_digits_that_tell_something_and_take_the_unit_that_reads_best() -> None:
    shares = {None: "–", 0.0: "0 %", 1.0: "100.00 %", 0.503316: "50.33 %", 0.000405973: "0.0406 %"}
    shares |= {0.0000164641: "0.00165 %", 1e30: "1e+32 %", -0.02: "-2.00 %"}
    assert {value: share(value) for value in shares} == shares
    durations = {
        0.01: "10 ms",
        0.010000454: "10 ms",
        0.00158198: "1.6 ms",
        0.0001: "100 µs",
        2.0: "2 s",
        2.5e-8: "25 ns",
    }
    assert {seconds: duration(seconds) for seconds in durations} == durations
    figures = {None: "–", 852.36: "852", 19_034.2: "19,000", 1e30: "1e+30"}
    assert {value: figure(value) for value in figures} == figures


PERF = """
  1,000.00 msec task-clock
  2,000,000,000 cycles   # 2.000 GHz  (50.00%)
  1,000,000,000 instructions   # 0.50 insn per cycle
  1,500,000,000 stalled-cycles-frontend  # 75.00% frontend cycles idle
  1,000,000,000 stalled-cycles-backend   # 50.00% backend cycles idle
"""


def test_counters_that_are_not_the_holders_carry_a_warning_and_their_factor_a_condition() -> None:
    loose = cpu_page(cpu_study(PERF, "p"))
    assert loose.answer.startswith("0.50 instructions per cycle, 1.50 stalled cycles each")
    assert any(finding.startswith("Warning: these counters may not be the holder's") for finding in loose.findings)
    own = cpu_page(cpu_study(PERF, "p", in_holder=True))
    assert not any("Warning" in finding for finding in own.findings)
    other = (PERF.replace("2,000,000,000 cycles", "1,000,000,000 cycles"), "q")
    anybodys, holders = (cpu_page(cpu_study(PERF, "p", each, other)).findings[0] for each in (False, True))
    assert anybodys.startswith("Were these the holder's counters, the hold would be 1.00 times")
    assert holders.startswith("The hold is 1.00 times")
    told = " ".join(cpu_page(cpu_study(PERF, "p")).limits)
    assert "on for 50 % of the time" in told and "add up to more than 100 %" in told


def test_ratio_of_perf_that_its_counters_do_not_give_is_told_and_absent_ones_are_left_out() -> None:
    page = cpu_page(cpu_study(PERF.replace("0.50 insn", "0.75 insn"), "p"))
    assert "perf printed 0.75 as ipc; its counters give 0.5." in page.findings
    (table,) = page.tables
    assert "cache references that miss" not in dict(table.rows)
    assert dict(table.rows)["1,000 instructions take, ns"] == "1,000"


TABLE = "name,cpus,before,after,speedup\nsmall,32,100,20,5\nlarge,512,1200,200,{published}\nhalf,512,500,90,\nrest,512,700,110,\n"


def test_findings_tell_what_follows_what_does_not_and_what_is_told_twice() -> None:
    right = parallel_page(parallel_study(TABLE.format(published=6), "t.csv")).findings
    assert right[0] == "All 2 published speed-ups follow from the times, rounded as published."
    assert right[1].startswith("large is half and rest added")
    assert right[2].startswith(
        "More workers do not explain the speed-ups: large has 16 times those of small and 1.20 times"
    )
    wrong = parallel_page(parallel_study(TABLE.format(published=16), "t.csv"))
    assert wrong.findings[0] == "large: 16 times is published, the times give 6.00."
    (table,) = wrong.tables
    assert [row[5] for row in table.rows] == ["5 yes", "16 NO", "–", "–"]


def test_serial_share_is_at_most_what_is_told_where_workers_are_not_counted_or_left_out_where_there_is_none() -> None:
    page = parallel_page(parallel_study(TABLE.format(published=6), "t.csv"))
    assert "at most" in page.answer and any("processors, not workers" in limit for limit in page.limits)
    counted = parallel_page(parallel_study(TABLE.format(published=6).replace("cpus", "workers"), "t.csv"))
    assert "at most" not in counted.answer and not any("processors, not" in limit for limit in counted.limits)
    page = parallel_page(parallel_study("workers,before,after\n2,100,50\n4,100,25\n", "t.csv"))
    assert page.answer == "Speed-ups of 2.00 to 4.00, 2.83 on average."


def test_answer_tells_both_kinds_of_waiters_and_a_timer_that_is_coarser_or_the_same() -> None:
    page = timer_page(timer_study(granularity=0.001, need=0.001, before=0.01))
    assert "10 ms -> 1.6 ms for a need of 1 ms, 6.32 times shorter" in page.answer
    assert page.answer.endswith("a waiter on a standard exclusive latch: no change.")
    (table,) = page.tables
    assert table.rows[-1] == ("is posted", "any", "no change", "no change")
    assert "times longer" in timer_page(timer_study(granularity=0.01, need=0.001, before=0.001)).answer
    assert "no notable change" in timer_page(timer_study(granularity=0.0001, need=0.01, before=0.0002)).answer


# Partitions

TERMS = DemandTerms(think=0.010, think_per_batch=0.008, per_item=0.0002, per_batch=0.002, growing=0.0)


@pytest.fixture(scope="module")
def partitions() -> StudyPage:
    cells = [(p, b, table_throughput(TERMS, 20, p, b)) for p in (1, 4) for b in (1, 2, 8)]
    text = "\n".join(["partitions,batch,tps", *(f"{p},{b},{tps}" for p, b, tps in cells)])
    return partitions_page(partition_study(text, "t.csv", asked=[(2, 4), (2, 16)]))


def test_partitions_answer_with_an_interval_asked_settings_refusals_and_measured_limits(partitions: StudyPage) -> None:
    assert partitions.answer.startswith("Take 4 partitions with a batch of ")
    assert "[" in partitions.answer and " to " in partitions.answer and "per second" in partitions.answer
    assert partitions.findings[0].startswith("Asked: 2 partitions with a batch of 4: ")
    assert partitions.findings[1].startswith(
        "Refused: 2 partitions with a batch of 16: a batch of 16 was not measured (1 to 8 were)"
    )
    assert partitions.findings[2].startswith(
        "Fitted on 4 cells (1x1, 1x8, 4x1, 4x8) the other 2 are predicted with a median error of"
    )
    assert partitions.limits[0].startswith("No batch outside 1 to 8 is predicted")
    assert "the study assumes 60 (--processes N)" in partitions.limits[1]


def test_corners_have_no_error_as_they_were_fitted(partitions: StudyPage) -> None:
    (table,) = partitions.tables
    assert [row[5] == "–" for row in table.rows] == [True, False, True, True, False, True]
    assert [row[7] for row in table.rows] == ["corner", "", "corner", "corner", "", "corner"]
