"""Signals of the sessions that wait for library cache lock at the poll, by what they wait for. See `rules.library_cache`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from collectors.model import Missing, Row, text
from rules.context import SignalContext, SignalValue, Unknown
from rules.library_cache import (
    ACCOUNT_STATUS,
    DBINSTANCE,
    LAST_LOGON,
    LIBRARY_CACHE_LOCK,
    LIBRARY_CACHE_PIN,
    LIBRARY_CACHE_SESSIONS,
    OBJECTS,
    foreground,
    target_of,
)
from rules.signals import Subject, certain, share_of_waiters, signal, too_few_waiters

P3_TELLS = (
    "P3 of who waits for library cache lock, divided by 65,536 without what is above 32 bits, tells: 79 is the status of an "
    "account, 127 the time of a last logon, 1 to 5 an object"
)


LOCK = (LIBRARY_CACHE_LOCK,)
LOCK_OR_PIN = (LIBRARY_CACHE_LOCK, LIBRARY_CACHE_PIN)
"""What is waited for behind a change of an object: its lock by who parses, its pin by who executes."""


def _waiters(context: SignalContext, events: Sequence[str]) -> Sequence[Row] | Unknown:
    reading = context.delta.read(LIBRARY_CACHE_SESSIONS)
    if isinstance(reading, Missing):
        unknown = context.why_unknown(LIBRARY_CACHE_SESSIONS)
        return replace(unknown, way_out=f"{unknown.way_out}; {P3_TELLS}")
    return [row for row in foreground(reading.rows) if row.get("event") in events]


def _share(
    context: SignalContext, subject: Subject, alike: Sequence[bool | None], events: Sequence[str]
) -> SignalValue:
    """The share of True; None is unknown."""
    waited_for = " or ".join(events)
    met, own, unknown = len(alike), alike.count(True), alike.count(None)
    if unknown and not certain(own / met, (own + unknown) / met, subject.needs):
        return context.why_unknown(LIBRARY_CACHE_SESSIONS, "p1raw and p3 of some sessions")
    few = too_few_waiters(met, waited_for, LIBRARY_CACHE_SESSIONS, context.busier)
    return share_of_waiters(own, met, waited_for, few=few)


def _in_namespaces(
    context: SignalContext, subject: Subject, namespaces: Sequence[int], events: Sequence[str] = LOCK
) -> SignalValue:
    rows = _waiters(context, events)
    if isinstance(rows, Unknown):
        return rows
    found = [target_of(row.get("p3")).namespace for row in rows]
    return _share(context, subject, [None if each is None else each in namespaces for each in found], events)


share_of_lock_waiters = partial(signal, "ratio", LIBRARY_CACHE_SESSIONS, share_of="waiters for library cache lock")
share_of_lock_and_pin_waiters = partial(
    signal, "ratio", LIBRARY_CACHE_SESSIONS, share_of="waiters for library cache lock and pin"
)


@share_of_lock_waiters(called="library cache lock waiters that wait for the status of an account")
def account_status_share_of_library_cache_lock_waiters(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the waiters for `library cache lock` at the poll that want the status of an account (namespace 79)."""
    return _in_namespaces(context, subject, (ACCOUNT_STATUS,))


@share_of_lock_waiters(called="library cache lock waiters that wait for the time of a last logon")
def last_logon_share_of_library_cache_lock_waiters(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the waiters for `library cache lock` at the poll that want the time of a last logon (namespace 127, 12.1+)."""
    return _in_namespaces(context, subject, (LAST_LOGON,))


@share_of_lock_waiters(called="library cache lock waiters that wait for the lock of the whole instance")
def instance_share_of_library_cache_lock_waiters(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the waiters for `library cache lock` at the poll that want the lock of the whole instance (namespace 74)."""
    return _in_namespaces(context, subject, (DBINSTANCE,))


@share_of_lock_and_pin_waiters(
    called="library cache lock and pin waiters that wait for a table, PL/SQL or another object"
)
def object_share_of_library_cache_waiters(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the waiters for `library cache lock` and `pin` at the poll that want a table, PL/SQL or another object."""
    return _in_namespaces(context, subject, OBJECTS, LOCK_OR_PIN)


@share_of_lock_and_pin_waiters(called="library cache lock and pin waiters that wait for one and the same handle")
def one_handle_share_of_library_cache_waiters(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the waiters for `library cache lock` and `pin` at the poll that want the same handle: one account, one object."""
    rows = _waiters(context, LOCK_OR_PIN)
    if isinstance(rows, Unknown):
        return rows
    handles = [text(row.get("p1raw")) for row in rows]
    most = Counter(sorted(handle for handle in handles if handle)).most_common(1)
    return _share(context, subject, [None if each is None else each == most[0][0] for each in handles], LOCK_OR_PIN)
