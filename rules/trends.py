"""series(): several intervals of one instance in order of time: how the trouble moves, and where it starts."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Literal

from pydantic import Field

from collectors.model import Delta, hours
from rules.baseline import sleeps_of
from rules.comparison.compare import compare
from rules.comparison.model import Comparison
from rules.comparison.traffic import top_cache
from rules.context import MINIMUM_SLEEPS, SignalContext
from rules.formatting import percent, rough, sentence
from rules.frozen import Frozen
from rules.impact import NOTICEABLE_SHARE
from rules.model import Diagnosis, Severity
from rules.statistics import ratio
from rules.trends.course import GAP_SECONDS, apart, course
from rules.trends.outlier import stands_out
from rules.trends.same_interval import SeriesInput as SeriesInput
from rules.trends.same_interval import distinct, instance
from rules.trends.trend import Trend, trend

FEWEST_OTHERS = 3
"""With fewer other intervals nothing counts as usual."""
DOUBLE = 2.0
FIGURES = {
    "share_of_db_time": "waits as a share of DB time",
    "sleeps_per_second": "sleeps per second",
    "gets_per_second": "dictionary gets per second",
}


class SeriesPoint(Frozen):
    """One interval of a series. Null is unknown."""

    name: str
    begin: datetime | None
    end: datetime | None
    seconds: float | None
    kind: Literal["interval", "since_startup", "totals"]
    severity: Severity
    headline: str
    share_of_db_time: float | None
    sleeps_per_second: float | None
    gets_per_second: float | None = Field(
        description="gets of all dictionary caches, the load on a latch or mutex; without fastgets"
    )
    top_cache: str | None
    top_cache_share: float | None


class ReportSeries(Frozen):
    """Intervals of one instance in order, their trends, the first bad one, and the changes in it."""

    database: str
    release: str | None
    points: tuple[SeriesPoint, ...]
    trends: tuple[Trend, ...]
    first_bad: str | None
    why_bad: str
    before_after: Comparison | None = Field(description="the last good interval compared with the first bad one")
    notes: tuple[str, ...]
    sentence: str


def series(deltas: Sequence[SeriesInput]) -> ReportSeries:
    """The series of named Deltas with their Diagnoses, in any order. Raises ValueError when there are none."""
    if not deltas:
        raise ValueError("a series needs at least one interval")
    given, repeated = distinct(sorted(deltas, key=_when))
    points = tuple(_point(*entry) for entry in given)
    trends = tuple(trend(figure, words, _timed(points, figure)) for figure, words in FIGURES.items())
    bad, why = _first_bad(given, points)
    around = None if bad is None else _around(given, points, bad)
    return ReportSeries(
        database=given[0][1].database,
        release=given[0][1].release,
        points=points,
        trends=trends,
        first_bad=None if bad is None else points[bad].name,
        why_bad=why,
        before_after=around,
        notes=(*repeated, *_notes(given)),
        sentence=_sentence(points, trends, course(given, bad, why)),
    )


def _when(given: SeriesInput) -> tuple[bool, str, str, str]:
    basis = given[1].basis
    return (basis.begin is None, _naive(basis.begin), _naive(basis.end), given[0])


def _naive(when: datetime | None) -> str:
    return "" if when is None else when.replace(tzinfo=None).isoformat()


def _point(name: str, delta: Delta, diagnosis: Diagnosis) -> SeriesPoint:
    context, seconds = SignalContext(delta), delta.basis.seconds
    top = top_cache(context)
    return SeriesPoint(
        name=name,
        begin=delta.basis.begin,
        end=delta.basis.end,
        seconds=seconds,
        kind=delta.basis.kind,
        severity=diagnosis.severity,
        headline=diagnosis.headline,
        share_of_db_time=diagnosis.impact.share_of_db_time if diagnosis.impact else None,
        sleeps_per_second=ratio(sleeps_of(context), seconds),
        gets_per_second=ratio(context.sum_of(delta.rows("v$rowcache"), "gets"), seconds),
        top_cache=top[0] if top else None,
        top_cache_share=top[1] if top else None,
    )


def _timed(points: Sequence[SeriesPoint], figure: str) -> list[tuple[float, float]]:
    """A figure against the hours since the first interval began. Intervals of unknown time are left out."""
    timed = [(point.begin.replace(tzinfo=None), getattr(point, figure)) for point in points if point.begin is not None]
    known = [(when, value) for when, value in timed if value is not None]
    return [((when - known[0][0]).total_seconds() / 3600, value) for when, value in known]


def _first_bad(given: Sequence[SeriesInput], points: Sequence[SeriesPoint]) -> tuple[int | None, str]:
    """The first interval above info, or with unusual sleeps, and why."""
    for index, point in enumerate(points):
        if point.severity is not Severity.INFO:
            return index, f"the first of severity {point.severity}: {point.headline}"
        why = _outlier(given, points, index)
        if why:
            return index, why
    return None, ""


def _outlier(given: Sequence[SeriesInput], points: Sequence[SeriesPoint], index: int) -> str:
    """Why the sleeps of an interval are unusual. Empty if they are usual, or if too few others are known.

    It is compared with those before it, which are all usual; among the first few, with all others. Sleeps that grow with
    the dictionary gets are load.
    """
    point, seconds = points[index], points[index].seconds
    slept = sleeps_of(SignalContext(given[index][1])) or 0.0
    known = [other for other in points if other is not point and other.sleeps_per_second is not None]
    before = [other for other in points[:index] if other.sleeps_per_second is not None]
    others = before if len(before) >= FEWEST_OTHERS else known
    rates = [other.sleeps_per_second or 0.0 for other in others]
    rate = point.sleeps_per_second
    if rate is None or not seconds or len(rates) < FEWEST_OTHERS or slept < MINIMUM_SLEEPS:
        return ""
    if not stands_out(rate, rates, seconds) or not _more_than_load(point, others):
        return ""
    whose = "the earlier intervals" if others is before else "the other intervals"
    return f"{rough(rate)} sleeps per second, where {whose} have {rough(median(rates))}"


def _more_than_load(point: SeriesPoint, others: Sequence[SeriesPoint]) -> bool:
    """Whether each get sleeps more often than those of the others. True if that is unknown.

    With twice as many gets, each meets twice as many others, so its sleeps may grow in proportion.
    """
    own = _per_get(point)
    asked = [
        (each, gets) for other in others if (each := _per_get(other)) is not None and (gets := other.gets_per_second)
    ]
    if own is None or not asked:
        return True
    load = (point.gets_per_second or 0.0) / median(gets for _, gets in asked)
    return own > DOUBLE * max(load, 1.0) * median(each for each, _ in asked)


def _per_get(point: SeriesPoint) -> float | None:
    return ratio(point.sleeps_per_second, point.gets_per_second)


def _around(given: Sequence[SeriesInput], points: Sequence[SeriesPoint], bad: int) -> Comparison | None:
    """The last good interval before the first bad one, compared with it. Every one before it is good."""
    return compare(given[bad - 1][1], given[bad][1]) if bad else None


def _notes(given: Sequence[SeriesInput]) -> Iterator[str]:
    instances = sorted({instance(entry[1]) for entry in given})
    if len(instances) > 1:
        yield f"the series has intervals of several instances: {', '.join(instances)}"
    ids = sorted({entry[1].dbid for entry in given if entry[1].dbid})
    if len(ids) > 1:
        yield f"the series has intervals of several databases: DB Id {', '.join(ids)}"
    if len({entry[1].basis.begin.tzinfo is None for entry in given if entry[1].basis.begin is not None}) > 1:
        yield "reports print the host's local time and captures UTC, so the order of the two may be wrong"
    for name, delta, _ in given:
        if delta.basis.begin is None:
            yield f"{name} has no start: it comes last and is in no trend"
    for (first, earlier, _), (second, later, _) in pairwise(given):
        yield from _between(first, earlier, second, later)


def _between(first: str, earlier: Delta, second: str, later: Delta) -> Iterator[str]:
    seconds = apart(earlier, later)
    if seconds < 0:
        yield f"{second} begins before {first} ends: the two overlap"
    if seconds > GAP_SECONDS:
        yield f"nothing is known of {hours(seconds)} between {first} and {second}"
    starts = [next(iter(delta.rows("v$instance")), {}).get("startup_time") for delta in (earlier, later)]
    if None not in starts and starts[0] != starts[1]:
        yield f"the instance restarted between {first} and {second}"
    if earlier.release != later.release:
        releases = f"from {earlier.release or 'unknown'} to {later.release or 'unknown'}"
        yield f"the release changed {releases} between {first} and {second}"


def _sentence(points: Sequence[SeriesPoint], trends: Sequence[Trend], where: str) -> str:
    shares = [point.share_of_db_time for point in points if point.share_of_db_time is not None]
    cost = f", at most {percent(max(shares))} of DB time lost" if shares else ""
    many = f"{len(points)} interval" + "s" * (len(points) > 1)
    costs = max(shares, default=0.0) >= NOTICEABLE_SHARE
    judged = [trend for trend in trends if costs or trend.figure != "share_of_db_time"]
    moving = [trend.sentence.rstrip(".") for trend in judged if trend.direction in ("rising", "falling")]
    summary = f"{many}{cost}; {where}" if where else f"{many} without row cache trouble{cost}"
    return sentence("; ".join([summary, *moving]) + ".")
