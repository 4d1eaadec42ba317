"""The funnel of the surface that costs most: how many requests found it taken, and how many of those slept."""

from collections.abc import Sequence

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LATCH, Row, number
from rules.chain import EventFunnel
from rules.context import SURFACE_EVENTS, SignalContext
from rules.model import Finding, Surface


def funnel(context: SignalContext, findings: Sequence[Finding]) -> EventFunnel | None:
    """For the first finding's surface, else for what guards the row cache here. None if nothing is known of it."""
    surface = findings[0].surface if findings else _guard(context)
    made = _BY_SURFACE[surface](context)
    known = (made.requests, made.misses, made.sleeps, made.seconds_waited)
    return None if all(value is None for value in known) else made


def _guard(context: SignalContext) -> Surface:
    return "mutex" if context.mechanism == "mutex" else "latch"


def _latch(context: SignalContext) -> EventFunnel:
    statistics = context.latch
    return EventFunnel(
        of=ROW_CACHE_LATCH,
        requests=statistics.gets,
        misses=statistics.misses,
        sleeps=statistics.sleeps,
        seconds_waited=context.surface_wait_seconds("latch"),
    )


def _result_cache(context: SignalContext) -> EventFunnel:
    row: Row = next((row for row in context.delta.rows("v$latch") if row.get("name") == RESULT_CACHE_LATCH), {})
    return EventFunnel(
        of=RESULT_CACHE_LATCH,
        requests=number(row.get("gets")),
        misses=number(row.get("misses")),
        sleeps=number(row.get("sleeps")),
        seconds_waited=context.surface_wait_seconds("result-cache"),
    )


def _mutex(context: SignalContext) -> EventFunnel:
    """Requests are the gets of all caches. Each takes a mutex, but no view counts how many found it taken."""
    return EventFunnel(
        of=SURFACE_EVENTS["mutex"],
        requests=context.sum_of(context.delta.rows("v$rowcache"), "gets"),
        misses=None,
        sleeps=context.sum_of(context.delta.rows("v$mutex_sleep"), "sleeps"),
        seconds_waited=context.surface_wait_seconds("mutex"),
    )


def _lock(context: SignalContext) -> EventFunnel:
    return EventFunnel(
        of=SURFACE_EVENTS["lock"],
        requests=context.sum_of(context.delta.rows("v$rowcache"), "modifications"),
        misses=None,
        sleeps=context.delta.cell("v$system_event", "event", SURFACE_EVENTS["lock"], "total_waits"),
        seconds_waited=context.surface_wait_seconds("lock"),
    )


_BY_SURFACE = {"latch": _latch, "mutex": _mutex, "lock": _lock, "result-cache": _result_cache}
