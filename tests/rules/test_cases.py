"""Every case against the whole catalogue; every cause has both kinds of case; every condition earns its keep."""

from collections.abc import Iterator
from functools import cache
from itertools import chain

import pytest

from rules.cause import HOME, AnyOf, Cause, Condition, catalogue
from rules.engine import diagnose
from rules.finding import finding
from rules.judge import Hypothesis, OpenCause, hypotheses, refute
from rules.model import Severity
from tests.rules.case_files import (
    Told,
    all_cases,
    complaints,
    context_of_case,
    delta_of_case,
    diagnosis_of_case,
)

CASES = all_cases()


JUDGED = [name for name, cause in catalogue().items() if not cause.handbook]
"""Causes that are found or ruled out. Handbook causes are only for reading."""
LOOK_ALIKES = {name for name, cause in catalogue().items() if cause.drags}


@pytest.mark.parametrize("cause", sorted({told.cause for told in CASES}))
def test_catalogue_judges_every_case_as_expected_and_each_cause_once(cause: str) -> None:
    of_it = [told for told in CASES if told.cause == cause]
    wrong = [each for told in of_it for each in complaints(told, diagnosis_of_case(str(told)))]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
    for told in of_it:
        got = diagnosis_of_case(str(told))
        if cause in LOOK_ALIKES and told.case.expect.verdict == "found":
            loud = [one.cause for one in got.findings if one.severity is not Severity.INFO]
            beside = [one for one in told.case.also if one not in LOOK_ALIKES]
            assert [one for one in loud if one not in LOOK_ALIKES] == beside, f"{told}: each by its own proof"
        verdicts = [one.cause for kind in (got.findings, got.ruled_out, got.undetermined) for one in kind]
        assert sorted(verdicts) == sorted(JUDGED), told


def test_every_judged_cause_has_a_cases_file_and_a_handbook_cause_may_have_one() -> None:
    files = {path.name.removesuffix(".cases.yaml") for path in HOME.glob("*.cases.yaml")}
    assert files == {told.cause for told in CASES}
    for cause in (set(JUDGED) - files) | (files - set(catalogue())):
        pytest.fail(f"rules/causes/{cause}.yaml and {cause}.cases.yaml belong together; write the one that is missing")


def test_cause_has_a_case_that_is_found_and_one_that_is_ruled_out_or_is_offered_and_is_not() -> None:
    for cause in {told.cause for told in CASES}:
        verdicts = {told.case.expect.verdict for told in CASES if told.cause == cause}
        wanted = {"found", "ruled_out"} if cause in JUDGED else {"offered", "not_offered"}
        lacking = ", ".join(sorted(wanted - verdicts))
        assert not lacking, f"rules/causes/{cause}.cases.yaml: no case expects {lacking}; add one"


def without_each_condition() -> Iterator[tuple[str, Cause, str]]:
    """Each cause without one condition, or one alternative, and the signal that it then does not read."""
    for cause in catalogue().values():
        for place, one in enumerate(cause.when):
            before, after = cause.when[:place], cause.when[place + 1 :]
            if before or after:
                name = one.signal if isinstance(one, Condition) else "the alternatives"
                left = cause.model_copy(update={"when": (*before, *after)})
                yield f"{cause.id} without {name} ({place})", left, name
            for fewer in _fewer_alternatives(one):
                gone = next(alternative for alternative in _flat(one) if alternative not in _flat(fewer))
                left = cause.model_copy(update={"when": (*before, fewer, *after)})
                yield f"{cause.id} without {gone.signal} in {place}", left, gone.signal


def _fewer_alternatives(one: Condition | AnyOf) -> Iterator[Condition | AnyOf]:
    alternatives = one.any_of if isinstance(one, AnyOf) else ()
    for gone in alternatives:
        left = tuple(alternative for alternative in alternatives if alternative is not gone)
        yield left[0] if len(left) == 1 else AnyOf(any_of=left)


def _flat(one: Condition | AnyOf) -> tuple[Condition, ...]:
    return one.any_of if isinstance(one, AnyOf) else (one,)


MUTANTS = {name: (mutant, signal) for name, mutant, signal in without_each_condition()}


@pytest.mark.parametrize("name", MUTANTS)
def test_cases_notice_a_missing_condition(name: str) -> None:
    mutant, signal = MUTANTS[name]
    causes = {**catalogue(), mutant.id: mutant}
    of_its_own = [told for told in CASES if told.cause == mutant.id]
    of_its_own.sort(key=lambda told: told.case.expect.by != signal)
    others = (told for told in CASES if told.cause != mutant.id)
    unlike = (told for told in of_its_own if not alike(told, mutant))
    likely_first = chain(unlike, (told for told in of_its_own if alike(told, mutant)), others)
    judged_otherwise = (told for told in likely_first if not judged_alike(told, mutant))
    noticed = (complaints(told, diagnose(delta_of_case(str(told)), causes)) for told in judged_otherwise)
    if not any(noticed):
        way_out = "remove the condition, or add a case that stays quiet only because of it"
        pytest.fail(f"rules/causes/{mutant.id}.cases.yaml: no case fails for {name}; {way_out}", pytrace=False)


def alike(told: Told, mutant: Cause) -> bool:
    """Whether a case gets the expected kind of verdict from the mutant of a cause as well."""
    return alone(mutant, str(told))[0] is judged(str(told), mutant.id)[0]


def judged_alike(told: Told, mutant: Cause) -> bool:
    """Whether a cause and its mutant have the same verdict on a case by themselves, and so in any catalogue."""
    return alone(mutant, str(told)) == judged(str(told), mutant.id)


@cache
def judged(name: str, cause: str) -> tuple[object, ...]:
    """The verdict of a cause alone on a case, by the case's name. Computed once for all its mutants."""
    return alone(catalogue()[cause], name)


def alone(cause: Cause, name: str) -> tuple[object, ...]:
    """The kind of verdict on a cause by itself, and all of it that others see."""
    (one,) = hypotheses(context_of_case(name), [cause])
    verdict = refute(one) if isinstance(one, Hypothesis) else one
    if isinstance(verdict, OpenCause):
        return OpenCause, verdict.reading, verdict.near, verdict.held
    if isinstance(verdict, Hypothesis):
        return Hypothesis, finding(verdict), verdict.named, verdict.sign, [each.result for each in verdict.outcomes]
    return type(verdict), verdict


def test_mutex_release_ignores_the_silent_latch() -> None:
    for told in (told for told in CASES if told.case.release in ("12.2", "19")):
        got = diagnosis_of_case(str(told))
        said = " ".join([got.headline, *(step.statement for step in got.steps)]).lower()
        assert "hot child" not in {step.step for step in got.steps} and "no row cache contention" not in said, told
        assert all(finding.child is None and finding.surface != "latch" for finding in got.findings), told


def test_cluster_process_is_offered_on_no_single_instance() -> None:
    """An ordinary instance is not in a cluster, so LCK0 blocks nobody there, whatever hangs."""
    for told in CASES:
        stated = told.case.rows.get("v$instance", ())
        if told.cause == "ddl-invalidation" and not any(one.get("parallel") == "YES" for one in stated):
            got = diagnosis_of_case(str(told))
            assert "cluster-lock-process" not in {candidate.cause for candidate in got.candidates}, told
            assert "cluster-lock-process" in {out.cause for out in got.ruled_out}, told
