"""The world as Oracle's views show it, and a session on it that answers SQL: SQLite runs the text, whatever it asks.

So the statements of the product and the checks that it prints run as they are, also those that nobody knew when this was
written. A view that is not here, or that may not be read, is refused. A text that cannot be run is kept in `problems`.
"""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache

import sqlglot
from sqlglot import exp
from sqlglot.transforms import eliminate_join_marks

from collectors.errors import SessionError, StatementError, ViewRefused
from collectors.model import Binds, Value
from collectors.poll import Answer
from tests.second.world import CLIENT, EXCLUSIVE, ON_CPU, Resource, Session, World

BEGAN = datetime(2026, 3, 2, 3, 0, tzinfo=UTC)
"""Moment 0 of every world."""
SID = 11
"""latchscope's own session, on instance 1."""

Cells = Mapping[str, object]

COLUMNS = {
    "session": "inst_id sid serial# saddr paddr type program username machine module action sql_id prev_sql_id status state event"
    " event# seq# p1 p1raw p2 p3 wait_time_micro seconds_in_wait last_call_et blocking_instance blocking_session"
    " blocking_session_status final_blocking_instance final_blocking_session final_blocking_session_status con_id audsid"
    " logon_time osuser service_name wait_class command taddr",
    "rowcache_parent": "inst_id address cache# cache_name existent lock_mode lock_request txn saddr inst_lock_request"
    " inst_lock_release inst_lock_type inst_lock_id1 inst_lock_id2 key con_id",
    "lock": "inst_id sid type id1 id2 lmode request ctime block addr kaddr con_id",
    "transaction": "inst_id addr ses_addr used_ublk used_urec status con_id",
    "process": "inst_id addr pid spid pname program background con_id",
    "px_session": "inst_id sid serial# qcsid qcserial# qcinst_id",
    "dead_cleanup": "inst_id type saddr paddr state dead_time cleanup_attempts last_attempt num_blocked",
    "cleanup_process": "inst_id name state cleanup_time",
    "ges_blocking_enqueue": "inst_id resource_name1 resource_name2 grant_level request_level state pid blocked blocker",
    "rowcache": "inst_id cache# type subordinate# parameter count usage fixed gets fastgets getmisses scans scanmisses"
    " scancompletes modifications flushes dlm_requests dlm_conflicts dlm_releases",
    "system_event": "inst_id event total_waits total_timeouts time_waited_micro total_waits_fg time_waited_micro_fg",
    "event_name": "inst_id name",
    "sys_time_model": "inst_id stat_name value",
    "osstat": "inst_id stat_name value",
    "scheduler_running_jobs": "inst_id owner job_name session_id running_instance con_id",
    "all_users": "inst_id username",
}
"""The tables. Each stands for the view of its name with v$, and with gv$ for all instances."""
TABLE_OF = {
    **{f"{prefix}${table}": table for table in COLUMNS for prefix in ("v", "gv")},
    "dba_scheduler_running_jobs": "scheduler_running_jobs",
    "cdb_scheduler_running_jobs": "scheduler_running_jobs",
    "all_users": "all_users",
}
"""View → table."""


OWN_SESSION: Cells = {
    "inst_id": 1,
    "sid": SID,
    "serial#": 7,
    "saddr": f"{SID:016X}",
    "type": "USER",
    "program": "latchscope",
    "username": "LATCHSCOPE",
    "module": "latchscope",
    "status": "ACTIVE",
    "state": "WAITED SHORT TIME",
    "event": "SQL*Net message to client",
    "seq#": 99,
    "con_id": 1,
}


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
    away: tuple[float, float] = (0.0, 0.0)
    """From when to when the database does not answer."""


@cache
def translated(sql: str) -> tuple[str, frozenset[str]]:
    """A text of Oracle as SQLite reads it, and the views that it reads. Raises sqlglot's errors."""
    tree = eliminate_join_marks(sqlglot.parse_one(sql, read="oracle"))
    for select in list(tree.find_all(exp.Select)):
        where = select.args.get("where")
        for test in list(where.find_all(exp.LTE, exp.LT)) if where else ():
            column = test.this
            if (
                isinstance(column, exp.Column)
                and column.name.lower() == "rownum"
                and test.find_ancestor(exp.Select) is select
            ):
                select.limit(test.expression.copy(), copy=False)
                test.replace(exp.true())
    views = frozenset(table.name.lower() for table in tree.find_all(exp.Table)) - {"dual"}
    return tree.sql("sqlite", identify=True, comments=False, unsupported_level=sqlglot.ErrorLevel.IGNORE), views


def _value(value: object) -> Value:
    return int(value) if isinstance(value, float) and value == int(value) else value  # type: ignore[return-value]


@dataclass
class Database:
    """The views of one world, on SQLite in memory, as one instance shows them."""

    world: World
    sight: Sight
    instance: int = 1
    problems: dict[str, str] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    _drawn: dict[str, float] = field(default_factory=dict)
    _blockers: tuple[float, dict[Session, "Named"]] = (-1.0, {})

    def __post_init__(self) -> None:
        self._sqlite = sqlite3.connect(":memory:", isolation_level=None)
        self._sqlite.create_function("rawtohex", 1, lambda value: value)
        self._sqlite.create_function("hextoraw", 1, lambda value: value)
        self._sqlite.create_function("to_char", 2, lambda value, _: str(value))
        self._sqlite.create_function("me", 0, lambda: self.instance)
        context = {
            "db_unique_name": "ERP",
            "sid": SID,
            "instance": self.instance,
            "con_id": 1,
            "con_name": "CDB$ROOT",
            "database_role": "PRIMARY",
        }
        self._sqlite.create_function("sys_context", 2, lambda _, name: context.get(name.lower()))
        for table, columns in COLUMNS.items():
            self._sqlite.execute(f'create table "t_{table}" ({", ".join(f"{name!r}" for name in columns.split())})')
        self._sqlite.execute("create view dual as select 'X' as dummy")
        for view, table in TABLE_OF.items():
            if view not in self.sight.refused:
                here = "" if view.startswith("gv$") else " where inst_id = me()"
                self._sqlite.execute(f'create view "{view}" as select * from "t_{table}"{here}')

    def close(self) -> None:
        """Of the protocol of a session: nothing to give back."""

    @property
    def away(self) -> bool:
        return self.sight.away[0] <= self.world.now < self.sight.away[1]

    def query(self, sql: str, binds: Binds) -> Answer:
        """Run one statement, as `collectors.poll.Connection` has it."""
        if self.away:
            raise SessionError("ORA-03113: end-of-file on communication channel")
        if "from v$instance" in sql and "startup_time" in sql:
            return Answer(*self._of_instance("version_full" in sql), seconds=0.001)
        return self.rows(sql, binds)

    def rows(self, sql: str, binds: Binds) -> Answer:
        """Run one text on the views as they are now. Raises ViewRefused, StatementError."""
        try:
            text, views = translated(sql)
            if not views <= TABLE_OF.keys() - self.sight.refused:
                raise ViewRefused("ORA-00942: table or view does not exist")
            self._draw(views)
            cursor = self._sqlite.execute(text, dict(binds))
            found = [tuple(map(_value, row)) for row in cursor.fetchall()]
        except (sqlite3.OperationalError, sqlglot.errors.SqlglotError) as error:
            self.problems[sql] = str(error)
            raise StatementError(f"ORA-00904: {error}") from None
        name = sql.partition("/* latchscope ")[2].partition(" */")[0]
        if name:
            self.asked[name] = self.asked.get(name, 0) + 1
        return Answer(
            tuple(column[0].lower() for column in cursor.description),
            found,
            seconds=self.sight.sample_seconds if name == "v$session" else 0.001,
        )

    def _of_instance(self, full: bool) -> tuple[tuple[str, ...], list[tuple[Value, ...]]]:
        now = BEGAN + timedelta(seconds=self.world.now)
        row: dict[str, object] = {
            "instance_number": self.instance,
            "instance_name": f"ERP{self.instance}",
            "host_name": f"db{self.instance}",
            "version": self.sight.release,
            **({"version_full": self.sight.release} if full else {}),
            "status": "OPEN",
            "parallel": "YES" if self.sight.cluster else "NO",
            "startup_time": "2026-02-20 03:00:00",
            "uptime_seconds": 864000 + int(self.world.now),
            "taken_at": now.replace(tzinfo=None),
        }
        return tuple(row), [tuple(row.values())]  # type: ignore[arg-type]

    # The tables, drawn from the world once for each moment.

    def _draw(self, views: frozenset[str]) -> None:
        makers: dict[str, Callable[[], list[Cells]]] = {
            "session": self._sessions,
            "rowcache_parent": self._parents,
            "lock": self._locks,
            "transaction": self._transactions,
            "process": self._processes,
            "px_session": self._slaves,
            "dead_cleanup": self._dead,
            "cleanup_process": lambda: [
                {"name": "PMON", "state": "BUSY" if self._dead() else "IDLE", "cleanup_time": 1}
            ],
            "ges_blocking_enqueue": self._global,
            "scheduler_running_jobs": self._jobs,
            "all_users": lambda: [{"username": "RDSADMIN"}] if self.sight.rds else [],
            "rowcache": self._caches,
            "system_event": self._events,
            "event_name": lambda: [{"name": name} for name in self._known_events()],
            "sys_time_model": lambda: [
                {"stat_name": "DB time", "value": self._db_time()},
                {"stat_name": "DB CPU", "value": 1},
            ],
            "osstat": lambda: [{"stat_name": "NUM_CPUS", "value": 16}],
        }
        for table in {TABLE_OF[view] for view in views}:
            if self._drawn.get(table) == self.world.now:
                continue
            self._drawn[table] = self.world.now
            self._sqlite.execute(f'delete from "t_{table}"')
            for row in makers[table]():
                full = {"inst_id": self.instance, **row}
                names = ", ".join(map(repr, full))
                marks = ", ".join("?" * len(full))
                self._sqlite.execute(f'insert into "t_{table}" ({names}) values ({marks})', tuple(full.values()))  # type: ignore[arg-type]

    def _seen(self) -> list[Session]:
        return [session for session in self.world.sessions if session.visible and not session.gone]

    def _sessions(self) -> list[Cells]:
        now, blockers = self.world.now, self._named()
        rows: list[Cells] = [OWN_SESSION]
        for session in self._seen():
            wait, named = session.wait, blockers.get(session, Named())
            running = wait.event == ON_CPU
            rows.append(
                {
                    "inst_id": session.instance,
                    "sid": session.sid,
                    "serial#": session.serial,
                    "saddr": session.saddr,
                    "paddr": session.saddr[::-1],
                    "type": session.type,
                    "program": session.program,
                    "username": session.username,
                    "machine": "app1",
                    "module": session.module,
                    "sql_id": session.sql_id if session.status == "ACTIVE" else None,
                    "status": session.status,
                    "state": "WAITED SHORT TIME" if running else "WAITING",
                    "event": "db file sequential read" if running else wait.event,
                    "seq#": (session.seq if running else wait.first + wait.done(now)) % 65536,
                    "p1": wait.p[0],
                    "p1raw": f"{wait.p[0]:016X}",
                    "p2": wait.p[1],
                    "p3": wait.p[2],
                    "wait_time_micro": 412 if running else wait.micro(now),
                    "seconds_in_wait": int(wait.micro(now) / 1e6),
                    "last_call_et": int(now - wait.since),
                    "blocking_instance": named.blocker[0],
                    "blocking_session": named.blocker[1],
                    "blocking_session_status": "NOT IN WAIT" if running else named.status(named.blocker, wait.told),
                    "final_blocking_instance": named.final[0],
                    "final_blocking_session": named.final[1],
                    "final_blocking_session_status": "NOT IN WAIT" if running else named.status(named.final, wait.told),
                    "con_id": 1,
                    "audsid": session.sid,
                    "command": 0,
                }
            )
        return rows

    def _named(self) -> "dict[Session, Named]":
        """What the columns of blockers have now, or had a little before where they are stale."""
        at, known = self._blockers
        if self.sight.lag and at >= 0 and self.world.now - at < self.sight.lag:
            return known
        found = {session: self._behind(session) for session in self._seen()} if self.sight.named != "null" else {}
        self._blockers = (self.world.now, found)
        return found

    def _behind(self, session: Session) -> "Named":
        first = self._blocker(session)
        if first is None:
            return Named()
        last, met = first, [session]
        while last not in met and (behind := self._blocker(last)) is not None:
            met.append(last)
            last = behind
        blocker: tuple[int | None, int | None] = (first.instance, first.sid)
        if first.instance != session.instance and session.asks and session.asks[0].kind == "row cache":
            keeper = self._keeper(session.instance)
            blocker = (keeper.instance, keeper.sid) if keeper else (None, None)
        if not first.visible:
            blocker = (None, None)
        final = (last.instance, last.sid) if last.visible and last not in met else (None, None)
        return Named((None, None) if self.sight.named == "final" else blocker, final)

    def _keeper(self, instance: int) -> Session | None:
        """LCK0 of an instance, through which it asks the others."""
        return next((one for one in self.world.sessions if one.instance == instance and "(LCK0)" in one.program), None)

    @staticmethod
    def _blocker(session: Session) -> Session | None:
        if session.asks is not None:
            resource = session.asks[0]
            return max(
                (holder for holder in resource.held if holder is not session),
                key=lambda holder: (resource.held[holder], -resource.since[holder]),
                default=None,
            )
        return session.wait.awaits if session.wait.told == "VALID" else None

    def _parents(self) -> list[Cells]:
        rows: list[Cells] = []
        for entry in self.world.resources:
            if entry.kind != "row cache":
                continue
            for instance in (1, 2):
                local = [(one, 0, mode) for one, mode in entry.queue if one.instance == instance]
                far = bool(local) and any(one.instance != instance for one in entry.held)
                owners = [(one, mode, 0) for one, mode in entry.held.items() if one.instance == instance]
                keeper = self._keeper(instance) if far else None
                owners += [(keeper, EXCLUSIVE, 0)] if keeper else []
                rows += [self._parent(entry, instance, one, mode, ask, far=far) for one, mode, ask in (*owners, *local)]
        return rows

    def _parent(self, entry: Resource, instance: int, one: Session, mode: int, ask: int, *, far: bool) -> Cells:
        cluster = self.sight.cluster
        return {
            "inst_id": instance,
            "address": entry.address,
            "cache#": entry.number % 100,
            "cache_name": entry.name,
            "existent": "Y",
            "lock_mode": mode,
            "lock_request": ask,
            "saddr": one.saddr,
            "txn": f"{one.sid:016X}" if one.undo else "00",
            "inst_lock_request": EXCLUSIVE if far else 0,
            "inst_lock_release": 0,
            "inst_lock_type": "QI" if cluster else None,
            "inst_lock_id1": f"{entry.number:08X}" if cluster else "00000000",
            "inst_lock_id2": "0000BEEF" if cluster else "00000000",
            "key": "5D00000006004F5244455253",
            "con_id": 1,
        }

    def _global(self) -> list[Cells]:
        """The enqueues of the cluster behind entries that another instance holds."""
        rows: list[Cells] = []
        for entry in self.world.resources if self.sight.cluster else ():
            places = {one.instance for one in entry.held}
            asking = {one.instance for one, _ in entry.queue} - places
            name = f"[0x{entry.number:x}][0xbeef],[QI]"
            for instance in places if entry.kind == "row cache" and asking else ():
                rows.append(self._enqueue(name, instance, "KJUSEREX", "KJUSEREX", blocker=1))
            for instance in asking if entry.kind == "row cache" else ():
                rows.append(self._enqueue(name, instance, "KJUSERNL", "KJUSEREX", blocker=0))
        return rows

    def _enqueue(self, name: str, instance: int, granted: str, asked: str, *, blocker: int) -> Cells:
        keeper = self._keeper(instance)
        pid = None if keeper is None else 20000 + keeper.sid
        state = "GRANTED" if blocker else "OPENING"
        return {"inst_id": instance, "resource_name1": name, "grant_level": granted, "request_level": asked, "state": state,
                "pid": pid, "blocker": blocker, "blocked": 1 - blocker}  # fmt: skip

    def _locks(self) -> list[Cells]:
        rows: list[Cells] = []
        for lock in (one for one in self.world.resources if one.kind == "TX"):
            both = [(one, 6, 0) for one in lock.held] + [(one, 0, 6) for one, _ in lock.queue]
            rows += [
                {"inst_id": one.instance, "sid": one.sid, "type": "TX", "id1": lock.number, "id2": 77, "lmode": mode,
                 "request": ask, "ctime": int(self.world.now), "block": int(bool(mode and lock.queue))}
                for one, mode, ask in both
                if one.visible
            ]  # fmt: skip
        return rows

    def _transactions(self) -> list[Cells]:
        now = self.world.now
        return [
            {"inst_id": one.instance, "addr": f"{one.sid:016X}", "ses_addr": one.saddr, "used_ublk": one.undo_at(now),
             "used_urec": 9 * one.undo_at(now), "status": "ACTIVE"}
            for one in self.world.sessions
            if not one.gone and one.undo_at(now)
        ]  # fmt: skip

    def _processes(self) -> list[Cells]:
        return [
            {"inst_id": one.instance, "addr": one.saddr[::-1], "pid": one.sid, "spid": str(20000 + one.sid),
             "pname": one.program.partition("(")[2][:4] or None, "program": one.program,
             "background": 1 if one.type == "BACKGROUND" else None}
            for one in self._seen()
        ]  # fmt: skip

    def _slaves(self) -> list[Cells]:
        return [
            {"inst_id": one.instance, "sid": one.sid, "serial#": one.serial, "qcsid": boss.sid, "qcserial#": boss.serial,
             "qcinst_id": boss.instance}
            for one in self._seen()
            if (boss := one.coordinator) is not None
        ]  # fmt: skip

    def _dead(self) -> list[Cells]:
        return [
            {"inst_id": one.instance, "type": "DEAD PROCESS", "saddr": one.saddr, "state": "CLEANUP PENDING",
             "dead_time": int(self.world.now - one.dead_since), "cleanup_attempts": 1,
             "num_blocked": sum(len(resource.queue) for resource in one.holds)}
            for one in self.world.sessions
            if one.dead_since is not None and not one.gone
        ]  # fmt: skip

    def _jobs(self) -> list[Cells]:
        return [
            {"owner": one.job.partition(".")[0], "job_name": one.job.partition(".")[2], "session_id": one.sid,
             "running_instance": one.instance, "con_id": 1}
            for one in self._seen()
            if one.job
        ]  # fmt: skip

    def _caches(self) -> list[Cells]:
        zero = dict.fromkeys("fastgets getmisses scans scanmisses scancompletes modifications flushes".split(), 0)
        return [
            {**zero, "cache#": number, "type": "PARENT", "parameter": name, "count": 900, "usage": 900, "fixed": 0,
             "gets": int(1e6 + 500 * self.world.now), "dlm_requests": 0, "dlm_conflicts": 0, "dlm_releases": 0}
            for number, name in sorted({(one.number % 100, one.name) for one in self.world.resources if one.kind == "row cache"})
        ]  # fmt: skip

    def _known_events(self) -> list[str]:
        new = tuple(map(int, self.sight.release.split(".")[:2])) >= (12, 2)
        return ["row cache lock", "latch free", "row cache mutex" if new else "latch: row cache objects"]

    def _events(self) -> list[Cells]:
        """A wait counts when it ends: each slice does, and a wait without slices when the lock is granted."""
        rows: list[Cells] = []
        for event, (waits, timeouts, seconds) in self.world.ended.items():
            for one in self.world.sessions:
                if one.asks and one.instance == self.instance and one.wait.event == event:
                    slices = one.wait.done(self.world.now)
                    waits, timeouts, seconds = waits + slices, timeouts + slices, seconds + slices * one.wait.each
            micro = int(seconds * 1e6)
            rows.append({"event": event, "total_waits": waits, "total_timeouts": timeouts, "time_waited_micro": micro,
                         "total_waits_fg": waits, "time_waited_micro_fg": micro})  # fmt: skip
        return rows

    def _db_time(self) -> int:
        """DB time of sessions that are in a call, about."""
        return int(1e6 * (self.world.now * 2 + sum(seconds for _, _, seconds in self.world.ended.values())))


@dataclass(frozen=True)
class Named:
    """Blocker and final blocker of a session, as its row names them."""

    blocker: tuple[int | None, int | None] = (None, None)
    final: tuple[int | None, int | None] = (None, None)

    @staticmethod
    def status(place: tuple[int | None, int | None], told: str) -> str:
        return told if place[1] is None else "VALID"


__all__ = ["BEGAN", "CLIENT", "Database", "Sight"]
