"""Rows of sessions that wait at a poll: is a wait one or in slices, has it ended, does it hang, is it in a queue that moves."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from collectors.model import ROW_CACHE_LOCK_EVENT, ROW_CACHE_MUTEX_EVENT, Delta, Missing, Row, Rows, Snapshot, number
from collectors.release import at_least
from rules.model import Surface
from rules.samples import LATCH_EVENT, blocker_of, tells_blocker

WAITING_SESSIONS = "waiting_sessions"
HANGING_SECONDS = 10.0
"""Ordinary waits for the row cache take milliseconds, under DDL seconds. A session that has waited this long hangs."""


def waits_of(row: Row) -> tuple[float | None, float | None]:
    """The waits of an event and their microseconds, of foreground sessions where the row tells them apart, as the cost is.

    Both are of the same sessions, so that their ratio is an average. None if unknown.
    """
    own = number(row.get("total_waits_fg")), number(row.get("time_waited_micro_fg"))
    if None not in own:
        return own
    return number(row.get("total_waits")), number(row.get("time_waited_micro"))


def sessions_met(rows: Iterable[Row]) -> int:
    """How many sessions waited, listed or not."""
    return max((int(number(row.get("met")) or 0) for row in rows), default=0)


# Slices: to 12.1 a timer may end each wait for a row cache lock after 3 seconds, in a cluster after 60, and the session waits
# again for the same entry (note 34609.1 has the timer). Then no wait lasts, and nobody gets the entry.

LEAST_SLICE, MOST_SLICE = 2.8, 3.1
SLICE, CLUSTER_SLICE = 3.0, 60.0
ALL_TIMED_OUT = 0.9
SLICES_BEFORE = "12.2"


def timed_out(row: Row) -> tuple[float, float, float] | None:
    """Share of an event's waits that a timer ended, waits, and seconds waited in them. 0 where an average wait is no slice.

    None if it is unknown. Without any wait the share is 0.
    """
    waits, micro = waits_of(row)
    timeouts = number(row.get("total_timeouts"))
    if waits is None or micro is None or timeouts is None:
        return None
    average = micro / waits / 1e6 if waits else 0.0
    return min(1.0, timeouts / waits) if LEAST_SLICE <= average <= MOST_SLICE else 0.0, waits, micro / 1e6


def in_full(
    rows: Sequence[Row], before: Iterable[Row], event: Row, span: float | None, release: str | None
) -> tuple[Row, ...]:
    """Waiting sessions, each with the time of all slices of its wait, which are `slices` more than its present one.

    `before`: those of a look `span` seconds ago; `event`: what v$system_event counted of row cache lock since. A session waits in
    slices if its number of waits rose as slowly as its timer makes it, or where the numbers are not known, if nearly all waits
    of the event ended by their timer.
    """
    newer = release is not None and at_least(release, SLICES_BEFORE)
    known = {_wait(row): row for row in before}
    share, _, waited = timed_out(event) or (0.0, 0.0, 0.0)
    each = min(span or 0.0, waited / max(sessions_met(rows), 1)) if share >= ALL_TIMED_OUT else 0.0

    def earlier(row: Row) -> float:
        first = known.get(_wait(row), {})
        numbers = [number(one.get("seq#")) for one in (first, row)]
        if row.get("event") != ROW_CACHE_LOCK_EVENT or not span:
            return 0.0
        if None in numbers or newer:
            return each * 1e6
        more = (numbers[1] or 0.0) - (numbers[0] or 0.0)
        then, present = (number(one.get("wait_time_micro")) or 0.0 for one in (first, row))
        over = (
            then + span * 1e6 - present
        )  # the slices that ended since the earlier look, with what they had lasted by then
        fits = span / MOST_SLICE - 1 <= more <= span / LEAST_SLICE + 1 and max(then, present) <= MOST_SLICE * 1e6
        return over if more >= 1 and (fits or (more == 1 and abs(over / 1e6 - CLUSTER_SLICE) <= 2)) else 0.0

    slices = [earlier(row) for row in rows]
    if not any(slices):
        return tuple(rows)
    waits = (number(row.get("wait_time_micro")) for row in rows)
    return tuple(
        row if wait is None or not more else {**row, "wait_time_micro": wait + more, "slices": more}
        for row, wait, more in zip(rows, waits, slices, strict=True)
    )


def waiting_in(delta: Delta) -> tuple[Row, ...]:
    """The sessions that wait at the end of a Delta, with the time of all their slices."""
    if delta.basis.kind != "interval" or not delta.rows(WAITING_SESSIONS):
        return delta.rows(WAITING_SESSIONS)
    began = delta.at_begin.get(WAITING_SESSIONS)
    event = next((row for row in delta.rows("v$system_event") if row.get("event") == ROW_CACHE_LOCK_EVENT), {})
    before = began.rows if began is not None else ()
    return in_full(delta.rows(WAITING_SESSIONS), before, event, delta.basis.seconds, delta.release)


def waiting_at(before: Snapshot | None, now: Snapshot) -> tuple[Row, ...]:
    """The same of a poll that is not compared with the one before it yet."""
    polls = [poll.readings.get(WAITING_SESSIONS) if poll else None for poll in (before, now)]
    then, rows = ([*reading.rows] if isinstance(reading, Rows) else [] for reading in polls)
    if not rows:
        return ()
    apart = (now.taken_at - before.taken_at).total_seconds() if before and before.taken_at and now.taken_at else None
    totals = [_lock_totals(poll) for poll in (before, now)]
    rose = {name: value - totals[0][name] for name, value in totals[1].items() if name in totals[0]}
    return in_full(rows, then, rose, apart, now.release)


def _lock_totals(poll: Snapshot | None) -> dict[str, float]:
    reading = poll.readings.get("v$system_event") if poll else None
    rows = reading.rows if isinstance(reading, Rows) else ()
    row = next((row for row in rows if row.get("event") == ROW_CACHE_LOCK_EVENT), {})
    return {name: value for name in row if (value := number(row.get(name))) is not None}


def ended(before: Iterable[Row], after: Iterable[Row], grown: float) -> Iterator[Row]:
    """The waits of an earlier look that a later one no longer has. One that goes on has grown by this many seconds or more."""
    later = {_wait(row): row for row in after}
    for row in before:
        now, waited = later.get(_wait(row), {}), number(row.get("wait_time_micro"))
        if now.get("slices"):
            continue
        another = None not in (row.get("seq#"), now.get("seq#")) and now.get("seq#") != row.get("seq#")
        if another or (number(now.get("wait_time_micro")) or 0.0) < (waited or 0.0) + grown * 1e6:
            yield row


def _wait(row: Row) -> tuple[object, ...]:
    return tuple(row.get(name) for name in ("sid", "serial#", "event", "p1"))


def moving(
    delta: Delta, waiting: Sequence[Row], what_of: Callable[[Row], tuple[str | None, ...]]
) -> Iterator[tuple[str | None, ...]]:
    """Event and cache of the waits that go on ending although sessions hang on the same: a queue that moves.

    Shown by the sessions that waited at the begin; where nobody did, by the waits that ended, without those of a timer.
    """
    began, span = delta.at_begin.get(WAITING_SESSIONS), delta.basis.seconds or 0.0
    counted = next((row for row in delta.rows("v$system_event") if row.get("event") == ROW_CACHE_LOCK_EVENT), {})
    waits, _ = waits_of(counted)
    share, *_ = timed_out(counted) or (0.0,)
    ending = delta.basis.kind == "interval" and bool(waits) and share < ALL_TIMED_OUT

    for what in {what_of(row) for row in stuck(waiting)}:
        before = [row for row in (began.rows if began is not None else ()) if what_of(row) == what]
        over = any(ended(before, waiting, 0.9 * span)) if before else ending and what[0] == ROW_CACHE_LOCK_EVENT
        if over:
            yield what


def stuck(rows: Iterable[Row]) -> list[Row]:
    """The rows of sessions that hang on the row cache, background processes left out."""
    waits = ((row, number(row.get("wait_time_micro"))) for row in rows if row.get("event") != "latch free")
    return [row for row, wait in waits if wait is not None and wait >= HANGING_SECONDS * 1e6 and not is_background(row)]


def is_background(row: Row) -> bool:
    """Whether the row is of a background process."""
    return row.get("type") == "BACKGROUND"


# Who still waits at the poll, and how much of the wait falls into the interval.

SURFACE_OF: dict[str, Surface] = {
    LATCH_EVENT: "latch",
    ROW_CACHE_MUTEX_EVENT: "mutex",
    ROW_CACHE_LOCK_EVENT: "lock",
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
    sliced: bool = False
    """Whether it waits in slices that its timer ends: `seconds` then are those of all of them."""

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
    reading = delta.read(WAITING_SESSIONS)
    if isinstance(reading, Missing):
        return None
    span = delta.basis.seconds
    sessions = tuple(_sessions(waiting_in(delta), cache_of, span))
    met = sessions_met(reading.rows)
    began = delta.at_begin.get(WAITING_SESSIONS)
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


def _sessions(rows: Iterable[Row], cache_of: Callable[[Row], str | None], span: float | None) -> Iterator[StillWaiting]:
    for row in rows:
        cache, waited = cache_of(row), number(row.get("wait_time_micro"))
        if cache is None or waited is None:
            continue
        seconds, earlier = waited / 1e6, (number(row.get("slices")) or 0.0) / 1e6
        yield StillWaiting(
            sid=_whole(row, "sid"),
            serial=_whole(row, "serial#"),
            event=str(row.get("event")),
            cache=cache,
            seconds=seconds,
            inside=seconds - earlier if span is None else min(seconds - earlier, span),
            background=is_background(row),
            blocker=blocker_of(row),
            kind_told=row.get("type") is not None,
            blocker_told=tells_blocker(row),
            sliced=earlier > 0,
        )


def _ended(before: Sequence[Row], after: Sequence[Row], span: float | None) -> Iterator[tuple[str, float]]:
    """The waits of an earlier look that a later one no longer has."""
    unlisted = sessions_met(before) - len(before)
    if unlisted > 0 and sessions_met(after) <= len(after):
        # The longest are listed, so no other session had waited longer than the last of them.
        shortest = min(before, key=lambda row: number(row.get("wait_time_micro")) or 0.0)
        yield str(shortest.get("event")), unlisted * (number(shortest.get("wait_time_micro")) or 0.0) / 1e6
    for row in ended(before, after, (span or 0.0) / 2):
        waited = number(row.get("wait_time_micro"))
        if waited is not None and not is_background(row):
            yield str(row.get("event")), waited / 1e6


def _whole(row: Row, name: str) -> int | None:
    value = number(row.get(name))
    return None if value is None else int(value)
