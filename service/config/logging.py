"""Logs on stderr, one line each, UTC; never a credential, for none is ever passed to a logger."""

import logging
import time

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def configure(level: str = "INFO") -> None:
    """Send every log of the process to stderr."""
    logging.Formatter.converter = time.gmtime
    logging.basicConfig(level=level, format=FORMAT, datefmt="%Y-%m-%dT%H:%M:%SZ", force=True)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
