"""Who holds what sessions hang on: a look at v$rowcache_parent and v$session. It is rare and never runs on a timer.

A read of v$rowcache_parent walks the cache that is in trouble. So each statement of a look has a row limit and a deadline
of its own (`collectors.oracle.Deadlines`), and reads nothing where nobody waits. The look reports; it never ends a session.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from collectors.deadline import LOOK_SECONDS
from collectors.errors import Cancelled, StatementError, ViewRefused
from collectors.grants import ANYBODY, privilege
from collectors.model import Binds, Missing, Reading, Row, Rows, Snapshot
from collectors.ondemand import chains
from collectors.ondemand.chains import LATER as LATER
from collectors.ondemand.chains import look_at_chains, read
from collectors.ondemand.changes import RARE
from collectors.poll import Connection
from collectors.registry import collectors, view_of
from collectors.release import text_for
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


def views_of_look(*, wait_chains: bool = False) -> tuple[str, ...]:
    """The views that a look may read. `wait_chains`: Oracle's own analysis too."""
    return (*VIEWS, *(view for view in chains.VIEWS if wait_chains or view not in chains.ORACLES))


@lru_cache(1024)
def of_look(sql: str) -> bool:
    """Whether a statement is one beside the polls that reads the dictionary or what hangs: it has a deadline of its own."""
    return sql in (ELSEWHERE, chains.COORDINATOR) or view_of(sql) in (*VIEWS, *chains.VIEWS, *RARE)


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
        sessions, notes = _elsewhere(connection, release, elsewhere[:MOST_ELSEWHERE])
        held = Rows(VIEW, (*held.rows, *sessions), notes)
    beside = read(connection, LIBRARY_CACHE, release, cold=cold)
    holders = held.rows if isinstance(held, Rows) else ()
    tree = look_at_chains(connection, release, holders, cold=cold, wait_chains=wait_chains)
    return {VIEW: held, LIBRARY_CACHE: beside, **tree}


def read_each(connection: Connection, release: str | None, *, wait_chains: bool = False) -> Mapping[str, Reading]:
    """Read each view that a look may need once, to learn whether it can be read. Raises SessionError."""
    read_now = {view: read(connection, view, release) for view in views_of_look(wait_chains=wait_chains)}
    return {**not_looked(), **read_now}


def _elsewhere(
    connection: Connection, release: str | None, sessions: Sequence[tuple[int, int]]
) -> tuple[list[Row], tuple[str, ...]]:
    """The sessions as gv$session has them. `notes` say why a session is known by its SID only."""
    rows: list[Row] = []
    for instance, sid in sessions:
        try:
            answer = connection.query(ELSEWHERE, {"instance": instance, "sid": sid})
        except StatementError as error:
            opening = f"; grant {privilege('11.2', release)} on sys.gv_$session to {ANYBODY};"
            cure = opening if isinstance(error, ViewRefused) else ""
            return rows, (
                f"session {sid} of instance {instance} is known by its SID alone (gv$session: {error}{cure})",
            )
        rows += answer.as_rows()
    return rows, ()


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


# Runs the looks of a hang once while no session hangs, so that the database has them parsed when they are needed.
#
# A hard parse reads the dictionary cache, and in a hang that is what stands still. A look that was never run, or so
# long ago that its cursor is gone, might wait with everybody else.

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
    for view in (*views_of_look(wait_chains=wait_chains), SAMPLES):
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
