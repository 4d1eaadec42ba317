"""What Oracle's views show of a machine at a moment: rows by column name, with the columns of its release."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import exp, log
from random import Random
from typing import Any

from tests.second.causes import Cause
from tests.second.machine import PARENT, RC_ADDRESS, RC_LATCH, ROW_LATCH, Load, Machine

Row = dict[str, Any]
BEGAN = datetime(2026, 5, 4, 9, 0)  # noqa: DTZ001 - as the database answers: UTC without a zone
"""Moment 0 of every instance."""
HOURS_AHEAD = 2
"""The clock of the host against UTC."""
CONTAINERS = {1: "CDB$ROOT", 3: "ERP", 4: "CRM"}
CONTAINER_EVENTS = (
    "latch: row cache objects",
    "row cache mutex",
    "row cache lock",
    "library cache lock",
    "library cache pin",
)
BACKGROUND = ("", "oracle@db (SMON)", "")


@dataclass
class Source:
    """Sessions that wait for one thing: how many on average, and how long each."""

    event: str
    cache: str
    number: float
    micros: float
    mode: int = 0
    who: tuple[str, str, str] = ("web", "JDBC Thin Client", "APP")
    blocker: int | None = None
    sub: float = 0.0
    """Share of the waits that are for subordinates."""


@dataclass
class Site:
    """What is fixed of an instance beside its machine."""

    container: int | None
    """con_id of the session that polls: 0 without containers, None before 12.1."""
    up_seconds: int
    """At moment 0."""
    share: dict[int, float] = field(default_factory=dict)
    """Container → its share of the waits."""
    hung: list[Row] = field(default_factory=list)
    """Sessions that wait and do not come out, as waiting_sessions has them, with `since` in place of the time waited."""
    held: dict[str, list[Row]] = field(default_factory=dict)
    """Views of the look for blockers → rows."""


def poisson(rng: Random, mean: float) -> int:
    """How many, where so many are met on average."""
    if mean > 40:
        return max(0, round(rng.gauss(mean, mean**0.5)))
    count, left = 0, rng.random()
    while left > (edge := exp(-mean)) and count < 200:
        left *= rng.random()
        count += left > edge or 0
    return count


def sources(machine: Machine, load: Load, causes: list[Cause]) -> list[Source]:
    """Who waits for the row cache or the result cache now."""
    by_cache = {machine.known(cache.rstrip("+")): cause for cause in causes for cache in cause.caches}
    gets, found = machine.gets(load), []
    event = "latch: row cache objects" if machine.latch else "row cache mutex"
    for group in machine.groups:
        queue = machine.queue(group, load, gets)
        if queue.wait > 1e-4:
            places = machine.groups[group]
            names = [machine.caches[p][0] for p in places]
            cause = next((by_cache[name] for name in names if name in by_cache), None)
            below = sum(gets[p] for p in places if machine.caches[p][2] != PARENT)
            times = 1 / (3 if machine.latch else 2)
            found.append(Source(event, group, queue.wait, queue.wait / queue.sleeps * 1e6, 0,
                                cause.who if cause else ("web", "JDBC Thin Client", "APP"),
                                sub=below * times / (below * times + sum(gets[p] for p in places) - below or 1)))  # fmt: skip
    for lock in load.locks:
        cause = by_cache.get(machine.known(lock.cache))
        if cause is None:  # of a hang, whose sessions are listed one by one
            continue
        smon = 9 if "blocker" in cause.levels else None
        found.append(
            Source("row cache lock", lock.cache, lock.wait, lock.wait / lock.waits * 1e6, lock.mode, cause.who, smon)
        )
    if load.result[3]:
        found.append(Source("latch free", "", load.result[3], machine.average["result"]))
    return found


def _waiter(rng: Random, machine: Machine, source: Source, sid: int, site: Site) -> Row:
    """One session that waits, at one moment."""
    module, program, user = source.who
    if source.event == "latch: row cache objects":
        address = machine.address[machine.child[source.cache]]
        p = (int(address, 16), address, machine.latch_number, rng.randint(0, 3))
    elif source.event == "latch free":
        p = (int(RC_ADDRESS, 16), RC_ADDRESS, RC_LATCH, rng.randint(0, 3))
    else:
        number = machine.number(source.cache)
        below = source.event == "row cache mutex" and rng.random() < source.sub
        if below and source.cache == "dc_users":
            number = 7
        place = 32 if below else rng.choices((19, 13 if machine.family == "12.2" else 10), (77, 23))[0]
        lock = source.event == "row cache lock"
        p = (number, f"{number:016X}", rng.choice((0, 3, 5)) if lock else place, source.mode)
    knows = rng.random() < (0.6 if source.event != "latch: row cache objects" else 0.3)
    blocker = source.blocker or (rng.randint(12, 900) if knows else None)
    here = None if blocker is None else 1
    return {
        "sid": sid, "event": source.event, "p1": p[0], "p1raw": p[1], "p2": p[2], "p3": p[3],
        "sql_id": f"{source.cache[3:7] or 'rc':_<4}{sid % 5}q{len(module)}fz7w"[:13], "module": module or None,
        "program": program, "username": user or None,
        "con_id": rng.choices(list(site.share), list(site.share.values()))[0] if site.share else 0,
        "blocking_instance": here, "blocking_session": blocker,
        "final_blocking_instance": here, "final_blocking_session": blocker,
        "wait_time_micro": max(1, round(rng.expovariate(1 / max(source.micros, 20.0)))),
    }  # fmt: skip


def look(rng: Random, machine: Machine, met: list[Source], site: Site) -> list[Row]:
    """Sessions that wait at one moment."""
    rows: list[Row] = []
    for source in met:
        bunched = source.number * rng.gammavariate(6, 1 / 6)
        rows += [_waiter(rng, machine, source, 0, site) for _ in range(min(200, poisson(rng, bunched)))]
    for row, sid in zip(rows, rng.sample(range(20, 1800), len(rows)), strict=True):
        row["sid"] = sid
    return [_of_release(machine, row) for row in rows]


def _of_release(machine: Machine, row: Row) -> Row:
    return {name: cell for name, cell in row.items() if name != "con_id" or machine.family != "11.2"}


def hung_at(machine: Machine, site: Site, moment: float, sliced: float) -> Iterator[Row]:
    """The sessions that hang, at a moment."""
    for each in site.hung:
        if each["since"] <= moment:
            waited = moment - each["since"]
            row = {name: cell for name, cell in each.items() if name != "since"}
            row["seq#"] += int(waited / sliced) if sliced else 0
            row["wait_time_micro"] = round((waited % sliced if sliced else waited) * 1e6)
            yield _of_release(machine, row)


def views(machine: Machine, site: Site, moment: int, met: list[Source], sliced: float = 0.0) -> dict[str, list[Row]]:
    """Every view that a poll may read, at a moment. One that the release does not have is left out."""
    rng, family, levels = machine.rng, machine.family, machine.levels
    modern, cdb = family != "11.2", bool(site.container)
    local = BEGAN + timedelta(hours=HOURS_AHEAD, seconds=moment)
    started = BEGAN + timedelta(hours=HOURS_AHEAD, seconds=-site.up_seconds)
    of = {0 if not modern else (site.container or 0): 1.0}
    own = {"con_id": next(iter(of))} if modern else {}
    short = machine.release.split(".")[0]
    version = {"version": machine.release} if family in ("11.2", "12.1", "12.2") else {
        "version": f"{short}.0.0.0.0", "version_full": machine.release}  # fmt: skip
    found: dict[str, list[Row]] = {
        "v$instance": [{"instance_number": 1, "instance_name": "db1", "host_name": "dbhost1", **version, "status": "OPEN",
                        "parallel": "YES" if machine.cluster else "NO", "startup_time": f"{started:%Y-%m-%d %H:%M:%S}",
                        "uptime_seconds": site.up_seconds + moment, "taken_at": BEGAN + timedelta(seconds=moment)}],
        "v$event_name": [{"name": name} for name in (
            *(("latch: row cache objects",) if family not in ("21c", "23ai") else ()), "row cache lock", "latch free",
            *(() if machine.latch else ("row cache mutex",)), *(("LCK0 row cache object free",) if modern else ()))],
        "v$latchname": [{"latch#": machine.latch_number, "name": ROW_LATCH}] * (family not in ("21c", "23ai"))
        + [{"latch#": RC_LATCH, "name": "Result Cache: RC Latch"}],
        "x$kqrst": [{"child#": machine.child[group], "cache#": machine.caches[p][1], "type": machine.caches[p][2],
                     "subordinate#": machine.caches[p][3]} for group, places in machine.groups.items() for p in places],
        "v$latch": [{"latch#": machine.latch_number if name == ROW_LATCH else RC_LATCH if name.startswith("Result") else 10 + i,
                     "name": name, **row} for i, (name, row) in enumerate(machine.totals["latch"].items())],
        "v$latch_children": [{"latch#": machine.latch_number, "child#": child, "addr": machine.address[child], **row}
                             for child, row in sorted(machine.totals["children"].items())],
        "v$latch_misses": [{"parent_name": key[0], "location": key[1], **row} for key, row in machine.totals["misses"].items()
                           if row["sleep_count"] or row["wtr_slp_count"]],
        "v$mutex_sleep": [{"mutex_type": "Row Cache", "location": place, **row}
                          for place, row in machine.totals["mutex"].items()],
        "v$system_event": [{"event": event, **row} for event, row in machine.totals["event"].items()],
        "v$sysstat": [{"name": name, **row} for name, row in machine.totals["sysstat"].items()],
        "v$sys_time_model": [{"stat_name": name, **row} for name, row in machine.totals["time"].items()],
        "v$osstat": [{"stat_name": name, "level_now": value, "total": None} for name, value in (
            ("NUM_CPUS", machine.cpus), ("NUM_CPU_CORES", machine.cpus // 2), ("LOAD", levels["LOAD"]),
            ("PHYSICAL_MEMORY_BYTES", machine.cpus * 8 * 2**30), ("SWAP_FREE_BYTES", 4 * 2**30))]
        + [{"stat_name": name, "level_now": None, "total": row["value"]} for name, row in machine.totals["os"].items()],
        "v$rowcache": [_rowcache(machine, place) for place in range(len(machine.caches))],
        "v$sga_resize_ops": [{"component": "shared pool", "start_time":
                              f"{local - timedelta(seconds=40 + 35 * i):%Y-%m-%d %H:%M:%S}",
                              "oper_type": "SHRINK", "initial_size": (160 - 8 * i) * 2**24, "final_size": (152 - 8 * i) * 2**24}
                             for i in range(int(levels.get("shrinks", 0)))],
        "v$undostat": [{**own, "begin_time": f"{local.replace(minute=local.minute // 10 * 10, second=0):%Y-%m-%d %H:%M:%S}",
                        "undotsn": 2, "txncount": round(machine.normal["commits"] * (local.minute % 10 * 60 + local.second + 1)),
                        "maxconcurrency": levels["together"], "maxquerylen": rng.randint(20, 1500),
                        "tuned_undoretention": levels["retention"], "unexpiredblks": rng.randint(9000, 90000)
                        * (9 if levels["retention"] > 1e5 else 1), "expiredblks": rng.randint(0, 60000)}],
        "v$sgastat": [{**own, "pool": "shared pool", "name": name, "bytes": value} for name, value in (
            ("KQR X PO", round(levels.get("clones", 5.5e7) * (1 + moment * 1e-4 * ("clones" in levels)))),
            ("KQR M PO", 21_000_000), *((("row cache", 7_600_000),) if machine.latch else
                                       (("row cache hash", 5_700_000), ("row cache mutex", 8_800_000))),
            ("free memory", rng.randint(15, 60) * 10**6 if "shrinks" in levels else rng.randint(300, 2500) * 10**6))],
        "v$parameter": [{**({"con_id": 0} if modern else {}), "name": name, "value": value, "isdefault": default}
                        for name, value, default in _parameters(machine)],
        "sys_context": [{"db_unique_name": "db", "session_user": "LATCHSCOPE", **({} if not modern else {
            "con_id": site.container, "con_name": CONTAINERS.get(site.container or 0, "db"),
            "cdb_name": "db" if cdb else None}), **({"cloud_service": None} if family in ("18c", "19c", "21c", "23ai") else {})}],
        "v$con_system_event": [
            {"con_id": con, "event": event, "total_waits_fg": int(row["total_waits_fg"] * share),
             "time_waited_micro_fg": int(row["time_waited_micro_fg"] * share)}
            for event, row in machine.totals["event"].items() if event in CONTAINER_EVENTS
            for con, share in site.share.items() if site.container == 1 and int(row["total_waits_fg"] * share)],
        "v$containers": [{"con_id": con, "name": name} for con, name in CONTAINERS.items() if cdb],
        **{view: [_later(row, moment) for row in rows] for view, rows in site.held.items()},
    }  # fmt: skip
    if not modern:
        del found["v$con_system_event"], found["v$containers"]
    waiting = [*hung_at(machine, site, moment, sliced)]
    for row in look(rng, machine, met, site):
        waiting.append({**row, "serial#": rng.randint(3, 60000), "seq#": rng.randint(50, 60000), "type": "USER"})
    waiting.sort(key=lambda row: -row["wait_time_micro"])
    found["waiting_sessions"] = [{**row, "met": len(waiting)} for row in waiting[:200]]
    library = _library(rng, machine, site) + found.pop("library sessions", [])
    found["library_cache_sessions"] = [{**row, "met": len(library)} for row in library]
    return found


def _later(row: Row, moment: int) -> Row:
    """A session that still waits as it did at moment 0."""
    longer = {"wait_time_micro": 10**6, "last_call_et": 1}
    return {name: cell + moment * longer[name] if name in longer else cell for name, cell in row.items()}


def _rowcache(machine: Machine, place: int) -> Row:
    name, number, kind, sub, _ = machine.caches[place]
    counts = dict(machine.totals["rowcache"][number, kind, sub])
    if machine.family == "11.2":
        del counts["fastgets"]
    entries: float = machine.entries[place]
    if name == "dc_rollback_segments":
        entries = machine.levels["segments"]
    elif name in ("dc_histogram_defs", "dc_histogram_data"):
        entries = machine.levels.get("entries", entries * 8)
    return {"cache#": number, "type": kind, "subordinate#": sub, "parameter": name, "count": int(entries * 1.02) + 1,
            "usage": int(entries), "fixed": 1 if number == 3 else 0, **counts}  # fmt: skip


def _parameters(machine: Machine) -> Iterator[tuple[str, str, str]]:
    yield from (("undo_management", "AUTO", "TRUE"), ("undo_tablespace", "UNDOTBS1", "FALSE"),
                ("undo_retention", "900", "TRUE"), ("cpu_count", str(machine.cpus), "TRUE"),
                ("cursor_sharing", "EXACT", "TRUE"), ("session_cached_cursors", "50", "TRUE"), ("open_cursors", "300", "TRUE"),
                ("shared_pool_size", "0", "TRUE"), ("sga_target", str(24 * 2**30), "FALSE"), ("memory_target", "0", "TRUE"),
                ("statistics_level", "TYPICAL", "TRUE"), ("result_cache_max_size", str(2**27), "TRUE"))  # fmt: skip
    yield "result_cache_mode", *(("FORCE", "FALSE") if "force" in machine.levels else ("MANUAL", "TRUE"))
    sampling = machine.levels.get("sampling", 2)
    yield "optimizer_dynamic_sampling", str(int(sampling)), "TRUE" if sampling == 2 else "FALSE"
    if "floor" in machine.levels:
        yield "_rollback_segment_count", str(int(machine.levels["floor"])), "FALSE"
    if machine.family == "12.1":
        yield "optimizer_adaptive_features", "TRUE", "TRUE"
    elif machine.family != "11.2":
        yield "optimizer_adaptive_statistics", "FALSE", "TRUE"


def _library(rng: Random, machine: Machine, site: Site) -> list[Row]:
    """Sessions in library cache lock or pin. Met only where so many wait that a look meets them."""
    mean = machine.levels.get("library", 0.0)
    address = rng.randrange(1 << 28, 1 << 32)
    return [
        _of_release(machine, {
            "sid": 1900 + i, "serial#": rng.randint(3, 60000), "event": "library cache lock", "p1raw": f"{address:016X}",
            "p3": 91_234 * 2**32 + 1 * 2**16 + 3, "sql_id": None, "module": "web", "action": None,
            "program": "JDBC Thin Client", "machine": "web01", "username": "APP", "type": "USER",
            "con_id": next(iter(site.share), 0), "blocking_instance": None, "blocking_session": None,
            "final_blocking_instance": None, "final_blocking_session": None,
            "wait_time_micro": round(exp(rng.uniform(log(1e3), log(4e5)))),
        })
        for i in range(poisson(rng, mean))
    ]  # fmt: skip
