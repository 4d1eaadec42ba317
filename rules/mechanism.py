"""What guards the row cache of an instance: child latches, or from 12.2 on mutexes."""

from typing import Literal

from collectors.model import ROW_CACHE_MUTEX_EVENT, Delta
from collectors.release import at_least


def mechanism_of(delta: Delta) -> Literal["latch", "mutex"] | None:
    """By the events the instance knows, else by its release; None if neither is known."""
    names = {row.get("name") for row in delta.rows("v$event_name")}
    if ROW_CACHE_MUTEX_EVENT in names:
        return "mutex"
    if names:
        return "latch"
    if delta.release is None:
        return None
    return "mutex" if at_least(delta.release, "12.2") else "latch"
