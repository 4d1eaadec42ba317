"""Who holds what sessions hang on: a look at v$rowcache_parent and v$session. It is rare and never runs on a timer.

A read of v$rowcache_parent walks the cache that is in trouble. So each statement of a look has a row limit and a deadline
of its own (`collectors.oracle.Deadlines`), and reads nothing where nobody waits. The look reports; it never ends a session.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from types import MappingProxyType

from collectors.deadline import LOOK_SECONDS
from collectors.errors import Cancelled, StatementError, ViewRefused
from collectors.grants import ANYBODY, privilege_on
from collectors.model import Binds, Missing, Reading, Row, Rows, Snapshot, number, text
from collectors.ondemand.changes import MANY, RARE
from collectors.ondemand.check import LATER as LATER
from collectors.ondemand.check import read
from collectors.poll import Connection, sound
from collectors.registry import collectors, view_of
from collectors.release import text_for
from collectors.statement import Statement
from collectors.views.chain_sessions import READ_OF_SESSION

VIEW = "row_cache_blockers"
LIBRARY_CACHE = "library_cache_waiters"
VIEWS = (VIEW, LIBRARY_CACHE)

LOOKS = "a look comes when a hang begins, when one of its waits ends, and every 5 minutes"
MOST_ELSEWHERE = 2
"""The most sessions of other instances that one look reads."""
ELSEWHERE = f"""\
select /* latchscope gv$session */ inst_id as instance, sid, {READ_OF_SESSION}
  from gv$session
 where inst_id = :instance
   and (sid = :sid or blocking_instance = :instance and blocking_session = :sid and event <> 'row cache lock')
   and rownum <= 9"""
"""A session of another instance, and those that wait behind it there, one of which may hold the entry in its place. Only for a
blocker that the waiting sessions name, because it starts a parallel process on each instance."""
SESSIONS = "chain_sessions"
SLAVES, JOBS, LOCKS, UNDO = "v$px_session", "running_jobs", "v$lock", "v$transaction"
CLEANUPS = ("v$dead_cleanup", "v$cleanup_process")
CLUSTER = "gv$ges_blocking_enqueue"
ORACLES = ("v$wait_chains", "v$hang_info", "v$hang_session_info")
"""Oracle's own analysis of the hang. Read only if `defaults.wait_chains` is on."""
CHAIN_VIEWS = (SESSIONS, SLAVES, JOBS, LOCKS, UNDO, *CLEANUPS, CLUSTER, *ORACLES)
JOBS_OF_MANY = {JOBS: Missing(JOBS, "failed", f"{JOBS}: {MANY}", "v$session.action has the name of a scheduler's job")}
"""What stands for the jobs where many containers are open, each of which their view would parse in."""
OFF = "defaults.wait_chains is off"
TURN_ON = "set defaults.wait_chains: on, if your licence allows it; see docs/oracle.md"

COORDINATOR = f"""\
select /* latchscope v$session of a coordinator */ to_number(sys_context('userenv', 'instance')) as instance, sid,
       {READ_OF_SESSION}
  from v$session
 where sid = :sid
   and rownum <= 1"""
"""The coordinator of a parallel slave, which waits for nobody, so that no other statement reads it."""
MOST_COORDINATORS = 2
STATEMENTS = (
    Statement(
        kind="look",
        name="gv$session",
        text=ELSEWHERE,
        why="serial number and program of a blocker on another instance, which v$session does not show",
        when="a look for blockers, if the waiting sessions name such a blocker",
        how_often=f"{MOST_ELSEWHERE} times a look at most; {LOOKS}",
        deadline_seconds=LOOK_SECONDS,
    ),
    Statement(
        kind="look",
        name="v$session of a coordinator",
        text=COORDINATOR,
        why="serial number and program of the session that coordinates a parallel slave, which is the one to end",
        when="a look for blockers, if a parallel slave blocks or waits and its coordinator waits for nobody",
        how_often=f"{MOST_COORDINATORS} times a look at most; {LOOKS}",
        deadline_seconds=LOOK_SECONDS,
    ),
)
SLAVE = re.compile(r"\(P[A-Z0-9]{3}\)\s*$")
JOB = re.compile(r"\(J[A-Z0-9]{3}\)\s*$")
"""How the program of such a session ends."""


def views_of_look(*, wait_chains: bool = False) -> tuple[str, ...]:
    """The views that a look may read. `wait_chains`: Oracle's own analysis too."""
    return (*VIEWS, *(view for view in CHAIN_VIEWS if wait_chains or view not in ORACLES))


@lru_cache(1024)
def of_look(sql: str) -> bool:
    """Whether a statement is one beside the polls that reads the dictionary or what hangs: it has a deadline of its own."""
    return sql in (ELSEWHERE, COORDINATOR) or view_of(sql) in (*VIEWS, *CHAIN_VIEWS, *RARE)


def look_for_blockers(
    connection: Connection,
    release: str | None,
    elsewhere: Sequence[tuple[int, int]] = (),
    *,
    cold: bool = False,
    wait_chains: bool = False,
    instead: Mapping[str, Reading] = MappingProxyType({}),
) -> Mapping[str, Reading]:
    """Look once. Raises SessionError if the session is lost. A view that fails is Missing and is not read again soon.

    `elsewhere`: instance and SID of blockers on other instances. `cold`: no look has run on this session before.
    `wait_chains`: whether Oracle's own analysis is read too. `instead`: what stands for a view that is not to be asked.
    """
    held = read(connection, VIEW, release, cold=cold)
    if isinstance(held, Rows) and elsewhere:
        sessions, notes = look_elsewhere(connection, release, elsewhere)
        held = Rows(VIEW, (*held.rows, *sessions), (*held.notes, *notes))
    beside = read(connection, LIBRARY_CACHE, release, cold=cold)
    holders = held.rows if isinstance(held, Rows) else ()
    tree = look_at_chains(connection, release, holders, instead, cold=cold, wait_chains=wait_chains)
    return {VIEW: held, LIBRARY_CACHE: beside, **tree}


def read_each(connection: Connection, release: str | None, *, wait_chains: bool = False) -> Mapping[str, Reading]:
    """Read each view that a look may need once, to learn whether it can be read. Raises SessionError."""
    read_now = {view: read(connection, view, release) for view in views_of_look(wait_chains=wait_chains)}
    return {**not_looked(), **read_now}


def look_elsewhere(
    connection: Connection, release: str | None, sessions: Sequence[tuple[int, int]]
) -> tuple[list[Row], tuple[str, ...]]:
    """Sessions of other instances as gv$session has them, and those behind them there.

    The notes say why a session is known by its SID only.
    """
    rows: list[Row] = []
    for instance, sid in sessions[:MOST_ELSEWHERE]:
        try:
            answer = connection.query(ELSEWHERE, {"instance": instance, "sid": sid})
        except StatementError as error:
            opening = f"; {privilege_on('sys.gv_$session', release)} to {ANYBODY};"
            cure = opening if isinstance(error, ViewRefused) else ""
            return rows, (
                f"session {sid} of instance {instance} is known by its SID alone (gv$session: {error}{cure})",
            )
        found = sound(collectors()[VIEW], answer.as_rows())
        rows += found.rows if isinstance(found, Rows) else ()
    return rows, ()


def look_at_chains(
    connection: Connection,
    release: str | None,
    holders: Iterable[Row] = (),
    before: Mapping[str, Reading] = MappingProxyType({}),
    *,
    cold: bool = False,
    wait_chains: bool = False,
) -> Mapping[str, Reading]:
    """Look once, while sessions hang. `holders`: sessions known to hold something. Raises SessionError.

    `before`: the look before; a view that failed in it is not asked again.
    """
    sessions = read(connection, SESSIONS, release, cold=cold)
    met = [*holders, *(sessions.rows if isinstance(sessions, Rows) else ())]
    if not met and not wait_chains:
        return {**not_looked(CHAIN_VIEWS), SESSIONS: sessions}
    failed = {view: of for view, of in before.items() if isinstance(of, Missing) and of.kind != "not_asked"}
    more = {view: failed.get(view) or read(connection, view, release, cold=cold) for view in _needed(met)}
    if isinstance(sessions, Rows) and isinstance(slaves := more.get(SLAVES), Rows):
        sessions = replace(sessions, rows=(*sessions.rows, *_coordinators(connection, met, slaves.rows)))
    oracles = {view: read(connection, view, release, cold=cold) for view in ORACLES} if wait_chains else {}
    return {**not_looked(CHAIN_VIEWS), SESSIONS: sessions, **more, **oracles}


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
    if any(row.get("status") == "KILLED" or ("cache#" in row and row.get("sid") is None) for row in met):
        yield from CLEANUPS
    if any(number(row.get("inst_lock_request")) for row in met):
        yield CLUSTER


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
        found = sound(collectors()[SESSIONS], answer.as_rows())
        yield from found.rows if isinstance(found, Rows) else ()


WHAT = {VIEW: "who holds what was not looked for", LIBRARY_CACHE: "who waits in the library cache was not looked for"}


@cache
def not_looked(views: tuple[str, ...] = (*VIEWS, *CHAIN_VIEWS)) -> Mapping[str, Reading]:
    """The readings of these views in a poll without a look before it."""
    return {
        view: Missing(view, "not_asked", OFF, TURN_ON)
        if view in ORACLES
        else Missing(
            view, "not_asked", f"{WHAT.get(view) or collectors()[view].about}: nothing called for it", "wait for a hang"
        )
        for view in views
    }


# Runs the looks of a hang once while no session hangs, so that the database has them parsed when they are needed.
#
# A hard parse reads the dictionary cache, and in a hang that is what stands still. A look that was never run, or so
# long ago that its cursor is gone, might wait with everybody else.

AGAIN_SECONDS = 3600.0
"""After this time a look runs again: its cursor may have been aged out."""
SAMPLES = "v$session"
NOBODY: Binds = {"instance": 0, "sid": 0}
"""A session that does not exist: gv$session is parsed and gives no row."""


def warm_up(
    connection: Connection, snapshot: Snapshot, *, wait_chains: bool = False, instead: Container[str] = ()
) -> Mapping[str, Missing]:
    """Run each look once, but for those whose view a poll was refused or that is not to be asked. Raises SessionError.

    `wait_chains`: whether a look reads Oracle's own analysis too. Returns the looks for blockers that hit their deadline.
    After the first, the others do not run: the database is slow.
    """
    for view, sql, binds in looks(snapshot, wait_chains=wait_chains):
        if view in instead:
            continue
        try:
            connection.query(sql, binds)
        except Cancelled as error:
            return {view: cold(view, error)} if view in not_looked() else {}
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
    clustered = snapshot.instance.get("parallel") == "YES"
    for view in (*views_of_look(wait_chains=wait_chains), SAMPLES):
        sql = text_for(collectors()[view].statements, snapshot.release)
        if sql is not None and collectors()[view].granted_on not in refused and (clustered or view != CLUSTER):
            yield view, sql, {}
    if clustered:
        yield "gv$session", ELSEWHERE, NOBODY


def cold(view: str, error: Exception) -> Missing:
    """The reading of a look that hit its deadline when no session hung."""
    why = f"{view}: cold: its first run, when no session hung, hit its deadline, so it may do so in a hang: {error}"
    return Missing(
        view, "failed", why, "latchscope runs it again within an hour; by hand, see docs/emergency.md, part 3"
    )
