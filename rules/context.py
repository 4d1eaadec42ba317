"""One Delta prepared for judgement: the children of the row cache latch, their caches, the hottest child, the cost."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

from collectors.model import (
    ROW_CACHE_LATCH,
    SCRIPT,
    Delta,
    DeltaSource,
    Missing,
    Row,
    Value,
    lasting,
    number,
    text,
)
from collectors.release import Mechanism, at_least, mechanism_of
from rules.base import remembered
from rules.cache_map import CacheMap, GuardedCaches, HotSpot, cache_map, identifier
from rules.contradictions import db_time_is_sound
from rules.formatting import count, listed, part_of, percent
from rules.model import Impact, Known, Severity, SignalValue, Surface, Unknown, worst
from rules.samples import MetWaiting, Samples, met_waiting
from rules.waits import (
    IDLE_SESSIONS,
    LATCH_EVENT,
    ROW_CACHE_SURFACES,
    SURFACE_EVENTS,
    FinishedWaits,
    HotCaches,
    LostTime,
    SampledWaiters,
    WaitingLook,
    cache_namer,
    crowd_of,
    finished_waits,
    hanging,
    look_of,
    lost_time,
    severity_of,
    severity_of_hang,
)


def full_release_of(delta: Delta) -> str | None:
    """The release with its update where the instance tells it (18c and later)."""
    return text(next(iter(delta.rows("v$instance")), {}).get("version_full")) or delta.release


# The age of a view that is not read in every poll, told beside each figure that comes from it.


def age_of(delta: Delta, view: str) -> float:
    """How many seconds before the end of the interval a view was read. 0 if the last poll read it itself."""
    reading, end = delta.read(view), delta.basis.end
    read_at = None if isinstance(reading, Missing) else reading.read_at
    return 0.0 if read_at is None or end is None else max(0.0, (end - read_at).total_seconds())


def aged(delta: Delta, view: str, derivation: str) -> str:
    """The derivation of a figure, with the age of the view's rows if an earlier poll read them."""
    age = age_of(delta, view)
    return f"{derivation}{', ' if derivation else ''}read {lasting(age)} before the end" if age else derivation


# A connection inside a PDB: which figures are the PDB's, which those of the whole container database.
#
# A share of one in the other means nothing. So there the cost of row cache waits is given in waiting sessions.

OF_THE_PDB = ("v$sysstat", "v$system_event", "v$sys_time_model")
OF_THE_WHOLE = ("v$latch", "v$rowcache", "v$mutex_sleep")


def inside_pdb(delta: Delta) -> bool:
    """Whether the session was inside a PDB. False for the root, without containers, and if it was not captured."""
    return any((number(row.get("con_id")) or 0) > 1 for row in delta.rows("sys_context"))


def no_share() -> Unknown:
    """Why there is no share of DB time."""
    why = f"inside a PDB, DB time is the PDB's, and {listed(OF_THE_WHOLE)} are those of the whole CDB"
    return Unknown("v$sys_time_model", why, "connect to CDB$ROOT as a common user, if you may", absent=True)


def pdb_note(delta: Delta) -> tuple[str, ...]:
    """The note on a connection inside a PDB, with the time that only the whole CDB explains."""
    if not inside_pdb(delta):
        return ()
    name = next((text(row.get("con_name")) for row in delta.rows("sys_context")), None) or "of unknown name"
    return (
        f"connected inside the PDB {name}: {listed(OF_THE_PDB)} are figures of this PDB, {listed(OF_THE_WHOLE)} those of "
        "the whole CDB; so latchscope gives no share of DB time that row cache waits take and grades them by waiting sessions, "
        "and a ratio between the two may be too high; connect to CDB$ROOT as a common user, if you may",
        *_others(delta),
    )


def _others(delta: Delta) -> tuple[str, ...]:
    """That mutexes of the whole CDB slept far longer than this PDB waited. Other containers wait too."""
    slept = [number(row.get("wait_time")) for row in delta.rows("v$mutex_sleep")]
    waited = delta.cell("v$system_event", "event", "row cache mutex", "time_waited_micro") or 0.0
    total, seconds = sum(each or 0.0 for each in slept) / 1e6, delta.basis.seconds
    if not seconds or total / seconds < OTHERS_WAIT or total < 2 * waited / 1e6:
        return ()
    return (
        f"sessions of the whole CDB slept {total:,.1f} s on row cache mutexes, those of this PDB waited {waited / 1e6:,.1f} s: "
        "the problem may be in another container, so a small cost here does not show that the row cache is fine",
    )


OTHERS_WAIT = 0.5
"""Sessions that sleep on average in the whole CDB: as many as a warning takes by waiting sessions."""


# Latch statistics over one Delta, per latch or child, by the formulas that Andrey Nikolaev published (2011).
#
# Every function takes plain changes and gives None if the division has no meaning. Nothing is clamped: sleeps may
# exceed misses and spin gets may exceed misses on real instances.


@dataclass(frozen=True, slots=True)
class LatchStatistics:
    """Derived figures of one latch or child. Ratios are 0..1 unless said, times in the unit of their name."""

    gets: float | None
    misses: float | None
    sleeps: float | None
    miss_ratio: float | None
    """rho: misses per get; estimates utilisation."""
    sleep_ratio: float | None
    """kappa: sleeps per miss; 0 all spin, 1 all sleep, above 1 repeated sleeps."""
    spin_ratio: float | None
    """sigma: spin gets per miss."""
    recurrent_sleep_ratio: float | None
    """Share of the sleeps that repeat an earlier one: (kappa + sigma − 1) / kappa."""
    spin_inefficiency: float | None
    """k = kappa / (1 + kappa · rho); near 0 spinning is enough, near 1 it is useless."""
    utilisation: float | None
    """Share of time held, eta · rho, where eta corrects for a requester that cannot collide with itself."""
    hold_seconds: float | None
    """Average hold time: utilisation per get rate; needs an interval."""
    gets_per_second: float | None
    sleeping_sessions: float | None
    """Wait time per second of the interval, which is the average number of sessions asleep (Little)."""
    wait_seconds_per_sleep: float | None
    wait_seconds_per_get: float | None


def latch_statistics(row: Row, seconds: float | None, cpus: float | None = None) -> LatchStatistics:
    """Statistics of a row of v$latch or v$latch_children changes over `seconds` (None: totals, so no rates)."""
    gets, misses, sleeps = (number(row.get(name)) for name in ("gets", "misses", "sleeps"))
    spin_gets = number(row.get("spin_gets"))
    waited = number(row.get("wait_time"))
    wait = None if waited is None else waited / 1e6
    rho = ratio(misses, gets)
    kappa = ratio(sleeps, misses)
    sigma = ratio(spin_gets, misses)
    rate = ratio(gets, seconds)
    held = None if rho is None else rho * collision_correction(cpus)
    return LatchStatistics(
        gets=gets,
        misses=misses,
        sleeps=sleeps,
        miss_ratio=rho,
        sleep_ratio=kappa,
        spin_ratio=sigma,
        recurrent_sleep_ratio=None if kappa is None or sigma is None else ratio(kappa + sigma - 1, kappa),
        spin_inefficiency=None if kappa is None or rho is None else ratio(kappa, 1 + kappa * rho),
        utilisation=held,
        hold_seconds=ratio(held, rate),
        gets_per_second=rate,
        sleeping_sessions=ratio(wait, seconds),
        wait_seconds_per_sleep=ratio(wait, sleeps),
        wait_seconds_per_get=ratio(wait, gets),
    )


def ratio(part: float | None, whole: float | None) -> float | None:
    """part / whole. None if either is unknown or the whole is zero."""
    return None if part is None or not whole else part / whole


def collision_correction(cpus: float | None) -> float:
    """eta = N / (N − 1) for N processors; 1 when N is unknown or 1."""
    return cpus / (cpus - 1) if cpus and cpus > 1 else 1.0


def share(part: SignalValue, whole: SignalValue) -> SignalValue:
    """part / whole, or the first of the two that is unknown."""
    if isinstance(part, Unknown):
        return part
    if isinstance(whole, Unknown):
        return whole
    return Known(part.value / whole.value, part_of(part.value, whole.value), part.value, whole.value)


# Latch figures on a release with mutexes: waits that should not exist, counters without meaning.


def misplaced_latch_wait(delta: Delta, mechanism: Mechanism | None, waited: float | None) -> Impact | None:
    """The cost of latch waits where mutexes guard the row cache. None if they cost nothing, as they should.

    `waited`: seconds of those that ended.
    """
    if mechanism != "mutex":
        return None
    micro = delta.cell("v$sys_time_model", "stat_name", "DB time", "value")
    share = ratio(waited, None if micro is None or inside_pdb(delta) else micro / 1e6)
    cost = Impact(share_of_db_time=share, waiting_sessions=ratio(waited, delta.basis.seconds))
    return None if severity_of(cost) in (None, Severity.INFO) else cost


def misplaced_sleeps(delta: Delta, mechanism: Mechanism | None) -> float:
    """Sleeps of the latch or its children where mutexes guard the row cache: the larger number of the two views."""
    if mechanism != "mutex":
        return 0.0
    whole = [row for row in delta.rows("v$latch") if row.get("name") == ROW_CACHE_LATCH]
    return max(_sleeps(whole), _sleeps(delta.rows("v$latch_children")))


def _sleeps(rows: tuple[Row, ...] | list[Row]) -> float:
    return sum(number(row.get("sleeps")) or 0.0 for row in rows)


def takes(cost: Impact) -> str:
    """What waits cost, to follow their name: takes 12 % of DB time, keeps 0.40 sessions waiting."""
    if cost.share_of_db_time is None:
        return f"keeps {cost.waiting_sessions or 0.0:.2f} sessions waiting"
    return f"takes {percent(cost.share_of_db_time)} of DB time"


def misplaced_notes(delta: Delta, mechanism: Mechanism | None, waited: float | None) -> tuple[str, ...]:
    """The note on such figures, given once."""
    cost = misplaced_latch_wait(delta, mechanism, waited)
    if cost is not None:
        return (
            f"{LATCH_EVENT} {takes(cost)}, which should not be: from 12.2 on mutexes guard the row cache; "
            f"latchscope judges it as it is, so check that release {delta.release or 'unknown'} is right",
        )
    sleeps = misplaced_sleeps(delta, mechanism)
    if not sleeps:
        return ()
    return (
        f"{count(sleeps)} sleeps on the latch {ROW_CACHE_LATCH} are ignored: from 12.2 on mutexes guard the row cache and "
        "of the latch only the name is left",
    )


# The limits of a printed report in words: the way out of a gap, and a remark for every figure in it.

REMEMBER = (
    "judged from a printed report: figures are rounded, times are the host's local time, a cache and its subordinates "
    "share one row, and no child latch is linked to a cache"
)

SECTIONS: Mapping[str, str] = {
    "v$instance": "head of the report",
    "v$latch": "Latch Activity, Latch Sleep Breakdown",
    "v$latch_children": "Child Latch Statistics",
    "v$latch_misses": "Latch Miss Sources",
    "v$mutex_sleep": "Mutex Sleep Summary",
    "v$osstat": "Operating System Statistics",
    "v$parameter": "init.ora Parameters",
    "v$rowcache": "Dictionary Cache Stats",
    "v$sga_resize_ops": "Memory Resize Ops",
    "v$sgastat": "SGA breakdown difference",
    "v$sys_time_model": "Time Model Statistics",
    "v$sysstat": "Instance Activity Stats",
    "v$system_event": "Wait Events",
    "v$undostat": "Undo Segment Stats",
}
"""The section of a report that replaces a view."""


def section_of(views: str) -> str:
    """Where a report prints the figures of some views: 'v$latch, v$sysstat' → the names of its sections."""
    return ", ".join(SECTIONS.get(view, view) for view in views.split(", "))


def busier(source: DeltaSource) -> str:
    """The way out if there were too few events."""
    return "take a report of a busier hour" if source == "report" else "wait for a busier interval"


def another(source: DeltaSource) -> str:
    """The way out if a counter misbehaved."""
    return "take a report of another hour" if source == "report" else "wait for the next interval"


def more_of(source: DeltaSource, view: str, what: str) -> str:
    """The way out if a view is there but incomplete."""
    return SCRIPT if source == "report" else f"capture {what} of {view} as well"


# Requests to a dictionary cache: gets and fastgets together are the work, gets alone the load on a latch or mutex.

LOOKUPS = "lookups"
"""What a row has besides the columns of v$rowcache."""


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


__all__ = ["ROW_CACHE_SURFACES", "SURFACE_EVENTS", "Known", "SignalContext", "SignalValue", "Unknown", "share"]

MINIMUM_SLEEPS = 100
"""Fewer sleeps than this say nothing about shares, shapes or children."""
MINIMUM_CACHE_GETS = 10_000


@dataclass(frozen=True)
class SignalContext:
    """What the signals read. Everything is computed from the Delta, on first use."""

    delta: Delta
    caches: CacheMap | None = None  # the map of the Delta, if the caller has it already
    focus: int | None = None  # the child to describe, if it is not the hottest

    def focused_on(self, child: int) -> "SignalContext":
        """This context with another child to describe. Who waits and what it costs stays, because no child changes it."""
        other = replace(self, focus=child)
        vars(other).update(map=self.map, crowd=self.crowd, look=self.look, lost=self.lost, hot_caches=self.hot_caches)
        return other

    @property
    def printed(self) -> bool:
        """Whether all of this comes from a printed report."""
        return self.delta.source == "report"

    @property
    def busier(self) -> str:
        return busier(self.delta.source)

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
        return HotCaches(self.delta.rows("v$rowcache"), self.map, sleeps, met, lost)

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
        return inside_pdb(self.delta)

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
                return Unknown(view, str(oddity), another(self.delta.source), absent=True)
        what = f"{view} has no {column or 'such row'} here"
        blocks = column != "fastgets"  # with gets only, a ratio to the rest of the work may be too low
        return Unknown(view, what, more_of(self.delta.source, view, column or "that row"), absent=True, blocks=blocks)


# Views with gaps: a row without its key, or a child or cache that the map names and the view lacks.
#
# A sum or look-up over such a view is incomplete, so the view counts as not read.

NAMED_BY: Mapping[str, tuple[str, ...]] = {
    "v$event_name": ("name",),
    "v$latch": ("name",),
    "v$latch_children": ("child#",),
    "v$latch_misses": ("parent_name", "location"),
    "v$latchname": ("name",),
    "v$mutex_sleep": ("location",),
    "v$osstat": ("stat_name",),
    "v$parameter": ("name",),
    "v$rowcache": ("cache#", "type", "parameter"),
    "v$sga_resize_ops": ("component",),
    "v$sgastat": ("name",),
    "v$sys_time_model": ("stat_name",),
    "v$sysstat": ("name",),
    "v$system_event": ("event",),
    "x$kqrst": ("child#", "cache#", "type"),
}
"""View → its key columns. A row of v$session without an event is a look that found nobody."""


def gaps_of(delta: Delta) -> Mapping[str, Missing]:
    """The views with a row that has no name. Reports print no ids, and totals few."""
    if delta.source == "report" or delta.basis.kind == "totals":
        return {}
    named = (_nameless(delta, view, columns) for view, columns in NAMED_BY.items())
    gaps = {gap.view: gap for gap in named if gap is not None}
    for gap in (_childless(delta), _unlisted(delta)):
        if gap is not None:
            gaps.setdefault(gap.view, gap)
    return gaps


def _nameless(delta: Delta, view: str, columns: tuple[str, ...]) -> Missing | None:
    column = next((name for name in columns if None in delta.column(view, name)), None)
    if column is None and "type" in columns and _numberless(delta, view):
        column = "subordinate#"
    if column is None:
        return None
    why = f"{view} has a row without its {column}"
    return Missing(view, "unread", why, f"capture {column} of {view} as well")


def _numberless(delta: Delta, view: str) -> bool:
    """Whether a subordinate cache does not say which of its parent's it is."""
    kinds, numbers = delta.column(view, "type"), delta.column(view, "subordinate#")
    return ("SUBORDINATE", None) in zip(kinds, numbers, strict=True)


def _childless(delta: Delta) -> Missing | None:
    """Whether every child that x$kqrst names has a row in v$latch_children, unless that was captured in part on purpose."""
    view, lacking = "v$latch_children", _children_that_lack(delta)
    if not delta.rows(view) or not lacking or _without_zeros(delta, view, len(lacking)) or _adds_up(delta):
        return None
    why = f"{view} has no row of child {min(lacking, key=str)}, which x$kqrst names"
    return Missing(view, "unread", why, f"capture every row of {view}")


def _unlisted(delta: Delta) -> Missing | None:
    """Whether every cache that x$kqrst names has a row in v$rowcache, unless that was captured in part on purpose."""
    view, lacking = "v$rowcache", _caches_that_lack(delta)
    if not delta.rows(view) or not lacking or _without_zeros(delta, view, len(lacking)):
        return None
    cache, kind, _ = min(lacking, key=str)
    why = f"{view} has no row of cache# {cache} ({kind.lower()}), which x$kqrst names"
    return Missing(view, "unread", why, f"capture every row of {view}")


def _children_that_lack(delta: Delta) -> Set[Value]:
    return set(delta.column("x$kqrst", "child#")) - set(delta.column("v$latch_children", "child#"))


def _caches_that_lack(delta: Delta) -> Set[tuple[int, str, int | None]]:
    return {identifier(row) for row in delta.rows("x$kqrst")} - {identifier(row) for row in delta.rows("v$rowcache")}


FEWEST_CUT = 2
"""One row that lacks may be lost. A capture without rows of zeros lacks several (our bound)."""
ADDS_UP = 0.99
"""The children have at least this share of what the whole latch counted. The two views are read one after the other."""


def _without_zeros(delta: Delta, view: str, lacking: int) -> bool:
    """Whether a capture left out the rows of zeros: several lack, and every other one counted something."""
    counters = ("gets", "misses", "sleeps") if view == "v$latch_children" else ("gets", "fastgets", "getmisses")
    return lacking >= FEWEST_CUT and all(any(number(row.get(name)) for name in counters) for row in delta.rows(view))


def _adds_up(delta: Delta) -> bool:
    """Whether the children in v$latch_children have all gets and sleeps of the latch, so that one that lacks has none."""
    for column in ("gets", "sleeps"):
        whole = delta.cell("v$latch", "name", ROW_CACHE_LATCH, column)
        parts = [number(cell) for cell in delta.column("v$latch_children", column)]
        if whole is None or None in parts or sum(part or 0.0 for part in parts) < ADDS_UP * whole:
            return False
    return True


def cut_notes(delta: Delta) -> tuple[str, ...]:
    """That rows which x$kqrst names were left out of a view, and what they count as. Empty for a view that is not read."""
    lacking = {"v$latch_children": len(_children_that_lack(delta)), "v$rowcache": len(_caches_that_lack(delta))}
    return tuple(
        f"{view} has no row of {many} {'caches' if view == 'v$rowcache' else 'child latches'} that x$kqrst names; "
        "the capture left out rows of zeros, so they count as idle"
        for view, many in lacking.items()
        if many and delta.rows(view) and delta.source == "views" and delta.basis.kind != "totals"
    )
