"""Severity comes from the impact gate, confidence from what is known."""

from collections.abc import Iterable

from rules.context import SignalContext
from rules.impact import severity_of
from rules.model import Confidence, Identity, Impact, Severity, Surface


def severity(
    context: SignalContext,
    surfaces: Iterable[Surface],
    cap: Severity,
    confidence: Confidence,
    own: Impact | None = None,
) -> Severity:
    """The cost of the waits on some surfaces, or its own part of them. By shares alone at most a warning."""
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
        gate = Severity.NOTICE if confidence is Confidence.LOW else Severity.WARNING
    return gate.at_most(cap)


def confidence(
    identity: Identity | None, discriminating: int, shape: int, unknown: int, confirmed: bool | None, map_fits: bool
) -> Confidence:
    """How sure a finding is, from the number of discriminating and shape conditions that held and those unknown.

    high: cache read from the instance or named by its waiters, a discriminating signal, and the shape or a confirmation.
    medium: cache read, named or inferred, and one of them. low: otherwise, and always if the cache is a candidate.
    A cause without a cache has no identity to know; it is high if none of its conditions is unknown. A
    confirmation that failed costs one step.
    """
    backing = (discriminating > 0) + (shape > 0) + (confirmed is True)
    if identity is None:
        level = 2 if unknown == 0 else 1 if backing else 0
    elif identity in (Identity.READ, Identity.SAMPLED) and map_fits and discriminating and (shape or confirmed):
        level = 2
    else:
        level = 1 if identity is not Identity.CANDIDATE and backing else 0
    return list(Confidence)[max(level - (confirmed is False), 0)]
