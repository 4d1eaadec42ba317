"""Seconds of the waits that ended, as v$system_event counts them, and whether it counts all of them.

An event without waits has no row in v$system_event. If other views show waits, or if the row existed at the start of the
interval, its absence is a gap of the source, and the time is unknown.
"""

from collections.abc import Iterator, Mapping

from collectors.model import (
    ROW_CACHE_LATCH,
    ROW_CACHE_LOCK_EVENT,
    ROW_CACHE_MUTEX_EVENT,
    Delta,
    Missing,
    Row,
    number,
    text,
)

LATCH_EVENT = "latch: row cache objects"
VIEW = "v$system_event"
PROVING_SLEEPS = 100.0
"""From this number on, sleeps must have been waits. A few may fall between the reads of two views (our bound)."""
PROVING_WAITERS = 10
ENDED_MICRO = 1e6
"""A younger sampled wait has ended since. An older one may go on, and a wait counts when it ends."""

FinishedWaits = Mapping[str, float | None]
"""Event → seconds of foreground sessions, None if unknown. An event that is absent had no waits."""


def finished_waits(delta: Delta) -> FinishedWaits | None:
    """The waits that ended, by event. None without v$system_event."""
    if isinstance(delta.read(VIEW), Missing):
        return None
    micro: dict[str, list[float | None]] = {}
    for row in delta.rows(VIEW):
        micro.setdefault(str(row.get("event")), []).append(_session_micro(row))
    known: dict[str, float | None] = {event: _seconds(times) for event, times in micro.items()}
    if delta.source == "views":
        known.update(dict.fromkeys(set(_not_captured(delta)) - set(known)))
    return known


def finished_seconds(delta: Delta, event: str) -> float | None:
    """Seconds of finished waits of foreground sessions for an event. Only foreground sessions count in DB time.

    A row without the split counts whole. An event without waits gives zero. None if the time was not captured.
    """
    waits = finished_waits(delta)
    return None if waits is None else waits.get(event, 0.0)


def _seconds(times: list[float | None]) -> float | None:
    known = [time for time in times if time is not None]
    return sum(known) / 1e6 if len(known) == len(times) else None


def _session_micro(row: Row) -> float | None:
    """Microseconds of foreground sessions. A row without the split counts whole."""
    own = number(row.get("time_waited_micro_fg"))
    return number(row.get("time_waited_micro")) if own is None else own


def _not_captured(delta: Delta) -> Iterator[str]:
    """Events that must have a row: it disappeared, or other views show their waits."""
    for oddity in delta.oddities:
        if oddity.view == VIEW and oddity.what == "vanished" and oddity.key:
            yield str(oddity.key[0])
    if _slept(row for row in delta.rows("v$latch") if row.get("name") == ROW_CACHE_LATCH) or _slept(
        iter(delta.rows("v$latch_children"))
    ):
        yield LATCH_EVENT
    if _slept(iter(delta.rows("v$mutex_sleep"))):
        yield ROW_CACHE_MUTEX_EVENT
    met = [text(row.get("event")) for row in delta.rows("v$session") if _short(row)]
    for event in (LATCH_EVENT, ROW_CACHE_MUTEX_EVENT, ROW_CACHE_LOCK_EVENT):
        if met.count(event) >= PROVING_WAITERS:
            yield event


def _slept(rows: Iterator[Row]) -> bool:
    return sum(number(row.get("sleeps")) or 0.0 for row in rows) >= PROVING_SLEEPS


def _short(row: Row) -> bool:
    waited = number(row.get("wait_time_micro"))
    return waited is not None and waited < ENDED_MICRO
