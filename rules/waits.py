"""Who still waits: the sessions in the look of a poll, and how much of their wait falls into the interval.

v$system_event counts a wait when it ends. So no counter has the time that a session still waiting has lost. That time is
added to the cost. When the wait ends, the part that an earlier look counted is subtracted.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from collectors.model import Delta, Missing, Row, number
from rules.model import Surface
from rules.waited import LATCH_EVENT
from rules.waiters import blocker_of, tells_blocker

VIEW = "waiting_sessions"
HANGING_SECONDS = 10.0
"""Ordinary waits for the row cache take milliseconds, under DDL seconds. A session that has waited this long hangs."""

SURFACE_OF: dict[str, Surface] = {
    LATCH_EVENT: "latch",
    "row cache mutex": "mutex",
    "row cache lock": "lock",
    "latch free": "result-cache",
}


@dataclass(frozen=True, slots=True)
class StillWaiting:
    """One session that waits at the moment of the poll. `seconds`: so far; `inside`: the part within the interval."""

    sid: int | None
    serial: int | None
    event: str
    cache: str
    seconds: float
    inside: float
    background: bool
    blocker: str | None
    """The session at the end of the chain, `SID` or `SID@INSTANCE`. None if Oracle does not say."""
    kind_told: bool = True
    """Whether the capture shows a session or a background process. If not, its wait counts as a session's."""
    blocker_told: bool = True
    """Whether Oracle's own statement on its blocker was captured."""

    @property
    def surface(self) -> Surface:
        return SURFACE_OF[self.event]

    @property
    def hangs(self) -> bool:
        """Whether it has waited too long for an ordinary wait."""
        return self.seconds >= HANGING_SECONDS


@dataclass(frozen=True, slots=True)
class WaitingLook:
    """The result of a poll's look. `met`: all sessions. If there are many, only the longest waits are listed."""

    sessions: tuple[StillWaiting, ...]
    met: int
    before: tuple[tuple[str, float], ...]
    """Event and seconds of the waits that were open at the start of the interval and have ended: counted once already."""
    untold: tuple[tuple[Surface, ...], ...] = ()
    """For each session whose wait or its length was not captured: the surfaces on which it may wait."""

    def of(self, surfaces: Iterable[Surface]) -> tuple[StillWaiting, ...]:
        """Foreground sessions on some surfaces. DB time, the base of all costs, is only theirs."""
        wanted = set(surfaces)
        return tuple(waiter for waiter in self.sessions if waiter.surface in wanted and not waiter.background)

    def seconds(self, event: str, finished: float) -> float:
        """Seconds lost on an event in the interval, given those of the waits that ended in it."""
        early = sum(seconds for name, seconds in self.before if name == event)
        going = sum(waiter.inside for waiter in self.sessions if waiter.event == event and not waiter.background)
        return max(finished - early, 0.0) + going


def hanging(sessions: Iterable[StillWaiting]) -> tuple[StillWaiting, ...]:
    """Sessions that hang, the longest wait first."""
    return tuple(
        sorted((waiter for waiter in sessions if waiter.hangs), key=lambda waiter: (-waiter.seconds, waiter.sid or 0))
    )


def most_waited_for(sessions: Iterable[StillWaiting]) -> tuple[str, str] | None:
    """The event and cache that most of some sessions wait for. None without sessions."""
    counted = Counter(sorted((waiter.event, waiter.cache) for waiter in sessions))
    return counted.most_common(1)[0][0] if counted else None


def look_of(delta: Delta, cache_of: Callable[[Row], str | None]) -> WaitingLook | None:
    """The result of the look at the end of the interval. None without a look."""
    reading = delta.read(VIEW)
    if isinstance(reading, Missing):
        return None
    span = delta.basis.seconds
    sessions = tuple(_sessions(reading.rows, cache_of, span))
    met = _met(reading.rows)
    began = delta.at_begin.get(VIEW)
    before = _ended(began.rows, reading.rows, span) if began is not None and delta.basis.kind == "interval" else ()
    untold = tuple(surfaces for row in reading.rows if (surfaces := _perhaps_on(row)))
    return WaitingLook(sessions, max(met, len(sessions)), tuple(before), untold)


def _perhaps_on(row: Row) -> tuple[Surface, ...]:
    """The possible surfaces of a session that was not captured completely. Empty if its surface is known."""
    event = row.get("event")
    if event is None:
        return tuple(SURFACE_OF.values())
    which_latch = SURFACE_OF.get(str(event)) != "result-cache" or number(row.get("p2")) is not None
    if number(row.get("wait_time_micro")) is not None and which_latch:
        return ()
    return tuple(surface for name, surface in SURFACE_OF.items() if name == event)


def _met(rows: Iterable[Row]) -> int:
    return max((int(number(row.get("met")) or 0) for row in rows), default=0)


def _sessions(rows: Iterable[Row], cache_of: Callable[[Row], str | None], span: float | None) -> Iterator[StillWaiting]:
    for row in rows:
        cache, waited = cache_of(row), number(row.get("wait_time_micro"))
        if cache is None or waited is None:
            continue
        seconds = waited / 1e6
        yield StillWaiting(
            sid=_whole(row, "sid"),
            serial=_whole(row, "serial#"),
            event=str(row.get("event")),
            cache=cache,
            seconds=seconds,
            inside=seconds if span is None else min(seconds, span),
            background=_background(row),
            blocker=blocker_of(row),
            kind_told=row.get("type") is not None,
            blocker_told=tells_blocker(row),
        )


def _ended(before: Sequence[Row], after: Sequence[Row], span: float | None) -> Iterator[tuple[str, float]]:
    """The waits of an earlier look that a later one no longer has."""
    later = {_wait(row): number(row.get("wait_time_micro")) or 0.0 for row in after}
    unlisted = _met(before) - len(before)
    if unlisted > 0 and _met(after) <= len(after):
        # The longest are listed, so no other session had waited longer than the last of them.
        shortest = min(before, key=lambda row: number(row.get("wait_time_micro")) or 0.0)
        yield str(shortest.get("event")), unlisted * (number(shortest.get("wait_time_micro")) or 0.0) / 1e6
    for row in before:
        waited = number(row.get("wait_time_micro"))
        if waited is None or _background(row):
            continue
        grown = (later.get(_wait(row), 0.0) - waited) / 1e6
        if grown < (span or 0.0) / 2:  # the same wait has grown by the interval; a new one is younger than that
            yield str(row.get("event")), waited / 1e6


def _wait(row: Row) -> tuple[object, ...]:
    return tuple(row.get(name) for name in ("sid", "serial#", "event", "p1"))


def _background(row: Row) -> bool:
    return row.get("type") == "BACKGROUND"


def _whole(row: Row, name: str) -> int | None:
    value = number(row.get(name))
    return None if value is None else int(value)
