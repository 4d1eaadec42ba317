"""Signals of the whole instance and its host: database time, waits, processors, paging."""

from collections.abc import Iterable

from rules.containers import no_share
from rules.context import ROW_CACHE_SURFACES, Known, SignalContext, SignalValue, Unknown
from rules.formatting import count, part_of, percent
from rules.plausibility import contradictions
from rules.printed import another
from rules.signals import Subject, already_enough, certain, signal
from rules.statistics import ratio

PARSING_WAITS = (
    "library cache: mutex X",
    "library cache: mutex S",
    "library cache: bucket mutex X",
    "library cache lock",
    "library cache pin",
    "library cache load lock",
    "cursor: pin S",
    "cursor: pin S wait on X",
    "cursor: mutex X",
    "cursor: mutex S",
    "latch: shared pool",
    "latch: library cache",
)


def no_db_time(context: SignalContext) -> Unknown:
    """Why DB time is unknown: other figures prove it wrong, or it was not captured."""
    wrong = contradictions(context.delta)
    if wrong:
        return Unknown("v$sys_time_model", wrong[0], another(context.delta.source), absent=True)
    return context.why_unknown("v$sys_time_model", "DB time")


def db_time_share(context: SignalContext, statistic: str) -> SignalValue:
    """A statistic of v$sys_time_model as a share of DB time."""
    spent, db_time = context.seconds_of(statistic), context.seconds_of("DB time")
    if spent is None or not db_time:
        return context.why_unknown("v$sys_time_model", statistic) if spent is None else no_db_time(context)
    return Known(spent / db_time, f"{spent:,.1f} s of {db_time:,.1f} s", spent, db_time)


@signal(unit="ratio", of="v$sys_time_model", called="parsing, share of DB time")
def parse_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time spent parsing."""
    return db_time_share(context, "parse time elapsed")


@signal(unit="ratio", of="v$sys_time_model", called="hard parsing, share of DB time")
def hard_parse_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time spent in hard parses."""
    return db_time_share(context, "hard parse elapsed time")


@signal(unit="ratio", of="v$sys_time_model", called="fetching sequence ranges, share of DB time")
def sequence_load_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time spent fetching the next range of sequence numbers from the dictionary."""
    return db_time_share(context, "sequence load elapsed time")


def waited_share_of_db_time(context: SignalContext, waited: float | None, view: str, column: str) -> SignalValue:
    """Seconds waited per second of DB time. `view` and `column` say what was missing if the seconds are unknown."""
    db_time = context.seconds_of("DB time")
    if waited is None:
        return context.why_unknown(view, column)
    if not db_time:
        return no_db_time(context)
    return Known(waited / db_time, f"{waited:,.2f} s of {db_time:,.1f} s", waited, db_time)


def waits_to_row_cache(context: SignalContext, events: Iterable[str]) -> SignalValue:
    """Seconds waited in some events per second waited for the row cache."""
    others, own = context.waited_seconds(events), context.row_cache_wait_seconds
    untold = context.lost.untold(ROW_CACHE_SURFACES) or (context.look is not None and context.look.untold)
    if others is None or own is None or untold:
        return context.why_unknown("v$system_event", "time_waited_micro")
    if own == 0:
        return Unknown("v$system_event", "no session waited for the row cache", context.busier)
    return Known(others / own, f"{others:,.2f} s against {own:,.2f} s of row cache waits", others, own)


@signal(unit="ratio", of="v$system_event", called="waits of parsing for each second of row cache waits")
def parsing_waits_to_row_cache_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time waited for library cache, cursors and shared pool, per time waited for the row cache."""
    return waits_to_row_cache(context, PARSING_WAITS)


@signal(
    unit="ratio",
    of="v$system_event",
    called="waits for undo segments to come online for each second of row cache waits",
)
def undo_enqueue_waits_to_row_cache_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time waited for `enq: US - contention`, per time waited for the row cache."""
    return waits_to_row_cache(context, ("enq: US - contention",))


@signal(unit="ratio", of="v$system_event")
def row_cache_lock_share_of_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the row cache waits that was for `row cache lock`: sessions change entries."""
    return waits_to_row_cache(context, ("row cache lock",))


@signal(unit="ratio", of="v$system_event, v$sys_time_model", called="row cache waits, share of DB time")
def row_cache_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time lost in row cache waits. The impact gate uses it. Unknown inside a PDB."""
    if context.inside_pdb:
        return no_share()
    share = waited_share_of_db_time(context, context.row_cache_wait_seconds, "v$system_event", "time_waited_micro")
    if not context.lost.untold(ROW_CACHE_SURFACES) or isinstance(share, Unknown):
        return share
    return (
        share
        if already_enough(share.value, subject.needs)
        else context.why_unknown("v$system_event", "time_waited_micro")
    )


@signal(unit="ratio", of="v$osstat", called="processor time of the host in use", share_of="processor time")
def host_busy_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the host's processor time in use."""
    busy, idle = context.host("BUSY_TIME"), context.host("IDLE_TIME")
    if busy is None or idle is None or busy + idle == 0:
        return context.why_unknown("v$osstat", "BUSY_TIME")
    return Known(busy / (busy + idle), part_of(busy, busy + idle) + " cs", busy, busy + idle)


@signal(unit="bytes per second", of="v$osstat")
def paging_rate(context: SignalContext, subject: Subject) -> SignalValue:
    """Bytes paged in and out per second of the interval."""
    paged = [context.host("VM_IN_BYTES"), context.host("VM_OUT_BYTES")]
    known = [value for value in paged if value is not None]
    rate = ratio(sum(known), context.delta.basis.seconds) if len(known) == len(paged) else None
    if rate is None:
        return context.why_unknown("v$osstat", "VM_IN_BYTES")
    return Known(rate, f"{count(sum(known))} bytes")


IDLE_ENOUGH = 0.2
"""A host that was idle for this share of its processor time had no lasting queue of runnable processes."""


@signal(unit="runnable per processor", of="v$osstat", called="runnable processes for each processor")
def load_per_cpu(context: SignalContext, subject: Subject) -> SignalValue:
    """Runnable processes per processor of the host at the end of the interval. At most 1 if processors were idle.

    LOAD may include processes that wait for I/O, as on Linux. Those do not need a processor.
    """
    load, cpus = context.level("LOAD"), context.cpus
    if load is None or not cpus:
        return context.why_unknown("v$osstat", "LOAD")
    derivation = f"load {load:g} on {cpus:g} processors"
    busy = host_busy_ratio(context, subject)
    if isinstance(busy, Unknown) and not certain(min(load / cpus, 1.0), load / cpus, subject.needs):
        return busy
    if load > cpus and isinstance(busy, Known) and busy.value <= 1 - IDLE_ENOUGH:
        return Known(
            1.0, f"{derivation}, which were idle for {percent(1 - busy.value)}: the rest waited for something else"
        )
    return Known(load / cpus, derivation, load, cpus)
