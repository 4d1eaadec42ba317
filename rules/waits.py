"""Time lost in waits: those that ended, those for each hot cache, how severe their cost is, and what each surface lost.

v$system_event counts a wait when it ends. So no counter has the time that a session still waiting has lost. That time is
added to the cost. When the wait ends, the part that an earlier look counted is subtracted.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from collectors.model import (
    RESULT_CACHE_LATCH,
    ROW_CACHE_LATCH,
    ROW_CACHE_LOCK_EVENT,
    ROW_CACHE_MUTEX_EVENT,
    Delta,
    Missing,
    Row,
    number,
)
from rules.base import remembered
from rules.cache_map import CacheMap
from rules.model import AttributedBy, Impact, Severity, Surface
from rules.samples import AGREEING, LATCH_EVENT, MINIMUM_WAITERS, MetWaiting, Samples
from rules.waiting_sessions import WaitingLook, hanging

# Seconds of the waits that ended, as v$system_event counts them, and whether it counts all of them.
#
# An event without waits has no row in v$system_event. If other views show waits, or if the row existed at the start of
# the
# interval, its absence is a gap of the source, and the time is unknown.

SYSTEM_EVENTS = "v$system_event"
PROVING_SLEEPS = 100.0
"""From this number on, sleeps must have been waits. A few may fall between the reads of two views (our bound)."""
PROVING_WAITERS = 10
PROVING_WAITS = 1_000.0
"""So many waits take some microseconds together, if they are timed (our bound)."""
ENDED_MICRO = 1e6
"""A younger sampled wait has ended since. An older one may go on, and a wait counts when it ends."""

FinishedWaits = Mapping[str, float | None]
"""Event → seconds of foreground sessions, None if unknown. An event that is absent had no waits."""


def finished_waits(delta: Delta, samples: Samples) -> FinishedWaits | None:
    """The waits that ended, by event: only foreground sessions count in DB time, and a row without the split counts whole.

    None without v$system_event. `samples`: what was met in v$session.
    """
    if isinstance(delta.read(SYSTEM_EVENTS), Missing):
        return None
    micro: dict[str, list[float | None]] = {}
    for row in delta.rows(SYSTEM_EVENTS):
        micro.setdefault(str(row.get("event")), []).append(_session_micro(row))
    timeless = untimed(delta)
    known = {event: None if timeless else _seconds(times) for event, times in micro.items()}
    if delta.source == "views":
        known.update(dict.fromkeys(_not_captured(delta, samples, micro.keys())))
    return known


def untimed(delta: Delta) -> bool:
    """Whether waits are counted without their time: TIMED_STATISTICS is FALSE, which STATISTICS_LEVEL = BASIC implies.

    Oracle then sets every time to zero. Many waits of no time at all prove it; in a report, whose times are rounded, only
    beside a DB time of zero.
    """
    if delta.source == "report" and delta.cell("v$sys_time_model", "stat_name", "DB time", "value") != 0:
        return False
    rows = delta.rows(SYSTEM_EVENTS)
    if any(number(row.get("time_waited_micro")) != 0 for row in rows):
        return False  # nearly always the first row: every poll asks
    return sum(number(row.get("total_waits")) or 0.0 for row in rows) >= PROVING_WAITS


def _seconds(times: list[float | None]) -> float | None:
    known = [time for time in times if time is not None]
    return sum(known) / 1e6 if len(known) == len(times) else None


def _session_micro(row: Row) -> float | None:
    """Microseconds of foreground sessions. A row without the split counts whole."""
    own = number(row.get("time_waited_micro_fg"))
    return number(row.get("time_waited_micro")) if own is None else own


def _not_captured(delta: Delta, samples: Samples, captured: Set[str]) -> Set[str]:
    """Events without a row that must have one: it disappeared, or other views show their waits."""
    gone = {
        str(oddity.key[0])
        for oddity in delta.oddities
        if oddity.view == SYSTEM_EVENTS and oddity.what == "vanished" and oddity.key
    }
    lacking = {LATCH_EVENT, ROW_CACHE_MUTEX_EVENT, ROW_CACHE_LOCK_EVENT} - captured
    waited = {event for event in lacking if _waited_for(samples, event) or slept_for(delta, event)}
    return gone - captured | waited


def _waited_for(samples: Samples, event: str) -> bool:
    """Whether samples met so many waits that have ended since that there must have been some."""
    enough = samples.met(event) >= PROVING_WAITERS
    return enough and samples.shorter(event, ENDED_MICRO) >= PROVING_WAITERS


def slept_for(delta: Delta, event: str) -> bool:
    """Whether the latch or the mutexes behind an event counted sleeps that must have been waits."""
    if event == LATCH_EVENT:
        latch = [row for row in delta.rows("v$latch") if row.get("name") == ROW_CACHE_LATCH]
        return _many_sleeps(latch) or _many_sleeps(delta.rows("v$latch_children"))
    return event == ROW_CACHE_MUTEX_EVENT and _many_sleeps(delta.rows("v$mutex_sleep"))


def _many_sleeps(rows: Sequence[Row]) -> bool:
    return sum(number(row.get("sleeps")) or 0.0 for row in rows) >= PROVING_SLEEPS


# Which caches are in trouble on a surface, each separately, and what the waits for each of them cost.
#
# Two troubles at once share one latch statistic and one wait event. Each is judged by its share of what the other
# leaves.
# Its cost is its part of the time lost on the surface.

Thing = TypeVar("Thing")

STANDS_OUT = 0.15
"""A cache with a smaller share of a surface's waits is not a trouble of its own."""
GAP = 2.5
"""A hot cache has this many times the waits of the next one. Five caches with a fifth each are one storm."""
MOST = 2
"""More than two at once look like one storm: each of three equal ones would have all that the others leave."""
OWN = 0.8
"""A cache with this share of a surface's waits leaves so little that the figures of the whole surface are its own."""
FEWEST_WAITERS = 5
"""With fewer sampled waiters no cache is hot, whatever its share."""


def standing_out(sizes: Mapping[Thing, float]) -> tuple[Thing, ...]:
    """The few that have most of a whole, the largest first. Empty if it is spread evenly."""
    whole = sum(sizes.values())
    ordered = sorted(sizes.items(), key=lambda item: (-item[1], str(item[0])))
    few: tuple[Thing, ...] = ()
    following = [size for _, size in ordered[1:]] + [0.0]
    for place, ((_, size), after) in enumerate(zip(ordered, following, strict=False), 1):
        if place > MOST or size < STANDS_OUT * whole or not size:
            break
        if size >= GAP * after:
            few = tuple(key for key, _ in ordered[:place])
    return few


BEYOND_PARSING = ("dc_rollback_segments", "dc_sequences", "dc_files", "dc_awr_control")
"""Caches that transactions, inserts and background work read, and neither a parse nor a logon."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one cache, or those behind one child, have of the time lost on a surface; or what no figure attributes."""

    caches: tuple[str, ...]
    share: float
    by: AttributedBy | None = None
    child: int | None = None
    name: str | None = None


class HotCaches:
    """The hot caches on each surface of one Delta. It holds names and costs, no counters."""

    def __init__(
        self,
        rowcache: tuple[Row, ...],
        caches: CacheMap,
        sleeps: Mapping[int, float],
        waiters: Mapping[Surface, Mapping[str, float]],
        seconds: Mapping[Surface, float | None],
        found: Set[tuple[str, ...]] = frozenset(),
        still: Mapping[Surface, Mapping[str, float]] = {},
    ) -> None:
        """`sleeps` by child of the latch, `waiters` sampled by cache, `seconds` lost on each surface of this instance.

        `found`: the caches of each cause that is found already. Other troubles are judged by their share of what these leave.
        `still`: seconds of those who still wait, by cache.
        """
        self._rowcache, self._map, self._seconds = rowcache, caches, seconds
        self._sleeps, self._waiters, self._found, self._still = sleeps, waiters, found, still

    @cached_property
    def children(self) -> tuple[int, ...]:
        """Hot children of the row cache latch, by their sleeps."""
        return standing_out(self._sleeps)

    @remembered
    def caches(self, surface: Surface) -> tuple[str, ...]:
        """Hot caches, by the sampled waiters of a mutex or lock."""
        sizes = self._waiters.get(surface)
        if not sizes:
            return ()
        known = {str(row.get("parameter")) for row in self._rowcache}
        return tuple(cache for cache in standing_out(sizes) if cache in known and sizes[cache] >= FEWEST_WAITERS)

    def _sizes(self, surface: Surface) -> Mapping[Any, float]:
        """Sleeps by child of the latch, or sampled waiters by cache."""
        return self._sleeps if surface == "latch" else self._waiters.get(surface, {})

    def others(self, surface: Surface, caches: Iterable[str]) -> Set[Any]:
        """The children or caches that are left out of the whole for some caches: hot ones beside them, and those found."""
        own, hot = self._keys(surface, caches), set(self.children if surface == "latch" else self.caches(surface))
        return ((hot if hot & own else set()) | self._keys(surface, self.found_beside(caches))) - own

    def beside(self, surfaces: Iterable[Surface], caches: Iterable[str]) -> tuple[str, ...]:
        """The other hot caches on the surfaces on which some caches are hot, and those found."""
        by_surface = [hot for surface in surfaces if (hot := self.named(surface))]
        if not (by_surface or self._found):  # nearly always, and every poll asks
            return ()
        own, beside = set(self.waited_as(caches)), self.found_beside(caches)
        for hot in by_surface:
            if any(own & set(names) for names in hot):
                beside.update(name for names in hot if not own & set(names) for name in names)
        return tuple(sorted(beside))

    def found_beside(self, caches: Iterable[str]) -> set[str]:
        """The caches of found troubles that are not those of some caches: within one trouble causes compete."""
        if not self._found:  # nearly always, and every poll asks
            return set()
        own, here = set(self.waited_as(caches)), {str(row.get("parameter")) for row in self._rowcache}
        groups = (here.intersection(self.waited_as(group)) for group in self._found)
        return set[str]().union(*(group for group in groups if not group & own))

    def _keys(self, surface: Surface, caches: Iterable[str]) -> Set[Any]:
        """The children, or the names, under which waits for some caches are counted on a surface."""
        names = self.waited_as(caches)
        return set(self._map.guarding(names) if surface == "latch" else names)

    @remembered
    def named(self, surface: Surface) -> tuple[tuple[str, ...], ...]:
        """The hot caches on a surface, the hottest first. For a child, all that it guards."""
        if surface == "latch":
            guarded = (self._map.children.get(child) for child in self.children)
            return tuple(tuple(ref.parameter for ref in guard.caches if ref.parameter) for guard in guarded if guard)
        return tuple((cache,) for cache in self.caches(surface))

    def mixed(self, surface: Surface) -> bool:
        """Whether several caches cause the waits on a surface, so that figures of the whole surface belong to none of them."""
        sizes = self._sizes(surface)
        return bool(sizes) and max(sizes.values()) < OWN * sum(sizes.values())

    @remembered
    def _times(self, surface: Surface) -> tuple[Mapping[Any, float], AttributedBy]:
        """By child or cache, the figures that say best whose the time lost on a surface was, and what they are.

        Sampled waiters weigh by time. A sleep counts the same however long it was, but there are more of them.
        """
        met = self._waiters.get(surface, {})
        if surface != "latch":
            return met, "sampled waiters"
        children = {guarded.name: child for child, guarded in self._map.children.items() if guarded.name}
        named = {children[name]: times for name, times in met.items() if name in children}
        enough = max(MINIMUM_WAITERS, OWN * sum(met.values()))
        return (named, "sampled waiters") if sum(named.values()) >= enough else (self._sleeps, "sleeps of children")

    def parts(self, surface: Surface) -> tuple[Part, ...]:
        """What sessions waited for on a surface, the most expensive first. The shares add up to 1."""
        sizes, by = self._times(surface)
        if surface != "latch" and sum(sizes.values()) < (FEWEST_WAITERS if len(sizes) > 1 else AGREEING):
            met, sizes = sizes, self._still.get(surface, {})
            if surface == "lock" and not any(sizes.values()) and not any(met.values()):
                sizes, by = self._changes, "changes"
        whole = sum(sizes.values())
        ordered = sorted(sizes.items(), key=lambda item: (-item[1], str(item[0])))
        return tuple(self._part(key, size / whole, by) for key, size in ordered if size) or (Part((), 1.0),)

    @cached_property
    def _changes(self) -> Mapping[str, float]:
        """Changes by cache, if one has nearly all. A session that changes an entry locks it, and others wait for that."""
        made = {str(row.get("parameter")): number(row.get("modifications")) or 0.0 for row in self._rowcache}
        return made if max(made.values(), default=0.0) >= OWN * sum(made.values()) > 0 else {}

    def _part(self, key: Any, share: float, by: AttributedBy | None) -> Part:
        guarded = self._map.children.get(key)
        if guarded is not None:
            names = (ref.parameter for ref in guarded.caches if ref.parameter)
            return Part(tuple(dict.fromkeys(names)), share, by, key, guarded.name)
        if key not in {row.get("parameter") for row in self._rowcache}:
            return Part((), share)
        return Part((key, *(name for name, parents in self._parents.items() if key in parents)), share, by, None, key)

    def part_of_surface(self, surface: Surface, caches: Iterable[str], spared: Iterable[str] = ()) -> float:
        """Which part of the time lost on a surface was lost for some caches. For none: all but for those spared."""
        sizes, _ = self._times(surface)
        whole = sum(sizes.values())
        if surface == "result-cache" or not whole:
            return 1.0
        own, spare = self._keys(surface, caches), self._keys(surface, spared)
        return sum(size for key, size in sizes.items() if (key in own if own else key not in spare)) / whole

    def waited_as(self, caches: Iterable[str]) -> tuple[str, ...]:
        """The names of some caches and of their parents. A waiter for a subordinate cache names its parent's id."""
        return self._with_parents(frozenset(caches))

    @remembered
    def _with_parents(self, wanted: frozenset[str]) -> tuple[str, ...]:
        return tuple(sorted(wanted.union(*(self._parents[name] for name in wanted & self._parents.keys()))))

    @cached_property
    def _parents(self) -> Mapping[Any, Set[str]]:
        """The names of the parents of each subordinate cache: those with its cache#."""
        by_id, found = defaultdict[Any, set[str]](set), defaultdict[Any, set[str]](set)
        for row in self._rowcache:
            if row.get("type") == "PARENT":
                by_id[row.get("cache#")].add(str(row.get("parameter")))
        for row in self._rowcache:
            if row.get("type") == "SUBORDINATE":
                found[row.get("parameter")] |= by_id[row.get("cache#")]
        return found

    def waited_for(
        self, surfaces: Iterable[Surface], caches: Iterable[str], spared: Iterable[str] = ()
    ) -> float | None:
        """Seconds lost on some surfaces as `part_of_surface` says. None if no surface's time is known."""
        wanted, spare = tuple(caches), tuple(spared)
        parts = [
            seconds * self.part_of_surface(surface, wanted, spare)
            for surface in surfaces
            if (seconds := self._seconds.get(surface)) is not None
        ]
        return sum(parts) if parts else None


# The impact gate: how severe a trouble is by what its waits cost.

IDLE_SESSIONS = 0.01
"""If fewer sessions wait on average it costs nothing, whatever their share of an idle instance's DB time."""
NOTICEABLE_SHARE = 0.005
SHARE_GATE = ((0.10, Severity.CRITICAL), (0.02, Severity.WARNING), (NOTICEABLE_SHARE, Severity.NOTICE))
SESSIONS_GATE = ((5.0, Severity.CRITICAL), (0.5, Severity.WARNING), (0.05, Severity.NOTICE))


def severity_of(impact: Impact | None) -> Severity | None:
    """Share of DB time decides, else waiting sessions. If no session waits it costs nothing, whatever its share."""
    if impact is None or (impact.share_of_db_time is None and impact.waiting_sessions is None):
        return None
    if impact.waiting_sessions is not None and impact.waiting_sessions < IDLE_SESSIONS:
        return Severity.INFO
    if impact.share_of_db_time is not None:
        return _graded(impact.share_of_db_time, SHARE_GATE)
    return _graded(impact.waiting_sessions or 0.0, SESSIONS_GATE)


def severity_of_hang(sessions: int, basis: str) -> Severity | None:
    """Severity of this many sessions that hang at one moment; next to totals at most a warning. None if none hangs."""
    if not sessions:
        return None
    return _graded(float(sessions), SESSIONS_GATE).at_most(Severity.WARNING if basis == "totals" else Severity.CRITICAL)


def _graded(value: float, gate: Sequence[tuple[float, Severity]]) -> Severity:
    return next((severity for floor, severity in gate if value >= floor), Severity.INFO)


# Time lost in waits for the row cache and the result cache, surface by surface. Unknown if it was not captured.

SURFACE_EVENTS: Mapping[Surface, str] = {
    "latch": LATCH_EVENT,
    "mutex": ROW_CACHE_MUTEX_EVENT,
    "lock": ROW_CACHE_LOCK_EVENT,
}
ROW_CACHE_SURFACES: tuple[Surface, ...] = ("latch", "mutex", "lock")


@dataclass(frozen=True)
class LostTime:
    """Seconds by event and by surface, each computed once.

    `finished`: waits that ended. `slept`: what surfaces count of their own waits, None or absent if unknown. `background`: events
    with waiters, background processes included.
    """

    finished: FinishedWaits | None
    slept: Mapping[Surface, float | None]
    background: Set[str]
    look: WaitingLook | None
    surfaces: tuple[Surface, ...]
    printed: bool
    met: Mapping[str, MetWaiting] = field(default_factory=dict)
    """By event, what samples met."""
    seconds: float = 0.0
    """Length of the interval."""
    latch_unread: bool = False
    """Whether the row of the latch is there and none of its figures can be read."""
    unlisted: Set[str] = frozenset()
    """Events that a list of the longest waits does not hold: none of them took longer than what it does hold."""

    @cached_property
    def believed(self) -> Mapping[Surface, float]:
        """Surface → seconds, where the samples are believed and not the finished waits.

        A wait counts when it ends. So where waits that were met had lasted longer than all that ended, those are not all. Where
        nobody counted, the samples are all there is, if more than chance met somebody.
        """
        found: dict[Surface, float] = {}
        for surface in ROW_CACHE_SURFACES:
            met, counted = self.met.get(SURFACE_EVENTS[surface]), self._counted(surface)
            if met is None or surface not in self.surfaces:
                continue
            if counted is None and met.least > 0:
                found[surface] = max(met.average * self.seconds, met.lasting)
            elif counted is not None and met.lasting > counted:
                found[surface] = max(met.lasting, met.least * self.seconds)
        return found

    @cached_property
    def by_surface(self) -> Mapping[Surface, float | None]:
        """Seconds lost on each surface: by its wait event, else by the wait time of its own view. None if unknown."""
        every: tuple[Surface, ...] = (*ROW_CACHE_SURFACES, "result-cache")
        return {surface: self._on(surface) for surface in every}

    def on(self, surfaces: Iterable[Surface]) -> float | None:
        """Seconds lost on those of some surfaces that this instance has and that are known. None if there is none."""
        waits = [self.by_surface[surface] for surface in surfaces if surface in self.surfaces]
        known = [seconds for seconds in waits if seconds is not None]
        return sum(known) if known else None

    def untold(self, surfaces: Iterable[Surface]) -> tuple[Surface, ...]:
        """Those of some surfaces whose time was not captured, or not for every waiter.

        A report prints whatever had activity, so there only a wait that is printed and cannot be read is unknown, or every wait
        where the list of waits is not there.
        """
        if self.printed:
            return tuple(surface for surface in surfaces if surface in self.surfaces and self._not_read(surface))
        return tuple(surface for surface in surfaces if surface in self._incomplete)

    def _not_read(self, surface: Surface) -> bool:
        event = SURFACE_EVENTS.get(surface)
        if event is None or event in self.unlisted or self.by_surface[surface] is not None:
            return False
        unread = surface == "latch" and self.latch_unread
        return self.finished is None or unread or self.finished.get(event, 0.0) is None

    @cached_property
    def _incomplete(self) -> Set[Surface]:
        """The surfaces of this instance whose time is unknown, not of every waiter, or only that of sessions that hang."""
        met = {surface for perhaps in self.look.untold for surface in perhaps} if self.look else set[Surface]()
        return {
            surface
            for surface in self.surfaces
            if self.by_surface[surface] is None
            or surface in met
            or (self._part_only(surface) and surface not in self.believed)
        }

    def waited(self, events: Iterable[str]) -> float | None:
        """Seconds that foreground sessions waited in some events together, open waits included.

        None if one of them was not captured and no session is known to wait.
        """
        waits = [self._waited(event) for event in dict.fromkeys(events)]
        known = [waited for waited in waits if waited is not None]
        return sum(known) if len(known) == len(waits) else None

    def _finished(self, event: str) -> float | None:
        """Seconds of the waits that ended. None if they were not captured."""
        return None if self.finished is None else self.finished.get(event, 0.0)

    def _waited(self, event: str) -> float | None:
        finished = self._finished(event)
        if self.look is None or (finished is not None and not self.look.sessions and not self.look.before):
            return finished
        if finished is None and not self._hangs(event):
            return None  # short waits come and go: without those that ended, those of one moment say nothing
        return self.look.seconds(event, finished or 0.0)

    def _hangs(self, event: str) -> bool:
        """Whether sessions hang in an event. Their waits are a cost by themselves, though not all of it."""
        sessions = self.look.sessions if self.look else ()
        return any(waiter.event == event and waiter.hangs and not waiter.background for waiter in sessions)

    def _part_only(self, surface: Surface) -> bool:
        """Whether the time of a surface is only that of sessions that hang, and not of the waits that ended."""
        event = SURFACE_EVENTS.get(surface)
        if event is None:
            return self.slept["result-cache"] is None and self.by_surface[surface] is not None
        return self._finished(event) is None and self._hangs(event)

    def _on(self, surface: Surface) -> float | None:
        if surface == "result-cache":
            return self._on_result_cache()
        return self.believed.get(surface, self._counted(surface))

    def _counted(self, surface: Surface) -> float | None:
        """By its wait event and the look at who still waits, else by the wait time of its own view."""
        by_event = self.waited((SURFACE_EVENTS[surface],))
        # If a report does not print an event, the latch or mutex itself has the time, unless background processes waited for it.
        by_all = SURFACE_EVENTS[surface] in self.background
        if surface == "lock" or (by_event is not None and (by_event or by_all or not self.printed)):
            return by_event
        slept = self.slept[surface]
        if slept is None and surface == "latch" and self.latch_unread:
            return None
        return by_event if slept is None else slept

    def _on_result_cache(self) -> float | None:
        slept = self.slept["result-cache"]
        waiters = self.look.of(["result-cache"]) if self.look else ()
        if slept is None and not hanging(waiters):
            return None
        return (slept or 0.0) + sum(waiter.inside for waiter in waiters)


def lost_time(
    delta: Delta,
    look: WaitingLook | None,
    latch: Row,
    surfaces: tuple[Surface, ...],
    met: Mapping[str, MetWaiting],
    finished: FinishedWaits | None,
) -> LostTime:
    """The lost time in a Delta and the look at its end. `latch`: the row of the row cache latch, or its children's sums.

    `met`: what samples met, by event.
    """
    background = {
        event for event in SURFACE_EVENTS.values() if delta.cell("v$system_event", "event", event, "time_waited_micro")
    }
    slept: dict[Surface, float | None] = {
        "latch": _slept_seconds([number(latch.get("wait_time"))]),
        "mutex": _slept_seconds([number(row.get("wait_time")) for row in delta.rows("v$mutex_sleep")]),
        "result-cache": _slept_seconds([delta.cell("v$latch", "name", RESULT_CACHE_LATCH, "wait_time")]),
    }
    if untimed(delta):
        slept = dict.fromkeys(slept)
    printed, seconds = delta.source == "report", delta.basis.seconds or 0.0
    unread = [
        row
        for row in delta.rows("v$latch")
        if row.get("name") == ROW_CACHE_LATCH and not {"gets", "wait_time"} & row.keys()
    ]
    unlisted = {str(row.get("event")) for row in delta.rows("v$system_event") if row.get("unlisted")}
    return LostTime(finished, slept, background, look, surfaces, printed, met, seconds, bool(unread), unlisted)


def _slept_seconds(micro: Sequence[float | None]) -> float | None:
    """Seconds together. None if there are none or one is unknown."""
    known = [each for each in micro if each is not None]
    return sum(known) / 1e6 if known and len(known) == len(micro) else None
