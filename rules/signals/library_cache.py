"""Signals of trouble in the library cache, or beside a DDL, that looks like row cache trouble."""

from collectors.model import number
from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.signals import Subject, signal
from rules.signals.instance import waited_share_of_db_time, waits_to_row_cache
from rules.waiters import MINIMUM_WAITERS

LIBRARY_CACHE_LOCK = "library cache lock"


@signal(unit="ratio", of="v$system_event, v$sys_time_model", called="library cache lock waits, share of DB time")
def library_cache_lock_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time waited for `library cache lock`."""
    waited = context.waited_seconds((LIBRARY_CACHE_LOCK,))
    return waited_share_of_db_time(context, waited, "v$system_event", "time_waited_micro")


@signal(unit="ms", of="v$system_event")
def average_library_cache_lock_wait(context: SignalContext, subject: Subject) -> SignalValue:
    """Average wait for `library cache lock`. Seconds mean that a holder keeps it during a delay or its own work."""
    row = next((row for row in context.delta.rows("v$system_event") if row.get("event") == LIBRARY_CACHE_LOCK), {})
    waits, micro = number(row.get("total_waits")), number(row.get("time_waited_micro"))
    if waits is None or micro is None:
        return context.why_unknown("v$system_event", "total_waits")
    if waits < MINIMUM_WAITERS:
        why = f"too few events: {waits:.0f} waits for {LIBRARY_CACHE_LOCK}, at least {MINIMUM_WAITERS} are needed"
        return Unknown("v$system_event", why, context.busier)
    return Known(micro / 1000 / waits, f"{micro / 1e6:,.2f} s in {waits:,.0f} waits", micro / 1000, waits)


@signal(unit="ratio", of="v$system_event", called="waits for the mutex of a cursor for each second of row cache waits")
def cursor_mutex_waits_to_row_cache_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time waited for `cursor: mutex X`, per time waited for the row cache."""
    return waits_to_row_cache(context, ("cursor: mutex X",))


@signal(unit="ratio", of="v$system_event", called="waits for a place in a block for each second of row cache waits")
def itl_waits_to_row_cache_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time waited for `enq: TX - allocate ITL entry`, per time waited for the row cache: inserts into the same blocks."""
    return waits_to_row_cache(context, ("enq: TX - allocate ITL entry",))
