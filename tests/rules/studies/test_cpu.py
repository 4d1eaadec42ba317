"""Processor counters: old and new formats of perf, its own ratios compared with its counters, and the length of a hold."""

import pytest

from rules.studies.cpu import cpu_study
from rules.studies.table import BadStudy
from tests.paths import TABLES

NEW = """
 Performance counter stats for process id '4711':

          2,000.00 msec task-clock                       #    0.200 CPUs utilized
     4,000,000,000      cycles:u                         #    2.000 GHz                         (83.20%)
     8,000,000,000      instructions:u                   #    2.00  insn per cycle
                                                  #    0.25  stalled cycles per insn     (66.70%)
     2,000,000,000      cpu_core/stalled-cycles-backend/ #   50.00% backend cycles idle
        10,000,000      cache-references
         1,000,000      cache-misses                     #   10.00% of all cache refs
   <not supported>      stalled-cycles-frontend
     <not counted>      branches

      10.000000000 seconds time elapsed
"""


def test_counters_of_a_newer_perf_are_read() -> None:
    study = cpu_study(NEW, "perf.txt")
    assert study.ipc == pytest.approx(2.0) and study.stalled_per_instruction == pytest.approx(0.25)
    assert study.frontend_idle is None and study.backend_idle == pytest.approx(0.5)
    assert study.cache_miss_ratio == pytest.approx(0.1) and study.misses_per_thousand == pytest.approx(0.125)
    assert study.gigahertz == pytest.approx(2.0) and study.cpus_used == pytest.approx(0.2)
    assert study.cycles_per_miss == pytest.approx(2000) and study.nanoseconds_per_miss == pytest.approx(1000)
    assert study.nanoseconds_per_thousand == pytest.approx(250)
    assert study.counted_share == pytest.approx(0.667)
    assert study.slips == () and study.checked == 6


def test_stalls_per_instruction_are_those_of_the_side_that_stalled_more() -> None:
    front = "  3,000,000,000  stalled-cycles-frontend\n"
    assert (
        cpu_study(NEW.replace("   <not supported>      stalled-cycles-frontend\n", front), "p").stalled_per_instruction
        == 0.375
    )


def test_ratio_that_its_own_counters_do_not_give_is_told() -> None:
    study = cpu_study(NEW.replace("2.00  insn per cycle", "1.00  insn per cycle"), "perf.txt")
    ((figure, printed, computed),) = [(slip.figure, slip.printed, slip.computed) for slip in study.slips]
    assert (figure, printed, computed) == ("ipc", 1.0, 2.0)


def test_hold_is_as_much_longer_as_cycles_per_instruction_and_frequency_make_it() -> None:
    slower = NEW.replace("4,000,000,000", "12,000,000,000")  # three times the cycles in the same time: 6 GHz
    assert cpu_study(slower, "a", other=(NEW, "b")).hold_factor == pytest.approx(1.0)
    longer = slower.replace("2,000.00 msec", "6,000.00 msec")
    assert cpu_study(longer, "a", other=(NEW, "b")).hold_factor == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "p.txt holds no counters of perf stat; give what"),
        ("hello 12 world", "p.txt holds no counters of perf stat"),
        ("  5,000 cycles\n", "p.txt counts no instructions; take perf stat -e"),
        ("  5,000 instructions\n  0 cycles\n", "p.txt counts no cycles"),
        (
            "  5 cycles\n 5 instructions\n 6 cycles:u\n",
            "p.txt line 3 counts cycles a second time; give the output of one",
        ),
    ],
)
def test_text_without_the_counters_is_refused_in_one_sentence(text: str, told: str) -> None:
    with pytest.raises(BadStudy) as refused:
        cpu_study(text, "p.txt")
    assert str(refused.value).startswith(told)


def test_holds_are_compared_only_where_the_frequency_is_known() -> None:
    with pytest.raises(BadStudy, match=r"b has no task-clock, so no frequency"):
        cpu_study(NEW, "a", other=("  5 cycles\n  5 instructions\n", "b"))


def test_counters_of_the_full_scan_give_the_published_ratios() -> None:
    text = (TABLES / "perf-stat-oracle-full-scan.txt").read_text(encoding="utf-8")
    study = cpu_study(text, "perf.txt")
    assert round(study.ipc, 2) == 0.37
    assert study.stalled_per_instruction is not None and round(study.stalled_per_instruction, 2) == 2.39
    shares = (study.frontend_idle, study.backend_idle, study.cache_miss_ratio)
    assert [round(share * 100, 2) for share in shares if share is not None] == [88.74, 67.83, 86.58]
    assert study.checked == 7 and study.slips == ()
