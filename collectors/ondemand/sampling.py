"""The burst: one light look a second at waiting sessions, between two polls, while the row cache costs something."""

from collections.abc import Iterator
from time import monotonic

from collectors.errors import StatementError
from collectors.model import Missing, Reading, Row, Rows
from collectors.ondemand.check import not_answered
from collectors.poll import Connection, sound
from collectors.registry import collectors
from collectors.release import text_for
from collectors.views.session import MOST_SESSIONS

VIEW = "v$session"
EVERY_SECONDS = 1.0
LONGEST_BURST = 60
"""The most looks of one burst."""
MOST_SECONDS = 3.0
"""The most seconds that the looks of one burst may take together. On a slow database they would add to the load."""
MOST_ROWS = 5000
"""The most waiting sessions that one burst reads. The poll keeps them."""


class Burst:
    """Looks at waiting sessions, and keeps the result until the next poll takes it.

    Every look leaves a row with its number and no sid, so a look that finds nobody counts too.
    """

    def __init__(self, release: str | None, looks: int = LONGEST_BURST) -> None:
        self._release = release
        self._statement = text_for(collectors()[VIEW].statements, release)
        self._rows: list[Row] = []
        self._looks = 0
        self._most = min(looks, LONGEST_BURST)
        self._missing: Missing | None = None
        self._seconds = 0.0
        self._crowded = False

    @property
    def spent(self) -> bool:
        """Whether the burst is over: enough looks, enough cost, or a view that cannot be read."""
        return self._looks >= self._most or self._missing is not None or self._cut_short() is not None

    def _cut_short(self) -> str | None:
        """What ended the burst early."""
        if self._looks >= self._most:
            return None
        if self._seconds >= MOST_SECONDS:
            return f"taken {self._seconds:.1f} s"
        met = len(self._rows) - self._looks
        return f"met {met:,} sessions" if met >= MOST_ROWS else None

    def look(self, connection: Connection) -> None:
        """Look once. Raises SessionError if the session is lost. A view that cannot be read ends the burst."""
        if self._statement is None or self.spent:
            return
        began = monotonic()
        try:
            answer = connection.query(self._statement, {})
        except StatementError as error:
            self._missing = not_answered(VIEW, error, self._release)
            return
        self._seconds += monotonic() - began if answer.seconds is None else answer.seconds
        self._crowded |= len(answer.rows) >= MOST_SESSIONS
        read = sound(collectors()[VIEW], answer.as_rows())
        if isinstance(read, Missing):
            self._missing = read
            return
        self._looks += 1
        self._rows.append({"sample": self._looks, "sid": None})
        self._rows += [{"sample": self._looks, **row} for row in read.rows]

    def taken(self) -> Reading:
        """What the burst saw: rows by look, or why there are none."""
        if self._missing is not None:
            return self._missing
        if not self._looks:
            return not_sampled()
        return Rows(VIEW, tuple(self._rows), tuple(self._notes()))

    def _notes(self) -> Iterator[str]:
        if self._crowded:
            yield f"the {MOST_SESSIONS} waiting sessions that a sample reads at most stand for all of them"
        if why := self._cut_short():
            yield f"{self._looks} samples stand for the whole interval, for they had {why}"


def not_sampled() -> Missing:
    """The reading of an interval without a burst."""
    return Missing(
        VIEW, "not_asked", "waiting sessions were not sampled: nothing called for it", "take samples of them now"
    )
