"""What a database lost in the last hour, by the minute: sixty numbers in memory, for a row of the fleet."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock

MINUTES = 60


@dataclass
class LastHour:
    """Share of DB time lost by minute since 1970. The worker adds, whoever draws the fleet reads."""

    filled: bool = False
    """Whether it has what was kept before this process began."""
    asked_at: float = float("-inf")
    """When the store was last asked for it, by the monotonic clock, whoever asked."""
    _minutes: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Minute → the sum of share × seconds, and of the seconds."""
    _lock: Lock = field(default_factory=Lock)
    _drawn: tuple[int, tuple[float | None, ...]] | None = None
    """The last minute that `values` ended with, and what it gave; None where something was added since."""

    def add(self, at: float, seconds: float | None, share: float | None) -> None:
        """A poll at a time (Unix), over so many seconds; nothing where it could not tell."""
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
        """Take what was kept of minutes that this process did not see; of all minutes where it polls none (`anew`)."""
        read = {minute: (share, 1.0) for minute, share in kept.items()}
        with self._lock:
            self._minutes = read if anew else read | self._minutes
            self.filled, self._drawn = True, None

    def values(self, now: float) -> tuple[float | None, ...]:
        """The last sixty minutes, the one under way last; None where it is not known, which is never zero."""
        last = int(now // 60)
        with self._lock:
            if self._drawn is None or self._drawn[0] != last:
                minutes = [self._minutes.get(minute) for minute in range(last - MINUTES + 1, last + 1)]
                self._drawn = last, tuple(None if known is None else known[0] / known[1] for known in minutes)
            return self._drawn[1]
