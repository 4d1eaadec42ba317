"""Logs on stderr, one line each, UTC. No credential is ever passed to a logger."""

import json
import logging
import time
from typing import Any, Literal

from service.characters import visible

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class OneLine(logging.Formatter):
    """A record is one line of visible characters. Only our own stack trace has more lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  the name is logging's
        """The line of a record."""
        return visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802  as above
        """The stack trace below it."""
        return visible(super().formatException(ei), keep="\n")


class JsonLine(OneLine):
    """A record is one JSON object on one line. Invisible characters are JSON escapes."""

    def format(self, record: logging.LogRecord) -> str:
        """The object of a record."""
        entry = {
            "at": self.formatTime(record, self.datefmt),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["trace"] = logging.Formatter.formatException(self, record.exc_info)
        return json.dumps(entry)


def configure(level: str = "INFO", form: Literal["text", "json"] = "text") -> None:
    """Send every log of the process to stderr."""
    logging.basicConfig(level=level, force=True)
    for handler in logging.getLogger().handlers:
        formatter = (JsonLine if form == "json" else OneLine)(FORMAT, datefmt="%Y-%m-%dT%H:%M:%SZ")
        formatter.converter = time.gmtime
        handler.setFormatter(formatter)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
