"""When to look for blockers: once per hang, at most once a minute. Every look is in the audit log."""

import time
from collections.abc import Mapping

from collectors.errors import SessionError
from collectors.model import Missing, Reading, Rows
from collectors.ondemand.blockers import LATER, VIEW, look_for_blockers
from collectors.poll import Connection
from rules.model import Diagnosis
from service.config.audit import Audit

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

    @property
    def found(self) -> Mapping[str, Reading] | None:
        """The result of this hang's look. None without one."""
        return self._found

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
                connection, diagnosis.release, _elsewhere(diagnosis, instance), wait_chains=self._wait_chains
            )
        except SessionError as error:
            lost = Missing(VIEW, "failed", f"{VIEW}: the session was lost in the look: {error}", LATER)
            self._found = {VIEW: lost}
            self._audit.record(CALLER, ACTION, diagnosis.database, lost.why)
            raise
        self._audit.record(CALLER, ACTION, diagnosis.database, _outcome(self._found[VIEW]))


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
