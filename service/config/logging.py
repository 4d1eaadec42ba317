"""Logs on stderr, one line each, UTC; never a credential, for none is ever passed to a logger."""

import logging
import time
from typing import Any

from service.characters import visible

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class OneLine(logging.Formatter):
    """A record is one line of characters that can be seen; only a trace of our own has more lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  the name is logging's
        """The line of a record."""
        return visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802  as above
        """The trace below it."""
        return visible(super().formatException(ei), keep="\n")


def configure(level: str = "INFO") -> None:
    """Send every log of the process to stderr."""
    logging.basicConfig(level=level, force=True)
    for handler in logging.getLogger().handlers:
        formatter = OneLine(FORMAT, datefmt="%Y-%m-%dT%H:%M:%SZ")
        formatter.converter = time.gmtime
        handler.setFormatter(formatter)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
