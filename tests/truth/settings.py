"""Settings, memory, undo statistics, names and the instance itself: what hardly changes in an interval."""

from datetime import UTC, datetime, timedelta

from tests.truth.outcome import Outcome

Cell = int | float | str | None
Row = dict[str, Cell]
Pair = tuple[list[Row], list[Row]]
END = datetime(2025, 3, 11, 10, 0, tzinfo=UTC)
"""When every interval ends; how long the instance is up differs."""
TEN_MINUTES = timedelta(minutes=10)
UNDO_ROWS = 6


def setting_views(outcome: Outcome) -> dict[str, Pair]:
    """Views that are the same at both ends, except for the clock."""
    same = {
        "v$event_name": _event_names(outcome),
        "v$latchname": _latch_names(outcome),
        "x$kqrst": _child_map(outcome),
        "v$parameter": _parameters(outcome),
        "v$sgastat": _memory(outcome),
        "v$sga_resize_ops": _resizes(outcome),
        "v$undostat": _undo(outcome),
        "sys_context": _context(outcome),
    }
    return {"v$instance": _instance(outcome)} | {
        name: (rows, [dict(row) for row in rows]) for name, rows in same.items()
    }


def _local(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def _instance(outcome: Outcome) -> Pair:
    it = outcome.instance
    began = END - timedelta(seconds=round(it.uptime + it.seconds))
    fixed: Row = {
        "instance_number": 1,
        "instance_name": "truth1",
        "host_name": "db1",
        "version": it.release.version,
        "status": "OPEN",
        "parallel": "YES" if it.cluster else "NO",
        "startup_time": _local(began),
    }
    if it.full:
        fixed["version_full"] = it.full
    up = round(it.uptime)
    return [fixed | {"uptime_seconds": up}], [fixed | {"uptime_seconds": up + round(it.seconds)}]


def _event_names(outcome: Outcome) -> list[Row]:
    it = outcome.instance
    names = ["row cache lock", "latch free", "LCK0 row cache object free"]
    if it.release.name not in ("21", "23"):
        names.append("latch: row cache objects")
    if it.release.guard == "mutex":
        names.append("row cache mutex")
    return [{"name": name} for name in names]


def _latch_names(outcome: Outcome) -> list[Row]:
    it = outcome.instance
    rows: list[Row] = [{"latch#": it.release.result_cache_latch_number, "name": "Result Cache: RC Latch"}]
    if it.release.name not in ("21", "23"):
        rows.append({"latch#": it.release.latch_number, "name": "row cache objects"})
    return rows


def _child_map(outcome: Outcome) -> list[Row]:
    return [
        {"child#": cache.child, "cache#": cache.id, "type": cache.kind, "subordinate#": cache.subordinate}
        for cache in outcome.instance.release.caches
    ]


def _parameters(outcome: Outcome) -> list[Row]:
    """Settings in force, with those of containers: captures hold the rows of v$system_parameter under this name."""
    it = outcome.instance
    shown = {
        "undo_management": "AUTO",
        "undo_tablespace": "UNDOTBS1",
        "undo_retention": str(it.undo.retention),
        "cpu_count": str(it.cpus),
        "cursor_sharing": "EXACT",
        "session_cached_cursors": "50",
        "open_cursors": "300",
        "shared_pool_size": "0",
        "sga_target": str(it.cpus * 2**30),
        "memory_target": "0",
        "statistics_level": "TYPICAL",
        "result_cache_mode": "MANUAL",
        "result_cache_max_size": str(2**25),
        "optimizer_dynamic_sampling": "2",
    }
    if it.release.name == "12.1":
        shown["optimizer_adaptive_features"] = "TRUE"
    elif it.release.guard == "mutex":
        shown["optimizer_adaptive_statistics"] = "FALSE"
    changed = {"undo_tablespace", "sga_target", "open_cursors", *it.parameters}
    container: Row = {"con_id": 0} if it.release.multitenant else {}
    rows: list[Row] = [
        {"name": name, "value": value, "isdefault": "FALSE" if name in changed else "TRUE", **container}
        for name, value in (shown | it.parameters).items()
    ]
    return rows + [
        {"name": name, "value": value, "isdefault": "FALSE", "con_id": 3} for name, value in it.pdb_parameters.items()
    ]


def _memory(outcome: Outcome) -> list[Row]:
    """Row cache memory, by container where there are containers. Most of it belongs to the root and to no container."""
    it, dice = outcome.instance, outcome.instance.dice
    entries = 20000 * dice.about(1.0, 0.5)
    sizes = {
        "free memory": dice.scale(1e8, 3e9),
        "KQR X PO": entries * 2000,
        "KQR L PO": entries * 700,
        "KQR M PO": entries * 500,
        "KQR S PO": entries * 20,
        "row cache": 7.5e6 if it.release.guard == "latch" else 2e4,
    }
    if it.release.guard == "mutex":
        sizes |= {"row cache hash": 5.7e6, "row cache mutex": 9e6}
    sizes |= it.memory
    if not it.release.multitenant:
        return [{"pool": "shared pool", "name": name, "bytes": round(size)} for name, size in sizes.items()]
    rows: list[Row] = []
    for name, size in sizes.items():
        split = it.containers and name.startswith("KQR")
        shares = [dice.about(1.0, 0.5) for _ in range(it.containers + 1)] if split else [1.0]
        for number, share in enumerate(shares):
            container = (1 if number == 0 else number + 2) if split else 0
            rows.append(
                {
                    "pool": "shared pool",
                    "name": name,
                    "bytes": round(size * share / sum(shares)),
                    "con_id": container,
                }
            )
    return rows


def _resizes(outcome: Outcome) -> list[Row]:
    at = END - timedelta(seconds=outcome.instance.seconds / 2)
    return [
        {
            "component": "shared pool",
            "start_time": _local(at + timedelta(seconds=2 * number)),
            "oper_type": kind,
            "initial_size": round(first),
            "final_size": round(last),
        }
        for number, (kind, first, last) in enumerate(outcome.instance.resizes)
    ]


def _undo(outcome: Outcome) -> list[Row]:
    """The newest rows. Under local undo every container has its own; the first PDB is the busiest."""
    it, dice, undo = outcome.instance, outcome.instance.dice, outcome.instance.undo
    local = it.containers and it.release.guard == "mutex"
    containers: list[int] = [3, 1, *range(4, it.containers + 3)] if local else [0]
    rows: list[Row] = []
    for age in range(UNDO_ROWS):
        for container in containers:
            part = 1.0 if container in (0, 3) else 0.05
            row: Row = {
                "begin_time": _local(END - TEN_MINUTES * (age + 1)),
                "undotsn": 2 + container,
                "txncount": dice.count(it.work.rates["commit"] * 600 * part),
                "maxconcurrency": max(1, round(undo.concurrency * part * dice.about(1.0, 0.1))),
                "maxquerylen": round(undo.longest_query * part),
                "tuned_undoretention": round(undo.tuned if part == 1.0 else max(undo.retention, 1200)),
                "unexpiredblks": round(undo.unexpired * part),
                "expiredblks": round(undo.expired * part),
            }
            rows.append(row | ({"con_id": container} if it.release.multitenant else {}))
    return rows


def _context(outcome: Outcome) -> list[Row]:
    it = outcome.instance
    row: Row = {"db_unique_name": "TRUTH", "session_user": "C##LATCHSCOPE" if it.containers else "LATCHSCOPE"}
    if it.release.multitenant:
        row |= {
            "con_id": 1 if it.containers else 0,
            "con_name": "CDB$ROOT" if it.containers else "TRUTH",
            "cdb_name": "TRUTH" if it.containers else None,
        }
    return [row]
