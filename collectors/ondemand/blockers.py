"""Who holds what sessions hang on: a look at v$rowcache_parent and v$session. It is rare and never runs on a timer.

A read of v$rowcache_parent walks the cache that is in trouble. So each statement of a look has a row limit and a deadline
of its own (`collectors.oracle.Deadlines`), and reads nothing where nobody waits. The look reports; it never ends a session.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from collectors.deadline import LOOK_SECONDS
from collectors.errors import StatementError, ViewRefused
from collectors.granting.script import ANYBODY, privilege
from collectors.model import Missing, Reading, Row, Rows
from collectors.ondemand import chains
from collectors.ondemand.chains import LATER as LATER
from collectors.ondemand.chains import look_at_chains, read
from collectors.poll import Connection
from collectors.registry import view_of
from collectors.statement import Statement

VIEW = "row_cache_blockers"
LIBRARY_CACHE = "library_cache_waiters"
VIEWS = (VIEW, LIBRARY_CACHE)

MOST_ELSEWHERE = 2
"""The most sessions of other instances that one look reads."""
ELSEWHERE = """\
select /* latchscope gv$session */
       inst_id as instance, sid, serial#, type, program, username, machine, module, sql_id, status, state, event,
       wait_time_micro, last_call_et, blocking_instance, blocking_session, final_blocking_instance, final_blocking_session
  from gv$session
 where inst_id = :instance
   and sid = :sid
   and rownum <= 1"""
"""One session of another instance. v$session of this instance does not show its serial number. The query starts a parallel
process on each instance, so it runs only for a blocker that the waiting sessions name."""
STATEMENTS = (
    Statement(
        kind="look",
        name="gv$session",
        text=ELSEWHERE,
        why="serial number and program of a blocker on another instance, which v$session does not show",
        when="a look for blockers, if the waiting sessions name such a blocker",
        how_often=f"{MOST_ELSEWHERE} times a look at most; a look comes at most once a minute while sessions hang",
        deadline_seconds=LOOK_SECONDS,
    ),
)


def of_look(sql: str) -> bool:
    """Whether a statement belongs to a look, which has a deadline of its own."""
    return sql in (ELSEWHERE, chains.COORDINATOR) or view_of(sql) in (*VIEWS, *chains.VIEWS)


def look_for_blockers(
    connection: Connection,
    release: str | None,
    elsewhere: Sequence[tuple[int, int]] = (),
    *,
    cold: bool = False,
    wait_chains: bool = False,
) -> Mapping[str, Reading]:
    """Look once. Raises SessionError if the session is lost. A view that fails is Missing and is not read again soon.

    `elsewhere`: instance and SID of blockers on other instances. `cold`: no look has run on this session before.
    `wait_chains`: whether Oracle's own analysis is read too.
    """
    held = read(connection, VIEW, release, cold=cold)
    if isinstance(held, Rows) and elsewhere:
        found, notes = _elsewhere(connection, release, elsewhere[:MOST_ELSEWHERE])
        held = Rows(VIEW, (*held.rows, *found), notes)
    beside = read(connection, LIBRARY_CACHE, release, cold=cold)
    holders = held.rows if isinstance(held, Rows) else ()
    tree = look_at_chains(connection, release, holders, cold=cold, wait_chains=wait_chains)
    return {VIEW: held, LIBRARY_CACHE: beside, **tree}


def _elsewhere(
    connection: Connection, release: str | None, sessions: Sequence[tuple[int, int]]
) -> tuple[list[Row], tuple[str, ...]]:
    """The sessions as gv$session has them. `notes` say why a session is known by its SID only."""
    found: list[Row] = []
    for instance, sid in sessions:
        try:
            answer = connection.query(ELSEWHERE, {"instance": instance, "sid": sid})
        except StatementError as error:
            opening = f"; grant {privilege('11.2', release)} on sys.gv_$session to {ANYBODY};"
            cure = opening if isinstance(error, ViewRefused) else ""
            return found, (
                f"session {sid} of instance {instance} is known by its SID alone (gv$session: {error}{cure})",
            )
        found += [dict(zip(answer.columns, cells, strict=True)) for cells in answer.rows]
    return found, ()


@cache
def not_looked() -> Mapping[str, Reading]:
    """The readings of a poll without a look before it."""
    why = {
        VIEW: "who holds what was not looked for: nothing called for it",
        LIBRARY_CACHE: "who waits in the library cache was not looked for: nothing called for it",
    }
    return {
        **{view: Missing(view, "not_asked", why[view], "wait for a hang") for view in VIEWS},
        **chains.not_looked(),
    }
