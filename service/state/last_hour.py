"""What a database lost in the last hour, by the minute: sixty numbers in memory, for a row of the fleet."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock

MINUTES = 60
LAST_HOUR = timedelta(minutes=MINUTES)
"""How far back a page looks: its charts, and the troubles, restarts and marks that it still shows."""


@dataclass
class LastHour:
    """Share of DB time lost by minute since 1970. The worker writes, the fleet page reads."""

    filled: bool = False
    """Whether it includes what was stored before this process started."""
    asked_at: float = float("-inf")
    """When the store was last read for it, by the monotonic clock, by any reader."""
    _minutes: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Minute → the sum of share × seconds, and of the seconds."""
    _lock: Lock = field(default_factory=Lock)
    _drawn: tuple[int, tuple[float | None, ...]] | None = None
    """The last minute of `values`, and its result. None if a value was added since."""

    def add(self, at: float, seconds: float | None, share: float | None) -> None:
        """Add a poll at a time (Unix), over this many seconds. Without a figure it adds nothing."""
        if not seconds or share is None:
            return
        minute = int(at // 60)
        with self._lock:
            weighed, watched = self._minutes.get(minute, (0.0, 0.0))
            self._minutes[minute] = weighed + share * seconds, watched + seconds
            self._drawn = None
            for old in [each for each in self._minutes if each <= minute - 2 * MINUTES]:
                del self._minutes[old]

    def fill(self, kept: Mapping[int, float], *, anew: bool = False) -> None:
        """Load stored minutes that this process did not see. All minutes if it polls none (`anew`)."""
        read = {minute: (share, 1.0) for minute, share in kept.items()}
        with self._lock:
            self._minutes = read if anew else read | self._minutes
            self.filled, self._drawn = True, None

    def values(self, now: float) -> tuple[float | None, ...]:
        """The last sixty minutes, the current one last. None if unknown, which is never zero."""
        last = int(now // 60)
        with self._lock:
            if self._drawn is None or self._drawn[0] != last:
                minutes = [self._minutes.get(minute) for minute in range(last - MINUTES + 1, last + 1)]
                self._drawn = last, tuple(None if known is None else known[0] / known[1] for known in minutes)
            return self._drawn[1]
