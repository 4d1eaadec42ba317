"""Signals of the shared pool: the row cache's memory there, and whether the pool shrank."""

from collections.abc import Iterable

from collectors.model import Missing, Row, number, other_time_zone
from rules.ages import aged
from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.formatting import part_of
from rules.signals import Subject, signal
from rules.signals.caches import all_lookups


@signal(unit="bytes", of="v$sgastat")
def row_cache_memory(context: SignalContext, subject: Subject) -> SignalValue:
    """Shared pool memory of row cache objects (KQR…), of all containers together."""
    rows = [row for row in context.delta.rows("v$sgastat") if str(row.get("name")).startswith("KQR")]
    total = context.sum_of(rows, "bytes")
    if total is None:
        return context.why_unknown("v$sgastat", "bytes")
    return Known(total, aged(context.delta, "v$sgastat", f"{total / 2**20:,.0f} MiB"))


def _no_window(context: SignalContext) -> Unknown | None:
    """Why the resizes of the last ten minutes are unknown: no rows, or a clock in another time zone than theirs."""
    if isinstance(context.delta.read("v$sga_resize_ops"), Missing):
        return context.why_unknown("v$sga_resize_ops")
    elsewhere = other_time_zone(context.delta.rows("v$parameter"), context.delta.rows("sys_context"))
    if elsewhere is None:
        return None
    why = f"{elsewhere}: the clock of SQL may be in another time zone than the start of a resize, so its age is unknown"
    return Unknown("v$sga_resize_ops", why, "read v$sga_resize_ops yourself", absent=True)


def _sizeless(rows: Iterable[Row]) -> bool:
    """Whether an operation lacks its start or end size."""
    return any(number(row.get(name)) is None for row in rows for name in ("initial_size", "final_size"))


@signal(unit="operations", of="v$sga_resize_ops")
def shared_pool_shrinks(context: SignalContext, subject: Subject) -> SignalValue:
    """Number of times the shared pool shrank in the last ten minutes. Each granule that moves counts."""
    if (unknown := _no_window(context)) is not None:
        return unknown
    pool = [row for row in context.delta.rows("v$sga_resize_ops") if row.get("component") == "shared pool"]
    if _sizeless(pool):
        return context.why_unknown("v$sga_resize_ops", "initial_size")
    rows = [row for row in pool if (number(row.get("final_size")) or 0.0) < (number(row.get("initial_size")) or 0.0)]
    moments = ", ".join(sorted({str(row.get("start_time")) for row in rows}))
    return Known(float(len(rows)), aged(context.delta, "v$sga_resize_ops", moments))


@signal(unit="ratio", of="v$sga_resize_ops")
def shared_pool_shrunk_share(context: SignalContext, subject: Subject) -> SignalValue:
    """Part of its size that the shared pool lost in the last ten minutes, from its largest to its smallest."""
    if (unknown := _no_window(context)) is not None:
        return unknown
    rows = [row for row in context.delta.rows("v$sga_resize_ops") if row.get("component") == "shared pool"]
    if _sizeless(rows):
        return context.why_unknown("v$sga_resize_ops", "initial_size")
    sizes = [(number(row.get("initial_size")), number(row.get("final_size"))) for row in rows]
    shrinks = [(before, after) for before, after in sizes if before and after is not None and after < before]
    if not shrinks:
        return Known(0.0, aged(context.delta, "v$sga_resize_ops", "no shrink"))
    largest, smallest = max(before for before, _ in shrinks), min(after for _, after in shrinks)
    shrunk = f"from {largest / 2**20:,.0f} to {smallest / 2**20:,.0f} MiB"
    return Known(1 - smallest / largest, aged(context.delta, "v$sga_resize_ops", shrunk))


@signal(unit="ratio", of="v$rowcache", share_of="look-ups")
def overall_getmiss_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Look-ups in all dictionary caches that had to load the entry, per look-up. Above 0.02 entries do not stay in memory."""
    misses = context.sum_of(context.rowcache, "getmisses")
    if misses is None:
        return context.why_unknown("v$rowcache", "getmisses")
    lookups = all_lookups(context)
    return (
        lookups
        if isinstance(lookups, Unknown)
        else Known(misses / lookups.value, part_of(misses, lookups.value), misses, lookups.value)
    )
