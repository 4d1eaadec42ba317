"""Series of reports: trends over time."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import combinations, pairwise
from math import log, sqrt
from statistics import fmean, median
from typing import Literal

from pydantic import Field

from collectors.model import Delta, Missing, hours, text
from rules.base import Frozen
from rules.baseline import sleeps_of
from rules.comparison.changes import Comparison, top_cache
from rules.comparison.compare import comparable_times, compare
from rules.context import MINIMUM_SLEEPS, SignalContext, ratio
from rules.formatting import percent, rough, sentence
from rules.model import CANNOT_TELL, Diagnosis, Severity
from rules.waits import NOTICEABLE_SHARE

# Which of several inputs have the same interval, and which of them a series takes.

SeriesInput = tuple[str, Delta, Diagnosis]


def distinct(ordered: Sequence[SeriesInput]) -> tuple[list[SeriesInput], list[str]]:
    """The most complete input for each interval, and notes about the others."""
    kept: list[SeriesInput] = []
    left_out: list[SeriesInput] = []
    for entry in ordered:
        index = next((i for i, other in enumerate(kept) if same_interval(entry[1], other[1])), None)
        if index is None:
            kept.append(entry)
            continue
        less, kept[index] = sorted((entry, kept[index]), key=_says)
        left_out.append(less)
    return kept, [note for each in kept if (note := _stands_for(each, left_out))]


def _stands_for(kept: SeriesInput, left_out: Sequence[SeriesInput]) -> str:
    """That an input stands for others of its interval, and those whose verdict is another; empty where it is alone."""
    others = [entry for entry in left_out if same_interval(entry[1], kept[1])]
    alike = ", ".join(entry[0] for entry in others if not _disagree(entry, kept))
    against = ", ".join(f"{entry[0]} ({_verdict(entry)})" for entry in others if _disagree(entry, kept))
    said = [f"{kept[0]} is used for its interval; left out, as they are of the same interval: {alike}"] if alike else []
    if against:
        said.append(
            f"{kept[0]} ({_verdict(kept)}) and {against} claim the same interval and disagree, and nothing "
            f"shows which is right; the series counts {kept[0]} alone, because {_why_kept(kept, others)}"
        )
    return "; ".join(said)


def _why_kept(kept: SeriesInput, others: Sequence[SeriesInput]) -> str:
    views = _says(kept)[0]
    return "it has the most figures" if all(views > _says(entry)[0] for entry in others) else "none has more figures"


def _disagree(given: SeriesInput, other: SeriesInput) -> bool:
    """Whether two inputs differ in how bad it is, or each names another cause."""
    causes = {finding.cause for entry in (given, other) for finding in entry[2].findings[:1]}
    return given[2].severity is not other[2].severity or len(causes) > 1


def _verdict(given: SeriesInput) -> str:
    return ", ".join([given[2].severity.state, *(finding.cause for finding in given[2].findings[:1])])


def _says(given: SeriesInput) -> tuple[int, int]:
    """How complete an input is: first by the readable views, then by its severity."""
    read = sum(not isinstance(reading, Missing) for reading in given[1].readings.values())
    return read, given[2].severity.rank


def same_interval(delta: Delta, other: Delta) -> bool:
    """Whether two inputs have one owner and one interval."""
    return delta.basis.begin is not None and (_owner(delta), delta.basis) == (_owner(other), other.basis)


def _owner(delta: Delta) -> tuple[str | None, ...]:
    """Database, instance, release and container: reports that differ in one of them are not of the same thing."""
    container = next(iter(delta.rows("sys_context")), {}).get("con_name")
    return delta.dbid, instance(delta), delta.release, text(container)


def instance(delta: Delta) -> str:
    """Database and instance, because two instances of a cluster have snapshots of the same moments."""
    number = next(iter(delta.rows("v$instance")), {}).get("instance_number")
    return delta.database if number is None else f"{delta.database} instance {number}"


# Where the trouble of a series begins, and whether it goes and comes back, in words that hold for every order of
# intervals.

GAP_SECONDS = 60.0
"""A longer gap between two intervals may hide an event that neither shows."""
UNUSUAL = "an unusual rate of sleeps"
"""What an interval shows whose sleeps cost nothing."""
TOLD = 2
"""Turns with their names. The others are counted."""


def apart(earlier: Delta, later: Delta) -> float:
    """Seconds from the end of one interval to the start of the next. Negative if they overlap, 0 if unknown."""
    end, begin = earlier.basis.end, later.basis.begin
    if end is None or begin is None or not comparable_times(end, begin):
        return 0.0
    return (begin - end).total_seconds()


def course(given: Sequence[SeriesInput], bad: int | None, why: str) -> str:
    """Where the trouble starts, as far as the intervals show, and when it is gone and back. Empty without trouble."""
    if bad is None:
        return ""
    start, turns = _start(given, bad), _turns(given, bad)
    return f"{start}{turns}. {given[bad][0]} is {why}" if turns else f"{start}, {why}"


def _start(given: Sequence[SeriesInput], bad: int) -> str:
    """From when on it is there. Only a judged interval before it shows that it was not there earlier."""
    name, change, diagnosis = given[bad]
    what = UNUSUAL if diagnosis.severity is Severity.INFO else "the problem"
    if change.basis.begin is None:
        return f"{what} is in {name}, whose time is unknown"
    if not _one_owner(given):
        return f"the earliest that shows {what} is {name}"
    judged = next((entry for entry in reversed(given[:bad]) if _well(entry)), None)
    if judged is None:
        return f"{what} is in {name}, the first interval" + (" that could be judged" if bad else "")
    if judged is not given[bad - 1] or apart(judged[1], change) > GAP_SECONDS:
        return f"{what} begins between {judged[0]} and {name}"
    return f"{what} begins with {name}"


def _turns(given: Sequence[SeriesInput], bad: int) -> str:
    """When it is gone and when it is back, after an interval of some severity. Empty if it stays, or nobody can tell."""
    if given[bad][2].severity is Severity.INFO or given[bad][1].basis.begin is None or not _one_owner(given):
        return ""
    turns: list[str] = []
    for entry in given[bad + 1 :]:
        there = len(turns) % 2 == 0
        if entry[1].basis.begin is not None and _well(entry) is there and (there or _ill(entry)):
            turns.append(f"gone from {entry[0]} on" if there else f"back from {entry[0]} on")
    more = f" and {len(turns) - TOLD} more turns after that" if len(turns) > TOLD else ""
    return "".join(f", {turn}" for turn in turns[:TOLD]) + more


def _ill(entry: SeriesInput) -> bool:
    return entry[2].severity is not Severity.INFO


def _well(entry: SeriesInput) -> bool:
    """Whether it was judged and nothing was found. What cannot be judged shows neither."""
    return not _ill(entry) and entry[2].standing != CANNOT_TELL


def _one_owner(given: Sequence[SeriesInput]) -> bool:
    """Whether all intervals are of one database and instance. Otherwise one may be well while another is not."""
    return len({(delta.dbid, instance(delta)) for _, delta, _ in given}) == 1


# Whether a rate is outside the usual range of others: by logarithms, and never by less than healthy rates vary.

ORDINARY_SPREAD = 0.4
"""Assumed spread of the logarithm of a healthy rate before anything is known of it: half as much again, or a third
less. Chosen on our own series; no public source is known."""
AS_GOOD_AS = 4
"""The assumption weighs as much as this many rates. A few that happen to be close prove little."""
BEYOND = 5.0
"""Standard errors of one more rate. With it no healthy series of the tests has an outlier (tests/rules/trends)."""
LEAST_FACTOR = 3.0
"""A rate below this many times the median is not an outlier, however steady the others are."""
FEW_EVENTS = 10.0
"""A rate of fewer events counts as one of this many: there is no difference between none and a handful."""


def stands_out(rate: float, others: Sequence[float], seconds: float) -> bool:
    """Whether a rate per second is above that of others, all over intervals of about this many seconds."""
    least = FEW_EVENTS / seconds
    logs = [log(max(other, least)) for other in others]
    middle, n = fmean(logs), len(logs)
    squares = sum((each - middle) ** 2 for each in logs)
    spread = sqrt((AS_GOOD_AS * ORDINARY_SPREAD**2 + squares) / (AS_GOOD_AS + n - 1))
    beyond = log(max(rate, least)) - middle > BEYOND * spread * sqrt(1 + 1 / n)
    return beyond and rate > LEAST_FACTOR * max(median(others), least)


# Whether a figure rises or falls over a series: the count of signs by Mann and Kendall, with the slope by Theil and
# Sen.

MINIMUM_POINTS = 4
CONFIDENT = 1.64
"""Standard deviations of the count of signs. One series in ten without a trend exceeds it, so it is not enough alone."""
ORDINARY_NOISE = 0.35
"""Least assumed spread of the logarithm: the figures of a healthy hour are a third more or less than those of
another, and a few points that happen to be close do not prove less. Chosen on our own series; no public source is known."""
NORMAL = 1.4826
"""Median deviations that make a standard deviation."""
ABOVE_NOISE = 4.5
"""The rise or fall over the whole series, in standard errors of a line through points with that spread. With it about one
healthy figure in a thousand shows a trend (tests/rules/trends)."""
FLOOR = 0.05
"""Added to each value before its logarithm, as a share of the median, so that a value near zero is not endlessly small."""


class Trend(Frozen):
    """How one figure of a series moves."""

    figure: str
    direction: Literal["rising", "falling", "steady", "too few"]
    per_hour: float | None
    points: int
    sentence: str


def trend(figure: str, words: str, points: Sequence[tuple[float, float]]) -> Trend:
    """The trend of (hours, value) points. `words` is the name of the figure."""
    slopes = [_slope(first, later) for first, later in combinations(sorted(points), 2) if later[0] > first[0]]
    if len(points) < MINIMUM_POINTS or not slopes:
        sentence = f"{len(points)} points of {words} are too few for a trend, at least {MINIMUM_POINTS} are needed."
        return Trend(figure=figure, direction="too few", per_hour=None, points=len(points), sentence=sentence)
    slope = median(slopes)
    if not _moves(points, slope):
        sentence = f"{words} are steady over {len(points)} points."
        return Trend(figure=figure, direction="steady", per_hour=slope, points=len(points), sentence=sentence)
    up = slope > 0
    sentence = f"{words} {'rise' if up else 'fall'} by {rough(abs(slope))} per hour over {len(points)} points."
    return Trend(
        figure=figure, direction="rising" if up else "falling", per_hour=slope, points=len(points), sentence=sentence
    )


def _moves(points: Sequence[tuple[float, float]], slope: float) -> bool:
    """Whether the signs agree beyond chance, and the figure grows or shrinks by more than it usually varies."""
    middle = median(value for _, value in points)
    if middle <= 0:
        return False
    scaled = sorted((when, log(max(value, 0.0) + FLOOR * middle)) for when, value in points)
    slopes = [_slope(first, later) for first, later in combinations(scaled, 2) if later[0] > first[0]]
    n, signs = len(scaled), sum((each > 0) - (each < 0) for each in slopes)
    certain = (abs(signs) - 1) / sqrt(n * (n - 1) * (2 * n + 5) / 18) >= CONFIDENT
    growth = median(slopes)
    left = [value - growth * when for when, value in scaled]
    spread = NORMAL * median(abs(value - median(left)) for value in left)
    moved = abs(growth) * (scaled[-1][0] - scaled[0][0])
    return certain and growth * slope > 0 and moved > ABOVE_NOISE * max(spread, ORDINARY_NOISE) * sqrt(12 / (n + 2))


def _slope(first: tuple[float, float], later: tuple[float, float]) -> float:
    return (later[1] - first[1]) / (later[0] - first[0])


# series(): several intervals of one instance in order of time: how the trouble moves, and where it starts.

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
    fine = all(point.severity is Severity.INFO for point in points)
    summary = "; ".join(filter(None, (f"{many}{' without a row cache problem' * fine}{cost}", where)))
    return sentence("; ".join([summary, *moving]) + ".")
