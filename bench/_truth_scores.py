"""How a diagnosis compares with the truth of its instance; two processes score them if there are many."""

import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Literal

from collectors.delta import between
from collectors.model import NotComparable
from rules.engine import cannot_tell, diagnose
from rules.model import Diagnosis, Finding, Severity
from tests.truth.generate import Case, case
from tests.truth.plan import setting_of
from tests.truth.truth import Trouble, Truth

WORKERS = 2
FEW = 24
"""Seeds that are not worth a process."""
Verdict = Literal["found", "ruled out", "cannot tell"]
NOTHING = "(nothing)"


@dataclass(frozen=True, slots=True)
class TroubleScore:
    """The verdict on one staged cause. `why` is the signal that ruled it out, or the missing view."""

    cause: str
    group: str
    verdict: Verdict
    why: str
    cache: bool | None
    """Whether the finding names a right cache. None if the cause is not found, or has no cache."""


@dataclass(frozen=True, slots=True)
class Score:
    """The verdicts on one instance."""

    seed: int
    kind: str
    name: str
    strength: str | None
    first: str
    top: bool
    """Whether the first finding is a staged cause."""
    true_on_top: bool
    """Whether the first finding is true at all."""
    troubles: tuple[TroubleScore, ...]
    false: tuple[str, ...]
    """Untrue findings at warning or above."""
    elsewhere: tuple[str, ...]
    """Those of them on a surface without trouble."""
    unexplained: bool
    """The diagnosis reports an incident that neither the truth nor a finding supports."""
    severity_error: int
    """How many ranks the severity is too high; negative if it is too low."""
    noticed: bool
    """Severity warning or above."""
    lost_by_sight: bool
    """A staged cause is ruled out, though the diagnosis with full sight finds it."""

    @property
    def held_back(self) -> bool:
        return self.seed % 2 == 1


def scores(seeds: Iterable[int]) -> list[Score]:
    """The scores of these seeds, in their order."""
    chosen = list(seeds)
    if len(chosen) <= FEW:
        return list(map(score, chosen))
    with ProcessPoolExecutor(min(WORKERS, os.cpu_count() or 1)) as pool:
        return list(pool.map(score, chosen, chunksize=8))


def diagnosed(generated: Case) -> Diagnosis:
    """The public path: two snapshots, their difference, its diagnosis."""
    delta = between(generated.begin, generated.end)
    return cannot_tell(delta) if isinstance(delta, NotComparable) else diagnose(delta)


def score(seed: int) -> Score:
    """The score of one seed."""
    generated = case(seed)
    truth, diagnosis = generated.truth, diagnosed(generated)
    first = diagnosis.findings[0].cause if diagnosis.findings else NOTHING
    incidents = [finding for finding in diagnosis.findings if finding.severity.rank >= Severity.WARNING.rank]
    false = [finding for finding in incidents if finding.cause not in truth.true]
    surfaces = {surface for trouble in truth.troubles for surface in trouble.surfaces}
    troubles = tuple(_of(trouble, diagnosis) for trouble in truth.troubles)
    noticed = diagnosis.severity.rank >= Severity.WARNING.rank
    return Score(
        seed=seed,
        kind=truth.kind,
        name=setting_of(seed).name,
        strength=truth.strength,
        first=first,
        top=first in truth.causes,
        true_on_top=first in truth.true,
        troubles=troubles,
        false=tuple(finding.cause for finding in false),
        elsewhere=tuple(finding.cause for finding in false if finding.surface not in surfaces),
        unexplained=noticed and not incidents and not truth.severities() & {"warning", "critical"},
        severity_error=_severity_error(truth, diagnosis),
        noticed=noticed,
        lost_by_sight=truth.kind == "degraded" and _lost(seed, truth, troubles),
    )


def _of(trouble: Trouble, diagnosis: Diagnosis) -> TroubleScore:
    for finding in diagnosis.findings:
        if finding.cause == trouble.cause:
            return TroubleScore(trouble.cause, trouble.group, "found", "", _right_cache(trouble, finding))
    for ruled in diagnosis.ruled_out:
        if ruled.cause == trouble.cause:
            return TroubleScore(trouble.cause, trouble.group, "ruled out", ruled.signal, None)
    why = next((open_one.missing for open_one in diagnosis.undetermined if open_one.cause == trouble.cause), "")
    return TroubleScore(trouble.cause, trouble.group, "cannot tell", why, None)


def _right_cache(trouble: Trouble, finding: Finding) -> bool | None:
    if not trouble.caches:
        return None
    named = {finding.cache, *(cache.parameter for cache in finding.caches)}
    return bool(named & set(trouble.caches))


def _severity_error(truth: Truth, diagnosis: Diagnosis) -> int:
    errors = [diagnosis.severity.rank - Severity(right).rank for right in truth.severities()]
    return min(errors, key=abs)


def _lost(seed: int, truth: Truth, troubles: tuple[TroubleScore, ...]) -> bool:
    if all(trouble.verdict != "ruled out" for trouble in troubles):
        return False
    whole = diagnosed(case(seed, full_sight=True))
    return bool({finding.cause for finding in whole.findings} & set(truth.causes))
