"""The study of processor counters in words: the warning unless the counters are those of the holder, and mistakes of perf."""

from rules.studies.cpu import cpu_study
from service.render.study.cpu import cpu_page
from service.render.study.page import StudyTable

PERF = """
  1,000.00 msec task-clock
  2,000,000,000 cycles   # 2.000 GHz  (50.00%)
  1,000,000,000 instructions   # 0.50 insn per cycle
  1,500,000,000 stalled-cycles-frontend  # 75.00% frontend cycles idle
  1,000,000,000 stalled-cycles-backend   # 50.00% backend cycles idle
"""


def test_counters_carry_the_warning_unless_they_are_the_holders() -> None:
    loose = cpu_page(cpu_study(PERF, "p"))
    assert loose.answer.startswith("0.50 instructions per cycle, 1.50 stalled cycles each")
    assert any(finding.startswith("Warning: these counters may not be the holder's") for finding in loose.findings)
    own = cpu_page(cpu_study(PERF, "p", in_holder=True))
    assert not any("Warning" in finding for finding in own.findings)


def test_factor_of_a_hold_is_conditional_unless_the_counters_are_the_holders() -> None:
    other = (PERF.replace("2,000,000,000 cycles", "1,000,000,000 cycles"), "q")
    loose, own = (cpu_page(cpu_study(PERF, "p", holder, other)).findings[0] for holder in (False, True))
    assert loose.startswith("Were these the holder's counters, the hold would be 1.00 times")
    assert own.startswith("The hold is 1.00 times")


def test_counters_that_took_turns_and_idle_cycles_that_overlap_are_limits() -> None:
    told = " ".join(cpu_page(cpu_study(PERF, "p")).limits)
    assert "on for 50 % of the time" in told and "add up to more than 100 %" in told


def test_ratio_of_perf_that_its_counters_do_not_give_is_told_and_absent_ones_are_left_out() -> None:
    page = cpu_page(cpu_study(PERF.replace("0.50 insn", "0.75 insn"), "p"))
    assert "perf printed 0.75 as ipc; its counters give 0.5." in page.findings
    table = next(part for part in page.parts if isinstance(part, StudyTable))
    assert "cache references that miss" not in dict(table.rows)
    assert dict(table.rows)["1,000 instructions take, ns"] == "1,000"
