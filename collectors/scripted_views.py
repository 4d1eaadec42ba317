"""The views of a scripted database: what each of our statements would return at one moment of its script."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from collectors.model import ROW_CACHE_LATCH, Row, Value
from collectors.script import Cache, Load, Moment, Scenario, share


def table(
    scenario: Scenario, view: str, at: float, began: datetime, key: tuple[str, ...]
) -> tuple[tuple[str, ...], list[tuple[Value, ...]]]:
    """Columns and rows of a view, `at` seconds after the scenario began; a view nothing is scripted for is empty."""
    rows = VIEWS[view](Moment(scenario, at, began)) if view in VIEWS else []
    columns = tuple(rows[0]) if rows else key
    return columns, [tuple(row.values()) for row in rows]


def _children(scenario: Scenario) -> list[int]:
    return sorted({cache.child for cache in scenario.caches})


def _instance(now: Moment) -> list[Row]:
    started = now.began - timedelta(seconds=now.scenario.uptime_seconds)
    return [
        {
            "instance_number": 1,
            "instance_name": now.scenario.name.replace("-", "_"),
            "host_name": "demo",
            "version": now.scenario.release,
            "status": "OPEN",
            "parallel": "NO",
            "startup_time": started.strftime("%Y-%m-%d %H:%M:%S"),
            "uptime_seconds": round(now.scenario.uptime_seconds + now.at),
            "taken_at": (now.began + timedelta(seconds=now.at)).replace(tzinfo=None),
        }
    ]


def _latchname(now: Moment) -> list[Row]:
    return [{"latch#": now.scenario.latch, "name": ROW_CACHE_LATCH}, {"latch#": 461, "name": "Result Cache: RC Latch"}]


def _event_name(now: Moment) -> list[Row]:
    return [{"name": event} for event in now.scenario.events]


def _latch_children(now: Moment) -> list[Row]:
    return [
        {
            "latch#": now.scenario.latch,
            "child#": child,
            "addr": f"{0x7000000A0 + child * 0xC8:016X}",
            "gets": now.child_gets(child),
            "misses": now.misses(child),
            "sleeps": now.sleeps(child),
            "immediate_gets": 0,
            "immediate_misses": 0,
            "spin_gets": now.spin_gets(child),
            "wait_time": now.wait_us(child),
        }
        for child in _children(now.scenario)
    ]


def _latch(now: Moment) -> list[Row]:
    sums: dict[str, int] = defaultdict(int)
    for row in _latch_children(now):
        for name in ("gets", "misses", "sleeps", "spin_gets", "wait_time"):
            value = row[name]
            sums[name] += value if isinstance(value, int) else 0
    rows: list[Row] = [{"latch#": now.scenario.latch, "name": ROW_CACHE_LATCH, **sums}]
    for place, latch in enumerate(sorted({name for _, load in now.scenario.loop for name in load.latches})):
        sleeps = now.total(_other_latch, latch, 1)
        rows.append(
            {
                "latch#": 100 + place,
                "name": latch,
                "gets": now.total(_other_latch, latch, 0),
                "misses": sleeps * 20,
                "sleeps": sleeps,
                "spin_gets": sleeps * 19,
                "wait_time": now.total(_other_latch, latch, 2, 1e6),
            }
        )
    return rows


def _other_latch(load: Load, latch: str, part: int, unit: float = 1.0) -> float:
    return load.latches.get(latch, (0.0, 0.0, 0.0))[part] * unit


def _latch_misses(now: Moment) -> list[Row]:
    places = sorted({place for _, load in now.scenario.loop for place in {**load.holders, **load.waiters}})
    return [
        {
            "parent_name": ROW_CACHE_LATCH,
            "location": place,
            "nwfail_count": 0,
            "sleep_count": now.total(_held_at, place),
            "wtr_slp_count": now.total(_waited_at, place),
            "longhold_count": 0,
        }
        for place in places
    ]


def _held_at(load: Load, place: str) -> float:
    return _sleeps(load) * load.holders.get(place, 0.0)


def _waited_at(load: Load, place: str) -> float:
    return _sleeps(load) * load.waiters.get(place, 0.0)


def _sleeps(load: Load) -> float:
    return sum(child.sleeps for child in load.children.values())


def _rowcache(now: Moment) -> list[Row]:
    rows: list[Row] = []
    for cache in now.scenario.caches:
        used = now.load.usage.get(cache.name, cache.entries)
        modified = now.total(_modifications, cache)
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
                "getmisses": now.total(_getmisses, cache, now.scenario),
                "scans": 0,
                "scanmisses": 0,
                "scancompletes": 0,
                "modifications": modified,
                "flushes": modified,
                "dlm_requests": 0,
                "dlm_conflicts": 0,
                "dlm_releases": 0,
            }
        )
    return rows


def _modifications(load: Load, cache: Cache) -> float:
    return load.modifications.get(cache.name, 0.0) if cache.type == "PARENT" else 0.0


def _getmisses(load: Load, cache: Cache, scenario: Scenario) -> float:
    return load.gets.get(cache.name, 0.0) * share(cache, scenario) * load.getmiss_ratio


def _kqrst(now: Moment) -> list[Row]:
    return [
        {"child#": c.child, "cache#": c.cache, "type": c.type, "subordinate#": c.subordinate}
        for c in now.scenario.caches
    ]


def _system_event(now: Moment) -> list[Row]:
    events = {"latch: row cache objects", *(event for _, load in now.scenario.loop for event in load.events)}
    return [
        {
            "event": event,
            "total_waits": now.total(_waits, event),
            "total_timeouts": 0,
            "time_waited_micro": now.total(_waited_us, event),
        }
        for event in sorted(events)
    ]


def _waits(load: Load, event: str) -> float:
    return _sleeps(load) if event == "latch: row cache objects" else load.events.get(event, (0.0, 0.0))[0]


def _waited_us(load: Load, event: str) -> float:
    if event == "latch: row cache objects":
        return sum(child.sleeps * child.sleep_us for child in load.children.values())
    return load.events.get(event, (0.0, 0.0))[1] * 1e6


def _sys_time_model(now: Moment) -> list[Row]:
    names = sorted(now.scenario.ordinary.seconds)
    return [{"stat_name": name, "value": now.total(_time_us, name)} for name in names]


def _time_us(load: Load, name: str) -> float:
    return load.seconds.get(name, 0.0) * 1e6


def _sysstat(now: Moment) -> list[Row]:
    names = sorted(now.scenario.ordinary.statistics)
    return [{"name": name, "value": now.total(_statistic, name)} for name in names]


def _statistic(load: Load, name: str) -> float:
    return load.statistics.get(name, 0.0)


def _osstat(now: Moment) -> list[Row]:
    cpus = now.scenario.cpus
    levels = {"NUM_CPUS": cpus, "NUM_CPU_CORES": cpus, "LOAD": round(cpus * now.load.busy, 2)}
    totals = {
        "BUSY_TIME": now.total(lambda load: cpus * load.busy * 100),
        "IDLE_TIME": now.total(lambda load: cpus * (1 - load.busy) * 100),
        "VM_IN_BYTES": now.total(lambda load: load.paging_bytes),
        "VM_OUT_BYTES": now.total(lambda load: load.paging_bytes),
    }
    return [
        *({"stat_name": name, "level_now": level, "total": None} for name, level in levels.items()),
        *({"stat_name": name, "level_now": None, "total": total} for name, total in totals.items()),
    ]


def _undostat(now: Moment) -> list[Row]:
    begin = (now.began + timedelta(seconds=now.at)).replace(minute=0, second=0)
    return [
        {
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


def _parameter(now: Moment) -> list[Row]:
    settings = {"cpu_count": str(now.scenario.cpus), **now.scenario.parameters}
    return [{"name": name, "value": value, "isdefault": "FALSE"} for name, value in settings.items()]


VIEWS: Mapping[str, Callable[[Moment], list[Row]]] = {
    "v$instance": _instance,
    "v$latchname": _latchname,
    "v$event_name": _event_name,
    "v$latch_children": _latch_children,
    "v$latch": _latch,
    "v$latch_misses": _latch_misses,
    "v$rowcache": _rowcache,
    "x$kqrst": _kqrst,
    "v$system_event": _system_event,
    "v$sys_time_model": _sys_time_model,
    "v$sysstat": _sysstat,
    "v$osstat": _osstat,
    "v$undostat": _undostat,
    "v$parameter": _parameter,
}
