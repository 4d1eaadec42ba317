"""How a diagnosis compares with the truth of its instance; two processes score them if there are many.

`VERDICTS` defines what right, honest, silent and wrong mean.
"""

import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Literal

from collectors.delta import between
from collectors.model import Delta, NotComparable
from rules.cause import catalogue
from rules.engine import cannot_tell, diagnose
from rules.model import Diagnosis, Finding, Severity
from tests.truth.generate import Case, case
from tests.truth.plan import setting_of
from tests.truth.registry import MECHANISMS
from tests.truth.truth import Trouble, Truth

WORKERS = 2
FEW = 24
"""Seeds that are not worth a process."""
Judged = Literal["found", "info", "ruled out", "open"]
Verdict = Literal["right", "kin", "honest", "silent", "wrong"]
VERDICTS: dict[Verdict, str] = {
    "right": "the staged cause is found above info (a look-alike: found at all)",
    "kin": "not that, but a cause that is true as well, because the staged one contains it, is found above info",
    "honest": "not found and open (undetermined), and no other cause is named above info",
    "silent": "ruled out or found as info, and nothing is said above info",
    "wrong": "ruled out or found as info while something is said above info; or another, untrue cause is named above info",
}
"""Best first. An instance with two troubles has the worse verdict of both. Of an instance without a known trouble: right if
nothing untrue is said (a hang: if it is noticed), else wrong (a hang that is not noticed: silent)."""
NOTHING = "(nothing)"


@dataclass(frozen=True, slots=True)
class TroubleScore:
    """The verdict on one staged cause. `why` is the signal that ruled it out, or the missing view."""

    cause: str
    group: str
    verdict: Verdict
    judged: Judged
    why: str
    cache: bool | None
    """Whether the finding names a right cache. None if the cause is not found, or has no cache."""


@dataclass(frozen=True, slots=True)
class FindingScore:
    """One finding above info."""

    cause: str
    confidence: str
    surface: str
    cache: str | None
    severity: str
    identity: str | None
    staged: bool
    """It is a staged cause: strictly right."""
    true: bool
    """It is staged, or true as well."""
    evidence: str
    """What it rests on: the kind of evidence that its reliability names."""
    rival: bool
    """Another finding above info is about the same surface and cache, or one of the two names no cache."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A diagnosis beside the truth."""

    verdict: Verdict
    troubles: tuple[TroubleScore, ...]
    findings: tuple[FindingScore, ...]
    unexplained: bool
    """The diagnosis reports more than the truth supports, and no finding explains it."""
    false: bool
    """Something is said above info that is not so."""


@dataclass(frozen=True, slots=True)
class Score:
    """The verdicts on one instance."""

    seed: int
    kind: str
    name: str
    strength: str | None
    sight: str
    verdict: Verdict
    first: str
    top: bool
    """Whether the first finding is a staged cause."""
    troubles: tuple[TroubleScore, ...]
    findings: tuple[FindingScore, ...]
    elsewhere: bool
    """An untrue finding is on a surface without trouble."""
    unexplained: bool
    """The diagnosis reports more than the truth supports, and no finding explains it."""
    severity_error: int
    """How many ranks the severity is too high; negative if it is too low."""
    noticed: bool
    """Severity warning or above."""
    lost_by_sight: bool
    """A staged cause is ruled out, though the diagnosis with full sight finds it."""
    unknown_world: tuple[str, ...] | None
    """The causes that are named above info if the true ones are not in the catalogue. None if this was not tried."""
    unknown_noticed: bool
    """Whether that diagnosis says anything above info."""
    seconds: float
    """Processor time of the diagnosis."""

    @property
    def held_back(self) -> bool:
        return self.seed % 2 == 1

    @property
    def false(self) -> bool:
        """Something is said above info that is not so."""
        return bool(self.untrue) or self.unexplained

    @property
    def false_alarm(self) -> bool:
        """Something of warning or above is said that is not so."""
        alarming = ("warning", "critical")
        return self.noticed and (self.unexplained or any(f.severity in alarming and not f.true for f in self.findings))

    @property
    def untrue(self) -> tuple[str, ...]:
        """Causes that are named above info and are not true."""
        return tuple(finding.cause for finding in self.findings if not finding.true)


def scores(seeds: Iterable[int]) -> list[Score]:
    """The scores of these seeds, in their order."""
    chosen = list(seeds)
    if len(chosen) <= FEW:
        return list(map(score, chosen))
    with ProcessPoolExecutor(min(WORKERS, os.cpu_count() or 1), initializer=catalogue) as pool:
        return list(pool.map(score, chosen, chunksize=8))


def diagnosed(generated: Case) -> Diagnosis:
    """The public path: two snapshots, their difference, its diagnosis."""
    return told(between(generated.begin, generated.end))


def told(change: Delta | NotComparable, unknown: frozenset[str] = frozenset()) -> Diagnosis:
    """The diagnosis, without the `unknown` causes in the catalogue."""
    if isinstance(change, NotComparable):
        return cannot_tell(change)
    known = {name: cause for name, cause in catalogue().items() if name not in unknown} if unknown else None
    return diagnose(change, known)


def score(seed: int) -> Score:
    """The score of one seed."""
    generated = case(seed)
    change = between(generated.begin, generated.end)
    began = time.process_time()
    diagnosis = told(change)
    seconds = time.process_time() - began
    truth = generated.truth
    found = judgement(truth, diagnosis)
    surfaces = {surface for trouble in truth.troubles for surface in trouble.surfaces}
    first = diagnosis.findings[0].cause if diagnosis.findings else NOTHING
    in_unknown = _in_unknown_world(truth, change)
    return Score(
        seed=seed,
        kind=truth.kind,
        name=setting_of(seed).name,
        strength=truth.strength,
        sight=str(truth.sight),
        verdict=found.verdict,
        first=first,
        top=first in truth.causes,
        troubles=found.troubles,
        findings=found.findings,
        elsewhere=any(not finding.true and finding.surface not in surfaces for finding in found.findings),
        unexplained=found.unexplained,
        severity_error=_severity_error(truth, diagnosis),
        noticed=diagnosis.severity.rank >= Severity.WARNING.rank,
        lost_by_sight=truth.kind == "degraded" and _lost(seed, truth, found.troubles),
        unknown_world=None if in_unknown is None else tuple(finding.cause for finding in above_info(in_unknown)),
        unknown_noticed=in_unknown is not None and in_unknown.severity is not Severity.INFO,
        seconds=seconds,
    )


def judgement(truth: Truth, diagnosis: Diagnosis) -> Judgement:
    """The verdict on a diagnosis, from whatever it was made."""
    named = above_info(diagnosis)
    findings = tuple(_finding(finding, named, truth) for finding in named)
    troubles = tuple(_trouble(trouble, diagnosis, truth) for trouble in truth.troubles)
    too_much = diagnosis.severity.rank > max(Severity(right).rank for right in truth.severities())
    unexplained = not truth.hanging and too_much and not any(finding.true for finding in findings)
    false = unexplained or not all(finding.true for finding in findings)
    return Judgement(_verdict(truth, troubles, diagnosis, untrue=false), troubles, findings, unexplained, false)


def above_info(diagnosis: Diagnosis) -> list[Finding]:
    """The findings that say that something should be done."""
    return [finding for finding in diagnosis.findings if finding.severity is not Severity.INFO]


def _finding(finding: Finding, named: Sequence[Finding], truth: Truth) -> FindingScore:
    return FindingScore(
        cause=finding.cause,
        confidence=str(finding.confidence),
        surface=finding.surface,
        cache=finding.cache,
        severity=str(finding.severity),
        identity=finding.identity,
        staged=finding.cause in truth.causes,
        true=finding.cause in truth.true,
        evidence=finding.reliability.evidence if finding.reliability else "",
        rival=any(_compete(finding, other) for other in named if other is not finding),
    )


def _compete(one: Finding, other: Finding) -> bool:
    return one.surface == other.surface and (one.cache == other.cache or None in (one.cache, other.cache))


def _verdict(truth: Truth, troubles: Sequence[TroubleScore], diagnosis: Diagnosis, *, untrue: bool) -> Verdict:
    """The worst of the troubles. Without a trouble nothing may be said; a hang must be noticed, though it has no cause here."""
    if troubles:
        order = list(VERDICTS)
        return max((trouble.verdict for trouble in troubles), key=order.index)
    if untrue:
        return "wrong"
    return "silent" if truth.hanging and diagnosis.severity.rank < Severity.WARNING.rank else "right"


def _trouble(trouble: Trouble, diagnosis: Diagnosis, truth: Truth) -> TroubleScore:
    found = next((finding for finding in diagnosis.findings if finding.cause == trouble.cause), None)
    judged, why = _judged(trouble.cause, found, diagnosis)
    named = {finding.cause for finding in above_info(diagnosis)}
    harmless = trouble.cause in MECHANISMS and MECHANISMS[trouble.cause].role == "look-alike"
    verdict: Verdict
    if judged == "found" or (judged == "info" and harmless):
        verdict = "right"
    elif named & trouble.also:
        verdict = "kin"
    elif named - truth.true:
        verdict = "wrong"
        why = why or f"{min(named - truth.true)} is named"
    elif judged == "open":
        verdict = "honest"
    else:
        verdict = "silent" if diagnosis.severity is Severity.INFO else "wrong"
    return TroubleScore(
        trouble.cause, trouble.group, verdict, judged, why, None if found is None else _right_cache(trouble, found)
    )


def _judged(cause: str, found: Finding | None, diagnosis: Diagnosis) -> tuple[Judged, str]:
    """What the diagnosis says of a cause, and the signal or the missing view that decides."""
    if found is not None:
        return ("info", "found as info") if found.severity is Severity.INFO else ("found", "")
    ruled = next((ruled for ruled in diagnosis.ruled_out if ruled.cause == cause), None)
    if ruled is not None:
        return "ruled out", f"not {ruled.signal}"
    missing = next((open_one.missing for open_one in diagnosis.undetermined if open_one.cause == cause), "interval")
    return "open", f"no {missing}"


def _right_cache(trouble: Trouble, finding: Finding) -> bool | None:
    if not trouble.caches:
        return None
    named = {finding.cache, *(cache.parameter for cache in finding.caches)}
    return bool(named & set(trouble.caches))


def _severity_error(truth: Truth, diagnosis: Diagnosis) -> int:
    errors = [diagnosis.severity.rank - Severity(right).rank for right in truth.severities()]
    return min(errors, key=abs)


def _lost(seed: int, truth: Truth, troubles: tuple[TroubleScore, ...]) -> bool:
    if all(trouble.judged != "ruled out" for trouble in troubles):
        return False
    whole = diagnosed(case(seed, full_sight=True))
    return bool({finding.cause for finding in whole.findings} & set(truth.causes))


def _in_unknown_world(truth: Truth, change: Delta | NotComparable) -> Diagnosis | None:
    """The diagnosis of a single trouble of some strength by a catalogue that does not know it.

    What is true as well is not in it either, and neither is what says the same in general.
    """
    if truth.kind != "single" or truth.strength == "weak":
        return None
    return told(change, truth.true | MECHANISMS[truth.causes[0]].general)
