"""The world as Oracle's views show it, and a session on it that answers SQL: SQLite runs the text, whatever it asks.

So the statements of the product and the checks that it prints run as they are, also those that nobody knew when this was
written. A view that is not here, or that may not be read, is refused. A text that cannot be run is kept in `problems`.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache

import sqlglot
from sqlglot import exp
from sqlglot.transforms import eliminate_join_marks

from collectors.errors import SessionError, StatementError, ViewRefused
from collectors.model import Binds, Value
from collectors.poll import Answer
from tests.second.world import EXCLUSIVE, ON_CPU, SHARE, Resource, Session, World

BEGAN = datetime(2026, 3, 2, 3, 0, tzinfo=UTC)
"""Moment 0 of every world."""
SID = 11
"""latchscope's own session, on instance 1."""
Cells = Sequence[object]
COLUMNS = {
    "session": "inst_id sid serial# saddr type program username machine module sql_id status state event seq# p1 p1raw p2 p3"
    " wait_time_micro seconds_in_wait last_call_et blocking_instance blocking_session blocking_session_status"
    " final_blocking_instance final_blocking_session final_blocking_session_status con_id action prev_sql_id logon_time",
    "rowcache_parent": "inst_id address cache# cache_name key lock_mode lock_request saddr txn inst_lock_request inst_lock_type"
    " inst_lock_id1 inst_lock_id2 con_id",
    "lock": "inst_id sid type id1 id2 lmode request block",
    "transaction": "inst_id addr ses_addr used_ublk",
    "px_session": "inst_id sid serial# qcinst_id qcsid qcserial#",
    "dead_cleanup": "inst_id type saddr state dead_time cleanup_attempts num_blocked last_attempt",
    "ges_blocking_enqueue": "inst_id resource_name1 grant_level request_level pid blocker blocked owner_node",
    "rowcache": "inst_id cache# type parameter gets count usage fixed fastgets getmisses scans scanmisses scancompletes"
    " modifications flushes dlm_requests dlm_conflicts dlm_releases subordinate#",
    "system_event": "inst_id event total_waits total_timeouts time_waited_micro total_waits_fg time_waited_micro_fg",
    "event_name": "inst_id name",
    "sys_time_model": "inst_id stat_name value",
    "osstat": "inst_id stat_name value",
    "jobs": "inst_id owner job_name session_id running_instance con_id",
    "users": "inst_id username",
}
TABLE_OF = {
    **{f"{prefix}${table}": table for table in COLUMNS for prefix in ("v", "gv")},
    **{f"{prefix}_scheduler_running_jobs": "jobs" for prefix in ("dba", "cdb")},
    "all_users": "users",
}
"""View → table."""


@dataclass
class Sight:
    """What of the truth the views of a world show."""

    release: str = "19.0.0.0.0"
    cluster: bool = False
    named: str = "full"
    """What the columns of blockers have: full, null, final only, or stale."""
    lag: float = 0.0
    """How old they are at most where they are stale."""
    refused: frozenset[str] = frozenset()
    rds: bool = False
    sample_seconds: float = 0.001
    """What a sample of waiting sessions takes. A burst ends after 3 s of it, so a slow database is sampled less."""
    statement_seconds: float = 0.0
    """What every statement takes, while the world moves on."""
    skew: float = 0.0
    """How far the clock of the database is ahead of latchscope's."""
    away: tuple[float, float] = (0.0, 0.0)
    """From when to when the database does not answer."""


@cache
def translated(sql: str) -> tuple[str, frozenset[str]]:
    """A text of Oracle as SQLite reads it, and the views that it reads. Raises sqlglot's errors."""
    tree = eliminate_join_marks(sqlglot.parse_one(sql, read="oracle"))
    for test in list(tree.find_all(exp.LTE)):
        if isinstance(test.this, exp.Column) and test.this.name.lower() == "rownum":
            select = test.find_ancestor(exp.Select)
            assert select is not None
            select.limit(test.expression.copy(), copy=False)
            test.replace(exp.true())
    views = frozenset(table.name.lower() for table in tree.find_all(exp.Table)) - {"dual"}
    return tree.sql("sqlite", identify=True, comments=False, unsupported_level=sqlglot.ErrorLevel.IGNORE), views


@dataclass
class Database:
    """The views of one world, as one instance shows them: a session as `collectors.poll.Connection` has it."""

    world: World
    sight: Sight
    instance: int = 1
    spend: Callable[[float], None] = lambda _: None
    """Lets time pass."""
    problems: dict[str, str] = field(default_factory=dict)
    _drawn: dict[str, float] = field(default_factory=dict)
    _named: tuple[float, dict[Session, tuple[Session | None, Session | None]]] = (-100.0, {})

    def __post_init__(self) -> None:
        self._sqlite = sqlite3.connect(":memory:", isolation_level=None)
        context = {
            "sid": SID,
            "instance": self.instance,
            "con_id": 1,
            "con_name": "CDB$ROOT",
            "database_role": "PRIMARY",
        }
        self._sqlite.create_function("sys_context", 2, lambda _, name: context.get(name.lower()))
        self._sqlite.create_function("rawtohex", 1, lambda value: value)
        self._sqlite.execute("create view dual as select 'X' as dummy")
        for table, columns in COLUMNS.items():
            self._sqlite.execute(f'create table "t_{table}" ({", ".join(map(repr, columns.split()))})')
        for view in TABLE_OF.keys() - self.sight.refused:
            here = "" if view.startswith("gv$") else f" where inst_id = {self.instance}"
            self._sqlite.execute(f'create view "{view}" as select * from "t_{TABLE_OF[view]}"{here}')

    def close(self) -> None:
        """Nothing to give back: the same database is opened again."""

    @property
    def away(self) -> bool:
        return self.sight.away[0] <= self.world.now < self.sight.away[1]

    def query(self, sql: str, binds: Binds) -> Answer:
        """Run a statement of latchscope. Raises what a session raises."""
        self.spend(self.sight.statement_seconds)
        if self.away:
            raise SessionError("ORA-03113: end-of-file on communication channel")
        return self._of_instance(sql) if "startup_time" in sql else self.rows(sql, binds)

    def rows(self, sql: str, binds: Binds) -> Answer:
        """Run any text on the views as they are now. Raises ViewRefused, StatementError."""
        try:
            text, views = translated(sql)
            if not views <= TABLE_OF.keys() - self.sight.refused:
                raise ViewRefused("ORA-00942: table or view does not exist")
            for table in {TABLE_OF[view] for view in views}:
                self._draw(table)
            cursor = self._sqlite.execute(text, dict(binds))
            found: list[tuple[Value, ...]] = [tuple([int(v) if type(v) is float else v for v in row]) for row in cursor]
        except (sqlite3.OperationalError, sqlglot.errors.SqlglotError) as error:
            self.problems[sql] = str(error)
            raise StatementError(f"ORA-00904: {error}") from None
        sample = "/* latchscope v$session */" in sql
        columns = tuple(column[0].lower() for column in cursor.description)
        return Answer(columns, found, seconds=self.sight.sample_seconds if sample else 0.001)

    def _of_instance(self, sql: str) -> Answer:
        now, place = BEGAN + timedelta(seconds=self.world.now + self.sight.skew), self.instance
        row = {"instance_number": place, "instance_name": f"ERP{place}", "host_name": f"db{place}", "status": "OPEN"}
        row |= {name: self.sight.release for name in ("version", "version_full") if f" {name}," in sql}
        row |= {"parallel": "YES" if self.sight.cluster else "NO", "startup_time": "2026-02-20 03:00:00"}
        row |= {"uptime_seconds": 864000 + int(self.world.now), "taken_at": now.replace(tzinfo=None)}
        return Answer(tuple(row), [tuple(row.values())], seconds=0.001)

    def _draw(self, table: str) -> None:
        """Draw a table from the world, once for each moment."""
        now = self.world.now
        if self._drawn.get(table) == now:
            return
        self._drawn[table] = now
        makers: dict[str, Callable[[], Iterator[Cells]]] = {
            "session": self._sessions,
            "rowcache_parent": self._parents,
            "ges_blocking_enqueue": self._global,
            "rowcache": self._caches,
            "system_event": self._events,
            "lock": self._locks,
        }
        guard = "row cache mutex" if self.sight.release >= "12.2" else "latch: row cache objects"
        living = [one for one in self.world.sessions if not one.gone]
        here = self.instance
        rows: dict[str, list[Cells]] = {
            "transaction": [
                (s.instance, f"{s.sid:016X}", address(s), s.undo_at(now)) for s in living if s.undo_at(now)
            ],
            "px_session": [(s.instance, s.sid, s.serial, *s.coordinator.key) for s in living if s.coordinator],
            "jobs": [(here, *s.job.split("."), s.sid, s.instance, 1) for s in living if s.job and s.visible],
            "dead_cleanup": [
                (s.instance, "DEAD PROCESS", address(s), "CLEANUP PENDING", int(now - s.dead_since), 1, 9)
                for s in living
                if s.dead_since is not None
            ],
            "event_name": [(here, "row cache lock"), (here, guard)],
            "sys_time_model": [(here, "DB time", int(2e6 * now + 1e6 * self.world.ended[2])), (here, "DB CPU", 1)],
            "osstat": [(here, "NUM_CPUS", 16)],
            "users": [(here, "RDSADMIN")] * self.sight.rds,
        }
        width = len(COLUMNS[table].split())
        self._sqlite.execute(f'delete from "t_{table}"')
        self._sqlite.executemany(
            f'insert into "t_{table}" values ({", ".join("?" * width)})',
            [(*row, *[None] * (width - len(row))) for row in (makers[table]() if table in makers else rows[table])],
        )

    def _sessions(self) -> Iterator[Cells]:
        now, named = self.world.now, self._blockers()
        yield (1, SID, 7, f"{SID:016X}", "USER", "latchscope", "LATCHSCOPE", "app1", "latchscope", None, "ACTIVE",
               "WAITED SHORT TIME", "SQL*Net message to client", 99)  # fmt: skip
        for one in self.world.sessions:
            if one.gone or not one.visible:
                continue
            does, running, p = one.does, one.does.event == ON_CPU, one.does.p
            waited = now - one.since - one.done(now) * does.each
            blockers: list[object] = []
            for other in named.get(one, (None, None)):
                status = "NOT IN WAIT" if running else does.told if other is None else "VALID"
                blockers += [None, None, status] if other is None else [other.instance, other.sid, status]
            yield (*one.key, address(one), one.type, one.program, one.username, "app1", one.module,
                   "7qxm2m6n3u8aa" if one.status == "ACTIVE" else None, one.status,
                   "WAITED SHORT TIME" if running else "WAITING", "db file sequential read" if running else does.event,
                   (one.seq + one.done(now)) % 65536, p[0], f"{p[0]:016X}", p[1], p[2],
                   412 if running else int(1e6 * waited), int(waited), int(now - one.since), *blockers, 1)  # fmt: skip

    def _blockers(self) -> dict[Session, tuple[Session | None, Session | None]]:
        """Blocker and final blocker, as the columns have them now, or had them a little before where they are stale."""
        if self.world.now - self._named[0] > self.sight.lag:
            shown = [
                one
                for one in self.world.sessions
                if not one.gone and (self.sight.named != "null" or not asks_entry(one))
            ]
            self._named = (self.world.now, {one: self._behind(one) for one in shown})
        return self._named[1]

    def _behind(self, session: Session) -> tuple[Session | None, Session | None]:
        first, met = blocker(session), [session]
        last = first
        while last is not None and last not in met and (behind := blocker(last)) is not None:
            met.append(last)
            last = behind
        final = last if last is not None and last.visible and last not in met else None
        if first is not None and first.instance != session.instance and session.asks:
            first = self._keeper(session.instance)  # the instance asks the other one through LCK0
        hidden = first is None or not first.visible or (self.sight.named == "final" and asks_entry(session))
        return None if hidden else first, final

    def _keeper(self, instance: int) -> Session | None:
        """LCK0 of an instance."""
        return next((one for one in self.world.sessions if one.instance == instance and "(LCK0)" in one.program), None)

    def _parents(self) -> Iterator[Cells]:
        """A row for each owner and waiter. What another instance holds, LCK0 holds here."""
        for entry in (one for one in self.world.resources if one.kind == "row cache"):
            for instance in (1, 2):
                rows = [(one, mode, 0) for one, mode in entry.held.items() if one.instance == instance]
                asking = [(one, 0, mode) for one, mode in entry.queue if one.instance == instance]
                away = any(one.instance != instance for one in entry.held)
                far = max((mode for _, _, mode in asking), default=0) if away else 0
                keeper = self._keeper(instance) if far else None
                lock = (
                    ("QI", f"{entry.number:08X}", "0000BEEF") if self.sight.cluster else (None, "00000000", "00000000")
                )
                key = f"5D0000000600{f'T{entry.number:05}'.encode().hex()}"
                for one, mode, asked in (*rows, *([(keeper, EXCLUSIVE, 0)] if keeper else []), *asking):
                    yield (instance, f"{0x7F0000000000 + entry.number:016X}", entry.number % 100, entry.name, key, mode, asked,
                           address(one), "00", far, *lock, 1)  # fmt: skip

    def _global(self) -> Iterator[Cells]:
        """The enqueues of the cluster behind entries that another instance holds."""
        for entry in (one for one in self.world.resources if one.kind == "row cache" and self.sight.cluster):
            places, asking = {one.instance for one in entry.held}, {one.instance for one, _ in entry.queue}
            name, master = f"[{entry.number:#x}][0xbeef],[QI][ext 0x0,0x0]"[:30], entry.number % 2 + 1
            for owner in asking | places if len(asking | places) > 1 and places else ():
                mode = max((mode for one, mode in entry.held.items() if one.instance == owner), default=0)
                level = {0: "KJUSERNL", SHARE: "KJUSERPR", EXCLUSIVE: "KJUSEREX"}[mode]
                blocks = int(bool(mode and asking - {owner}))
                for shown in {owner, master}:  # the master of a lock shows those of all instances
                    yield shown, name, level, "KJUSEREX", 20000, blocks, 1 - blocks, owner - 1

    def _locks(self) -> Iterator[Cells]:
        for lock in (one for one in self.world.resources if one.kind == "TX"):
            for one in lock.held:
                yield one.instance, one.sid, "TX", lock.number, 77, 6, 0, int(bool(lock.queue))
            for one, _ in lock.queue:
                yield one.instance, one.sid, "TX", lock.number, 77, 0, 6, 0

    def _caches(self) -> Iterator[Cells]:
        for number, name in {(one.number % 100, one.name) for one in self.world.resources if one.kind == "row cache"}:
            yield self.instance, number, "PARENT", name, int(1e6 + 500 * self.world.now), 900, 900, *[0] * 11

    def _events(self) -> Iterator[Cells]:
        """A wait counts when it ends: each slice does, and a wait without slices when the lock is granted."""
        waits, timeouts, seconds = self.world.ended
        for one in self.world.sessions:
            if one.instance == self.instance and asks_entry(one):
                slices = one.done(self.world.now)
                waits, timeouts, seconds = waits + slices, timeouts + slices, seconds + slices * one.does.each
        yield self.instance, "row cache lock", waits, timeouts, int(1e6 * seconds), waits, int(1e6 * seconds)


def address(session: Session) -> str:
    """SADDR of a session."""
    return f"{0x6A0000000000 + session.instance * 0x10000000 + session.sid * 0x1000 + session.serial % 0x1000:016X}"


def asks_entry(session: Session) -> bool:
    """Whether it waits for an entry of the row cache. Of other locks its row always names the blocker."""
    return session.asks is not None and session.asks[0].kind == "row cache"


def blocker(session: Session) -> Session | None:
    """The session that really blocks another one, if one does."""
    if session.asks is None:
        return session.does.awaits if session.does.told == "VALID" else None
    lock: Resource = session.asks[0]
    return max((one for one in lock.held if one is not session), key=lambda one: lock.held[one], default=None)
