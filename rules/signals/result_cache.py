"""Signals of the result cache latch, which has no wait event of its own and is not part of the row cache."""

from collectors.model import RESULT_CACHE_LATCH, Row, number
from rules.containers import no_share
from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.formatting import part_of
from rules.signals import Subject, enough_sleeps, signal
from rules.signals.instance import waited_share_of_db_time
from rules.signals.latch import misses_per_get, sleeps_of_a_miss, time_of_a_sleep


def _latch(context: SignalContext) -> Row:
    return next((row for row in context.delta.rows("v$latch") if row.get("name") == RESULT_CACHE_LATCH), {})


def _listed(context: SignalContext, reading: SignalValue) -> SignalValue:
    """The reading. If a report does not list the latch, that."""
    rows = context.delta.rows("v$latch")
    if isinstance(reading, Known) or not context.printed or not rows or _latch(context):
        return reading
    why = f"the report lists no {RESULT_CACHE_LATCH} (it lists latches with activity only)"
    return Unknown("v$latch", why, context.busier)


@signal(unit="sleeps", of="v$latch", surface="result-cache")
def result_cache_sleeps(context: SignalContext, subject: Subject) -> SignalValue:
    """Sleeps on the result cache latch."""
    sleeps = number(_latch(context).get("sleeps"))
    return _listed(context, context.why_unknown("v$latch", "sleeps") if sleeps is None else Known(sleeps))


@signal(
    unit="ratio",
    of="v$latch",
    surface="result-cache",
    called="gets that found the result cache latch busy",
    share_of="gets",
)
def result_cache_miss_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Misses per get of the result cache latch: how often it was busy at the first try."""
    return _listed(context, misses_per_get(context, _latch(context)))


@signal(unit="sleeps per miss", of="v$latch", surface="result-cache")
def result_cache_sleeps_per_miss(context: SignalContext, subject: Subject) -> SignalValue:
    """Sleeps per miss of the result cache latch: 0 means that spinning was always enough."""
    return _listed(context, sleeps_of_a_miss(context, _latch(context)))


@signal(unit="ms", of="v$latch", surface="result-cache")
def average_result_cache_sleep(context: SignalContext, subject: Subject) -> SignalValue:
    """Average time of one sleep on the result cache latch. Far above 10 ms the host causes the wait."""
    return _listed(context, time_of_a_sleep(context, _latch(context)))


@signal(
    unit="ratio", of="v$latch, v$sys_time_model", surface="result-cache", called="result cache waits, share of DB time"
)
def result_cache_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time slept for the result cache latch. Unknown inside a PDB."""
    if context.inside_pdb:
        return _listed(context, no_share())
    waited = context.surface_wait_seconds("result-cache")
    return _listed(context, waited_share_of_db_time(context, waited, "v$latch", "wait_time"))


@signal(unit="ratio", of="v$latch_misses", surface="result-cache")
def share_of_result_cache_holders(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the result cache latch's sleeps whose holder was at the location."""
    rows = [row for row in context.delta.rows("v$latch_misses") if row.get("parent_name") == RESULT_CACHE_LATCH]
    total = context.sum_of(rows, "sleep_count")
    if total is None:
        return context.why_unknown("v$latch_misses", "sleep_count")
    enough = enough_sleeps(context, total, "v$latch_misses")
    if isinstance(enough, Unknown):
        return enough
    here = sum(number(row.get("sleep_count")) or 0.0 for row in rows if row.get("location") == subject.location)
    return Known(here / total, part_of(here, total), here, total)
