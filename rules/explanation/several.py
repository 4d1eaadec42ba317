"""Two troubles at once, in the headline and in the steps: the trouble beside the first finding."""

from collections.abc import Sequence
from dataclasses import replace

from rules.context import ROW_CACHE_SURFACES, SURFACE_EVENTS, SignalContext
from rules.formatting import percent
from rules.impact import severity_of
from rules.model import Finding, Severity, Trouble
from rules.troubles import SEVERAL_DOZEN, crowd_at_once, troubles


def others(context: SignalContext, findings: Sequence[Finding]) -> list[Trouble]:
    """The troubles that the first finding does not explain."""
    first = findings[0].cause if findings and findings[0].severity is not Severity.INFO else None
    dear = [
        trouble
        for trouble in troubles(context, findings)
        if (severity_of(trouble) or Severity.INFO).rank >= Severity.WARNING.rank
    ]
    if first is None:
        spoken_of = next((trouble for trouble in dear if trouble.surface in ROW_CACHE_SURFACES), None)
        return [trouble for trouble in dear if trouble is not spoken_of]
    return [trouble for trouble in dear if first not in trouble.causes]


def beside(context: SignalContext, findings: Sequence[Finding]) -> str | None:
    """The other troubles in a few words. None without any."""
    names = [_told(trouble, findings) for trouble in others(context, findings)]
    return f"beside it {' and '.join(names)}" if names else None


def _told(trouble: Trouble, findings: Sequence[Finding]) -> str:
    event = SURFACE_EVENTS.get(trouble.surface, "the result cache latch")
    cause = next((finding.name for finding in findings if finding.cause in trouble.causes), None)
    what = f"{trouble.cache} ({event})" if trouble.cache else event
    if trouble.share_of_db_time is None:
        cost = f"keeps {trouble.waiting_sessions or 0.0:.2f} sessions waiting"
    else:
        cost = f"costs {percent(trouble.share_of_db_time)}"
    return f"{what} {cost}: {cause[:1].lower() + cause[1:] if cause else 'cause open'}"


def at_once(context: SignalContext) -> str | None:
    """How many sessions waited in one look, if there are dozens."""
    most = crowd_at_once(context)
    return f"{most} sessions were met in one look" if most >= SEVERAL_DOZEN else None


def focused(context: SignalContext, trouble: Trouble) -> SignalContext:
    """The context for the steps of a trouble: with its own child."""
    return context if trouble.child is None else replace(context, focus=trouble.child)
