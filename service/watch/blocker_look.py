"""When to look for blockers: once per hang, at most once a minute. Every look is in the audit log.

The looks run once when a session begins, and again after an hour, so that a hang does not meet them unparsed.
"""

import logging
import time
from collections.abc import Mapping

from collectors.errors import SessionError
from collectors.model import Missing, Reading, Rows, Snapshot, number
from collectors.ondemand.blockers import AGAIN_SECONDS, LATER, VIEW, look_for_blockers, not_looked, warm_up
from collectors.poll import Connection
from rules.model import Diagnosis
from rules.waits import HANGING_SECONDS
from service.config.audit import Audit

log = logging.getLogger("latchscope.loop")

PAUSE_SECONDS = 60.0
CALLER = "latchscope"
ACTION = "look for blockers"


class BlockerLook:
    """The blockers of one database, kept while it hangs."""

    def __init__(self, audit: Audit, enabled: bool = True, *, wait_chains: bool = False) -> None:
        """`wait_chains`: whether Oracle's own analysis of the hang is read too."""
        self._audit = audit
        self._enabled = enabled
        self._wait_chains = wait_chains
        self._found: Mapping[str, Reading] | None = None
        self._looked_at: float | None = None
        self._cold: Mapping[str, Missing] = {}
        self._warmed: Connection | None = None
        self._warmed_at = 0.0

    @property
    def found(self) -> Mapping[str, Reading] | None:
        """The result of this hang's look, else the looks that are cold. None without either."""
        if self._found is None and self._cold:
            return {**not_looked(), **self._cold}
        return self._found

    def warm(self, snapshot: Snapshot, connection: Connection, now: float | None = None) -> None:
        """Run the looks once on this session, and again after an hour, if no session hangs. Raises SessionError.

        Not while it is unknown who waits: then the looks may not be read either.
        """
        now = time.monotonic() if now is None else now
        fresh = connection is self._warmed and now - self._warmed_at < AGAIN_SECONDS
        if not self._enabled or fresh or _may_hang(snapshot):
            return
        self._warmed, self._warmed_at = connection, now
        self._cold = warm_up(connection, snapshot, wait_chains=self._wait_chains)
        for view, reading in self._cold.items():
            log.warning("%s: %s: %s", snapshot.database, view, reading.why)

    def after(
        self, diagnosis: Diagnosis, connection: Connection, now: float | None = None, *, instance: float | None = None
    ) -> None:
        """Look, if sessions hang and there was no look yet. Raises SessionError.

        A look that found nothing is repeated after a minute, while the hang lasts. `now`: time.monotonic(); `instance`:
        number of the polled instance, without which no other instance is read.
        """
        if not any(group.hanging and group.event != "latch free" for group in diagnosis.waiting):
            self._found = None
            return
        now = time.monotonic() if now is None else now
        early = self._looked_at is not None and now - self._looked_at < PAUSE_SECONDS
        held = None if self._found is None else self._found[VIEW]
        if not self._enabled or early or _known(held, diagnosis):
            return
        self._looked_at = now
        try:
            self._found = look_for_blockers(
                connection,
                diagnosis.release,
                _elsewhere(diagnosis, instance),
                cold=connection is not self._warmed,
                wait_chains=self._wait_chains,
            )
        except SessionError as error:
            lost = Missing(VIEW, "failed", f"{VIEW}: the session was lost in the look: {error}", LATER)
            self._found = {VIEW: lost}
            self._audit.record(CALLER, ACTION, diagnosis.database, lost.why)
            raise
        self._audit.record(CALLER, ACTION, diagnosis.database, _outcome(self._found[VIEW]))


def _may_hang(snapshot: Snapshot) -> bool:
    """Whether a session hangs on the row cache at this poll, or nobody knows."""
    waiting = snapshot.read("waiting_sessions")
    if isinstance(waiting, Missing):
        return True
    waits = (number(row.get("wait_time_micro")) for row in waiting.rows if row.get("event") != "latch free")
    return any(wait is None or wait >= HANGING_SECONDS * 1e6 for wait in waits)


def _outcome(held: Reading) -> str:
    found = held.why if isinstance(held, Missing) else f"holders found: {len(held.rows)}"
    return "; ".join((found, *held.notes)) if isinstance(held, Rows) else found


def _elsewhere(diagnosis: Diagnosis, instance: float | None) -> list[tuple[int, int]]:
    """Instance and SID of the blockers on other instances with an unknown serial number."""
    named = diagnosis.blockers.blockers if diagnosis.blockers else ()
    return [
        (blocker.instance, blocker.sid)
        for blocker in named
        if instance is not None
        and blocker.serial is None
        and blocker.sid is not None
        and blocker.instance not in (None, int(instance))
    ]


def _known(held: Reading | None, diagnosis: Diagnosis) -> bool:
    """Whether another look would bring nothing: the known holder still holds, or the view may not be read."""
    if isinstance(held, Missing):
        return held.kind in ("refused", "not_asked")
    chains = diagnosis.blockers.chains if diagnosis.blockers else ()
    ends = [chain.end for chain in chains[:1] if not chain.disagreements]
    return held is not None and any(end is not None and end.serial is not None for end in ends)
