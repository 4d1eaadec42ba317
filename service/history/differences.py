"""differences(): what differs most within a stretch of time from the rest of its hour, of what is stored.

Each group is one question: which wait, child latch, place, cache or container. Its members are in one unit, so that their
differences can be compared. A poll across an edge of the stretch would mix both sides, so it is on neither.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import isclose
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from collectors.model import Missing, Snapshot
from rules.containers import NAMES, VIEW
from rules.formatting import rough, whole_percent
from rules.waits import IDLE_SESSIONS, ROW_CACHE_SURFACES, SURFACE_EVENTS
from service.history.curves import MICRO, NAMED, SECONDS, Caches, Named, SeriesKey
from service.state.time_window import BadWindow, Window
from service.store.polls import CurvePage, Times, Values
from service.store.repository import Repository
from service.store.snapshots import Details
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
SLACK_TIME = timedelta(milliseconds=SLACK)
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
LONGER = "too few snapshots are kept of this time, one a minute or fewer outside of problems; choose a longer stretch"
"""The way out if a side has too few."""
CURES = {
    "the stretch": "choose a longer stretch",
    "the rest of the hour": "choose a shorter stretch, or another time",
}
Sides = tuple[NDArray[np.bool_], NDArray[np.bool_]]
"""Which intervals are in the stretch, and which in the rest of its hour."""
CONTAINERS = "container_wait_seconds"
NO_CONTAINERS = (
    f"{VIEW} has no such row: either no session has waited since the start, or latchscope polls inside a container"
)


def _container(key: SeriesKey, names: Caches) -> str:
    number = int(key["con_id"])
    return f"container {number} ({names[number]})" if names.get(number) else f"container {number}"


GROUPS: Mapping[str, Named] = {name: NAMED[name] for name in METRICS} | {
    CONTAINERS: Named(
        "foreground time waited for the row cache by a container",
        SECONDS,
        view=VIEW,
        column="time_waited_micro_fg",
        match={"event": [SURFACE_EVENTS[surface] for surface in ROW_CACHE_SURFACES]},
        of=_container,
        scale=MICRO,
    )
}
"""The groups of an answer. Containers are in no other history."""
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
    """Polls across an edge, which are on neither side."""
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
    newest: Snapshot | None = None,
    now: datetime | None = None,
) -> Differences:
    """A stretch of at most 45 minutes against the rest of its hour. `caches` names the child latches.

    `newest`: the last poll, which may not be stored, and which says what views the release does not have: their groups are
    left out. Raises BadWindow for a longer stretch, and what the store raises.
    """
    around = hour_around(stretch, now or datetime.now(UTC))
    until = around.end + SLACK_TIME  # the store leaves out what ends there
    page = store.history.page(database, ("waiting",), around.begin, until, "poll")
    asked = [name for name in GROUPS if not _not_asked(GROUPS[name].view, newest)]
    wanted = [(GROUPS[name].view, GROUPS[name].column) for name in asked if name != COST]
    details = store.snapshots.details(database, wanted, around.begin, around.end, newest, most=None)
    containers = newest.rows(NAMES) if newest else ()
    names = {int(str(row["con_id"])): str(row.get("name") or "") for row in containers}
    return compared(page, details, database, stretch, around, caches or {}, asked, names)


def compared(
    page: CurvePage,
    details: Details,
    database: str,
    stretch: Window,
    around: Window,
    caches: Caches,
    metrics: Sequence[str] = METRICS,
    containers: Caches = MappingProxyType({}),
) -> Differences:
    """The same of polls and details that were read. The page has the polls of the hour; `containers` names them."""
    polls = Spans(page.begins, page.ends, page.seconds)
    kept = Spans(details.times[:-1], details.times[1:], np.where(details.same, details.seconds, np.nan))
    inside, outside = polls.sides(stretch, around)
    counts = [int(side.sum()) for side in (inside, outside)]
    few = next(
        (
            f"{count or 'no'} poll{'' if count == 1 else 's'} of {where} can be used, and it takes {LEAST_POLLS}; {cure}"
            for count, (where, cure) in zip(counts, CURES.items(), strict=True)
            if count < LEAST_POLLS
        ),
        None,
    )
    groups = []
    for name in metrics if few is None else ():
        metric = GROUPS[name]
        if name == COST:
            waiting = page.values["waiting"]
            groups.append(_group(name, [(ALL, waiting)], polls, (inside, outside), ~np.isnan(waiting)))
            continue
        members = defaultdict[str, list[Values]](list)
        for series in details.series[metric.view, metric.column]:
            if metric.takes(series):
                rates = details.changes(series) / details.seconds * metric.scale
                members[metric.of(series.key, containers if name == CONTAINERS else caches) or ALL].append(rates)
        together = [(of, np.sum(rates, axis=0)) for of, rates in members.items()]
        group = _group(name, together, kept, kept.sides(stretch, around), details.read[metric.view])
        if name == CONTAINERS and not members and not group.cannot_tell:
            group = replace(group, cannot_tell=NO_CONTAINERS)
        groups.append(group)
    seconds = [float(np.nansum(polls.seconds[side])) for side in (inside, outside)]
    return Differences(
        database=database,
        begin=stretch.begin,
        end=stretch.end,
        hour_begin=around.begin,
        hour_end=around.end,
        resolution="poll",
        stretch_seconds=seconds[0],
        stretch_polls=counts[0],
        rest_seconds=seconds[1],
        rest_polls=counts[1],
        across=int((~np.isnan(polls.seconds) & ~inside & ~outside).sum()),
        groups=tuple(groups),
        cannot_tell=few,
    )


def _not_asked(view: str | None, frame: Snapshot | None) -> bool:
    """Whether the release has no such view."""
    reading = frame.read(view) if frame and view else None
    return isinstance(reading, Missing) and reading.kind == "not_asked"


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Intervals between polls, or between snapshots, in milliseconds. `seconds` is NaN where nothing is known of one."""

    begins: Times
    ends: Times
    seconds: Values

    def sides(self, stretch: Window, around: Window) -> Sides:
        """Which lie whole within the stretch, and which whole outside of it and within the hour."""
        first, last, begun, ended = map(millis, (stretch.begin, stretch.end, around.begin, around.end))
        known = self.seconds > 0
        inside = known & (self.begins >= first - SLACK) & (self.ends <= last + SLACK)
        beside = (self.ends <= first + SLACK) | (self.begins >= last - SLACK)
        outside = known & ~inside & beside & (self.begins >= begun - SLACK) & (self.ends <= ended + SLACK)
        return inside, outside


def _group(
    name: str, members: Sequence[tuple[str, Values]], spans: Spans, sides: Sides, read: NDArray[np.bool_]
) -> DifferenceGroup:
    """The rates of members over these spans. `read`: where their view was read."""
    metric, (inside, outside) = GROUPS[name], sides
    covered = [float(np.nansum(spans.seconds[side & read])) for side in sides]
    if min(int((side & read).sum()) for side in sides) < LEAST_POLLS:
        enough = min(int(side.sum()) for side in sides) >= LEAST_POLLS
        why = f"{metric.view or metric.title} was not read often enough in this hour" if enough else LONGER
        return DifferenceGroup(name, metric.title, metric.unit, covered[0], covered[1], (), why)
    least = IDLE_SESSIONS * covered[0] if metric.unit in OF_TIME else LEAST_EVENTS
    found = [_member(of, rates, spans, inside, outside, least) for of, rates in members]
    return DifferenceGroup(name, metric.title, metric.unit, covered[0], covered[1], shared(found))


def _member(
    of: str, rates: Values, spans: Spans, inside: NDArray[np.bool_], outside: NDArray[np.bool_], least: float
) -> Difference:
    means: list[float | None] = []
    parts: list[Values] = []
    for side in (inside, outside):
        known = side & ~np.isnan(rates)
        enough = int(known.sum()) >= LEAST_POLLS
        means.append(float(np.average(rates[known], weights=spans.seconds[known])) if enough else None)
        parts.append(rates[known])
    return difference(of, means[0], means[1], max(least / float(np.nansum(spans.seconds[inside])), spread(*parts)))


def spread(stretch: Values, rest: Values) -> float:
    """What the means of two sides may differ by although nothing changed, from the values of their polls.

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
