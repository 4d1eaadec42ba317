"""One table: how often the diagnosis is right about the same instances, by what the reader sees, beside the busiest cache."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from operator import call
from random import Random

from bench._truth_scores import WORKERS, Verdict, above_info, judgement, told
from collectors.delta import between
from collectors.reports.read import read
from rules.cause import catalogue
from rules.model import Diagnosis, Severity
from tests.truth import rival
from tests.truth.generate import Draw, case
from tests.truth.published import Incident, incidents, staged
from tests.truth.sights import INTERVALS, KINDS, Kind, Seen, drawn, report, seen
from tests.truth.truth import Truth

SEED, TIMES = 57, 3
VERDICTS: tuple[Verdict, ...] = ("right", "kin", "honest", "silent", "wrong")
HEADS = ("seen as", *VERDICTS, "right cache", "busiest: right cache", "false", "busiest: false", "published: right")
ELSEWHERE = ("result cache", "host", "library cache", "no cost")
"""Groups of causes whose trouble is not in the row cache, or none."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What one sight of an instance brought; None: not asked of this instance."""

    kind: Kind
    verdict: Verdict | None
    published: bool = False
    cache: bool | None = None
    """The cache that is named first is a right one."""
    rival_cache: bool | None = None
    false: bool | None = None
    """Something untrue is said, where the row cache has no trouble."""
    rival_false: bool | None = None


def diagnosed(sight: Seen) -> Diagnosis:
    """The public path of what a reader has: a report, or two snapshots."""
    if sight.prints is None:
        return told(between(sight.begin, sight.end))
    (delta,) = read(sight.text.encode(), "report")
    return told(delta)


def marks(number: int, edition: int) -> list[Mark]:
    """What each sight of one instance brought."""
    made = case(number, full_sight=True, draw=Draw(edition, INTERVALS))
    return [_mark(made.truth, kind, sight) for kind, sight in seen(made, Random(f"{edition} {number}"))]


def _mark(truth: Truth, kind: Kind, sight: Seen) -> Mark:
    got = diagnosed(sight)
    found = judgement(truth, got)
    verdict = found.verdict if truth.troubles or truth.hanging else None
    guess = rival.in_report(sight.prints) if sight.prints else rival.in_views(sight.begin, sight.end)
    if not truth.hanging and all(trouble.group in ELSEWHERE for trouble in truth.troubles):
        return Mark(kind, verdict, false=found.false, rival_false=guess is not None)
    right = {name for trouble in truth.troubles for name in trouble.caches}
    if not right:
        return Mark(kind, verdict)
    return Mark(kind, verdict, cache=_cache(got) in right, rival_cache=guess in right)


def _cache(got: Diagnosis) -> str | None:
    """The cache that a diagnosis names first: that of a cause, else that of a trouble without one."""
    named = (finding.cache for finding in above_info(got))
    return next(filter(None, (*named, *(trouble.cache for trouble in got.troubles))), None)


OF_FORM: dict[str, Kind] = {"capture": "samples", "awr-html": "awr", "awr-text": "awr", "statspack": "statspack"}


def published(incident: Incident, edition: int) -> list[Mark]:
    """What a published incident brought, in each form that its page has."""
    found = forms(incident, edition)
    return [Mark(OF_FORM[form], published_verdict(incident, got), published=True) for form, got in found]


def forms(incident: Incident, edition: int) -> Iterator[tuple[str, Diagnosis]]:
    """Each form that the page of an incident has, and its diagnosis."""
    begin, end = staged(incident, edition)
    for form in incident["kinds"]:
        shown = Seen(begin, end) if form == "capture" else report(begin, end, form, incident.get("prints"))
        yield form, diagnosed(shown)


def published_verdict(incident: Incident, got: Diagnosis) -> Verdict:
    """The verdict on a published incident. A cause outside the row cache costs that nothing, so it may be found as info."""
    right, true = {*incident["causes"]}, {*incident["causes"], *incident.get("relatives", ())}
    named = {finding.cause for finding in above_info(got)}
    shown = named or {finding.cause for finding in got.findings}
    if named - true:
        return "wrong"
    if shown & right or not (right or named):
        return "right"
    if shown & true:
        return "kin"
    is_open = right & {one.cause for one in got.undetermined}
    return "honest" if is_open or got.severity is not Severity.INFO else "silent"


def measured(seed: int = SEED, times: int = TIMES, most: int | None = None) -> list[Mark]:
    """The marks of a draw and of the published incidents. `most`: only so many of both, the instances from all over."""
    numbers = drawn(seed, times)
    tasks = [
        *(partial(marks, number, seed) for number in numbers[:: max(1, len(numbers) // (most or len(numbers)))][:most]),
        *(partial(published, incident, seed) for incident in incidents()[:most]),
    ]
    if most is not None:
        return [mark for task in tasks for mark in task()]
    with ProcessPoolExecutor(min(WORKERS, os.cpu_count() or 1), initializer=catalogue) as pool:
        return [mark for found in pool.map(call, tasks, chunksize=4) for mark in found]


def title(found: Sequence[Mark], seed: int = SEED) -> str:
    """What was drawn."""
    ours = [mark for mark in found if mark.kind == "views" and not mark.published]
    staged, caches, calm = ([getattr(mark, one) for mark in ours] for one in ("verdict", "cache", "false"))
    return (
        f"Seed {seed}: of {len(ours)} instances {_asked(staged)} have a cause to find, {_asked(caches)} a cache to name, "
        f"{_asked(calm)} no problem of the row cache."
    )


def _asked(of: Sequence[object]) -> int:
    return sum(one is not None for one in of)


def rows(found: Sequence[Mark]) -> Iterator[tuple[str, ...]]:
    """The cells of the table, one row for each sight."""
    for kind, name in KINDS.items():
        ours = [mark for mark in found if mark.kind == kind and not mark.published]
        verdicts = (_share([mark.verdict and mark.verdict == verdict for mark in ours]) for verdict in VERDICTS)
        columns = ("cache", "rival_cache", "false", "rival_false")
        asked = (_share([getattr(mark, column) for mark in ours]) for column in columns)
        pages = [mark.verdict == "right" for mark in found if mark.kind == kind and mark.published]
        yield name, *verdicts, *asked, f"{sum(pages)} of {len(pages)}" if pages else "–"


def _share(hits: Sequence[bool | None]) -> str:
    """The share of those that were asked."""
    asked = [hit for hit in hits if hit is not None]
    return f"{100 * sum(asked) / len(asked):.0f} %" if asked else "–"
