"""A scripted or recorded database behind the Connection protocol: what each of our statements returns at one moment."""

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import attrgetter

from collectors.demo import load
from collectors.demo.load import Cache, Scenario, ScenarioState, ScriptedHang, ScriptedLoad, blocked_by, counted, share
from collectors.errors import StatementError, ViewRefused
from collectors.model import CHANGES_MINUTES, RESULT_CACHE_LATCH, ROW_CACHE_LATCH, Binds, Row, Value, number
from collectors.ondemand import blockers as ondemand_blockers
from collectors.ondemand import changes, check, holders
from collectors.ondemand.check import MOST_NAMES, limited
from collectors.poll import Answer
from collectors.registry import collectors, group_text_of, views_of
from collectors.release import at_least
from collectors.views.library_cache_sessions import MOST_ROWS


def table(
    scenario: Scenario, view: str, at: float, began: datetime, key: tuple[str, ...]
) -> tuple[tuple[str, ...], list[tuple[Value, ...]]]:
    """Columns and rows of a view, `at` seconds after the scenario began. A view without a script is empty."""
    rows = VIEWS[view](ScenarioState(scenario, at, began)) if view in VIEWS else []
    columns = tuple(rows[0]) if rows else key
    return columns, [tuple(row.values()) for row in rows]


def _instance(now: ScenarioState) -> list[Row]:
    started = now.began - timedelta(seconds=now.scenario.uptime_seconds)
    return [
        {
            "instance_number": now.scenario.instance,
            "instance_name": now.scenario.name.replace("-", "_"),
            "host_name": "demo",
            "version": now.scenario.release,
            "status": "OPEN",
            "parallel": "YES" if now.scenario.cluster else "NO",
            "startup_time": started.strftime("%Y-%m-%d %H:%M:%S"),
            "uptime_seconds": round(now.scenario.uptime_seconds + now.at),
            "taken_at": (now.began + timedelta(seconds=now.at)).replace(tzinfo=None),
        }
    ]


def _rowcache(now: ScenarioState) -> list[Row]:
    rows: list[Row] = []
    fast_way = at_least(now.scenario.release, "12.1")
    for cache in now.scenario.caches:
        used = now.load.usage.get(cache.name, cache.entries)
        own = cache.type == "PARENT"
        modified = now.total(counted, "modifications", cache.name) if own else 0
        rows.append(
            {
                "cache#": cache.cache,
                "type": cache.type,
                "subordinate#": cache.subordinate,
                "parameter": cache.name,
                "count": used + 4,
                "usage": used,
                "fixed": 0,
                "gets": now.gets(cache),
                **({"fastgets": now.total(_shared, "fastgets", cache, now.scenario)} if fast_way else {}),
                "getmisses": now.total(_getmisses, cache, now.scenario),
                "modifications": modified,
                "dlm_requests": now.total(counted, "cluster_locks", cache.name, 0) if own else 0,
                "dlm_conflicts": now.total(counted, "cluster_locks", cache.name, 1) if own else 0,
            }
        )
    return rows


def _shared(load: ScriptedLoad, member: str, cache: Cache, scenario: Scenario) -> float:
    return counted(load, member, cache.name) * share(cache, scenario)


def _getmisses(load: ScriptedLoad, cache: Cache, scenario: Scenario) -> float:
    return _shared(load, "gets", cache, scenario) * load.getmiss_ratio


def _sys_context(now: ScenarioState) -> list[Row]:
    name = now.scenario.name.upper().replace("-", "_")
    if not at_least(now.scenario.release, "12.1"):
        return [{"db_unique_name": name, "session_user": "LATCHSCOPE"}]
    con_id, con_name = now.scenario.container or (0, name)
    cdb = name if now.scenario.container else None
    row: Row = {
        "db_unique_name": name,
        "con_id": con_id,
        "con_name": con_name,
        "cdb_name": cdb,
        "session_user": "LATCHSCOPE",
    }
    return [{**row, "cloud_service": None} if at_least(now.scenario.release, "18") else row]


def _sys_time_model(now: ScenarioState) -> list[Row]:
    names = sorted(now.scenario.ordinary.seconds)
    hung = round(load.database_seconds(now) * 1e6)
    return [
        {"stat_name": name, "value": now.total(counted, "seconds", name, None, 1e6) + hung * (name == "DB time")}
        for name in names
    ]


def _sysstat(now: ScenarioState) -> list[Row]:
    names = sorted(now.scenario.ordinary.statistics)
    return [{"name": name, "value": now.total(counted, "statistics", name)} for name in names]


def _osstat(now: ScenarioState) -> list[Row]:
    cpus = now.scenario.cpus
    levels = {"NUM_CPUS": cpus, "NUM_CPU_CORES": cpus, "LOAD": round(cpus * now.load.busy, 2)}
    totals = {"BUSY_TIME": now.total(_ticks, cpus, True), "IDLE_TIME": now.total(_ticks, cpus, False)}
    totals |= dict.fromkeys(("VM_IN_BYTES", "VM_OUT_BYTES"), now.total(_paged))
    return [
        *({"stat_name": name, "level_now": level, "total": None} for name, level in levels.items()),
        *({"stat_name": name, "level_now": None, "total": total} for name, total in totals.items()),
    ]


def _ticks(load: ScriptedLoad, cpus: int, busy: bool) -> float:
    return cpus * (load.busy if busy else 1 - load.busy) * 100


_paged = attrgetter("paging_bytes")


def _undostat(now: ScenarioState) -> list[Row]:
    begin = (now.began + timedelta(seconds=now.at)).replace(minute=0, second=0)
    return [
        {
            **_container(now),
            "begin_time": begin.strftime("%Y-%m-%d %H:%M:%S"),
            "undotsn": 2,
            "txncount": round(600 * now.load.statistics.get("user commits", 0.0)),
            "maxconcurrency": now.load.max_concurrency,
            "maxquerylen": 840,
            "tuned_undoretention": 1740,
            "unexpiredblks": 21000,
            "expiredblks": 64000,
        }
    ]


def _parameter(now: ScenarioState) -> list[Row]:
    settings = {"cpu_count": str(now.scenario.cpus), **now.scenario.parameters}
    for change in now.scenario.changes:
        if change.view == "v$parameter" and (passed := change.times(now.at, now.scenario.length)):
            settings[str(change.cells["name"])] = str(change.cells["value"]).format(1 + len(passed))
    return [{**_container(now), "name": name, "value": value, "isdefault": "FALSE"} for name, value in settings.items()]


def _sgastat(now: ScenarioState) -> list[Row]:
    sizes = {"free memory": 410_000_000, "KQR PO": 38_000_000, "KQR M PO": 6_100_000}
    return [{**_container(now), "pool": "shared pool", "name": name, "bytes": size} for name, size in sizes.items()]


def _container(now: ScenarioState) -> Row:
    """The column that tells containers apart, on releases that have it. No scripted database has containers."""
    return {"con_id": 0} if at_least(now.scenario.release, "12.1") else {}


PDBS: Mapping[int, tuple[str, float]] = {3: ("ERP1", 0.82), 5: ("CRM1", 0.18)}
"""The containers of a scripted CDB, each with its part of every wait."""
BY_CONTAINER = (
    "latch: row cache objects",
    "row cache mutex",
    "row cache lock",
    "library cache lock",
    "library cache pin",
)


def _con_system_event(now: ScenarioState) -> list[Row]:
    if now.scenario.container != (1, "CDB$ROOT"):
        return []
    return [
        {
            "con_id": con_id,
            "event": row["event"],
            "total_waits_fg": round((number(row["total_waits_fg"]) or 0.0) * part),
            "time_waited_micro_fg": round((number(row["time_waited_micro_fg"]) or 0.0) * part),
        }
        for row in load.system_event(now)
        if row["event"] in BY_CONTAINER
        for con_id, (_, part) in PDBS.items()
    ]


def _containers(now: ScenarioState) -> list[Row]:
    if now.scenario.container is None:
        return []
    names = {1: "CDB$ROOT", **{con_id: name for con_id, (name, _) in PDBS.items()}}
    return [{"con_id": con_id, "name": name, "open_mode": "READ WRITE"} for con_id, name in names.items()]


def _happened(view: str, now: ScenarioState, *, last: bool = False) -> list[Row]:
    """The scripted changes that a reading finds in a view. `last`: the view has only the latest of each."""
    rows: list[Row] = []
    for change in (change for change in now.scenario.changes if change.view == view):
        passed = [at for at in change.times(now.at, now.scenario.length) if now.at - at < CHANGES_MINUTES * 60]
        for at in passed[-1:] if last else passed:
            moment = now.began + timedelta(seconds=at)
            rows.append({**_container(now), **change.cells, "happened_at": f"{moment:%Y-%m-%d %H:%M:%S}"})
    return sorted(rows, key=lambda row: str(row["happened_at"]), reverse=True)


# Who waits in the library cache for the holders of the hangs.

LIBRARY_CACHE_P3 = 4 << 16 | 2
"""An index, asked for in share mode."""


def library_cache_waiters(now: ScenarioState) -> list[Row]:
    """Who waits in the library cache for the holders of the current hangs."""
    return [
        {
            "event": "library cache lock",
            "p3": LIBRARY_CACHE_P3,
            **blocked_by(now, hang.holder.sid, hang.holder.instance),
            "sessions": hang.in_library_cache,
            "wait_time_micro": round(waited * 1e6),
        }
        for hang, waited in _in_library_cache(now)
    ]


def library_cache_sessions(now: ScenarioState) -> list[Row]:
    """The same, each session in a row of its own, as the look of every poll has them."""
    waiting = [(hang, waited) for hang, waited in _in_library_cache(now) for _ in range(hang.in_library_cache)]
    return [
        {
            "sid": 1400 + place,
            "serial#": 2400 + place,
            "event": "library cache lock",
            "p1raw": f"{0x8C2A4F58:016X}",
            "p3": LIBRARY_CACHE_P3,
            "sql_id": hang.sql_id,
            "module": hang.module,
            "action": None,
            "program": hang.program,
            "machine": "app01",
            "username": hang.username,
            "type": "USER",
            **({"con_id": 0} if at_least(now.scenario.release, "12.1") else {}),
            **blocked_by(now, hang.holder.sid, hang.holder.instance),
            "wait_time_micro": round(waited * 1e6),
            "met": len(waiting),
        }
        for place, (hang, waited) in enumerate(waiting[:MOST_ROWS])
    ]


def _in_library_cache(now: ScenarioState) -> list[tuple[ScriptedHang, float]]:
    """The current hangs with sessions in the library cache, and the longest wait of each in seconds."""
    stuck = load.hanging(now)
    return [
        (hang, max(waited for other, _, waited in stuck if other is hang))
        for hang in now.scenario.hangs
        if hang.in_library_cache and any(other is hang for other, _, _ in stuck)
    ]


VIEWS: Mapping[str, Callable[[ScenarioState], list[Row]]] = {
    "v$instance": _instance,
    "v$latchname": lambda now: [
        {"latch#": now.scenario.latch, "name": ROW_CACHE_LATCH},
        {"latch#": 461, "name": RESULT_CACHE_LATCH},
    ],
    "v$event_name": lambda now: [{"name": event} for event in now.scenario.events],
    "v$latch_children": load.latch_children,
    "v$latch": load.latch,
    "v$latch_misses": load.latch_misses,
    "v$rowcache": _rowcache,
    "x$kqrst": lambda now: [
        {"child#": c.child, "cache#": c.cache, "type": c.type, "subordinate#": c.subordinate}
        for c in now.scenario.caches
    ],
    "v$system_event": load.system_event,
    "v$con_system_event": _con_system_event,
    "v$containers": _containers,
    "v$mutex_sleep": load.mutex_sleep,
    "v$session": load.session,
    "waiting_sessions": load.waiting_sessions,
    "row_cache_blockers": load.blockers,
    "chain_sessions": load.chain_sessions,
    "v$transaction": load.transactions,
    "library_cache_waiters": library_cache_waiters,
    "library_cache_sessions": library_cache_sessions,
    "sys_context": _sys_context,
    "v$sys_time_model": _sys_time_model,
    "v$sysstat": _sysstat,
    "v$osstat": _osstat,
    "v$undostat": _undostat,
    "v$parameter": _parameter,
    "v$sgastat": _sgastat,
    "dba_objects": partial(_happened, "dba_objects", last=True),
    **{view: partial(_happened, view) for view in changes.views() if view != "dba_objects"},
}


# A scripted or recorded database behind the Connection protocol, for the demo and for tests.


class ScriptedDatabase:
    """Answers our statements, by their exact text, with the rows of a scenario at the time of the poll.

    `clock` gives seconds since `began`. The instance says in whole seconds when it started, as a real one does; its clock is
    exact, so that it never goes back from one process to the next. Views in `refused` answer ORA-00942, as without a grant.
    """

    def __init__(
        self, scenario: Scenario, began: datetime, clock: Callable[[], float], refused: Iterable[str] = ()
    ) -> None:
        self.scenario = scenario
        self._began = began.astimezone(UTC).replace(microsecond=0)
        self._late = began.microsecond / 1e6
        self._clock = clock
        self._refused = frozenset(refused)
        self._now = 0.0

    def query(self, sql: str, binds: Binds) -> Answer:
        """The rows of the view that this statement reads; see Connection."""
        views = views_of(sql)
        if not views:
            return self._asked_once(sql, binds)
        if views & self._refused:
            raise ViewRefused("ORA-00942: table or view does not exist")
        if "v$instance" in views:
            self._now = self._clock() + self._late
        answers = {view: self.view(view) for view in views}
        if (group := group_text_of(sql)) is None:
            ((columns, found),) = answers.values()
            return Answer(columns, found)
        rows = {
            view: [dict(zip(columns, cells, strict=True)) for cells in found]
            for view, (columns, found) in answers.items()
        }
        return Answer(group.columns, group.united(rows))

    def view(self, name: str) -> tuple[tuple[str, ...], list[tuple[Value, ...]]]:
        """Columns and rows of a view at the time of the poll."""
        return table(self.scenario, name, self._now, self._began, collectors()[name].key)

    def _asked_once(self, sql: str, binds: Binds) -> Answer:
        """The answer to an action or a preflight: holders of the latch, the kind, or the number of a confirming query."""
        if sql == check.SURROUNDINGS:
            return Answer(("database_role", "rds_users"), [("PRIMARY", 0)])
        now = ScenarioState(self.scenario, self._clock() + self._late, self._began)
        if sql == holders.STATEMENT:
            looks = int(number(binds.get("looks")) or 0)
            time.sleep(looks * load.SECONDS_PER_LOOK)
            rows = load.holders(now, looks)
            return Answer(tuple(rows[0]) if rows else ("sid", "laddr"), [tuple(row.values()) for row in rows])
        if sql == ondemand_blockers.ELSEWHERE:
            rows = load.elsewhere(now, binds.get("instance"), binds.get("sid"))
            return Answer(tuple(rows[0]) if rows else ("instance", "sid"), [tuple(row.values()) for row in rows])
        if sql == ondemand_blockers.COORDINATOR:
            return Answer(("sid",), [])
        columns, (cells,) = table(self.scenario, "sys_context", now.at, self._began, ())
        place = dict(zip(columns, cells, strict=True))
        container_columns = {name: place[name] for name in ("con_name", "con_id") if name in place}
        for asked, answer in now.load.answers.items():
            if sql == limited(asked, self.scenario.release):
                return Answer(("answer", *container_columns), [(answer, *container_columns.values())])
        for asked, named in now.load.names.items():
            if sql == limited(asked, rows=MOST_NAMES):
                return Answer(tuple(named[0]), [tuple(row.values()) for row in named])
        raise StatementError("ORA-00900: the scripted database does not know this statement")

    def close(self) -> None:
        """There is nothing to close."""
