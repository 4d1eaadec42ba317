"""The nearest counter-fact: exact in small cases, and true of generated instances when the engine judges them again."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from bench.counter_facts import checked, spread, standing
from collectors.model import Delta, Row
from rules.counter.figures import PrintedFigure, with_figure
from rules.engine import diagnose, examine
from rules.model import Becomes, CounterFact
from tests.rules.case_files import delta_of_case
from tests.rules.contexts import SICK, delta_of
from tests.rules.rich import RICH

INSTANCES = 24


def fact_of(delta: Delta, cause: str) -> CounterFact:
    """The counter-fact of the verdict on a cause."""
    diagnosis = diagnose(delta)
    verdicts = (*diagnosis.findings, *diagnosis.ruled_out, *diagnosis.undetermined)
    told = [each for each in verdicts if getattr(each, "cause", "") == cause]
    fact = getattr(told[0], "counter_fact", None)
    assert isinstance(fact, CounterFact)
    return fact


def stands_at(delta: Delta, fact: CounterFact, cause: str, value: float) -> Becomes:
    """The verdict on a cause if the figure of its counter-fact were this."""
    assert fact.view is not None and fact.column is not None
    figure = PrintedFigure(fact.view, tuple(fact.row.items()), fact.column)
    return standing(examine(with_figure(delta, figure, value)), cause)


@pytest.mark.parametrize(
    ("views", "cause", "figure", "now", "flips_at", "becomes"),
    [
        # 349 of 349 + 110 + 40 are below 0.7.
        (SICK, "undo-segments", "sleeps with a holder at kqrpre: find obj", 850, 349, "ruled out"),
        # 15 changes in 30 s are 0.5 a second.
        (SICK, "undo-online-storm", "modifications of dc_rollback_segments", 24, 14, "ruled out"),
        # 0.1 sessions on each of 16 processors for 30 s.
        (SICK, "hard-parse-storm", "hard parse elapsed time", 20e6, 48e6, "found"),
        # 2 % of 100 s of DB time.
        (RICH, "result-cache-force", "time slept of the latch Result Cache: RC Latch", 3e6, 2e6 - 1, "ruled out"),
        # 300 of 300 + 75 blocks are 80 %.
        (RICH, "undo-retention-runaway", "expiredblks", 100, 75, "found"),
    ],
)
def test_counter_fact_is_the_figure_at_the_bound(
    views: Mapping[str, Sequence[Row]], cause: str, figure: str, now: float, flips_at: float, becomes: str
) -> None:
    delta = delta_of(views)
    fact = fact_of(delta, cause)
    assert (fact.figure, fact.value, fact.flips_at, fact.becomes) == (figure, now, flips_at, becomes)
    before = standing(examine(delta), cause)
    assert stands_at(delta, fact, cause, flips_at) == becomes != before
    assert stands_at(delta, fact, cause, flips_at + (1 if flips_at < now else -1)) == before


def test_sentence_has_the_figure_its_place_its_interval_and_what_follows() -> None:
    assert fact_of(delta_of(), "undo-segments").sentence == (
        "Ruled out if sleeps with a holder at kqrpre: find obj (v$latch_misses) had been at most 349 over an interval of "
        "30.0 s, not 850: sleeps with a holder at this place would be below 70 %, not 85 %"
    )


def test_sleeps_of_a_child_name_its_cache() -> None:
    fact = fact_of(delta_of_case("object-types: a service passes objects in each call"), "object-types")
    assert (fact.figure, fact.value) == ("sleeps of child 10 (dc_global_oids)", 7_000)


def test_number_of_waiters_is_a_figure() -> None:
    """5 of the 28 who are left are below a fifth, and 6 of 29 are not."""
    fact = fact_of(delta_of_case("object-types: the same on 12.2"), "object-types")
    assert fact.figure == "sampled waiters for row cache mutex that name dc_global_oids"
    assert (fact.value, fact.flips_at, fact.unit, fact.becomes) == (12, 5, "sessions", "ruled out")


def test_times_that_differ_little_have_more_digits() -> None:
    fact = fact_of(delta_of(), "downstream-of-library-cache")
    assert (fact.value, fact.flips_at) == (4_000_000, 3_999_999)
    assert "at most 3.999999 s" in fact.sentence and "not 4.000000 s" in fact.sentence


def test_report_is_named_by_its_sections() -> None:
    sentence = fact_of(replace(delta_of(), source="report"), "undo-segments").sentence
    assert "(Latch Miss Sources)" in sentence and "v$" not in sentence


def test_open_cause_without_its_figure_says_what_is_missing() -> None:
    fact = fact_of(delta_of(refused=["v$sysstat"]), "undo-segment-floor")
    assert fact.figure is None and fact.flips_at is None and fact.distance is None
    assert fact.sentence == "No figure that was read would make it found: v$parameter was not read"


def test_several_conditions_against_a_cause_leave_no_single_figure_and_are_counted() -> None:
    diagnosis = diagnose(delta_of())
    told = {v.cause: v.counter_fact.sentence for v in diagnosis.ruled_out if v.counter_fact}
    assert told["cluster-conflicts"] == "No single figure would make it found: 3 of its conditions do not hold"
    assert told["benign-internal"] == "No single figure would make it found", (
        "one fails, and what meets it breaks another"
    )
    by_another = [v for v in diagnose(delta_of(RICH)).ruled_out if v.explained_by and v.counter_fact]
    assert [v.counter_fact and v.counter_fact.sentence for v in by_another] == ["No single figure would make it found"]


def test_every_finding_has_one_and_three_of_the_others() -> None:
    diagnosis = diagnose(delta_of(RICH))
    assert diagnosis.findings and all(finding.counter_fact for finding in diagnosis.findings)
    assert sum(verdict.counter_fact is not None for verdict in diagnosis.ruled_out) == 3
    assert sum(verdict.counter_fact is not None for verdict in diagnosis.undetermined) <= 3


def test_verdict_alone_has_none() -> None:
    assert all(finding.counter_fact is None for finding in examine(delta_of(RICH)).verdict.findings)


@pytest.mark.parametrize("place", range(INSTANCES))
def test_counter_facts_of_a_generated_instance_flip_and_half_of_the_way_does_not(place: int) -> None:
    for each in checked(spread()[place]):
        assert each.flips in (True, None), each
        assert each.half_stays in (True, None), each
        assert each.flips or each.stands not in ("found", "costs nothing"), each
