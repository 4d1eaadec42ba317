"""The audit log: who did what to which database. Always in the log, and in a file of JSON lines if one is set."""

import json
import logging
from datetime import UTC, datetime
from pathlib import Path

log = logging.getLogger("latchscope.audit")


class Audit:
    """Records actions that change state or load a database."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file

    def record(self, caller: str, action: str, database: str, outcome: str) -> None:
        """One action with its outcome. The log says when the file cannot be written; the action is still done."""
        log.info("%s: %s on %s: %s", caller, action, database, outcome)
        if self._file is None:
            return
        at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        line = json.dumps({"at": at, "caller": caller, "action": action, "database": database, "outcome": outcome})
        try:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            log.error("the audit file cannot be written: %s", error.strerror)
