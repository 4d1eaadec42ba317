"""When to try again: by the class of the error, and gently where a poll is expensive."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from zlib import crc32

from collectors.errors import CredentialError, SessionError, SetupError, StartingError
from collectors.model import Cost

LONGEST_PAUSE = 60.0
STARTING_PAUSE = 3.0
SOON = 40
"""Attempts at the starting pause, about two minutes; then the pauses grow, for a database may be gone for good."""
SLOWEST_INTERVAL = 600.0
FARTHEST_SECONDS = 0.25
"""No database is farther away than this; a statement that never takes less is slow by itself."""


@dataclass(frozen=True, slots=True)
class Retry:
    """What follows a failure: its kind, and seconds to wait; None when only an operator or a new credential helps."""

    kind: str
    pause: float | None


def after_failure(error: Exception, in_a_row: int, jitter: Callable[[float, float], float] = random.uniform) -> Retry:
    """The cure of an error, the `in_a_row`-th of its series (from 1)."""
    if isinstance(error, CredentialError):
        return Retry("credential", None)
    if isinstance(error, StartingError):
        return Retry("starting", min(LONGEST_PAUSE, STARTING_PAUSE * max(1.0, in_a_row / SOON)) * jitter(0.7, 1.3))
    if isinstance(error, SetupError):
        return Retry("setup", LONGEST_PAUSE)
    kind = "network" if isinstance(error, SessionError) else "bug"
    return Retry(kind, min(LONGEST_PAUSE, 2.0 ** min(in_a_row, 10)) * jitter(0.8, 1.0))


def interval_after(recent: Sequence[float], interval: float, budget: float) -> float:
    """Seconds until the next poll: the interval, or longer where each of the last two took more than its budgeted share.

    One dear poll alone may be our own doing: the first of a session, or fifty logins at one moment.
    """
    dear = min(recent[-2:]) if len(recent) > 1 else 0.0
    return max(interval, min(dear / budget, SLOWEST_INTERVAL))


def nearest(costs: Iterable[Cost], known: float = FARTHEST_SECONDS) -> float:
    """Seconds of a round trip to the database at most: the quickest of the statements, or `known` where that is less."""
    return min([known, *(cost.seconds / cost.round_trips for cost in costs if cost.round_trips)])


def felt(costs: Iterable[Cost], round_trip: float) -> float:
    """Seconds for which the database was at work on statements: what they took, less the way there and back.

    That it is far away costs it nothing, and for us to wait for our own turn is in no cost at all.
    """
    return sum(max(0.0, cost.seconds - cost.round_trips * round_trip) for cost in costs)


def turn_of(name: str, earliest: float, interval: float) -> float:
    """The first moment from `earliest` on that is this database's own, so that a fleet is not polled all at once."""
    return earliest + (crc32(name.encode()) / 2**32 * interval - earliest) % interval


def next_turn(name: str, now: float, pause: float) -> tuple[float, bool]:
    """When to poll next, and whether that is the database's own moment: never sooner than the pause, never much later.

    So a database comes into its turn over a few polls, and nobody who starts or takes over leaves a gap of two intervals.
    """
    turn, latest = turn_of(name, now + pause, pause), now + 1.25 * pause
    return (turn, True) if turn <= latest else (latest, False)


def next_poll(name: str, due: float, now: float, pause: float, in_turn: bool) -> tuple[float, bool]:
    """When to poll next after a poll that was due then and ended now, and whether that is the database's own moment.

    A late poll is not followed at once by the next. Where we have too much to do that holds for all alike, wherever their
    own moments are, so that all wait equally long.
    """
    planned, soonest = due + pause, now + pause / 2
    if planned < soonest:
        return soonest, False
    return (planned, True) if in_turn else next_turn(name, now, pause)
