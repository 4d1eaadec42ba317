"""What is read once an hour, while no session hangs: the installed patches, and the names of the containers.

Both change a few times a year. They have the deadline of a look, and no poll waits for them.
"""

from collections.abc import Mapping
from functools import cache

from collectors.errors import StatementError, ViewRefused
from collectors.grants import ANYBODY, grant
from collectors.model import Missing, Reading, Rows
from collectors.poll import Connection
from collectors.registry import collectors
from collectors.release import text_for

PATCHES, CONTAINERS = "dba_registry_sqlpatch", "v$containers"
VIEWS = (PATCHES, CONTAINERS)
AGAIN_SECONDS = 3600.0


def read_rarely(connection: Connection, release: str | None) -> Mapping[str, Reading]:
    """Each of these views, or why it is unknown. Raises SessionError."""
    return {view: _read(connection, view, release) for view in VIEWS}


def _read(connection: Connection, view: str, release: str | None) -> Reading:
    collector = collectors()[view]
    statement = text_for(collector.statements, release)
    if statement is None:
        return Missing(view, "not_asked", f"{view} needs Oracle 12.1 or newer", "nothing to do on this release")
    try:
        return Rows(view, connection.query(statement, {}).as_rows())
    except ViewRefused as error:
        return Missing(view, "refused", f"{view}: {error}", grant(collector, ANYBODY, release=release))
    except StatementError as error:
        return Missing(view, "failed", f"{view}: {error}", "latchscope reads it again after an hour")


@cache
def not_read() -> Mapping[str, Reading]:
    """The readings before the first ones."""
    way_out = "wait: it is read once an hour, while nobody hangs"
    return {view: Missing(view, "not_asked", f"{view} was not read yet", way_out) for view in VIEWS}
