"""What waits cost: the severity of each surface and of the whole, what is in trouble, and what DB time went to instead."""

from collections.abc import Iterable, Iterator, Sequence

from collectors.model import RESULT_CACHE_LATCH, Missing
from collectors.views.system_event import is_ordinary
from rules.context import ROW_CACHE_SURFACES, SURFACE_EVENTS, SignalContext
from rules.model import (
    Finding,
    Impact,
    LargestUse,
    OtherWait,
    Severity,
    Surface,
    SurfaceImpact,
    Trouble,
    worst,
)
from rules.waits import IDLE_SESSIONS, severity_of, untimed

# The severity of waits on some surfaces, and of all together, whether or not a cause is known.


def severity(
    context: SignalContext,
    surfaces: Iterable[Surface],
    cap: Severity,
    own: Impact | None = None,
) -> Severity:
    """The cost of the waits on some surfaces, or its own part of them. A warning where the cost is unknown."""
    surfaces = tuple(surfaces)
    gate = context.gate_of(surfaces)
    own_gate = severity_of(own)
    if gate is not None and own_gate is not None and severity_of(context.impact_of(surfaces)) is gate:
        gate = own_gate
    untold = context.lost.untold(surfaces)
    if (
        untold
        and gate in (None, Severity.INFO)
        and severity_of(context.impact_by(context.waited_on(surfaces))) is not None
    ):
        gate = Severity.NOTICE  # the captured waits cost next to nothing; those not captured may cost anything
    if gate is None:
        gate = Severity.WARNING
    return gate.at_most(cap)


TELLING = ("v$latch", "v$latch_children", "v$mutex_sleep", "v$rowcache", "v$system_event", "v$session")
"""At least one of these views is necessary for any statement."""
SEVERAL_DOZEN = 36
"""This many sessions that wait for the row cache in one look are a trouble, whatever the averages say (our bound)."""


def overall_gate(context: SignalContext) -> Severity | None:
    """Severity of all waits, whether the cause is known or not. None if no cost is known and no session was seen waiting."""
    gates = [gate for gate in (row_cache_gate(context), context.gate_of(["result-cache"])) if gate is not None]
    return worst(gates) if gates else None


def cost_is_open(context: SignalContext) -> bool:
    """Whether a cost that may be a trouble was not captured. Totals have none; of a report, one that cannot be read."""
    if context.printed and untimed(context.delta):
        return True
    if context.delta.basis.kind == "totals":
        return False
    if latch_free_cost(context) is not None:
        return True
    if context.printed:
        return anything_read(context) and bool(context.lost.untold(ROW_CACHE_SURFACES))
    if row_cache_gate(context) is None:
        return anything_read(context)
    named = any(row.get("name") == RESULT_CACHE_LATCH for row in context.delta.rows("v$latchname"))
    return named and context.gate_of(["result-cache"]) is None


def latch_free_cost(context: SignalContext) -> Impact | None:
    """What `latch free` costs, if that is notable and the result cache latch may be a part of it. Else None.

    The event counts every latch without one of its own. A report lists every latch with activity.
    """
    listed = context.printed and not isinstance(context.delta.read("v$latch"), Missing)
    waited = context.finished_seconds("latch free")
    if waited is None or listed or context.surface_wait_seconds("result-cache") is not None:
        return None
    impact = context.impact_by(waited)
    return None if severity_of(impact) in (None, Severity.INFO) else impact


LARGE = 0.05
"""From this share of DB time on, a wait for something else is named."""


def other_wait(context: SignalContext) -> OtherWait | None:
    """The wait with most of DB time, if it is none for the row cache. Only some events are read."""
    db_time = context.seconds_of("DB time")
    events = sorted({str(row.get("event")) for row in context.delta.rows("v$system_event")})
    telling = (event for event in events if not is_ordinary(event))
    waits = [(seconds, event) for event in telling if (seconds := context.waited_seconds((event,)))]
    if not waits or not db_time:
        return None
    seconds, event = max(waits)
    if event in SURFACE_EVENTS.values() or seconds < LARGE * db_time:
        return None
    others = sum(each for each, name in waits if name not in SURFACE_EVENTS.values())
    return OtherWait(
        event=event, share_of_db_time=min(seconds / db_time, 1.0), together_share_of_db_time=min(others / db_time, 1.0)
    )


TIME_SPENT = "where the time went"
"""The step that takes the place of the largest wait while the row cache costs little."""


def largest_use(context: SignalContext) -> LargestUse | None:
    """What DB time went to most, of DB CPU and the waits that are read, the row cache left out.

    None where DB time or DB CPU is unknown, on an idle instance, in totals, and if a wait that ended has more than all of it.
    """
    db_time, cpu, seconds = context.seconds_of("DB time"), context.seconds_of("DB CPU"), context.delta.basis.seconds
    if not db_time or cpu is None or not seconds or db_time < IDLE_SESSIONS * seconds:
        return None
    events = sorted({str(row.get("event")) for row in context.delta.rows("v$system_event")})
    waits = {event: waited / db_time for event in events if (waited := context.waited_seconds((event,))) is not None}
    if max(waits.values(), default=0.0) > 1:
        return None
    shares = {"DB CPU": min(cpu / db_time, 1.0), **waits}
    unread = max(0.0, 1.0 - sum(shares.values()))
    uses = [(share, name) for name, share in shares.items() if name not in SURFACE_EVENTS.values()]
    (share, name), *smaller = sorted(uses, reverse=True)
    next_share, next_name = smaller[0] if smaller and smaller[0][0] >= LARGE else (None, None)
    return LargestUse(
        name=name,
        share_of_db_time=share,
        next_name=next_name,
        next_share_of_db_time=next_share,
        unread_share_of_db_time=unread,
    )


def totals_without_waits(context: SignalContext) -> bool:
    """Whether these are totals in which the time of no wait was captured: they accuse nobody, and clear nobody."""
    return context.delta.basis.kind == "totals" and context.lost.on(ROW_CACHE_SURFACES) is None


def anything_read(context: SignalContext) -> bool:
    """Whether any view was read that a statement on the row cache needs."""
    return any(not isinstance(context.delta.read(view), Missing) for view in TELLING)


def row_cache_gate(context: SignalContext) -> Severity | None:
    """Severity of the waits for the row cache: by their cost, and by the sessions in one look."""
    by_sessions = Severity.WARNING if crowd_at_once(context) >= SEVERAL_DOZEN else None
    gates = [gate for gate in (context.gate, by_sessions) if gate is not None]
    return worst(gates) if gates else None


def crowd_at_once(context: SignalContext) -> int:
    """Most sessions seen waiting for the row cache in one look."""
    now = len(context.look.of(ROW_CACHE_SURFACES)) if context.look else 0
    return max(now, context.crowd.most_at_once if context.crowd else 0)


# Many sessions wait for something, and there was no look: they may hang.

CROWD_PER_CPU = 2.0
"""Waiting sessions on average, per processor. This many are some kind of trouble, of the row cache or another."""


def unseen_waiters(context: SignalContext) -> float | None:
    """Average number of sessions that wait for something, if they are many and there was no look. Otherwise None."""
    db_time, cpu, seconds = context.seconds_of("DB time"), context.seconds_of("DB CPU"), context.delta.basis.seconds
    if context.look is not None or context.printed or db_time is None or not seconds:
        return None
    waiting = (db_time - (cpu or 0.0)) / seconds
    return waiting if waiting >= CROWD_PER_CPU * (context.cpus or 1.0) else None


def costs_nothing(context: SignalContext) -> bool:
    """Whether an interval between polls cost nothing on any surface, and no session was seen waiting."""
    delta = context.delta
    return (
        delta.source == "views"
        and delta.basis.kind == "interval"
        and not delta.confirmations
        and context.crowd is None
        and (context.look is None or not (context.look.sessions or context.look.before))
        and all(context.gate_of((surface,)) is Severity.INFO for surface in context.surfaces)
        and overall_gate(context) is Severity.INFO
    )


# What is in trouble, each surface and each hot cache separately.


def troubles(context: SignalContext, findings: Sequence[Finding]) -> tuple[Trouble, ...]:
    """Every surface, or hot cache on it, with notable waits; the most expensive first."""
    costly = [trouble for surface in context.surfaces for trouble in _on(context, surface, findings)]
    return tuple(sorted(costly, key=lambda trouble: -(trouble.share_of_db_time or trouble.waiting_sessions or 0.0)))


def _on(context: SignalContext, surface: Surface, findings: Sequence[Finding]) -> Iterator[Trouble]:
    hot = context.hot_caches.named(surface)
    for place, names in enumerate(hot or [()]):
        impact = context.impact_by(context.hot_caches.waited_for((surface,), names))
        if impact is None or severity_of(impact) in (None, Severity.INFO):
            continue
        child = context.hot_caches.children[place] if surface == "latch" and names else None
        causes = []
        for verdict in findings:
            waited_as = context.hot_caches.waited_as([verdict.cache]) if names and verdict.cache is not None else names
            here = verdict.surface == surface and (not names or bool(set(waited_as) & set(names)))
            if here and verdict.severity is not Severity.INFO:
                causes.append(verdict.cause)
        yield Trouble(
            surface=surface,
            cache=context.map.name(child) if child is not None else names[0] if names else None,
            child=child,
            share_of_db_time=impact.share_of_db_time,
            waiting_sessions=impact.waiting_sessions,
            causes=tuple(causes),
        )


def surface_impacts(context: SignalContext) -> tuple[SurfaceImpact, ...]:
    """The cost of each surface with known waits."""
    costs = ((surface, context.impact_of((surface,))) for surface in context.surfaces)
    return tuple(
        SurfaceImpact(surface=surface, share_of_db_time=cost.share_of_db_time, waiting_sessions=cost.waiting_sessions)
        for surface, cost in costs
        if cost is not None and (cost.share_of_db_time is not None or cost.waiting_sessions is not None)
    )


def whole_impact(context: SignalContext, findings: Iterable[Finding]) -> Impact | None:
    """The cost of the row cache, and of the result cache latch if that is in trouble."""
    shown = {finding.surface for finding in findings if finding.severity is not Severity.INFO}
    beside: tuple[Surface, ...] = ("result-cache",) if "result-cache" in shown else ()
    return context.impact_of((*ROW_CACHE_SURFACES, *beside))
