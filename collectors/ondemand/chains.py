"""Who is at the end of the wait chains: more looks beside that at v$rowcache_parent, each only where its answer is needed."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from collectors.deadline import LOOK_SECONDS
from collectors.errors import Cancelled, StatementError, ViewRefused
from collectors.grants import ANYBODY, grant
from collectors.model import Missing, Reading, Row, Rows, number, text
from collectors.poll import Connection
from collectors.registry import collectors
from collectors.release import text_for
from collectors.statement import Statement

SESSIONS = "chain_sessions"
SLAVES, JOBS, LOCKS, UNDO = "v$px_session", "running_jobs", "v$lock", "v$transaction"
ORACLES = ("v$wait_chains", "v$hang_info", "v$hang_session_info")
"""Oracle's own analysis of the hang. Read only if `defaults.wait_chains` is on."""
VIEWS = (SESSIONS, SLAVES, JOBS, LOCKS, UNDO, *ORACLES)
OFF = "defaults.wait_chains is off"
TURN_ON = "set defaults.wait_chains: on, if your licence allows it; see docs/oracle.md"
COLD = ", cold: it had not run before, so the database may have had to parse it, which needs the dictionary cache"
LATER = "latchscope looks again after a minute while the hang lasts; by hand, see docs/emergency.md, part 3"

COORDINATOR = """\
select /* latchscope v$session of a coordinator */
       to_number(sys_context('userenv', 'instance')) as instance, sid, serial#, type, program, username, machine, module,
       sql_id, status, state, event, p1, p2, p3, wait_time_micro, last_call_et, blocking_instance, blocking_session,
       final_blocking_instance, final_blocking_session
  from v$session
 where sid = :sid
   and rownum <= 1"""
"""The coordinator of a parallel slave, which waits for nobody, so that no other statement reads it."""
MOST_COORDINATORS = 2
STATEMENTS = (
    Statement(
        kind="look",
        name="v$session of a coordinator",
        text=COORDINATOR,
        why="serial number and program of the session that coordinates a parallel slave, which is the one to end",
        when="a look for blockers, if a parallel slave blocks or waits and its coordinator waits for nobody",
        how_often=f"{MOST_COORDINATORS} times a look at most; a look comes at most once a minute while sessions hang",
        deadline_seconds=LOOK_SECONDS,
    ),
)
SLAVE = re.compile(r"\(P[A-Z0-9]{3}\)\s*$")
JOB = re.compile(r"\(J[A-Z0-9]{3}\)\s*$")
"""How the program of such a session ends."""


def look_at_chains(
    connection: Connection,
    release: str | None,
    holders: Iterable[Row] = (),
    *,
    cold: bool = False,
    wait_chains: bool = False,
) -> Mapping[str, Reading]:
    """Look once, while sessions hang. `holders`: sessions known to hold something. Raises SessionError."""
    sessions = read(connection, SESSIONS, release, cold=cold)
    met = [*holders, *(sessions.rows if isinstance(sessions, Rows) else ())]
    if not met and not wait_chains:
        return {**not_looked(), SESSIONS: sessions}
    more = {view: read(connection, view, release, cold=cold) for view in _needed(met)}
    if isinstance(sessions, Rows) and isinstance(slaves := more.get(SLAVES), Rows):
        sessions = Rows(SESSIONS, (*sessions.rows, *_coordinators(connection, met, slaves.rows)))
    oracles = {view: read(connection, view, release, cold=cold) for view in ORACLES} if wait_chains else {}
    return {**not_looked(), SESSIONS: sessions, **more, **oracles}


def _needed(met: list[Row]) -> Iterator[str]:
    """The views without which the sessions met would lack something."""
    programs = [text(row.get("program")) or "" for row in met]
    if not met:
        return
    yield UNDO
    if any(map(SLAVE.search, programs)):
        yield SLAVES
    if any(map(JOB.search, programs)):
        yield JOBS
    if any((text(row.get("event")) or "").startswith("enq: ") for row in met):
        yield LOCKS


def _coordinators(connection: Connection, met: list[Row], slaves: tuple[Row, ...]) -> Iterator[Row]:
    """The coordinators on this instance of the slaves met. Nothing if the statement fails: the tree then lacks them."""
    sids = {number(row.get("sid")) for row in met}
    wanted = {
        number(slave.get("qcsid"))
        for slave in slaves
        if number(slave.get("sid")) in sids and number(slave.get("qcsid")) not in sids
    }
    for sid in sorted(sid for sid in wanted if sid is not None)[:MOST_COORDINATORS]:
        try:
            answer = connection.query(COORDINATOR, {"sid": int(sid)})
        except StatementError:
            return
        yield from answer.as_rows()


def read(connection: Connection, view: str, release: str | None, *, cold: bool = False, later: str = LATER) -> Reading:
    """The rows of a view that is read on request, or why there are none. Raises SessionError. `later`: when it is read again."""
    try:
        return asked(connection, view, release)
    except Cancelled as error:
        why = f"{view}: the look hit its deadline and was ended{COLD * cold}: {error}"
        return Missing(view, "failed", why, later)


def asked(connection: Connection, view: str, release: str | None) -> Reading:
    """The same. Raises Cancelled if it hits its deadline, and SessionError."""
    statement = text_for(collectors()[view].statements, release)
    if statement is None:
        return Missing(view, "not_asked", f"{view} needs a newer release", "nothing to do on this release")
    try:
        return Rows(view, connection.query(statement, {}).as_rows())
    except ViewRefused as error:
        return Missing(view, "refused", f"{view}: {error}", grant(collectors()[view], ANYBODY, release=release))
    except Cancelled:
        raise
    except StatementError as error:
        return Missing(view, "failed", f"{view}: {error}", "see the error; the polls go on")


@cache
def not_looked() -> Mapping[str, Reading]:
    """The readings of these views without a look."""
    return {
        view: Missing(view, "not_asked", OFF, TURN_ON)
        if view in ORACLES
        else Missing(view, "not_asked", f"{collectors()[view].about}: nothing called for it", "wait for a hang")
        for view in VIEWS
    }
