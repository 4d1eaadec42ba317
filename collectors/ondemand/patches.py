"""The installed patches: one statement an hour at dba_registry_sqlpatch, while no session hangs.

It is a view of the dictionary, so it has the deadline of a look, and no poll waits for it.
"""

from functools import cache

from collectors.errors import StatementError, ViewRefused
from collectors.grants import ANYBODY, grant
from collectors.model import Missing, Reading, Rows
from collectors.poll import Connection
from collectors.registry import collectors
from collectors.release import text_for

VIEW = "dba_registry_sqlpatch"
AGAIN_SECONDS = 3600.0
"""Patches are installed some times a year, so an hour is soon enough."""


def read_patches(connection: Connection, release: str | None) -> Reading:
    """The patches with SQL, or why they are unknown. Raises SessionError."""
    collector = collectors()[VIEW]
    statement = text_for(collector.statements, release)
    if statement is None:
        return Missing(VIEW, "not_asked", f"{VIEW} needs Oracle 12.1 or newer", "nothing to do on this release")
    try:
        return Rows(VIEW, connection.query(statement, {}).as_rows())
    except ViewRefused as error:
        return Missing(VIEW, "refused", f"{VIEW}: {error}", grant(collector, ANYBODY, release=release))
    except StatementError as error:
        return Missing(VIEW, "failed", f"{VIEW}: {error}", "latchscope reads it again after an hour")


@cache
def not_read() -> Missing:
    """The reading before the first one of a session that may read it."""
    return Missing(VIEW, "not_asked", f"{VIEW} was not read yet", "wait: it is read once an hour, while nobody hangs")
