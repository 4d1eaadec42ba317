"""Who holds what sessions hang on: one look at v$rowcache_parent, as seldom as can be, never on a timer.

The view is read by walking the cache that is in trouble, so the look is bounded in rows, has the deadline of every statement,
and asks nothing where nobody waits. It finds out and tells; it never ends a session.
"""

from collectors.errors import StatementError, ViewRefused
from collectors.granting.script import ANYBODY, grant
from collectors.model import Missing, Reading, Rows
from collectors.poll import Connection
from collectors.registry import collectors
from collectors.release import text_for

VIEW = "row_cache_blockers"


def look_for_blockers(connection: Connection, release: str | None) -> Reading:
    """Look once. Raises SessionError when the session is lost; a look that fails is Missing, and is not taken again soon."""
    statement = text_for(collectors()[VIEW].statements, release)
    if statement is None:
        return Missing(VIEW, "not_asked", f"{VIEW} needs a newer release", "nothing to do on this release")
    try:
        answer = connection.query(statement, {})
    except ViewRefused as error:
        return Missing(VIEW, "refused", f"{VIEW}: {error}", grant(collectors()[VIEW], ANYBODY))
    except StatementError as error:
        return Missing(VIEW, "failed", f"{VIEW}: {error}", "see the error; the polls go on")
    return Rows(VIEW, tuple(dict(zip(answer.columns, cells, strict=True)) for cells in answer.rows))


def not_looked() -> Missing:
    """The reading of a poll before which nobody looked."""
    return Missing(VIEW, "not_asked", "who holds what was not looked for: nothing called for it", "wait for a hang")
