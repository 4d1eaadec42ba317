"""Signals of the result cache latch, which has no wait event of its own and is no part of the row cache."""

from collectors.model import RESULT_CACHE_LATCH, Row, number
from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.formatting import part_of
from rules.signals import Subject, enough_sleeps, signal
from rules.signals.instance import waited_share_of_db_time
from rules.signals.latch import misses_per_get, sleeps_of_a_miss, time_of_a_sleep


def _latch(scene: SignalContext) -> Row:
    return next((row for row in scene.delta.rows("v$latch") if row.get("name") == RESULT_CACHE_LATCH), {})


def _listed(scene: SignalContext, reading: SignalValue) -> SignalValue:
    """The reading; where a report does not list the latch at all, that."""
    unlisted = scene.unlisted(RESULT_CACHE_LATCH)
    return unlisted if unlisted and isinstance(reading, Unknown) else reading


@signal(unit="sleeps", of="v$latch", surface="result-cache")
def result_cache_sleeps(scene: SignalContext, subject: Subject) -> SignalValue:
    """Sleeps on the result cache latch."""
    sleeps = number(_latch(scene).get("sleeps"))
    return _listed(scene, scene.why_unknown("v$latch", "sleeps") if sleeps is None else Known(sleeps))


@signal(unit="ratio", of="v$latch", surface="result-cache")
def result_cache_miss_ratio(scene: SignalContext, subject: Subject) -> SignalValue:
    """Misses per get of the result cache latch: how often it was busy at the first try."""
    return _listed(scene, misses_per_get(scene, _latch(scene)))


@signal(unit="sleeps per miss", of="v$latch", surface="result-cache")
def result_cache_sleeps_per_miss(scene: SignalContext, subject: Subject) -> SignalValue:
    """Sleeps per miss of the result cache latch: 0 means that spinning was always enough."""
    return _listed(scene, sleeps_of_a_miss(scene, _latch(scene)))


@signal(unit="ms", of="v$latch", surface="result-cache")
def average_result_cache_sleep(scene: SignalContext, subject: Subject) -> SignalValue:
    """Average time of one sleep on the result cache latch; far above 10 ms the host makes sessions wait."""
    return _listed(scene, time_of_a_sleep(scene, _latch(scene)))


@signal(unit="ratio", of="v$latch, v$sys_time_model", surface="result-cache")
def result_cache_share_of_db_time(scene: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time slept for the result cache latch."""
    waited = scene.surface_wait_seconds("result-cache")
    return _listed(scene, waited_share_of_db_time(scene, waited, "v$latch", "wait_time"))


@signal(unit="ratio", of="v$latch_misses", surface="result-cache")
def share_of_result_cache_holders(scene: SignalContext, subject: Subject) -> SignalValue:
    """Share of the result cache latch's sleeps whose holder was at the location."""
    rows = [row for row in scene.delta.rows("v$latch_misses") if row.get("parent_name") == RESULT_CACHE_LATCH]
    total = scene.sum_of(rows, "sleep_count")
    if total is None:
        return scene.why_unknown("v$latch_misses", "sleep_count")
    enough = enough_sleeps(scene, total, "v$latch_misses")
    if isinstance(enough, Unknown):
        return enough
    here = sum(number(row.get("sleep_count")) or 0.0 for row in rows if row.get("location") == subject.location)
    return Known(here / total, part_of(here, total))
