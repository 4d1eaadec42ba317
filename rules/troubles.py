"""What is in trouble, each surface and each hot cache separately, and the total cost."""

from collections.abc import Iterable, Iterator, Sequence

from collectors.model import RESULT_CACHE_LATCH, Missing
from rules.context import ROW_CACHE_SURFACES, SignalContext
from rules.impact import severity_of
from rules.model import Finding, Impact, Severity, Surface, SurfaceImpact, Trouble, worst

TELLING = ("v$latch", "v$latch_children", "v$mutex_sleep", "v$rowcache", "v$system_event", "v$session")
"""At least one of these views is necessary for any statement."""
SEVERAL_DOZEN = 36
"""This many sessions that wait for the row cache in one look are a trouble, whatever the averages say (our bound)."""


def surface_impacts(context: SignalContext) -> tuple[SurfaceImpact, ...]:
    """The cost of each surface with known waits."""
    each = ((surface, context.impact_of((surface,))) for surface in context.surfaces)
    return tuple(
        SurfaceImpact(
            surface=surface, share_of_db_time=impact.share_of_db_time, waiting_sessions=impact.waiting_sessions
        )
        for surface, impact in each
        if impact is not None and (impact.share_of_db_time is not None or impact.waiting_sessions is not None)
    )


def whole_impact(context: SignalContext, findings: Iterable[Finding]) -> Impact | None:
    """The cost of the row cache, and of the result cache latch if that is in trouble."""
    shown = {finding.surface for finding in findings if finding.severity is not Severity.INFO}
    beside: tuple[Surface, ...] = ("result-cache",) if "result-cache" in shown else ()
    return context.impact_of((*ROW_CACHE_SURFACES, *beside))


def troubles(context: SignalContext, findings: Sequence[Finding]) -> tuple[Trouble, ...]:
    """Every surface, or hot cache on it, with notable waits; the most expensive first."""
    found = [trouble for surface in context.surfaces for trouble in _on(context, surface, findings)]
    return tuple(sorted(found, key=lambda trouble: -(trouble.share_of_db_time or trouble.waiting_sessions or 0.0)))


def _on(context: SignalContext, surface: Surface, findings: Sequence[Finding]) -> Iterator[Trouble]:
    hot = context.hot_caches.named(surface)
    for place, names in enumerate(hot or [()]):
        impact = context.impact_by(context.hot_caches.waited_for((surface,), names))
        if impact is None or severity_of(impact) in (None, Severity.INFO):
            continue
        child = context.hot_caches.children[place] if surface == "latch" and names else None
        named = context.map.name(child) if child is not None else names[0] if names else None
        yield Trouble(
            surface=surface,
            cache=named,
            child=child,
            share_of_db_time=impact.share_of_db_time,
            waiting_sessions=impact.waiting_sessions,
            causes=tuple(
                finding.cause
                for finding in findings
                if finding.severity is not Severity.INFO
                and finding.surface == surface
                and (
                    not names
                    or finding.cache is None
                    or bool(set(context.hot_caches.waited_as([finding.cache])) & set(names))
                )
            ),
        )


def overall_gate(context: SignalContext) -> Severity | None:
    """Severity of all waits, whether the cause is known or not. None if no cost is known and no session was seen waiting."""
    gates = [row_cache_gate(context), context.gate_of(["result-cache"])]
    known = [gate for gate in gates if gate is not None]
    return worst(known) if known else None


def cost_is_open(context: SignalContext) -> bool:
    """Whether a cost that may be a trouble was not captured. Totals have no cost, and a report lacks none."""
    if context.printed or context.delta.basis.kind == "totals":
        return False
    if row_cache_gate(context) is None:
        return any(not isinstance(context.delta.read(view), Missing) for view in TELLING)
    named = any(row.get("name") == RESULT_CACHE_LATCH for row in context.delta.rows("v$latchname"))
    return named and context.gate_of(["result-cache"]) is None


def row_cache_gate(context: SignalContext) -> Severity | None:
    """Severity of the waits for the row cache: by their cost, and by the sessions in one look."""
    gates = [context.gate]
    if crowd_at_once(context) >= SEVERAL_DOZEN:
        gates.append(Severity.WARNING)
    known = [gate for gate in gates if gate is not None]
    return worst(known) if known else None


def crowd_at_once(context: SignalContext) -> int:
    """Most sessions seen waiting for the row cache in one look."""
    now = len(context.look.of(ROW_CACHE_SURFACES)) if context.look else 0
    return max(now, context.crowd.most_at_once if context.crowd else 0)
