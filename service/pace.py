"""When to try again: by the class of the error, and gently where a poll is expensive."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from collectors.errors import CredentialError, SessionError, SetupError, StartingError

LONGEST_PAUSE = 60.0
STARTING_PAUSE = 3.0
SLOWEST_INTERVAL = 600.0


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
        return Retry("starting", STARTING_PAUSE * jitter(0.7, 1.3))
    if isinstance(error, SetupError):
        return Retry("setup", LONGEST_PAUSE)
    kind = "network" if isinstance(error, SessionError) else "bug"
    return Retry(kind, min(LONGEST_PAUSE, 2.0 ** min(in_a_row, 10)) * jitter(0.8, 1.0))


def interval_after(poll_seconds: float, interval: float, budget: float) -> float:
    """Seconds until the next poll: the interval, or longer where the last poll took more than its budgeted share."""
    return max(interval, min(poll_seconds / budget, SLOWEST_INTERVAL))
