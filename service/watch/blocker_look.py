"""When to look for blockers: once a hang, and no more than once a minute; every look is in the audit log."""

import time

from collectors.errors import SessionError
from collectors.model import Missing, Reading
from collectors.ondemand.blockers import LATER, VIEW, look_for_blockers
from collectors.poll import Connection
from rules.model import Diagnosis
from service.config.audit import Audit

PAUSE_SECONDS = 60.0
CALLER = "latchscope"
ACTION = "look for blockers"


class BlockerLook:
    """What one database was found to hang on, kept while it hangs."""

    def __init__(self, audit: Audit, enabled: bool = True) -> None:
        self._audit = audit
        self._enabled = enabled
        self._found: Reading | None = None
        self._looked_at: float | None = None

    @property
    def found(self) -> Reading | None:
        """What the look of this hang found; None where there was none."""
        return self._found

    def after(self, diagnosis: Diagnosis, connection: Connection, now: float | None = None) -> None:
        """Look, where sessions hang and nobody has looked yet. Raises SessionError.

        A look that found nobody is taken again after a minute, while the hang lasts.
        """
        if not any(group.hanging and group.event != "latch free" for group in diagnosis.waiting):
            self._found = None
            return
        now = time.monotonic() if now is None else now
        early = self._looked_at is not None and now - self._looked_at < PAUSE_SECONDS
        if not self._enabled or early or _known(self._found, diagnosis):
            return
        self._looked_at = now
        try:
            self._found = look_for_blockers(connection, diagnosis.release)
        except SessionError as error:
            self._found = Missing(VIEW, "failed", f"{VIEW}: the session was lost in the look: {error}", LATER)
            self._audit.record(CALLER, ACTION, diagnosis.database, self._found.why)
            raise
        outcome = self._found.why if isinstance(self._found, Missing) else f"holders found: {len(self._found.rows)}"
        self._audit.record(CALLER, ACTION, diagnosis.database, outcome)


def _known(found: Reading | None, diagnosis: Diagnosis) -> bool:
    """Whether another look would tell no more: a holder was found and still is one, or the view may not be read."""
    if isinstance(found, Missing):
        return found.kind in ("refused", "not_asked")
    named = diagnosis.blockers.blockers if diagnosis.blockers else ()
    return found is not None and any(blocker.serial is not None for blocker in named)
