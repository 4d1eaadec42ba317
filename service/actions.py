"""What people ask of a database beyond its polls: a confirming query, a profile of holders. Each is short and audited.

An action has a session of its own, so that polls go on, and one at a time per database, so that there are never more
than two of our sessions.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from collectors.holders import HolderProfile, profile
from collectors.model import ROW_CACHE_LATCH
from collectors.poll import Connection
from rules.cause import Cause
from service import confirm
from service.board import Watched
from service.confirm import Confirmed
from service.loop import Opener


class Busy(Exception):
    """Another action runs on the database; its session must end first."""


@contextmanager
def _session(watched: Watched, opener: Opener) -> Iterator[Connection]:
    if not watched.acting.acquire(blocking=False):
        raise Busy(f"another action runs on {watched.name}; try again when it has ended")
    try:
        connection = opener.open(watched)
        try:
            yield connection
        finally:
            connection.close()
    finally:
        watched.acting.release()


def run_confirmation(watched: Watched, opener: Opener, cause: Cause) -> Confirmed:
    """Run a cause's confirming query; its result counts in the next diagnoses. Raises Busy, StatementError, SessionError."""
    snapshot = watched.published.snapshot if watched.published else None
    with _session(watched, opener) as connection:
        result = confirm.run(
            cause, connection, snapshot.startup_time if snapshot else None, snapshot.release if snapshot else None
        )
    watched.confirmed[cause.id] = result
    return result


def run_profile(watched: Watched, opener: Opener, seconds: float, looks: int) -> HolderProfile:
    """Profile who holds the row cache latch. Raises Busy, StatementError, SessionError."""
    with _session(watched, opener) as connection:
        return profile(connection, ROW_CACHE_LATCH, seconds, looks)
