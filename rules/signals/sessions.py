"""Signals of sessions that still wait at the moment of the poll. No counter shows their waits yet.

If a session was captured in part, each signal has bounds. It is known if both bounds give the same result.
"""

from collections import Counter
from dataclasses import dataclass, replace
from math import inf

from collectors.model import ROW_CACHE_LOCK_EVENT, Missing
from rules.context import ROW_CACHE_SURFACES, Known, SignalContext, SignalValue, Unknown
from rules.formatting import part_of
from rules.hangs import HANGING_SECONDS, VIEW, StillWaiting, hanging
from rules.signals import Subject, certain, signal


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Sessions that wait on the cause's surfaces, and for its caches if it names some."""

    sessions: tuple[StillWaiting, ...]
    perhaps: int
    """How many more there may be: sessions whose kind, wait or length of wait was not captured."""


def _waiting(context: SignalContext, subject: Subject) -> _Waiting | Unknown:
    if context.look is None:
        return context.why_unknown(VIEW)
    surfaces = subject.surfaces or ROW_CACHE_SURFACES
    met = [waiter for waiter in context.look.of(surfaces) if not subject.caches or waiter.cache in subject.caches]
    sure = tuple(waiter for waiter in met if waiter.kind_told)
    untold = sum(1 for perhaps in context.look.untold if set(perhaps) & set(surfaces))
    return _Waiting(sure, len(met) - len(sure) + untold)


def _told(context: SignalContext, subject: Subject, least: float, most: float, derivation: str = "") -> SignalValue:
    """The least possible value, if the missing part makes no difference to what the cause needs."""
    if least != most and not certain(least, most, subject.needs):
        return context.why_unknown(VIEW, "wait of some sessions")
    return Known(least, derivation)


@signal(unit="sessions", of=VIEW, called="sessions that still wait")
def waiting_now(context: SignalContext, subject: Subject) -> SignalValue:
    """Sessions that still wait at the poll, on the cause's surfaces and for its caches if it names some."""
    waiting = _waiting(context, subject)
    if isinstance(waiting, Unknown):
        return waiting
    least = float(len(waiting.sessions))
    return _told(context, subject, least, least + waiting.perhaps)


@signal(unit="s", of=VIEW, called="longest wait that has not ended")
def longest_wait_seconds(context: SignalContext, subject: Subject) -> SignalValue:
    """Length of the longest wait that has not ended, on the cause's surfaces and for its caches."""
    waiting = _waiting(context, subject)
    if isinstance(waiting, Unknown):
        return waiting
    least = max((waiter.seconds for waiter in waiting.sessions), default=0.0)
    return _told(context, subject, least, inf if waiting.perhaps else least)


@signal(unit="s", of="v$system_event", surface="lock", called="average wait for the lock that ended meanwhile")
def average_finished_lock_wait(context: SignalContext, subject: Subject) -> SignalValue:
    """Average of the waits for row cache lock that ended in the interval, 0 if none ended. In a hang no long wait ends."""
    waits, micro = (
        context.delta.cell("v$system_event", "event", ROW_CACHE_LOCK_EVENT, column)
        for column in ("total_waits", "time_waited_micro")
    )
    if waits is None or micro is None:
        why = context.why_unknown("v$system_event", "total_waits")
        # An event that nobody has waited for has no row: that alone leaves nothing open.
        refused = isinstance(context.delta.read("v$system_event"), Missing)
        return why if refused else replace(why, absent=False, blocks=False)
    if context.delta.basis.kind != "interval":
        return Unknown("v$system_event", "there is no interval in which waits could end", "take a second snapshot")
    return Known(micro / waits / 1e6 if waits else 0.0, f"{waits:.0f} waits ended")


@signal(unit="ratio", of=VIEW, called="sessions that wait for the same session", share_of="sessions that hang")
def share_behind_one_session(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the hanging sessions with a known blocker that wait for one and the same session."""
    waiting = _waiting(context, subject)
    if isinstance(waiting, Unknown):
        return waiting
    stuck = hanging(waiting.sessions)
    blockers = Counter(waiter.blocker for waiter in stuck if waiter.blocker_told and waiter.blocker is not None)
    most, known = max(blockers.values(), default=0), blockers.total()
    perhaps = waiting.perhaps + sum(1 for waiter in stuck if not waiter.blocker_told)
    if perhaps:
        of = known + perhaps
        return _told(context, subject, most / of, (most + perhaps) / of, f"at least {part_of(most, of)} waiters")
    if not known:
        why = f"no session has waited {HANGING_SECONDS:.0f} s for a session that Oracle names"
        return Unknown(VIEW, why, "ask who holds what they wait for: see the blockers of the diagnosis")
    return Known(most / known, f"{part_of(most, known)} waiters", most, known)
