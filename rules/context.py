"""One Delta prepared for judgement: the children of the row cache latch, their caches, the hottest child, the cost."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from collectors.model import ROW_CACHE_LATCH, SCRIPT, Delta, Missing, Row, Value, number, text
from collectors.release import Mechanism, at_least, mechanism_of
from rules.base import remembered
from rules.cache_map import CacheMap, GuardedCaches, HotSpot, cache_map
from rules.contradictions import db_time_is_sound
from rules.latch import LatchStatistics, latch_statistics, misplaced_latch_wait, ratio
from rules.model import Impact, Known, Severity, SignalValue, Surface, Unknown, worst
from rules.samples import LATCH_EVENT, MetWaiting, SampledWaiters, Samples, cache_namer, crowd_of, met_waiting
from rules.waiting_sessions import WaitingLook, hanging, look_of
from rules.waits import (
    IDLE_SESSIONS,
    ROW_CACHE_SURFACES,
    SURFACE_EVENTS,
    FinishedWaits,
    HotCaches,
    LostTime,
    finished_waits,
    lost_time,
    severity_of,
    severity_of_hang,
)

__all__ = ["ROW_CACHE_SURFACES", "SURFACE_EVENTS", "Known", "SignalContext", "SignalValue", "Unknown"]
LOOKUPS = "lookups"
"""What a row of v$rowcache has besides its columns: gets and fastgets together."""
OF_THE_WHOLE_CDB = ("v$latch", "v$rowcache", "v$mutex_sleep")
"""Views whose figures are those of the whole container database, inside a PDB too."""
MINIMUM_SLEEPS = 100
"""Fewer sleeps than this say nothing about shares, shapes or children."""
MINIMUM_CACHE_GETS = 10_000


@dataclass(frozen=True)
class SignalContext:
    """What the signals read. Everything is computed from the Delta, on first use."""

    delta: Delta
    caches: CacheMap | None = None  # the map of the Delta, if the caller has it already
    focus: int | None = None  # the child to describe, if it is not the hottest
    found: frozenset[tuple[str, ...]] = frozenset()  # caches of each found cause; other troubles have the rest
    whole: frozenset[str] = frozenset()  # causes that stood before anything was left out

    def focused_on(self, child: int) -> "SignalContext":
        """This context with another child to describe. Who waits and what it costs stays, because no child changes it."""
        other = replace(self, focus=child)
        vars(other).update(map=self.map, crowd=self.crowd, look=self.look, lost=self.lost, hot_caches=self.hot_caches)
        return other

    def beside(self, found: Mapping[str, tuple[str, ...]]) -> "SignalContext":
        """This context to judge what the troubles of found causes leave, given the caches of each."""
        other = replace(self, found=self.found.union(found.values()), whole=self.whole or frozenset(found))
        vars(other).update(map=self.map, crowd=self.crowd, look=self.look, lost=self.lost)
        return other

    @property
    def printed(self) -> bool:
        """Whether all of this comes from a printed report."""
        return self.delta.source == "report"

    @property
    def busier(self) -> str:
        """The way out if there were too few events."""
        return "take a report of a busier hour" if self.printed else "wait for a busier interval"

    @property
    def another(self) -> str:
        """The way out if a counter misbehaved."""
        return "take a report of another hour" if self.printed else "wait for the next interval"

    @cached_property
    def mechanism(self) -> Mechanism | None:
        """What guards the row cache here."""
        return mechanism_of({row.get("name") for row in self.delta.rows("v$event_name")}, self.delta.release)

    @cached_property
    def map(self) -> CacheMap:
        """Child latch → caches."""
        return cache_map(self.delta) if self.caches is None else self.caches

    @cached_property
    def children(self) -> tuple[Row, ...]:
        """Changes of the children of `row cache objects`, by child number. A row without one is not a child."""
        numbered = [
            (child, row) for row in self.delta.rows("v$latch_children") if isinstance(child := row.get("child#"), int)
        ]
        return tuple(row for _, row in sorted(numbered, key=lambda pair: pair[0]))

    @cached_property
    def children_sleeps(self) -> float | None:
        """Sleeps of all children; None where those of one are not known, which may be the hot one."""
        return self.sum_of(self.children, "sleeps")

    @cached_property
    def hot_child(self) -> int | None:
        """The child with the most sleeps (the lowest if several), or the one in focus. None if no sleeps are known."""
        if self.focus is not None:
            return self.focus
        if self.children_sleeps is None:
            return None
        sleeps = [(number(row.get("sleeps")) or 0.0, row.get("child#")) for row in self.children]
        most = max((slept for slept, _ in sleeps), default=0.0)
        return next((child for slept, child in sleeps if slept == most > 0 and isinstance(child, int)), None)

    @cached_property
    def samples(self) -> Samples:
        """What was met in v$session."""
        return Samples.of(self.delta.rows("v$session"))

    @cached_property
    def crowd(self) -> SampledWaiters | None:
        """The sampled waiters. None without samples."""
        if not self.samples.looks:
            return None
        return crowd_of(self.samples, cache_namer(self.delta, self.map, self.child_by_address))

    @cached_property
    def look(self) -> WaitingLook | None:
        """Who still waits at the end of the interval. None without a look."""
        return look_of(self.delta, cache_namer(self.delta, self.map, self.child_by_address))

    @cached_property
    def child_by_address(self) -> Mapping[str | None, float | None]:
        """Child numbers by their latch addresses."""
        return {text(row.get("addr")): number(row.get("child#")) for row in self.delta.rows("v$latch_children")}

    @property
    def hot(self) -> GuardedCaches | None:
        """What the hot child guards, if known."""
        return self.map.children.get(self.hot_child) if self.hot_child is not None else None

    @property
    def hot_spot(self) -> HotSpot:
        """The hot child and its cache, as headline, steps and findings describe them."""
        return self.map.hot_spot(self.hot_child)

    @cached_property
    def hot_caches(self) -> HotCaches:
        """The caches that stand out on each surface."""
        known = self.children_sleeps is not None
        sleeps = self.delta.by_number("v$latch_children", "child#", "sleeps") if known else {}
        lost = {surface: self.surface_wait_seconds(surface) for surface in self.surfaces}
        met = {surface: self.crowd.caches(event) for surface, event in SURFACE_EVENTS.items()} if self.crowd else {}
        still = {surface: defaultdict[str, float](float) for surface in SURFACE_EVENTS}
        for waiter in self.look.of(SURFACE_EVENTS) if self.look else ():
            still[waiter.surface][waiter.cache] += waiter.inside
        return HotCaches(self.delta.rows("v$rowcache"), self.map, sleeps, met, lost, self.found, still)

    @cached_property
    def latch(self) -> LatchStatistics:
        """Statistics of the whole latch: from v$latch, else summed over its children."""
        return latch_statistics(self.latch_row, self.delta.basis.seconds, self.cpus)

    @cached_property
    def latch_row(self) -> Row:
        """Changes of `row cache objects` in v$latch, else the sums over v$latch_children where every child has the column."""
        for row in self.delta.rows("v$latch"):
            if row.get("name") == ROW_CACHE_LATCH:
                return row
        names = ("gets", "misses", "sleeps", "spin_gets", "wait_time")
        sums = {name: self.sum_of(self.children, name) for name in names}
        return {name: value for name, value in sums.items() if value is not None}

    @cached_property
    def rowcache(self) -> tuple[Row, ...]:
        """The rows of v$rowcache, each with its look-ups if they are known (`rules.context`)."""
        return with_lookups(self.delta.rows("v$rowcache"), self.fast_way)

    @cached_property
    def _rows_by_cache(self) -> Mapping[Value, Sequence[Row]]:
        found: dict[Value, list[Row]] = {}
        for row in self.rowcache:
            found.setdefault(row.get("parameter"), []).append(row)
        return found

    def rows_of(self, caches: Iterable[str]) -> Sequence[Row]:
        """The rows of `rowcache` of some caches."""
        return [row for cache in caches for row in self._rows_by_cache.get(cache, ())]

    @property
    def lists_every_cache(self) -> bool:
        """Whether v$rowcache was certainly captured whole: x$kqrst, the table below it, was read too."""
        return bool(self.delta.rows("x$kqrst"))

    @property
    def fast_way(self) -> bool:
        """Whether look-ups may be counted only in fastgets."""
        return has_fast_way(self.delta.release, self.mechanism)

    @property
    def cpus(self) -> float | None:
        """Processors of the host, or None."""
        return self.level("NUM_CPUS")

    def level(self, statistic: str) -> float | None:
        """A level of v$osstat."""
        return self.delta.cell("v$osstat", "stat_name", statistic, "level_now")

    def host(self, statistic: str) -> float | None:
        """The change of a total of v$osstat, in the view's own unit."""
        return self.delta.cell("v$osstat", "stat_name", statistic, "total")

    @remembered
    def seconds_of(self, statistic: str) -> float | None:
        """Seconds that a statistic of v$sys_time_model grew by. None for a DB time that other figures prove wrong."""
        wrong = statistic == "DB time" and not self._sound
        return None if wrong else self._micro("v$sys_time_model", "stat_name", statistic, "value")

    @cached_property
    def full_release(self) -> str | None:
        """The release with its update where the instance tells it."""
        return full_release_of(self.delta)

    @cached_property
    def inside_pdb(self) -> bool:
        """Whether the figures are partly those of a PDB, partly those of its whole CDB."""
        return self.delta.inside_pdb

    @property
    def shared_db_time(self) -> float | None:
        """Seconds of DB time that the waits of the row cache are a share of. None inside a PDB: it has only its own."""
        return None if self.inside_pdb else self.seconds_of("DB time")

    @cached_property
    def _sound(self) -> bool:
        return db_time_is_sound(self.delta)

    def work(self, statistic: str) -> float | None:
        """The change of a statistic of v$sysstat."""
        return self.delta.cell("v$sysstat", "name", statistic, "value")

    @cached_property
    def finished(self) -> FinishedWaits | None:
        """The waits that ended."""
        return finished_waits(self.delta, self.samples)

    def finished_seconds(self, event: str) -> float | None:
        """Seconds of the waits of foreground sessions that ended. None if they were not captured."""
        return None if self.finished is None else self.finished.get(event, 0.0)

    @cached_property
    def lost(self) -> LostTime:
        """Time lost in waits, computed once."""
        return lost_time(self.delta, self.look, self.latch_row, self.surfaces, self.met, self.finished)

    @cached_property
    def met(self) -> Mapping[str, MetWaiting]:
        """What the samples met, by event."""
        return met_waiting(self.samples, self.delta.basis, SURFACE_EVENTS.values())

    def waited_seconds(self, events: Iterable[str]) -> float | None:
        """Seconds foreground sessions waited in some events together. None if one of them was not captured."""
        return self.lost.waited(events)

    def surface_wait_seconds(self, surface: Surface) -> float | None:
        """Seconds lost on one surface. None if unknown."""
        return self.lost.by_surface[surface]

    def costliest(self, among: Iterable[Surface]) -> Surface:
        """The surface with most time lost; the first of several."""
        return max(among, key=lambda surface: self.surface_wait_seconds(surface) or 0.0)

    @cached_property
    def surfaces(self) -> tuple[Surface, ...]:
        """The surfaces on which this instance can have trouble."""
        waited = self.finished_seconds(LATCH_EVENT)
        both = self.mechanism is None or misplaced_latch_wait(self.delta, self.mechanism, waited) is not None
        guarding: tuple[Surface, ...] = ("latch", "mutex") if both or self.mechanism is None else (self.mechanism,)
        return (*guarding, "lock", "result-cache")

    @property
    def row_cache_wait_seconds(self) -> float | None:
        """Seconds lost in waits for the row cache, on all its readable surfaces. None if there is none."""
        return self.lost.on(ROW_CACHE_SURFACES)

    def waited_on(self, surfaces: Iterable[Surface]) -> float | None:
        """Seconds lost on those of some surfaces that this instance has and that are readable. None if there is none."""
        return self.lost.on(surfaces)

    @cached_property
    def impact(self) -> Impact | None:
        """What row cache waits cost, or None for totals of unknown age."""
        return self.impact_of(ROW_CACHE_SURFACES)

    @property
    def gate(self) -> Severity | None:
        """Severity of all row cache waits by the impact gate. None if their cost is unknown."""
        return self.gate_of(ROW_CACHE_SURFACES)

    def gate_of(self, surfaces: Iterable[Surface]) -> Severity | None:
        """Severity of the waits on some surfaces. Sessions that hang are a trouble now, however long the instance has been up."""
        return self._gate_of(tuple(surfaces))

    @remembered
    def _gate_of(self, surfaces: tuple[Surface, ...]) -> Severity | None:
        impact = self.impact_of(surfaces)
        by_cost = None if self._perhaps_more(impact) else severity_of(impact)
        if self.delta.basis.kind == "interval" or self.look is None:
            return by_cost
        now = severity_of_hang(len(hanging(self.look.of(surfaces))), self.delta.basis.kind)
        return now if by_cost is None else by_cost if now is None else worst((now, by_cost))

    def _perhaps_more(self, impact: Impact | None) -> bool:
        """Whether so few waiting sessions may still be a notable share of DB time, if DB time was not captured."""
        if impact is None or impact.waiting_sessions is None or impact.share_of_db_time is not None:
            return False
        if self.printed or self.inside_pdb:  # there waiting sessions are all there is to go by
            return False
        return impact.waiting_sessions >= IDLE_SESSIONS and severity_of(impact) is Severity.INFO

    def impact_of(self, surfaces: Iterable[Surface]) -> Impact | None:
        """The cost of the waits on some surfaces, or None for totals of unknown age.

        If the time of one of them is missing, it is the cost of the others, and unknown if that is next to nothing.
        """
        surfaces = tuple(surfaces)
        return self.at_least(self.impact_by(self.waited_on(surfaces)), surfaces)

    def at_least(self, impact: Impact | None, surfaces: Iterable[Surface]) -> Impact | None:
        """A cost on some surfaces that may be incomplete."""
        if impact is None or not self.lost.untold(surfaces) or severity_of(impact) not in (None, Severity.INFO):
            return impact
        return Impact(share_of_db_time=None, waiting_sessions=None)

    @remembered
    def impact_by(self, waited: float | None) -> Impact | None:
        """The cost of these seconds of waits."""
        if self.delta.basis.kind == "totals":
            return None
        db_time = self.shared_db_time
        open_calls = self.lost.believed or (self.look is not None and self.look.sessions)
        if open_calls and waited and db_time is not None:
            db_time = max(db_time, waited)  # DB time may lag for calls that have not ended
        return Impact(
            share_of_db_time=ratio(waited, db_time),
            waiting_sessions=ratio(waited, self.delta.basis.seconds),
        )

    def _micro(self, view: str, key: str, name: str, column: str) -> float | None:
        return None if (micro := self.delta.cell(view, key, name, column)) is None else micro / 1e6

    @remembered
    def sum_of_caches(self, column: str) -> float | None:
        """The sum of a column of v$rowcache, or of `lookups`. None as `sum_of`."""
        return self.sum_of(self.rowcache, column)

    def sum_of(self, rows: Sequence[Row], column: str) -> float | None:
        """The sum of a column. None if any row lacks it or there is no row."""
        known = [cell for row in rows if (cell := number(row.get(column))) is not None]
        return sum(known) if known and len(known) == len(rows) else None

    def by_name(self, column: str) -> Mapping[str, float]:
        """A column of v$rowcache, or `lookups`, by cache name, most first. A cache with a row that lacks it is left out."""
        rows: dict[str, list[Row]] = {}
        for row in self.rowcache:
            if isinstance(name := row.get("parameter"), str):
                rows.setdefault(name, []).append(row)
        sums = {name: self.sum_of(of_cache, column) for name, of_cache in rows.items()}
        named = ((name, total) for name, total in sums.items() if total is not None)
        return dict(sorted(named, key=lambda item: (-item[1], item[0])))

    def why_unknown(self, view: str, column: str = "") -> Unknown:
        """Why a figure of a view is unknown: the view is missing, a counter misbehaved, or it was not captured."""
        reading = self.delta.read(view)
        if isinstance(reading, Missing):
            return Unknown(view, reading.why, reading.way_out, absent=True)
        if column == LOOKUPS:
            column = "gets" if any(number(row.get("gets")) is None for row in reading.rows) else "fastgets"
        for oddity in self.delta.oddities:
            if oddity.view == view and oddity.column in ("", column):
                return Unknown(view, str(oddity), self.another, absent=True)
        what = f"{view} has no {column or 'such row'} here"
        blocks = column != "fastgets"  # with gets only, a ratio to the rest of the work may be too low
        way_out = SCRIPT if self.printed else f"capture {column or 'that row'} of {view} as well"
        return Unknown(view, what, way_out, absent=True, blocks=blocks)


# Requests to a dictionary cache: gets and fastgets together are the work, gets alone the load on a latch or mutex.


def with_lookups(rows: Iterable[Row], fast_way: bool) -> tuple[Row, ...]:
    """Rows of v$rowcache, each with the requests to the cache, if they are known.

    Look-ups by the fast way are counted only in fastgets. On a release without that way, a row without fastgets has none.
    """
    each = [(row, lookups_of(row, fast_way)) for row in rows]
    return tuple(row if lookups is None else {**row, LOOKUPS: lookups} for row, lookups in each)


def has_fast_way(release: str | None, mechanism: Mechanism | None) -> bool:
    """Whether a release may count look-ups in fastgets. Not up to 12.1, where `_kqr_optimistic_reads` is off."""
    return mechanism != "latch" if release is None else at_least(release, "12.2")


def lookups_of(row: Row, fast_way: bool) -> float | None:
    """Gets and fastgets of a row. None if one of them counts and is missing."""
    gets, fast = number(row.get("gets")), number(row.get("fastgets"))
    if fast is None and not fast_way:
        fast = 0.0
    return None if gets is None or fast is None else gets + fast


def full_release_of(delta: Delta) -> str | None:
    """The release with its update where the instance tells it (18c and later)."""
    return text(next(iter(delta.rows("v$instance")), {}).get("version_full")) or delta.release
