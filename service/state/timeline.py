"""The changes of one database that are known in memory: those of the last day, and those that the store does not have yet.

Only the thread that polls the database adds to it; a reader gets one consistent tuple.
"""

from collections.abc import Iterable
from datetime import timedelta

from rules.changes import Change

KEEP = timedelta(days=1)
MOST_KEPT = 500


class ChangeLog:
    """What changed on a database."""

    def __init__(self) -> None:
        self.changes: tuple[Change, ...] = ()
        """The last day's, oldest first."""
        self._new: tuple[Change, ...] = ()

    def add(self, found: Iterable[Change]) -> int:
        """Take in what was read, and count what was new. An event that was read before stays as it is."""
        new: list[Change] = []
        for change in found:
            if not any(change.same(known) for known in (*self.changes, *new)):
                new.append(change)
        if new:
            self._new = (*self._new, *new)
            self.restore((*self.changes, *new))
        return len(new)

    def restore(self, changes: Iterable[Change]) -> None:
        """Replace what is known, as by what the store has."""
        ordered = sorted(changes, key=lambda change: change.at)
        since = ordered[-1].at - KEEP if ordered else None
        self.changes = tuple(change for change in ordered if since and change.at >= since)[-MOST_KEPT:]

    def take_new(self) -> tuple[Change, ...]:
        """What was added since the last call, for the store."""
        new, self._new = self._new, ()
        return new
