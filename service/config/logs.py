"""Logs on stderr, one line each, UTC. No credential is ever passed to a logger."""

import json
import logging
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from textwrap import indent
from typing import Any, Literal

from service.escape import visible

# The audit log: who did what to which database. Always in the log, and in a file of JSON lines if one is set.

log = logging.getLogger("latchscope.audit")


def unwritable(file: Path) -> str | None:
    """Why this account cannot write an audit file, and the way out. None if it can. It writes nothing."""
    folder = file.absolute().parent
    if not folder.is_dir():
        return f"there is no folder {folder}; create it, or correct auth.audit_file"
    if file.is_dir():
        return "it is a folder; name a file in it"
    there = file.exists()
    if os.access(file if there else folder, os.W_OK):
        return None
    return (
        f"this account may not write {'it' if there else f'in {folder}'}; change the owner, or correct auth.audit_file"
    )


class Audit:
    """Records actions that change state or load a database."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file

    def record(self, caller: str, action: str, database: str, outcome: str, level: int = logging.INFO) -> None:
        """One action with its outcome. The log says when the file cannot be written; the action is still done."""
        about = {"db": database, "event": action}
        log.log(level, "%s: %s on %s: %s", caller, action, database, outcome, extra=about)
        if self._file is None:
            return
        at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        line = json.dumps({"at": at, "caller": caller, "action": action, "database": database, "outcome": outcome})
        try:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            log.error("the audit file cannot be written: %s", error.strerror)


ABOUT = ("db", "kind", "event")
"""Members of a JSON line that not every record has: pass them as `extra`."""
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class OneLine(logging.Formatter):
    """A record is one line of visible characters. Only our own stack trace has more lines, each indented."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  the name is logging's
        """The line of a record."""
        return visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802  as above
        """The stack trace below it, indented: the text of an exception may have line ends, and must not look like a record."""
        return indent(visible(super().formatException(ei), keep="\n"), "  ")


class JsonLine(OneLine):
    """A record is one JSON object on one line. Invisible characters are JSON escapes."""

    def format(self, record: logging.LogRecord) -> str:
        """The object of a record."""
        entry = {
            "at": self.formatTime(record, self.datefmt),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name in ABOUT if (value := getattr(record, name, None)) is not None},
        }
        if record.exc_info:
            entry["trace"] = logging.Formatter.formatException(self, record.exc_info)
        return json.dumps(entry)


def set_level(level: str) -> None:
    """Log this and above."""
    logging.getLogger().setLevel(level.upper())


def configure(level: str = "INFO", form: Literal["text", "json"] = "text") -> None:
    """Send every log of the process to stderr."""
    logging.basicConfig(level=level.upper(), force=True)
    for handler in logging.getLogger().handlers:
        formatter = (JsonLine if form == "json" else OneLine)(FORMAT, datefmt="%Y-%m-%dT%H:%M:%SZ")
        formatter.converter = time.gmtime
        handler.setFormatter(formatter)
    for name in ("uvicorn.access", "uvicorn.error"):  # what it says of a start and an end we say ourselves
        logging.getLogger(name).setLevel(logging.WARNING)
