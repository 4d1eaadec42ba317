"""Runs the looks of a hang once while no session hangs, so that the database has them parsed when they are needed.

A hard parse reads the dictionary cache, and in a hang that is what stands still. A look that was never run, or so long ago that
its cursor is gone, might wait with everybody else.
"""

from collections.abc import Iterator, Mapping

from collectors.errors import StatementError
from collectors.model import Binds, Missing, Snapshot
from collectors.ondemand import chains
from collectors.ondemand.blockers import ELSEWHERE, VIEWS
from collectors.oracle_errors import Cancelled
from collectors.poll import Connection
from collectors.registry import collectors
from collectors.release import text_for

AGAIN_SECONDS = 3600.0
"""After this time a look runs again: its cursor may have been aged out."""
SAMPLES = "v$session"
NOBODY: Binds = {"instance": 0, "sid": 0}
"""A session that does not exist: gv$session is parsed and gives no row."""


def warm_up(connection: Connection, snapshot: Snapshot, *, wait_chains: bool = False) -> Mapping[str, Missing]:
    """Run each look once, but for those whose view a poll was refused. Raises SessionError.

    `wait_chains`: whether a look reads Oracle's own analysis too. Returns the looks for blockers that hit their deadline.
    After the first, the others do not run: the database is slow.
    """
    for view, sql, binds in looks(snapshot, wait_chains=wait_chains):
        try:
            connection.query(sql, binds)
        except Cancelled as error:
            return {view: cold(view, error)} if view != SAMPLES and sql != ELSEWHERE else {}
        except StatementError:
            continue  # a missing grant, which the look itself tells
    return {}


def looks(snapshot: Snapshot, *, wait_chains: bool = False) -> Iterator[tuple[str, str, Binds]]:
    """View, text and binds of each look that may run on the polled instance."""
    refused = {
        collectors()[view].granted_on
        for view, reading in snapshot.readings.items()
        if isinstance(reading, Missing) and reading.kind == "refused"
    }
    tree = [view for view in chains.VIEWS if wait_chains or view not in chains.ORACLES]
    for view in (*VIEWS, *tree, SAMPLES):
        sql = text_for(collectors()[view].statements, snapshot.release)
        if sql is not None and collectors()[view].granted_on not in refused:
            yield view, sql, {}
    if snapshot.instance.get("parallel") == "YES":
        yield "gv$session", ELSEWHERE, NOBODY


def cold(view: str, error: Exception) -> Missing:
    """The reading of a look that hit its deadline when no session hung."""
    why = f"{view}: cold: its first run, when no session hung, hit its deadline, so it may do so in a hang: {error}"
    return Missing(
        view, "failed", why, "latchscope runs it again within an hour; by hand, see docs/emergency.md, part 3"
    )
