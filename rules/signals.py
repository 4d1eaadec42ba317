"""Every named number a cause may ask for: one function each, tested each, bound by name when the causes load.

A signal reads a Scene for a Subject (the caches and the miss location its cause is about) and gives Known or Unknown.
It never gives zero for what it could not see.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from collectors.model import ROW_CACHE_LATCH, Missing, Row, number
from rules.scene import MINIMUM_CACHE_GETS, MINIMUM_SLEEPS, Known, Reading, Scene, Unknown
from rules.statistics import ratio
from rules.words import count, part_of

PARSING_WAITS = (
    "library cache: mutex X",
    "library cache lock",
    "library cache load lock",
    "cursor: pin S wait on X",
    "cursor: mutex X",
    "cursor: mutex S",
    "latch: shared pool",
    "latch: library cache",
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a condition speaks of: cache names of its cause, and a miss location."""

    caches: tuple[str, ...] = ()
    location: str | None = None


@dataclass(frozen=True, slots=True)
class Signal:
    """A named number: its unit, the view it comes from, and how it is read."""

    name: str
    unit: str
    of: str
    about: str
    read: Callable[[Scene, Subject], Reading]


SIGNALS: dict[str, Signal] = {}


def signal(unit: str, of: str) -> Callable[[Callable[[Scene, Subject], Reading]], Callable[[Scene, Subject], Reading]]:
    """Register a function as the signal of its name; its docstring is what people read about it."""

    def register(read: Callable[[Scene, Subject], Reading]) -> Callable[[Scene, Subject], Reading]:
        name = read.__name__
        if name in SIGNALS:
            raise ValueError(f"two signals are named {name}")
        SIGNALS[name] = Signal(name, unit, of, " ".join((read.__doc__ or "").split()), read)
        return read

    return register


def _total_sleeps(scene: Scene) -> Reading:
    """Sleeps of all children, or Unknown: not readable, or fewer than a share can be made of."""
    sleeps = scene.sum_of(scene.children, "sleeps")
    if sleeps is None:
        return scene.why_unknown("v$latch_children", "sleeps")
    return _enough_sleeps(sleeps, "v$latch_children")


def _enough_sleeps(sleeps: float, view: str) -> Reading:
    if sleeps < MINIMUM_SLEEPS:
        why = f"too few events: {count(sleeps)} sleeps, at least {MINIMUM_SLEEPS} are needed"
        return Unknown(view, why, "wait for a busier interval")
    return Known(sleeps)


def _cache_rows(scene: Scene, subject: Subject) -> tuple[Row, ...]:
    return tuple(row for row in scene.delta.rows("v$rowcache") if row.get("parameter") in subject.caches)


def _cache_sum(scene: Scene, subject: Subject, column: str) -> Reading:
    """A column of v$rowcache summed over the subject's caches; zero when the instance has no such cache."""
    if isinstance(scene.delta.read("v$rowcache"), Missing):
        return scene.why_unknown("v$rowcache", column)
    rows = _cache_rows(scene, subject)
    if not rows:
        return Known(0.0, f"no cache named {' or '.join(subject.caches)} here")
    total = scene.sum_of(rows, column)
    return scene.why_unknown("v$rowcache", column) if total is None else Known(total)


def _share(part: Reading, whole: Reading) -> Reading:
    if isinstance(part, Unknown):
        return part
    if isinstance(whole, Unknown):
        return whole
    return Known(part.value / whole.value, part_of(part.value, whole.value))


def _all_gets(scene: Scene) -> Reading:
    gets = scene.sum_of(scene.delta.rows("v$rowcache"), "gets")
    if gets is None:
        return scene.why_unknown("v$rowcache", "gets")
    if gets < MINIMUM_CACHE_GETS:
        why = f"too few events: {count(gets)} dictionary gets, at least {count(MINIMUM_CACHE_GETS)} are needed"
        return Unknown("v$rowcache", why, "wait for a busier interval")
    return Known(gets)


@signal(unit="ratio", of="v$latch_children")
def share_of_sleeps(scene: Scene, subject: Subject) -> Reading:
    """Share of all row cache latch sleeps that fell on the children guarding the cause's caches."""
    total = _total_sleeps(scene)
    if isinstance(total, Unknown):
        return total
    if scene.hot is None:
        return _unmapped(scene)
    if isinstance(scene.delta.read("v$rowcache"), Missing):
        return scene.why_unknown("v$rowcache")
    own = set(scene.map.guarding(subject.caches))
    sleeps = sum(number(row.get("sleeps")) or 0.0 for row in scene.children if row.get("child#") in own)
    return _share(Known(sleeps), total)


def _unmapped(scene: Scene) -> Unknown:
    missing = scene.why_unknown("x$kqrst")
    why = f"which cache child {scene.hot_child} guards is unknown: {missing.why}"
    if scene.sum_of(scene.children, "gets") is None:
        return Unknown("x$kqrst", f"{why}, and no child gets to infer it from", missing.way_out)
    return Unknown("x$kqrst", f"{why}, and its gets fit no cache, or several", missing.way_out)


@signal(unit="ratio", of="v$latch_children")
def hottest_child_share_of_sleeps(scene: Scene, subject: Subject) -> Reading:
    """Share of all row cache latch sleeps that fell on one child: near 1 concentrated, below 0.5 diffuse."""
    total = _total_sleeps(scene)
    hottest = max((number(row.get("sleeps")) or 0.0 for row in scene.children), default=0.0)
    return _share(Known(hottest), total)


@signal(unit="ratio", of="v$rowcache")
def share_of_dictionary_gets(scene: Scene, subject: Subject) -> Reading:
    """Share of all dictionary gets that went to the cause's caches."""
    return _share(_cache_sum(scene, subject, "gets"), _all_gets(scene))


@signal(unit="ratio", of="v$rowcache")
def modification_ratio(scene: Scene, subject: Subject) -> Reading:
    """Modifications per get of the cause's caches: DDL, sequences, undo segments going online."""
    gets = _cache_sum(scene, subject, "gets")
    if isinstance(gets, Known) and gets.value == 0:
        return Known(0.0, "no gets")
    return _share(_cache_sum(scene, subject, "modifications"), gets)


@signal(unit="ratio", of="v$rowcache")
def getmiss_ratio(scene: Scene, subject: Subject) -> Reading:
    """Gets of the cause's caches that had to load the entry, per get."""
    gets = _cache_sum(scene, subject, "gets")
    if isinstance(gets, Known) and gets.value == 0:
        return Known(0.0, "no gets")
    return _share(_cache_sum(scene, subject, "getmisses"), gets)


@signal(unit="entries", of="v$rowcache")
def entries_used(scene: Scene, subject: Subject) -> Reading:
    """Entries with valid data in the cause's caches; for dc_rollback_segments about the number of undo segments."""
    return _cache_sum(scene, subject, "usage")


@signal(unit="gets per execution", of="v$rowcache, v$sysstat")
def gets_per_execution(scene: Scene, subject: Subject) -> Reading:
    """Gets of the cause's caches per SQL execution."""
    gets = _cache_sum(scene, subject, "gets")
    executions = scene.work("execute count")
    if isinstance(gets, Unknown):
        return gets
    if not executions:
        return scene.why_unknown("v$sysstat", "execute count")
    return Known(gets.value / executions, f"{count(gets.value)} gets in {count(executions)} executions")


@signal(unit="ratio", of="v$latch_misses")
def share_of_holders(scene: Scene, subject: Subject) -> Reading:
    """Share of row cache latch sleeps whose holder was at the location; over all children, for the view knows none."""
    rows = [row for row in scene.delta.rows("v$latch_misses") if row.get("parent_name") == ROW_CACHE_LATCH]
    total = scene.sum_of(rows, "sleep_count")
    if total is None:
        if not rows and not isinstance(scene.delta.read("v$latch_misses"), Missing):
            return _enough_sleeps(0.0, "v$latch_misses")
        return scene.why_unknown("v$latch_misses", "sleep_count")
    here = sum(number(row.get("sleep_count")) or 0.0 for row in rows if row.get("location") == subject.location)
    return _share(Known(here), _enough_sleeps(total, "v$latch_misses"))


@signal(unit="ratio", of="v$latch_children, v$rowcache")
def hold_anomaly_index(scene: Scene, subject: Subject) -> Reading:
    """Sleeps per dictionary get of the hot child, over the median of the other children with ≥ 1 % of the gets.

    Volume alone raises it to about the ratio of the get rates; hundreds mean that the latch is held for longer.
    """
    total = _total_sleeps(scene)
    if isinstance(total, Unknown):
        return total
    if scene.hot is None:
        return _unmapped(scene)
    all_gets = _all_gets(scene)
    if isinstance(all_gets, Unknown):
        return all_gets
    hot, others = _sleeps_and_gets(scene, all_gets.value)
    if hot is None or not hot[1]:
        return scene.why_unknown("v$rowcache", "gets")
    if not others:
        return Unknown(
            "v$rowcache", "no other child has 1 % of the dictionary gets to compare with", "wait for other work"
        )
    # A child without a single sleep counts as one sleep, so the index is a lower bound then.
    usual = median(max(sleeps, 1.0) / gets for sleeps, gets in others.values())
    names = ", ".join(sorted(scene.map.name(child) for child in others))
    return Known(hot[0] / hot[1] / usual, f"those of {names} ({hot[0] / hot[1]:.3g} against {usual:.3g})")


def _sleeps_and_gets(
    scene: Scene, all_gets: float
) -> tuple[tuple[float, float] | None, Mapping[int, tuple[float, float]]]:
    """Sleeps and dictionary gets of the hot child, and of every other child with at least 1 % of the gets."""
    pairs: dict[int, tuple[float, float]] = {}
    for row in scene.children:
        guarded = scene.map.children.get(int(number(row.get("child#")) or 0))
        gets = scene.sum_of(guarded.rows, "gets") if guarded else None
        if guarded and gets:
            pairs[guarded.child] = (number(row.get("sleeps")) or 0.0, gets)
    hot = pairs.pop(scene.hot_child, None) if scene.hot_child is not None else None
    return hot, {child: pair for child, pair in pairs.items() if pair[1] >= 0.01 * all_gets}


@signal(unit="count", of="v$latch")
def row_cache_sleeps(scene: Scene, subject: Subject) -> Reading:
    """Sleeps on the row cache latch."""
    sleeps = scene.latch.sleeps
    return scene.why_unknown("v$latch", "sleeps") if sleeps is None else Known(sleeps)


@signal(unit="ratio", of="v$latch")
def miss_ratio(scene: Scene, subject: Subject) -> Reading:
    """Misses per get of the row cache latch: how often it was busy at the first try."""
    gets, misses = scene.latch.gets, scene.latch.misses
    if gets is None or misses is None:
        return scene.why_unknown("v$latch", "misses")
    if gets < MINIMUM_CACHE_GETS:
        why = f"too few events: {count(gets)} latch gets, at least {count(MINIMUM_CACHE_GETS)} are needed"
        return Unknown("v$latch", why, "wait for a busier interval")
    return Known(misses / gets, part_of(misses, gets))


@signal(unit="sleeps per miss", of="v$latch")
def sleeps_per_miss(scene: Scene, subject: Subject) -> Reading:
    """Sleeps per miss of the row cache latch: 0 means that spinning was always enough."""
    sleeps, misses = scene.latch.sleeps, scene.latch.misses
    if sleeps is None or misses is None:
        return scene.why_unknown("v$latch", "sleeps")
    if misses < MINIMUM_SLEEPS:
        why = f"too few events: {count(misses)} misses, at least {MINIMUM_SLEEPS} are needed"
        return Unknown("v$latch", why, "wait for a busier interval")
    return Known(sleeps / misses, part_of(sleeps, misses))


@signal(unit="ms", of="v$latch")
def average_sleep(scene: Scene, subject: Subject) -> Reading:
    """Average time of one sleep on the row cache latch; far above 10 ms the host, not the latch, makes sessions wait."""
    waited, sleeps = number(scene.latch_row.get("wait_time")), scene.latch.sleeps
    if waited is None or sleeps is None:
        return scene.why_unknown("v$latch", "wait_time")
    enough = _enough_sleeps(sleeps, "v$latch")
    if isinstance(enough, Unknown):
        return enough
    return Known(waited / 1000 / sleeps, f"{waited / 1e6:,.1f} s in {count(sleeps)} sleeps")


@signal(unit="ratio", of="v$latch")
def recurrent_sleep_ratio(scene: Scene, subject: Subject) -> Reading:
    """Share of sleeps that repeat an earlier one of the same get; above 0.3 the holder itself did not run."""
    repeated = scene.latch.recurrent_sleep_ratio
    if repeated is None:
        return scene.why_unknown("v$latch", "spin_gets")
    enough = _enough_sleeps(scene.latch.sleeps or 0.0, "v$latch")
    return enough if isinstance(enough, Unknown) else Known(repeated)


def _db_time_share(scene: Scene, statistic: str) -> Reading:
    spent, db_time = scene.seconds_of(statistic), scene.seconds_of("DB time")
    if spent is None or not db_time:
        return scene.why_unknown("v$sys_time_model", statistic if spent is None else "DB time")
    return Known(spent / db_time, f"{spent:,.1f} s of {db_time:,.1f} s")


@signal(unit="ratio", of="v$sys_time_model")
def parse_share_of_db_time(scene: Scene, subject: Subject) -> Reading:
    """Share of DB time spent parsing."""
    return _db_time_share(scene, "parse time elapsed")


@signal(unit="ratio", of="v$sys_time_model")
def hard_parse_share_of_db_time(scene: Scene, subject: Subject) -> Reading:
    """Share of DB time spent in hard parses."""
    return _db_time_share(scene, "hard parse elapsed time")


@signal(unit="ratio", of="v$sys_time_model")
def sequence_load_share_of_db_time(scene: Scene, subject: Subject) -> Reading:
    """Share of DB time spent fetching the next range of sequence numbers from the dictionary."""
    return _db_time_share(scene, "sequence load elapsed time")


def _waits_to_row_cache(scene: Scene, events: Iterable[str]) -> Reading:
    others, own = scene.waited_seconds(events), scene.row_cache_wait_seconds
    if others is None or own is None:
        return scene.why_unknown("v$system_event", "time_waited_micro")
    if own == 0:
        return Unknown("v$system_event", "nobody waited for the row cache", "wait for a busier interval")
    return Known(others / own, f"{others:,.2f} s against {own:,.2f} s of row cache waits")


@signal(unit="ratio", of="v$system_event")
def parsing_waits_to_row_cache_waits(scene: Scene, subject: Subject) -> Reading:
    """Time waited for library cache, cursors and shared pool, per time waited for the row cache."""
    return _waits_to_row_cache(scene, PARSING_WAITS)


@signal(unit="ratio", of="v$system_event")
def undo_enqueue_waits_to_row_cache_waits(scene: Scene, subject: Subject) -> Reading:
    """Time waited for `enq: US - contention`, per time waited for the row cache."""
    return _waits_to_row_cache(scene, ("enq: US - contention",))


@signal(unit="ratio", of="v$osstat")
def host_busy_ratio(scene: Scene, subject: Subject) -> Reading:
    """Share of the host's processor time in use."""
    busy, idle = scene.host("BUSY_TIME"), scene.host("IDLE_TIME")
    if busy is None or idle is None or busy + idle == 0:
        return scene.why_unknown("v$osstat", "BUSY_TIME")
    return Known(busy / (busy + idle), part_of(busy, busy + idle) + " cs")


@signal(unit="bytes per second", of="v$osstat")
def paging_rate(scene: Scene, subject: Subject) -> Reading:
    """Bytes paged in and out per second of the interval."""
    paged = [scene.host("VM_IN_BYTES"), scene.host("VM_OUT_BYTES")]
    known = [value for value in paged if value is not None]
    rate = ratio(sum(known), scene.delta.basis.seconds) if known else None
    if rate is None:
        return scene.why_unknown("v$osstat", "VM_IN_BYTES")
    return Known(rate, f"{count(sum(known))} bytes")


@signal(unit="runnable per processor", of="v$osstat")
def load_per_cpu(scene: Scene, subject: Subject) -> Reading:
    """Runnable processes per processor of the host at the end of the interval."""
    load, cpus = scene.level("LOAD"), scene.cpus
    if load is None or not cpus:
        return scene.why_unknown("v$osstat", "LOAD")
    return Known(load / cpus, f"load {load:g} on {cpus:g} processors")
