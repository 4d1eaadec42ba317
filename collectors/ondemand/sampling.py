"""Short looks at who waits, between two polls: one light statement a second, while the row cache costs something."""

from collectors.errors import StatementError, ViewRefused
from collectors.grants import ANYBODY, grant
from collectors.model import Missing, Reading, Row, Rows
from collectors.poll import Connection
from collectors.registry import collectors
from collectors.release import text_for

VIEW = "v$session"
EVERY_SECONDS = 1.0
LONGEST_BURST = 60
"""Looks of one burst at most."""


class Burst:
    """Looks at waiting sessions, and keeps what they showed until the next poll takes it along.

    Every look leaves a row with its number and no sid, so that a look at nobody counts as one.
    """

    def __init__(self, release: str | None, looks: int = LONGEST_BURST) -> None:
        self._statement = text_for(collectors()[VIEW].statements, release)
        self._rows: list[Row] = []
        self._looks = 0
        self._most = min(looks, LONGEST_BURST)
        self._missing: Missing | None = None

    @property
    def spent(self) -> bool:
        """Whether no further look is due: enough were taken, or the view cannot be read."""
        return self._looks >= self._most or self._missing is not None

    def look(self, connection: Connection) -> None:
        """Look once. Raises SessionError when the session is lost; a view that cannot be read ends the burst."""
        if self._statement is None or self.spent:
            return
        try:
            answer = connection.query(self._statement, {})
        except ViewRefused as error:
            self._missing = Missing(VIEW, "refused", f"{VIEW}: {error}", grant(collectors()[VIEW], ANYBODY))
            return
        except StatementError as error:
            self._missing = Missing(VIEW, "failed", f"{VIEW}: {error}", "see the error; the polls go on")
            return
        self._looks += 1
        self._rows.append({"sample": self._looks, "sid": None})
        self._rows += [
            {"sample": self._looks, **dict(zip(answer.columns, cells, strict=True))} for cells in answer.rows
        ]

    def taken(self) -> Reading:
        """What was seen: rows by look, or why there are none."""
        if self._missing is not None:
            return self._missing
        if not self._looks:
            return not_sampled()
        return Rows(VIEW, tuple(self._rows))


def not_sampled() -> Missing:
    """The reading of an interval in which nobody looked."""
    return Missing(VIEW, "not_asked", "waiting sessions were not sampled: nothing called for it", "ask for a burst")
