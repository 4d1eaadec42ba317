"""Any lawful load: a verdict on every cause, and no alarm below the gate. The length of the interval changes nothing."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.delta import between
from collectors.model import Changes, ColumnKind, Delta
from collectors.registry import collectors
from rules.cause import catalogue, conditions
from rules.context import Known, SignalContext
from rules.engine import diagnose
from rules.model import Diagnosis
from rules.signals import SIGNALS, Subject
from tests.truth.generate import case
from tests.truth.plan import seeds

JUDGED = sorted(name for name, cause in catalogue().items() if not cause.handbook)


SEEDS = st.sampled_from(list(seeds()))


def generated(seed: int, *, full_sight: bool = False) -> Delta:
    made = case(seed, full_sight=full_sight)
    delta = between(made.begin, made.end)
    assert isinstance(delta, Delta)
    return delta


@given(seed=SEEDS)
def test_diagnose_gives_each_cause_one_verdict_and_respects_the_gate(seed: int) -> None:
    delta = generated(seed)
    got, context = diagnose(delta), SignalContext(delta)
    verdicts = [verdict.cause for kind in (got.findings, got.ruled_out, got.undetermined) for verdict in kind]
    assert sorted(verdicts) == JUDGED
    assert got.headline
    for finding in got.findings:
        gate = context.gate_of(catalogue()[finding.cause].surfaces)
        assert gate is None or finding.severity.rank <= gate.rank, finding.cause
    costs = context.gate_of(context.surfaces)
    assert costs is None or got.severity.rank <= costs.rank


compared: Counter[bool] = Counter()


@pytest.mark.slow
@given(seed=SEEDS, times=st.sampled_from((2, 10)))
def test_verdicts_are_the_same_over_a_longer_interval_at_equal_rates(seed: int, times: int) -> None:
    delta = generated(seed, full_sight=True)
    longer = scaled(delta, times)
    alike = known(delta) == known(longer)
    compared[alike] += 1
    if alike:  # both above the evidence minimum
        assert verdicts_of(diagnose(longer)) == verdicts_of(diagnose(delta))


@pytest.mark.slow
def test_random_loads_are_often_enough_above_the_evidence_minimum() -> None:
    """Guards the comparison above against comparing nothing."""
    if not compared:
        test_verdicts_are_the_same_over_a_longer_interval_at_equal_rates()
    assert compared[True] >= 5, compared


def known(delta: Delta) -> Mapping[tuple[str, str, int], bool]:
    """Which conditions can be judged at all."""
    return dict(_known(SignalContext(delta)))


def _known(context: SignalContext) -> Iterator[tuple[tuple[str, str, int], bool]]:
    for name, cause in catalogue().items():
        for place, one in enumerate(conditions(cause)):
            subject = Subject(cause.caches, one.location or cause.location, one.parameter)
            reading = SIGNALS[one.signal].read(context, subject)
            yield (name, one.signal, place), isinstance(reading, Known)


def verdicts_of(got: Diagnosis) -> Mapping[str, object]:
    told: dict[str, object] = {one.cause: (one.severity, one.confidence, one.cache) for one in got.findings}
    told |= {one.cause: "ruled out" for one in got.ruled_out}
    told |= {one.cause: "undetermined" for one in got.undetermined}
    return {**told, "": got.severity}


def scaled(delta: Delta, times: int) -> Delta:
    """The same rates over an interval that is longer by this factor."""
    assert delta.basis.seconds is not None
    readings = {
        view: _scaled(reading, times) if isinstance(reading, Changes) else reading
        for view, reading in delta.readings.items()
    }
    return replace(delta, basis=replace(delta.basis, seconds=delta.basis.seconds * times), readings=readings)


def _scaled(changes: Changes, times: int) -> Changes:
    counters = {one.name for one in collectors()[changes.view].columns if one.kind is ColumnKind.COUNTER}
    rows = tuple(
        {
            name: cell * times if name in counters and isinstance(cell, int | float) else cell
            for name, cell in row.items()
        }
        for row in changes.rows
    )
    return replace(changes, rows=rows)
