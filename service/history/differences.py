"""differences(): what differs most within a stretch of time from the rest of its hour, of what is stored.

Each group is one question: which wait, child latch, place, cache or container. Its members are in one unit, so that their
differences can be compared. A poll across an edge of the stretch would mix both sides, so it is on neither.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import isclose

import numpy as np
from numpy.typing import NDArray

from collectors.model import Delta, Missing, Snapshot, number, text
from rules.containers import NAMES, VIEW, container_waits
from rules.formatting import rough, whole_percent
from rules.waits import IDLE_SESSIONS
from service.history.timeseries import MICRO, NAMED, Caches
from service.state.window import BadWindow, Window
from service.store.figures import Values
from service.store.record import IMPACT
from service.store.repository import Repository
from service.store.series import FINER, WIDTHS, HistoryPage, HistorySpans, SeriesSelector, StoredSeries
from service.store.tables import millis

HOUR = timedelta(hours=1)
LONGEST = timedelta(minutes=45)
"""The longest stretch. A longer one leaves too little of its hour to compare with."""
LEAST_POLLS = 3
"""Fewer polls on a side say nothing about it."""
LEAST_EVENTS = 10.0
"""Fewer misses, sleeps or gets more or less are chance."""
ERRORS = 4.0
"""Standard errors of the difference of two means. Less is chance: of a hundred members, some would differ by three of them."""
SAME = 1e-9
"""Two rates that differ by a smaller part of themselves are equal: they were divided by different times."""
SLACK = 50
"""Milliseconds that a poll may reach over an edge."""
COST = "waiting_sessions"
METRICS = (
    COST,
    "event_wait_seconds",
    "child_misses",
    "child_sleeps",
    "location_sleeps",
    "mutex_sleeps",
    "cache_gets",
    "cache_getmisses",
)
"""The groups, by their metrics of the history. Waits come first, because users feel them."""
ALL = "all row cache waits"
"""The only member of a metric without names."""
LONGER = {
    "5m": "this time is kept in steps of five minutes; choose a stretch that holds one",
    "1h": "this time is kept by the hour; compare two windows instead",
}
"""The way out if a stretch of roll-ups is too short."""
CONTAINERS = "container_wait_seconds"
TITLE = "foreground time waited for the row cache by a container"
SECONDS = "seconds per second"
OF_TIME = (SECONDS, "sessions")
"""Units of which 1 means that one session waits all the time."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One child, place, event, cache or container, on both sides, in its group's unit. None if unknown, never zero."""

    of: str
    stretch: float | None
    rest: float | None
    difference: float | None
    """`stretch` less `rest`."""
    ratio: float | None
    """`stretch` by `rest`. None too if `rest` is 0."""
    share: float | None = None
    """Part of the whole group within the stretch, 0 to 1."""
    share_of_difference: float | None = None
    """Part of all differences of the group, up or down, 0 to 1."""
    noticeable: bool = False
    """Whether it is more than chance: than few events, and than what single polls vary by."""


@dataclass(frozen=True, slots=True)
class DifferenceGroup:
    """Members of one unit, the largest difference first; those that are unknown come last."""

    metric: str
    title: str
    unit: str
    stretch_seconds: float
    rest_seconds: float
    """What was read of this group on each side."""
    members: tuple[Difference, ...]
    """Those that changed at all in this hour."""
    cannot_tell: str | None = None
    """Why nothing is known of the group."""

    @property
    def noticeable(self) -> tuple[Difference, ...]:
        """The members that differ by more than chance."""
        return tuple(member for member in self.members if member.noticeable)


@dataclass(frozen=True, slots=True)
class Differences:
    """A stretch against the rest of its hour, with what was watched of both."""

    database: str
    begin: datetime
    end: datetime
    hour_begin: datetime
    hour_end: datetime
    resolution: str
    stretch_seconds: float
    stretch_polls: int
    rest_seconds: float
    rest_polls: int
    across: int
    """Polls or roll-ups across an edge, which are on neither side."""
    groups: tuple[DifferenceGroup, ...]
    cannot_tell: str | None = None

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        if self.cannot_tell:
            return f"Cannot tell: {self.cannot_tell}."
        (cost,) = (group for group in self.groups if group.metric == COST)
        named = [group for group in self.groups if group is not cost]
        here, rest = next(((member.stretch, member.rest) for member in cost.members), (0.0, 0.0))
        said = "It is unknown how many sessions waited for the row cache."
        if not cost.cannot_tell and here is not None and rest is not None:
            said = f"On average {rough(here)} sessions waited for the row cache here, {rough(rest)} in the rest of the hour."
        for group in named:
            for member in group.noticeable[:1]:
                part = member.share_of_difference
                much = "" if part is None else f", {whole_percent(part)} of the difference"
                values = f"{rough(member.stretch or 0.0)} {group.unit} here, {rough(member.rest or 0.0)} in the rest"
                return f"{said} In {group.title}, {member.of} differs most: {values}{much}."
        return f"{said} No other figure differs by more than chance."


def hour_around(stretch: Window, now: datetime) -> Window:
    """The hour with the stretch in its middle, or the last hour if that one is not over. Raises BadWindow."""
    if stretch.length > LONGEST:
        minutes = stretch.length / timedelta(minutes=1)
        raise BadWindow(
            f"the stretch has {minutes:,.0f} min, and it is compared with the rest of its hour; "
            f"choose one of at most {LONGEST / timedelta(minutes=1):.0f} min"
        )
    end = min(stretch.end + (HOUR - stretch.length) / 2, max(now, stretch.end))
    return Window(end - HOUR, end)


def differences(
    store: Repository,
    database: str,
    stretch: Window,
    caches: Caches | None = None,
    frame: Snapshot | None = None,
    now: datetime | None = None,
) -> Differences:
    """A stretch of at most 45 minutes against the rest of its hour. `caches` names the child latches.

    `frame`: a snapshot that says which views the release does not have; their groups are left out. Raises BadWindow for a
    longer stretch, and what the store raises.
    """
    around = hour_around(stretch, now or datetime.now(UTC))
    wanted = [NAMED[name].selector for name in METRICS]
    until = around.end + timedelta(milliseconds=SLACK)  # the store leaves out what ends there
    page = store.history.points(database, wanted, around.begin, until)
    while not page.spans and page.resolution in FINER:
        page = store.history.points(database, wanted, around.begin, until, FINER[page.resolution])
    found = compared(page, database, stretch, around, caches or {})
    if found.cannot_tell:
        return found
    views = {group.metric: NAMED[group.metric].selector.view for group in found.groups if group.cannot_tell}
    kept = tuple(group for group in found.groups if not _not_asked(views.get(group.metric), frame))
    if _not_asked(VIEW, frame):
        return replace(found, groups=kept)
    pieces = Window(around.begin, stretch.begin), stretch, Window(stretch.end, around.end)
    before, inside, after = (
        store.changes.between_snapshots(database, piece.begin, piece.end, covered=0.0) for piece in pieces
    )
    group = containers(inside, [delta for delta in (before, after) if delta])
    return replace(found, groups=(*kept, group) if group else kept)


def _not_asked(view: str | None, frame: Snapshot | None) -> bool:
    """Whether the release has no such view."""
    reading = frame.read(view) if frame and view else None
    return isinstance(reading, Missing) and reading.kind == "not_asked"


def compared(page: HistoryPage, database: str, stretch: Window, around: Window, caches: Caches) -> Differences:
    """The same of figures that were read, without containers. The page has the spans of the hour."""
    spans = page.spans
    inside, outside = sides(spans, 1000 * WIDTHS.get(page.resolution, 0), stretch, around)
    seconds = [float(np.nansum(spans.seconds[side])) for side in (inside, outside)]
    polls = [int(spans.polls[side].sum()) for side in (inside, outside)]
    across = int((~np.isnan(spans.seconds) & ~inside & ~outside).sum())
    cannot_tell = next(
        (
            f"{count or 'no'} poll{'' if count == 1 else 's'} of {where} can be used, and it takes {LEAST_POLLS}; {cure}"
            for count, where, cure in zip(
                polls,
                ("the stretch", "the rest of the hour"),
                (LONGER.get(page.resolution, "choose a longer stretch"), "choose a shorter stretch, or another time"),
                strict=True,
            )
            if count < LEAST_POLLS
        ),
        None,
    )
    groups = () if cannot_tell else tuple(_group(name, page, inside, outside, caches) for name in METRICS)
    return Differences(
        database=database,
        begin=stretch.begin,
        end=stretch.end,
        hour_begin=around.begin,
        hour_end=around.end,
        resolution=page.resolution,
        stretch_seconds=seconds[0],
        stretch_polls=polls[0],
        rest_seconds=seconds[1],
        rest_polls=polls[1],
        across=across,
        groups=groups,
        cannot_tell=cannot_tell,
    )


def sides(
    spans: HistorySpans, width: int, stretch: Window, around: Window
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which spans lie whole within the stretch, and which whole outside of it and within the hour.

    `width`: milliseconds of a bucket, whose time is its begin; 0 for polls, whose time is their end.
    """
    lasted, slack = np.nan_to_num(spans.seconds), 0 if width else SLACK
    begins = spans.times - (0 if width else np.rint(1000 * lasted).astype(np.int64))
    ends = spans.times + width
    first, last, begun, ended = map(millis, (stretch.begin, stretch.end, around.begin, around.end))
    inside = (lasted > 0) & (begins >= first - slack) & (ends <= last + slack)
    beside = (ends <= first + slack) | (begins >= last - slack)
    outside = (lasted > 0) & ~inside & beside & (begins >= begun - slack) & (ends <= ended + slack)
    return inside, outside


def _group(
    name: str, page: HistoryPage, inside: NDArray[np.bool_], outside: NDArray[np.bool_], caches: Caches
) -> DifferenceGroup:
    metric = NAMED[name]
    selector = metric.selector
    view, column = selector.view, selector.column
    read = page.covered(view, "{}", column)
    covered = [float(np.nansum(read[side])) for side in (inside, outside)]
    if min(int(page.spans.polls[side & ~np.isnan(read)].sum()) for side in (inside, outside)) < LEAST_POLLS:
        why = f"{view if view != IMPACT else metric.title} was not read often enough in this hour"
        return DifferenceGroup(name, metric.title, metric.unit, covered[0], covered[1], (), why)
    series = [one for one in page.series if selector.takes((one.view, one.name, one.column, one.gauge))]
    by_name: dict[str, Values] = defaultdict(lambda: np.zeros(len(page.spans)))
    for one in (*series, *_untold(page, selector, {one.name for one in series})):
        by_name[metric.of(one.key, caches) or ALL] += page.rates(one) * metric.scale
    least = IDLE_SESSIONS * covered[0] if metric.unit in OF_TIME else LEAST_EVENTS
    members = [_member(of, rates, page.spans, inside, outside, least) for of, rates in by_name.items()]
    return DifferenceGroup(name, metric.title, metric.unit, covered[0], covered[1], shared(members))


def _untold(page: HistoryPage, selector: SeriesSelector, known: Set[str]) -> Iterator[StoredSeries]:
    """Counters without any figure that were unknown in some poll. They are no zeros."""
    for missing in sorted(page.spans.missing):
        view, _, rest = missing.partition(" ")
        key, _, column = rest.rpartition(" ")
        if key and key not in known and selector.takes((view, key, column, False)):
            yield page.still(view, key, column)


def _member(
    of: str, rates: Values, spans: HistorySpans, inside: NDArray[np.bool_], outside: NDArray[np.bool_], least: float
) -> Difference:
    means: list[float | None] = []
    parts: list[Values] = []
    for side in (inside, outside):
        known = side & ~np.isnan(rates)
        enough = int(spans.polls[known].sum()) >= LEAST_POLLS
        means.append(float(np.average(rates[known], weights=spans.seconds[known])) if enough else None)
        parts.append(rates[known])
    return difference(of, means[0], means[1], max(least / float(np.nansum(spans.seconds[inside])), spread(*parts)))


def spread(stretch: Values, rest: Values) -> float:
    """What the means of two sides may differ by although nothing changed, from the values of their polls or roll-ups.

    The larger spread counts for both, because few values may look calm. Infinite if no side has two values. Values count as
    independent: where a slow wave runs through the hour, most stretches differ by more.
    """
    known = [side.var(ddof=1) for side in (stretch, rest) if len(side) > 1]
    return ERRORS * float(np.sqrt(max(known) * (1 / len(stretch) + 1 / len(rest)))) if known else np.inf


def difference(of: str, stretch: float | None, rest: float | None, least: float) -> Difference:
    """A member without its shares. A difference up to `least` is chance."""
    if stretch is None or rest is None:
        return Difference(of, stretch, rest, None, None)
    more = 0.0 if isclose(stretch, rest, rel_tol=SAME) else stretch - rest
    return Difference(of, stretch, rest, more, stretch / rest if rest else None, noticeable=abs(more) > least)


def shared(members: Sequence[Difference]) -> tuple[Difference, ...]:
    """Members with their shares, the largest difference first. Those that stayed at 0 are left out.

    An unknown member may be any part of the whole, so beside one no share is known.
    """
    moved = [member for member in members if member.stretch != 0 or member.rest != 0]
    known = all(member.difference is not None for member in moved)
    whole = sum(member.stretch or 0.0 for member in moved)
    movement = sum(abs(member.difference or 0.0) for member in moved)
    told = (
        replace(
            member,
            share=(member.stretch or 0.0) / whole if known and whole else None,
            share_of_difference=abs(member.difference or 0.0) / movement if known and movement else None,
        )
        for member in moved
    )
    return tuple(sorted(told, key=lambda member: (member.difference is None, -abs(member.difference or 0), member.of)))


def containers(stretch: Delta | None, rest: Sequence[Delta]) -> DifferenceGroup | None:
    """Time that sessions of each container waited, from snapshots. None for a release without containers."""
    pieces = [stretch, *rest] if stretch and rest else []
    gaps = [reading for delta in pieces if isinstance(reading := delta.read(VIEW), Missing)]
    if gaps and all(gap.kind == "not_asked" for gap in gaps):
        return None
    seconds = [sum(delta.basis.seconds or 0.0 for delta in side) for side in (pieces[:1], pieces[1:])]
    waited = [waits for delta in pieces if (waits := container_waits(delta)) is not None]
    if not pieces:
        why = "these figures come from snapshots; those of this time are not kept, or the instance restarted"
    elif gaps:
        why = gaps[0].why
    elif len(waited) < len(pieces):
        why = f"a counter of {VIEW} misbehaved, or it has more rows than are read"
    elif not any(waited):
        why = f"{VIEW} has no such row: either no session has waited since the start, or latchscope polls inside a container"
    else:
        why = None
    if why:
        return DifferenceGroup(CONTAINERS, TITLE, SECONDS, seconds[0], seconds[1], (), why)
    names = {number(row.get("con_id")): text(row.get("name")) for delta in pieces for row in delta.rows(NAMES)}
    members = [
        difference(
            f"container {con_id}{f' ({names[con_id]})' if names.get(con_id) else ''}",
            waited[0][con_id] * MICRO / seconds[0],
            sum(each[con_id] for each in waited[1:]) * MICRO / seconds[1],
            IDLE_SESSIONS,
        )
        for con_id in sorted({con_id for each in waited for con_id in each})
    ]
    return DifferenceGroup(CONTAINERS, TITLE, SECONDS, seconds[0], seconds[1], shared(members))
