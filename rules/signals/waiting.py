"""Signals of sessions that still wait at the moment of the poll, whose waits no counter shows yet."""

from collections import Counter

from rules.context import ROW_CACHE_SURFACES, Known, SignalContext, SignalValue, Unknown
from rules.formatting import part_of
from rules.hangs import HANGING_SECONDS, VIEW, StillWaiting, hanging
from rules.signals import Subject, signal


def _waiting(context: SignalContext, subject: Subject) -> tuple[StillWaiting, ...] | Unknown:
    """Foreground sessions that wait on the cause's surfaces, for its caches where it names some."""
    if context.look is None:
        return context.why_unknown(VIEW)
    if context.look.untold:
        return context.why_unknown(VIEW, "wait of some sessions")
    met = context.look.of(subject.surfaces or ROW_CACHE_SURFACES)
    return tuple(waiter for waiter in met if not subject.caches or waiter.cache in subject.caches)


@signal(unit="sessions", of=VIEW)
def waiting_now(context: SignalContext, subject: Subject) -> SignalValue:
    """Sessions that still wait at the poll, on the cause's surfaces and for its caches where it names some."""
    waiting = _waiting(context, subject)
    return waiting if isinstance(waiting, Unknown) else Known(float(len(waiting)))


@signal(unit="s", of=VIEW)
def longest_wait_seconds(context: SignalContext, subject: Subject) -> SignalValue:
    """How long the longest of the waits has lasted that have not ended, on the cause's surfaces and for its caches."""
    waiting = _waiting(context, subject)
    if isinstance(waiting, Unknown):
        return waiting
    return Known(max((waiter.seconds for waiter in waiting), default=0.0))


@signal(unit="ratio", of=VIEW)
def share_behind_one_session(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the sessions that hang which wait for one and the same session, of those whose blocker Oracle tells."""
    waiting = _waiting(context, subject)
    if isinstance(waiting, Unknown):
        return waiting
    blockers = Counter(waiter.blocker for waiter in hanging(waiting) if waiter.blocker is not None)
    if not blockers:
        why = f"no session has waited {HANGING_SECONDS:.0f} s for a session that Oracle names"
        return Unknown(VIEW, why, "ask who holds what they wait for: see the blockers of the diagnosis")
    most = max(blockers.values())
    return Known(most / blockers.total(), f"{part_of(most, blockers.total())} waiters")
