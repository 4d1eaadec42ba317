"""What a Diagnosis has beside the walk: who waits, the funnel of requests, and the notes on its figures."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest

from collectors.model import LONG_WINDOW, RESULT_CACHE_LATCH, ROW_CACHE_LATCH, Missing, Row, long_window, number, spoken
from rules.base import remembered
from rules.containers import pdb_note
from rules.context import LOOKUPS, SURFACE_EVENTS, Known, SignalContext
from rules.explain.story import tell
from rules.formatting import over, percent
from rules.gaps import REMEMBER, cut_notes
from rules.latch import misplaced_notes
from rules.model import EventFunnel, Finding, Surface, WaiterGroup, WaiterTotal, WaiterTotals
from rules.samples import LATCH_EVENT, SampledWaiters
from rules.signals import SIGNALS, Subject
from rules.waiting_sessions import hanging
from rules.waits import ROW_CACHE_SURFACES, SYSTEM_EVENTS, severity_of

# Who waits: sampled waiters by what they have in common, and as totals by statement and by module.

MOST_GROUPS, MOST_TOTALS = 20, 10
COLUMNS = ("gets", "misses", "sleeps")


@remembered
def groups(context: SignalContext) -> tuple[WaiterGroup, ...]:
    """Sampled waiters by what they have in common, most first."""
    crowd = context.crowd
    if crowd is None or not crowd.alike:
        return ()
    met = crowd.met()
    return tuple(
        WaiterGroup(
            event=group.event,
            cache=group.cache,
            sessions=times / crowd.looks,
            share=times / met,
            sql_id=group.sql_id or None,
            module=group.module or None,
            program=group.program or None,
            container=group.container or None,
            blocker=group.blocker or None,
        )
        for group, times in crowd.groups(MOST_GROUPS)
    )


def waiter_totals(context: SignalContext) -> WaiterTotals | None:
    """The totals. None without samples."""
    crowd = context.crowd
    if crowd is None:
        return None
    return WaiterTotals(
        looks=crowd.looks,
        waiters=crowd.met(),
        by_sql_id=_totals(crowd, ((waiter.sql_id, times) for waiter, times in crowd.alike.items())),
        by_module=_totals(crowd, ((waiter.module, times) for waiter, times in crowd.alike.items())),
    )


def _totals(crowd: SampledWaiters, named: Iterable[tuple[str, int]]) -> tuple[WaiterTotal, ...]:
    counted: Counter[str] = Counter()
    for name, times in named:
        counted[name] += times
    most = nsmallest(MOST_TOTALS, counted.items(), key=lambda item: (-item[1], item[0]))
    met = crowd.met()
    return tuple(
        WaiterTotal(name=name or None, waiters=times, share=times / met, sessions=times / crowd.looks)
        for name, times in most
    )


# The funnel of the surface that costs most: how many requests found it taken, and how many of those slept.


def funnel(context: SignalContext, findings: Sequence[Finding]) -> EventFunnel | None:
    """For the first finding's surface, else for what guards the row cache here. None if nothing is known of it."""
    surface: Surface = "mutex" if context.mechanism == "mutex" else "latch"
    surface = findings[0].surface if findings else surface
    rowcache, latch = context.delta.rows("v$rowcache"), context.latch
    misses: float | None = None
    if surface == "latch":
        of, requests, misses, sleeps = ROW_CACHE_LATCH, latch.gets, latch.misses, latch.sleeps
    elif surface == "result-cache":
        row: Row = next((row for row in context.delta.rows("v$latch") if row.get("name") == RESULT_CACHE_LATCH), {})
        of, (requests, misses, sleeps) = RESULT_CACHE_LATCH, (number(row.get(name)) for name in COLUMNS)
    elif surface == "mutex":
        # Each get of a cache takes a mutex, but no view counts how many found it taken.
        of, requests = SURFACE_EVENTS["mutex"], context.sum_of(rowcache, "gets")
        sleeps = context.sum_of(context.delta.rows("v$mutex_sleep"), "sleeps")
    else:
        of, requests = SURFACE_EVENTS["lock"], context.sum_of(rowcache, "modifications")
        sleeps = context.delta.cell("v$system_event", "event", of, "total_waits")
    waited = context.surface_wait_seconds(surface)
    if all(value is None for value in (requests, misses, sleeps, waited)):
        return None
    return EventFunnel(of=of, requests=requests, misses=misses, sleeps=sleeps, seconds_waited=waited)


# The notes: assumptions, omitted counters, views that gave nothing, and waits that are too long to be ordinary.

TOLD_WHERE_NEEDED = ("dba_registry_sqlpatch", "v$containers", "v$con_system_event")
"""Optional views: what needs them says that they are not granted, so that no diagnosis repeats it."""
MINIMUM_MISSES = 100
"""Views are read without a lock, so a few more misses than gets are not a contradiction."""


def notes(context: SignalContext) -> tuple[str, ...]:
    """Notes of the source, assumptions, disagreements of the map, impossible figures, omitted counters, refusals."""
    readings = sorted(context.delta.readings.items())
    assumed = [
        f"assumed: {note}" for _, reading in readings if not isinstance(reading, Missing) for note in reading.notes
    ]
    refused = [
        f"{reading.why}; {reading.way_out}"
        for _, reading in readings
        if isinstance(reading, Missing)
        and reading.kind in ("refused", "failed")
        and reading.view not in TOLD_WHERE_NEEDED
    ]
    source = [REMEMBER] if context.printed else []
    doubts = [str(disagreement) for disagreement in context.map.disagreements]
    # A view with repeated rows is missing for that reason, so its note is among the refusals.
    odd = sorted(str(oddity) for oddity in context.delta.oddities if oddity.what != "repeated")
    misplaced = misplaced_notes(context.delta, context.mechanism, context.finished_seconds(LATCH_EVENT))
    # An average over hours hides short storms. The reader of a report says so itself.
    seconds = 0.0 if context.printed else context.delta.basis.seconds or 0.0
    window = (long_window(seconds),) if seconds > LONG_WINDOW else ()
    own = (*source, *context.delta.notes, *pdb_note(context.delta), *window, *misplaced, *cut_notes(context.delta))
    return (
        *own,
        *sampled_instead(context),
        *assumed,
        *doubts,
        *implausible(context),
        *long_waits(context),
        *background_waits(context),
        *late_db_time(context),
        *swap_used_up(context),
        *odd,
        *refused,
    )


def sampled_instead(context: SignalContext) -> tuple[str, ...]:
    """Sentences about waits whose cost is that of the samples, because the finished waits cannot be all."""
    sentences = []
    for surface, seconds in context.lost.believed.items():
        event = SURFACE_EVENTS[surface]
        met, ended = context.lost.met[event], context.finished_seconds(event)
        counted = "was not captured" if ended is None else f"has {ended:,.1f} s of waits that ended"
        why = "so the samples are all there is" if ended is None else "and a wait that goes on is not in it"
        sentences.append(
            f"{event}: {met.samples} samples met {met.average:,.1f} sessions waiting on average (19 times of 20 between "
            f"{met.least:,.1f} and {met.average + met.doubt:,.1f}), and their waits had lasted {met.lasting:,.1f} s together; "
            f"{SYSTEM_EVENTS} {counted}, {why}: the cost is that of the samples, {seconds:,.1f} s"
        )
    return tuple(sentences)


def implausible(context: SignalContext) -> tuple[str, ...]:
    """Sentences about dictionary caches with more misses than look-ups, in the order of their names."""
    sentences = []
    for row in context.rowcache:
        lookups, misses = number(row.get(LOOKUPS, row.get("gets"))), number(row.get("getmisses"))
        if lookups is not None and misses is not None and misses > max(lookups, MINIMUM_MISSES):
            words = "gets" if number(row.get("fastgets")) is None else "look-ups"
            cache = str(row.get("parameter"))
            sentences.append(tell("note impossible", cache=cache, misses=misses, lookups=lookups, words=words))
    return tuple(sorted(sentences))


def background_waits(context: SignalContext) -> Iterator[str]:
    """Sentences about background processes that hang while no session does: the cost and the headline leave them out."""
    sessions = context.look.sessions if context.look else ()
    stuck = hanging(waiter for waiter in sessions if waiter.surface in ROW_CACHE_SURFACES)
    if not stuck or not all(waiter.background for waiter in stuck):
        return
    one, many = stuck[0], len(stuck)
    longest, sid = spoken(one.seconds), str(one.sid)
    yield tell("note background", stuck=many, longest=longest, sid=sid, event=one.event, cache=one.cache)


LATE_SECONDS, SHORT_SECONDS, FEW_ACTIVE = 5.0, 60.0, 2.0
"""Oracle publishes DB time up to 5 s late (Reference, V$SYS_TIME_MODEL: a timed operation buffers at most 5 seconds). That
matters in an interval below a minute in which at most two sessions were active on average (our bounds)."""


def late_db_time(context: SignalContext) -> Iterator[str]:
    """That DB time may be off by what Oracle published late, where the severity of the cost hangs on it."""
    basis, db_time, impact = context.delta.basis, context.seconds_of("DB time"), context.impact
    waited = context.row_cache_wait_seconds
    if context.printed or basis.kind != "interval" or not basis.seconds or basis.seconds >= SHORT_SECONDS:
        return
    if not db_time or not waited or impact is None or impact.share_of_db_time is None or context.inside_pdb:
        return
    bounds = [waited / total for total in (db_time + LATE_SECONDS, max(db_time - LATE_SECONDS, waited))]
    grades = {severity_of(impact.model_copy(update={"share_of_db_time": share})) for share in bounds}
    if db_time <= FEW_ACTIVE * basis.seconds and len(grades) > 1:
        least, most = map(percent, bounds)
        yield tell("note late", over=over(basis), db_time=f"{db_time:,.1f}", least=least, most=most)


SWAP_LEFT = 0.001
"""Free swap space as a share of memory from which on downward it is nearly used up (our bound)."""


def swap_used_up(context: SignalContext) -> Iterator[str]:
    """That the host has hardly any swap space left. None left is the same as no swap space at all, unless pages went out.

    Reports of Linux print the figure from 12.1 on. VM_IN_BYTES and VM_OUT_BYTES alone prove nothing: some hosts count files.
    """
    free, memory = context.level("SWAP_FREE_BYTES"), context.level("PHYSICAL_MEMORY_BYTES")
    went = context.host("VM_OUT_BYTES")
    if free is None or not memory or free > SWAP_LEFT * memory or not (free or went):
        return
    out = f", and {went / 2**20:,.1f} MiB were paged out {over(context.delta.basis)}" if went else ""
    yield tell("note swap", free=free / 2**20, memory=memory / 2**30, out=out)


TOO_LONG_MS = 20.0
"""An ordinary sleep for a latch or mutex of the row cache takes 0.1 to 10 ms; the bound is our own."""


def long_waits(context: SignalContext) -> Iterator[str]:
    """Sentences about sleeps for the row cache that are too long for a dictionary look-up.

    A wait for a latch is one sleep, a wait for a mutex many. A long wait of short sleeps is a long queue.
    """
    for surface, name, what in (("latch", "average_latch_wait", "wait"), ("mutex", "average_mutex_sleep", "sleep")):
        reading = SIGNALS[name].read(context, Subject()) if surface in context.surfaces else None
        if isinstance(reading, Known) and reading.value >= TOO_LONG_MS:
            average, of = reading.value, reading.derivation
            yield tell("note long", what=what, surface=surface, average=average, derivation=of)
