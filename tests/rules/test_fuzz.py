"""Any lawful load: a verdict on every cause, and no alarm below the gate. The order of rows and the interval change nothing."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from collectors.model import Changes, Delta
from rules.cause import catalogue, conditions
from rules.context import Known, SignalContext
from rules.engine import diagnose
from rules.model import Diagnosis
from rules.signals import SIGNALS, Subject
from tests.rules.random_loads import Instance, delta_of, instances, scaled

JUDGED = sorted(name for name, cause in catalogue().items() if not cause.handbook)


@given(one=instances())
def test_diagnose_gives_each_cause_one_verdict_and_respects_the_gate(one: Instance) -> None:
    delta = delta_of(one)
    got, context = diagnose(delta), SignalContext(delta)
    verdicts = [verdict.cause for kind in (got.findings, got.ruled_out, got.undetermined) for verdict in kind]
    assert sorted(verdicts) == JUDGED
    assert got.headline
    for finding in got.findings:
        gate = context.gate_of(catalogue()[finding.cause].surfaces)
        assert gate is None or finding.severity.rank <= gate.rank, finding.cause
    costs = context.gate_of(context.surfaces)
    assert costs is None or got.severity.rank <= costs.rank


@given(one=instances(), seed=st.integers(0, 2**16))
def test_diagnose_ignores_the_order_of_rows(one: Instance, seed: int) -> None:
    delta = delta_of(one)
    assert diagnose(shuffled(delta, seed)).model_dump_json() == diagnose(delta).model_dump_json()


def shuffled(delta: Delta, seed: int) -> Delta:
    dice = random.Random(seed)
    readings = {
        view: replace(reading, rows=tuple(dice.sample(reading.rows, len(reading.rows))))
        if isinstance(reading, Changes)
        else reading
        for view, reading in dice.sample(sorted(delta.readings.items()), len(delta.readings))
    }
    return replace(delta, readings=readings)


compared: Counter[bool] = Counter()


@given(one=instances(refusable=False), times=st.sampled_from((2, 10)))
def test_verdicts_are_the_same_over_a_longer_interval_at_equal_rates(one: Instance, times: int) -> None:
    delta = delta_of(one)
    longer = scaled(delta, times)
    alike = known(delta) == known(longer)
    compared[alike] += 1
    if alike:  # both above the evidence minimum
        assert verdicts_of(diagnose(longer)) == verdicts_of(diagnose(delta))


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
