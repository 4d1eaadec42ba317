"""When to try again: by the class of the error, and less often if polls are expensive."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from zlib import crc32

from collectors.errors import CredentialError, SessionError, SetupError, StartingError
from collectors.model import Cost

LONGEST_PAUSE = 60.0
STARTING_PAUSE = 3.0
SOON = 40
"""Attempts at the starting pause, about two minutes. Then the pauses grow, because a database may be gone for good."""
SLOWEST_INTERVAL = 600.0
FARTHEST_SECONDS = 0.25
"""No database is farther away than this. A statement that never takes less is slow itself."""


@dataclass(frozen=True, slots=True)
class Retry:
    """What follows a failure: its kind, and seconds to wait. None if only an operator or a new password helps."""

    kind: str
    pause: float | None


def after_failure(error: Exception, in_a_row: int, jitter: Callable[[float, float], float] = random.uniform) -> Retry:
    """The pause for an error that is the `in_a_row`-th of its series (from 1)."""
    if isinstance(error, CredentialError):
        return Retry("credential", None)
    if isinstance(error, StartingError):
        return Retry("starting", min(LONGEST_PAUSE, STARTING_PAUSE * max(1.0, in_a_row / SOON)) * jitter(0.7, 1.3))
    if isinstance(error, SetupError):
        return Retry("setup", LONGEST_PAUSE)
    kind = "network" if isinstance(error, SessionError) else "bug"
    return Retry(kind, min(LONGEST_PAUSE, 2.0 ** min(in_a_row, 10)) * jitter(0.8, 1.0))


def interval_after(recent: Sequence[float], interval: float, budget: float) -> float:
    """Seconds until the next poll: the interval, or longer if the last two both took more than the budgeted share.

    One expensive poll may be our own doing: the first of a session, or fifty logins at one moment.
    """
    dear = min(recent[-2:]) if len(recent) > 1 else 0.0
    return max(interval, min(dear / budget, SLOWEST_INTERVAL))


def nearest(costs: Iterable[Cost], known: float = FARTHEST_SECONDS) -> float:
    """Seconds of a round trip to the database at most: the fastest statement, or `known` if that is less."""
    return min([known, *(cost.seconds / cost.round_trips for cost in costs if cost.round_trips)])


def felt(costs: Iterable[Cost], round_trip: float) -> float:
    """Seconds that the database worked on statements: their duration without the network.

    A distant database does no extra work, and the wait for our own turn is not in any cost.
    """
    return sum(max(0.0, cost.seconds - cost.round_trips * round_trip) for cost in costs)


def turn_of(name: str, earliest: float, interval: float) -> float:
    """The first moment from `earliest` on that belongs to this database, so that a fleet is not polled all at once."""
    return earliest + (crc32(name.encode()) / 2**32 * interval - earliest) % interval


def next_turn(name: str, now: float, pause: float) -> tuple[float, bool]:
    """When to poll next, and whether that is the database's own moment. Never sooner than the pause, never much later.

    A database moves to its own moment over a few polls, so a start or a takeover leaves no gap of two intervals.
    """
    turn, latest = turn_of(name, now + pause, pause), now + 1.25 * pause
    return (turn, True) if turn <= latest else (latest, False)


def next_poll(name: str, due: float, now: float, pause: float, in_turn: bool) -> tuple[float, bool]:
    """When to poll next after a poll with this due time that ended now, and whether that is the database's own moment.

    A late poll is not followed at once by the next. Where we have too much to do that holds for all alike, wherever their
    own moments are, so that all wait equally long.
    """
    planned, soonest = due + pause, now + pause / 2
    if planned < soonest:
        return soonest, False
    return (planned, True) if in_turn else next_turn(name, now, pause)
