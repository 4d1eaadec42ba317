"""diagnose(): three verdicts, look-alikes, the gate, totals. The order of rows changes nothing."""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.capture import delta_of as delta_of_capture
from collectors.capture import load
from collectors.delta import between
from collectors.errors import InputError
from collectors.model import Changes, ColumnKind, ConfirmationResult, Delta, NotComparable, Row, Rows, Snapshot
from collectors.registry import collectors
from rules.cause import Cause, catalogue, conditions
from rules.context import Known, SignalContext
from rules.engine import cannot_tell, diagnose
from rules.model import Diagnosis, Finding, RuledOut, Severity, Undetermined
from rules.signals import SIGNALS, Subject
from tests.collectors.scripted import delta_from, poll_at
from tests.paths import INCIDENT
from tests.rules.case_files import cases_by_name, delta_of_case, diagnosis_of_case
from tests.rules.contexts import SICK, TOTALS, delta_of, with_rows
from tests.truth.generate import case
from tests.truth.plan import seeds

SOME = pytest.mark.parametrize(
    "every", [60, pytest.param(8, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.soak)]
)
"""The cases that `make test` checks, `make test-all` and `make soak`, which checks every one."""
CONDITION = {"signal": "share_of_sleeps", "needs": ">= 0.5", "because": "so"}
PARSING = {"signal": "parse_share_of_db_time", "needs": ">= 0.4", "because": "parsing"}


def cause_of(*when: Mapping[str, Any], **fields: Any) -> Cause:
    """The undo segment entry with other conditions."""
    members = catalogue()["undo-segments"].model_dump()
    return Cause.model_validate({**members, "id": "probe", "when": when, **fields})


def judged(cause: Cause, delta: Delta | None = None, others: Sequence[Cause] = ()) -> Finding | RuledOut | Undetermined:
    """The verdict on the probe for the sick instance."""
    got = diagnose(delta or delta_of(), {one.id: one for one in (cause, *others)})
    verdicts: list[Finding | RuledOut | Undetermined] = [*got.findings, *got.ruled_out, *got.undetermined]
    assert sorted(one.cause for one in verdicts) == sorted(one.id for one in (cause, *others))
    return next(one for one in verdicts if one.cause == cause.id)


def found(cause: Cause, delta: Delta | None = None, others: Sequence[Cause] = ()) -> Finding:
    verdict = judged(cause, delta, others)
    assert isinstance(verdict, Finding), verdict
    return verdict


def test_finding_carries_its_evidence() -> None:
    verdict = found(cause_of(CONDITION))
    (evidence,) = verdict.evidence
    assert evidence.value == pytest.approx(0.99)
    assert (evidence.needs, evidence.unit) == (">= 0.5", "ratio")
    assert evidence.derivation == "990 of 1,000"
    assert (verdict.child, verdict.cache, verdict.identity) == (1, "dc_rollback_segments", "read")
    assert verdict.severity is Severity.NOTICE, "99 % of the 2 % that make a warning"


@pytest.mark.parametrize("role", ["required", "identity", "discriminating", "shape"])
def test_condition_that_fails_rules_the_cause_out_whatever_its_role(role: str) -> None:
    verdict = judged(cause_of(CONDITION, {**PARSING, "needs": ">= 0.9", "role": role}))
    assert isinstance(verdict, RuledOut)
    assert verdict.value == pytest.approx(0.45)
    assert (verdict.signal, verdict.needs) == ("parse_share_of_db_time", ">= 0.9")


def test_missing_required_condition_leaves_undetermined_with_a_way_out() -> None:
    verdict = judged(cause_of(CONDITION, PARSING), delta_of(refused=["v$sys_time_model"]))
    assert isinstance(verdict, Undetermined)
    assert (verdict.missing, verdict.way_out) == (
        "v$sys_time_model",
        "grant select on sys.v_$sys_time_model to <user>",
    )


def test_condition_that_fails_outweighs_one_that_is_missing() -> None:
    against = {**CONDITION, "needs": "<= 0.1"}
    assert isinstance(judged(cause_of(PARSING, against), delta_of(refused=["v$sys_time_model"])), RuledOut)


IDENTITY = {**CONDITION, "role": "identity"}
SHAPE = {"signal": "share_of_holders", "needs": ">= 0.7", "because": "shape", "role": "shape"}


def test_shape_replaces_the_identity_at_low_confidence() -> None:
    blind = delta_of(refused=["v$latch_children"], source="report")
    assert isinstance(judged(cause_of(IDENTITY), blind), Undetermined)
    asked_for = judged(cause_of(IDENTITY, SHAPE), delta_of(refused=["v$latch_children"]))
    assert isinstance(asked_for, Undetermined), "of views it was asked for, and may speak against the cause"
    verdict = found(cause_of(IDENTITY, SHAPE), blind)
    assert (verdict.confidence, verdict.child, verdict.identity) == ("low", None, "candidate")
    assert verdict.cache == "dc_rollback_segments"
    assert verdict.unknown == ("v$latch_children: ORA-00942",)


def test_cause_without_known_identity_shape_or_proof_is_undetermined() -> None:
    proof = {**PARSING, "role": "discriminating"}
    blind = delta_of(refused=["v$sys_time_model"])
    assert isinstance(judged(cause_of(CONDITION, proof), blind), Undetermined)
    assert isinstance(judged(cause_of(CONDITION, proof, SHAPE), blind), Undetermined)
    written = delta_of(refused=["v$sys_time_model"], basis=TOTALS)
    assert found(cause_of(CONDITION, proof, SHAPE), written).confidence == "high"


ALTERNATIVES = {"any_of": [{**PARSING, "needs": ">= 0.9"}, {"signal": "load_per_cpu", "needs": ">= 1", "because": "b"}]}


def test_alternatives_are_judged_found_undetermined_or_ruled_out() -> None:
    verdict = found(cause_of(ALTERNATIVES))
    assert [one.signal for one in verdict.evidence] == ["load_per_cpu"]
    assert isinstance(judged(cause_of(ALTERNATIVES), delta_of(refused=["v$osstat"])), Undetermined)
    idle = delta_of(with_rows("v$osstat", *({**row, "level_now": 1} for row in SICK["v$osstat"])))
    low = {"any_of": [{**PARSING, "needs": ">= 0.9"}, {"signal": "load_per_cpu", "needs": ">= 7", "because": "b"}]}
    ruled_out = judged(cause_of(low), idle)
    assert isinstance(ruled_out, RuledOut)
    assert ruled_out.signal == "parse_share_of_db_time"


def tie() -> Delta:
    rows = [{**row, "sleeps": 500 if row["child#"] in (1, 5) else 0} for row in SICK["v$latch_children"]]
    return delta_of(with_rows("v$latch_children", *rows))


@pytest.mark.parametrize(("cache", "child"), [("dc_rollback_segments", 1), ("dc_tablespaces", 5)])
def test_cause_takes_its_own_of_two_equally_hot_children(cache: str, child: int) -> None:
    verdict = found(cause_of(CONDITION, caches=(cache,)), tie())
    assert (verdict.child, verdict.cache) == (child, cache)
    assert [one.parameter for one in verdict.caches] == [cache]


def look_alike() -> Cause:
    return cause_of(PARSING, caches=(), relations=[{"drags": "row-cache"}]).model_copy(update={"id": "look-alike"})


def test_look_alike_rules_out_a_cause_without_proof_of_its_own() -> None:
    verdict = judged(cause_of(CONDITION), others=[look_alike()])
    assert isinstance(verdict, RuledOut)
    assert (verdict.signal, verdict.needs) == ("parse_share_of_db_time", "waits that look-alike does not explain")
    assert "(look-alike), shown by " in verdict.because and verdict.because.endswith(", where it needs >= 40.0 %")


def test_cause_with_proof_of_its_own_is_found_beside_a_look_alike() -> None:
    proof = {"signal": "hold_anomaly_index", "needs": ">= 40", "because": "long holds", "role": "discriminating"}
    assert found(cause_of(CONDITION, proof), others=[look_alike()]).severity is Severity.NOTICE
    in_alternatives = {"any_of": [proof, {**ALTERNATIVES["any_of"][0], "role": "discriminating"}]}
    assert found(cause_of(CONDITION, in_alternatives), others=[look_alike()]).severity is Severity.NOTICE
    assert found(cause_of(CONDITION, cap="info"), others=[look_alike()]).severity is Severity.INFO, "harmless"


def cheap() -> Mapping[str, Sequence[Row]]:
    return with_rows("v$system_event", {"event": "latch: row cache objects", "time_waited_micro": 400_000})


def test_undetermined_cause_is_ruled_out_where_waits_cost_nothing() -> None:
    open_one = judged(cause_of(CONDITION), delta_of(cheap(), refused=["v$latch_children"]))
    assert isinstance(open_one, Undetermined), "with the children latchscope may find it, cheap as it is"
    assert found(cause_of(CONDITION), delta_of(cheap())).severity is Severity.INFO
    by_share = judged(cause_of(CONDITION), delta_of(cheap(), refused=["v$latch_children"], source="report"))
    assert isinstance(by_share, RuledOut)
    assert by_share.value == pytest.approx(0.004)
    assert (by_share.signal, by_share.unit) == ("impact", "share of DB time")
    idle = with_rows("v$system_event", {"event": "latch: row cache objects", "time_waited_micro": 40_000})
    blind = delta_of(idle, refused=["v$latch_children", "v$sys_time_model"], source="report")
    by_sessions = judged(cause_of(CONDITION), blind)
    assert isinstance(by_sessions, RuledOut)
    assert (by_sessions.signal, by_sessions.unit) == ("impact", "waiting sessions")


def test_waits_without_a_known_cause_are_as_severe_as_they_are_dear() -> None:
    locked = with_rows("v$system_event", {"event": "row cache lock", "time_waited_micro": 60_000_000})
    dear = delta_of({**locked, "v$latch": [{**SICK["v$latch"][0], "wait_time": 0}]})
    got = diagnose(dear, {"probe": cause_of({**CONDITION, "needs": "<= 0.1"})})
    assert (got.findings, got.severity) == ((), Severity.CRITICAL)
    assert got.headline.startswith("Row cache waits cost 60.0 % of DB time")
    assert "no known cause explains it" in got.headline


def test_harmless_finding_does_not_hide_waits_without_a_known_cause() -> None:
    got = diagnose(delta_of(), {"probe": cause_of(CONDITION, cap="info")})
    assert [one.severity for one in got.findings] == [Severity.INFO]
    assert got.severity is Severity.WARNING
    assert "no known cause explains it" in got.headline


def test_failed_confirmation_lowers_confidence() -> None:
    proof = {"signal": "hold_anomaly_index", "needs": ">= 40", "because": "long holds", "role": "discriminating"}
    cause = cause_of(CONDITION, proof)
    levels = {
        value: found(
            cause, delta_of(confirmations={} if value is None else {"probe": ConfirmationResult(value)})
        ).confidence
        for value in (None, 14_838.0, 12.0)
    }
    assert levels == {None: "high", 14_838.0: "high", 12.0: "medium"}


def test_doubtful_map_lowers_confidence_and_is_noted() -> None:
    proof = {"signal": "share_of_lookups", "needs": ">= 0.3", "because": "b", "role": "discriminating"}
    off = [{**row, "gets": 30_000} if row["child#"] == 1 else row for row in SICK["v$latch_children"]]
    delta = delta_of(with_rows("v$latch_children", *off))
    assert found(cause_of(CONDITION, proof, SHAPE)).confidence == "high"
    assert found(cause_of(CONDITION, proof, SHAPE), delta).confidence == "medium"
    assert "child 1 had 30,000 latch gets" in diagnose(delta, {}).notes[0]


def test_totals_have_no_impact_and_at_most_a_warning() -> None:
    got = diagnose(delta_of(basis=TOTALS), {"probe": cause_of(CONDITION)})
    assert got.impact is None
    assert got.severity is Severity.NOTICE
    assert got.basis is not None
    assert (got.basis.kind, got.basis.seconds) == ("totals", None)


@SOME
def test_totals_give_no_rate_anywhere_in_any_case(every: int) -> None:
    for name in [*cases_by_name()][::every]:
        got = diagnose(replace(delta_of_case(name), basis=TOTALS))
        assert got.severity in (Severity.INFO, Severity.NOTICE, Severity.WARNING), name
        told = " ".join([got.headline, *(step.statement for step in got.steps if step.step in NUMBERS)])
        assert not re.search(r"per second|/s\b|sessions wait|% of DB time", told), name
        assert not {"paging_rate"} & {evidence.signal for one in got.findings for evidence in one.evidence}, name


NUMBERS = ("hot child", "cache", "confirmation", "miss location")


def test_cannot_tell_leaves_every_cause_undetermined() -> None:
    got = cannot_tell(NotComparable("erp1", "11.2.0.4.0", "the instance restarted", "wait for the second poll"))
    assert (got.basis, got.impact, got.mechanism, got.findings, got.ruled_out, got.steps) == (
        None,
        None,
        None,
        (),
        (),
        (),
    )
    assert [one.cause for one in got.undetermined] == [name for name, one in catalogue().items() if not one.handbook]
    assert {(one.why, one.way_out) for one in got.undetermined} == {
        ("the instance restarted", "wait for the second poll")
    }
    assert got.headline == "Cannot tell yet: the instance restarted"


MUTEXES = {
    **SICK,
    "v$event_name": [{"name": "row cache mutex"}],
    "v$system_event": [row for row in SICK["v$system_event"] if row["event"] != "latch: row cache objects"],
}


@pytest.mark.parametrize(
    "delta",
    [
        delta_of(MUTEXES, release="12.2.0.1.0"),
        delta_of(MUTEXES, refused=["v$event_name"], release="19.0.0.0.0"),
    ],
    ids=["by its events", "by its release"],
)
def test_latch_causes_are_ruled_out_where_mutexes_guard_the_cache(delta: Delta) -> None:
    got = diagnose(delta)
    latch_only = [one for one in got.ruled_out if catalogue()[one.cause].surfaces == ("latch",)]
    assert latch_only
    assert {(one.signal, one.needs, one.because) for one in latch_only} == {
        ("mechanism", "latch", "mutexes guard the row cache of this release")
    }
    assert got.mechanism == "mutex"
    assert not any(one.step in ("hot child", "miss location") for one in got.steps)
    assert "no row cache contention" not in got.headline.lower()


def shuffled(delta: Delta, seed: int) -> Delta:
    dice = random.Random(seed)
    readings = {
        view: replace(reading, rows=tuple(dice.sample(reading.rows, len(reading.rows))))
        if isinstance(reading, Changes)
        else reading
        for view, reading in dice.sample(sorted(delta.readings.items()), len(delta.readings))
    }
    return replace(delta, readings=readings)


def as_json(got: Diagnosis) -> str:
    return got.model_dump_json(indent=1)


@pytest.mark.slow
@SOME
def test_diagnose_ignores_the_order_of_rows_and_views_in_every_case(every: int) -> None:
    views = [name for name, told in cases_by_name().items() if told.case.source == "views"]  # a report keeps its order
    for name in views[::every]:
        assert as_json(diagnose(shuffled(delta_of_case(name), 1))) == as_json(diagnosis_of_case(name)), name


@given(seed=st.integers(0, 2**32), at=st.sampled_from([2.0, 30.0, 90.0, 170.0]))
def test_diagnose_ignores_the_order_of_rows_in_the_demo_and_on_a_tie(seed: int, at: float) -> None:
    for delta in (tie(), delta_from("undo-storm", at, at + 15, refused=("x$kqrst",) if seed % 2 else ())):
        assert as_json(diagnose(shuffled(delta, seed))) == as_json(diagnose(delta))


@pytest.mark.slow
@given(place=st.data())
def test_diagnose_accepts_every_capture_that_can_be_read(place: st.DataObject) -> None:
    document = json.loads(INCIDENT.read_text(encoding="utf-8"))
    views = document["snapshots"][0]["views"]
    view = place.draw(st.sampled_from(sorted(views)))
    cells = place.draw(st.sampled_from(views[view]["rows"]))
    cells[place.draw(st.integers(0, len(cells) - 1))] = place.draw(CELLS)
    with suppress(InputError):
        delta = delta_of_capture(load(json.dumps(document), "case.json"))
        assert isinstance(delta, Delta)
        assert diagnose(delta).headline


CELLS = st.none() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just({"absent": True})


# Any lawful load: a verdict on every cause, and no alarm below the gate. The length of the interval changes nothing

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


# What only resembles a sick row cache: victims have their name, and impossible counters raise no alarm


def sick(at: float) -> Snapshot:
    return poll_at("undo-storm", at)


def changed(snapshot: Snapshot, view: str, change: Callable[[Row], Row]) -> Snapshot:
    rows = tuple(change(row) for row in snapshot.rows(view))
    return replace(snapshot, readings={**snapshot.readings, view: Rows(view, rows)})


def judged_between(earlier: Snapshot, later: Snapshot) -> Diagnosis:
    delta = between(earlier, later)
    assert isinstance(delta, Delta)
    return diagnose(delta)


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [(4_294_900_000, 12_000, "wrapped at 32 bits"), (90_000, 12_000, "fell"), (-4_018_470_645, 9_000, "is negative")],
)
def test_sleeps_that_wrap_fall_or_are_negative_are_left_out_and_noted(before: int, after: int, what: str) -> None:
    def with_sleeps(snapshot: Snapshot, sleeps: int) -> Snapshot:
        return changed(
            snapshot, "v$latch_children", lambda row: {**row, "sleeps": sleeps} if row["child#"] == 1 else row
        )

    assert [one.cause for one in judged_between(sick(60), sick(90)).findings] == ["undo-segments"]
    got = judged_between(with_sleeps(sick(60), before), with_sleeps(sick(90), after))
    assert any(what in note for note in got.notes)
    assert all(one.identity in (None, "candidate") and one.confidence != "high" for one in got.findings)


def test_impact_ignores_a_corrupt_wait_time_of_the_event() -> None:
    def corrupt(snapshot: Snapshot, waited: int) -> Snapshot:
        def change(row: Row) -> Row:
            both = {"time_waited_micro": waited, "time_waited_micro_fg": waited}
            return {**row, **both} if row["event"] == "latch: row cache objects" else row

        return changed(snapshot, "v$system_event", change)

    got = judged_between(corrupt(sick(60), -5), corrupt(sick(90), 2**62))
    assert any("a corrupt counter is not used" in note for note in got.notes)
    assert got.impact is None or got.impact.share_of_db_time is None or got.impact.share_of_db_time < 1


def test_healthy_instance_whose_counters_wrap_has_no_finding() -> None:
    def wrapped(snapshot: Snapshot, base: int) -> Snapshot:
        return changed(snapshot, "v$latch", lambda row: {**row, "gets": base, "misses": base, "sleeps": base})

    healthy = (poll_at("healthy-19c", 30), poll_at("healthy-19c", 60))
    got = judged_between(wrapped(healthy[0], 4_294_967_000), wrapped(healthy[1], 40))
    assert [one for one in got.findings if one.severity is not Severity.INFO] == []
    assert got.severity is Severity.INFO
