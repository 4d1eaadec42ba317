"""A scripted or recorded database behind the Connection protocol: what each of our statements returns at one moment."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from collectors.demo import load
from collectors.demo.load import Cache, Scenario, ScenarioState, ScriptedLoad, counted, share
from collectors.errors import StatementError, ViewRefused
from collectors.model import CHANGES_MINUTES, RESULT_CACHE_LATCH, ROW_CACHE_LATCH, Binds, Row, number
from collectors.ondemand import blockers as ondemand_blockers
from collectors.ondemand import changes, check, holders
from collectors.ondemand.check import MOST_NAMES, limited
from collectors.poll import Answer
from collectors.registry import collectors, group_text_of, views_of
from collectors.release import at_least


def answer(rows: Sequence[Row], columns: tuple[str, ...]) -> Answer:
    """Rows as a database gives them. Without any, the columns alone."""
    return Answer(tuple(rows[0]) if rows else columns, [tuple(row.values()) for row in rows])


# What each view has that is no wait and no latch.


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
    fast_way = at_least(now.scenario.release, "12.1")
    rows: list[Row] = []
    for cache in now.scenario.caches:
        used = now.load.usage.get(cache.name, cache.entries)
        own = cache.type == "PARENT"
        modified = now.total(counted, "modifications", cache.name) * own
        rows.append(
            {
                "cache#": cache.cache,
                "type": cache.type,
                "subordinate#": cache.subordinate,
                "parameter": cache.name,
                "count": used + 4,
                "usage": used,
                "gets": now.gets(cache),
                **({"fastgets": now.total(_shared, "fastgets", cache, now.scenario)} if fast_way else {}),
                "getmisses": now.total(_getmisses, cache, now.scenario),
                "modifications": modified,
                "dlm_requests": now.total(counted, "cluster_locks", cache.name, 0) * own,
                "dlm_conflicts": now.total(counted, "cluster_locks", cache.name, 1) * own,
                "fixed": 0,
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
    totals |= {"VM_IN_BYTES": 0, "VM_OUT_BYTES": 0}
    return [
        *({"stat_name": name, "level_now": level, "total": None} for name, level in levels.items()),
        *({"stat_name": name, "level_now": None, "total": total} for name, total in totals.items()),
    ]


def _ticks(load: ScriptedLoad, cpus: int, busy: bool) -> float:
    return cpus * (load.busy if busy else 1 - load.busy) * 100


def _undostat(now: ScenarioState) -> list[Row]:
    begin = (now.began + timedelta(seconds=now.at)).replace(minute=0, second=0)
    return [
        {
            **load.of_container(now),
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
    return [
        {**load.of_container(now), "name": name, "value": value, "isdefault": "FALSE"}
        for name, value in settings.items()
    ]


def _sgastat(now: ScenarioState) -> list[Row]:
    sizes = {"free memory": 410_000_000, "KQR PO": 38_000_000, "KQR M PO": 6_100_000}
    return [
        {**load.of_container(now), "pool": "shared pool", "name": name, "bytes": size} for name, size in sizes.items()
    ]


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
            rows.append({**load.of_container(now), **change.cells, "happened_at": f"{moment:%Y-%m-%d %H:%M:%S}"})
    return sorted(rows, key=lambda row: str(row["happened_at"]), reverse=True)


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
    "library_cache_waiters": load.library_cache_waiters,
    "library_cache_sessions": load.library_cache_sessions,
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
            (alone,) = answers.values()
            return alone
        return Answer(group.columns, group.united({view: found.as_rows() for view, found in answers.items()}))

    def view(self, name: str) -> Answer:
        """The rows of a view at the time of the poll. A view without a script is empty."""
        return self._view(name, ScenarioState(self.scenario, self._now, self._began))

    def _view(self, name: str, now: ScenarioState) -> Answer:
        return answer(VIEWS[name](now) if name in VIEWS else [], collectors()[name].key)

    def _asked_once(self, sql: str, binds: Binds) -> Answer:
        """The answer to an action or a preflight: holders of the latch, the kind, or the number of a confirming query."""
        if sql == check.SURROUNDINGS:
            return Answer(("database_role", "rds_users"), [("PRIMARY", 0)])
        now = ScenarioState(self.scenario, self._clock() + self._late, self._began)
        if sql == holders.STATEMENT:
            looks = int(number(binds.get("looks")) or 0)
            time.sleep(looks * load.SECONDS_PER_LOOK)
            return answer(load.holders(now, looks), ("sid", "laddr"))
        if sql == ondemand_blockers.ELSEWHERE:
            return answer(load.elsewhere(now, binds.get("instance"), binds.get("sid")), ("instance", "sid"))
        if sql == ondemand_blockers.COORDINATOR:
            return Answer(("sid",), [])
        (place,) = self._view("sys_context", now).as_rows()
        container = {name: place[name] for name in ("con_name", "con_id") if name in place}
        for asked, value in now.load.answers.items():
            if sql == limited(asked, self.scenario.release):
                return answer([{"answer": value, **container}], ())
        for asked, named in now.load.names.items():
            if sql == limited(asked, rows=MOST_NAMES):
                return answer(named, ())
        raise StatementError("ORA-00900: the scripted database does not know this statement")

    def close(self) -> None:
        """There is nothing to close."""
