"""The views of an interval:

every view's rows at its begin and at its end, as the release gives them. Rows have everything that Oracle has;
`tests.truth.recording` keeps what the collectors declare.
"""

from collections.abc import Callable

from tests.truth.latches import latch_views
from tests.truth.outcome import Outcome
from tests.truth.settings import setting_views
from tests.truth.workload import ENTRIES, MISSES, OTHERWISE_MISSED

Cell = int | float | str | None
Row = dict[str, Cell]
Pair = tuple[list[Row], list[Row]]
"""Rows at the begin and at the end."""

DLM = ("dc_objects", "dc_segments", "dc_sequences", "dc_histogram_defs", "dc_rollback_segments", "outstanding_alerts")
CALMER = (0.001, 0.3)
"""For a trouble: how much of its rate the time before has seen."""


def views(outcome: Outcome) -> dict[str, Pair]:
    """Every view that a poll reads, except the sessions."""
    both: dict[str, Callable[[Outcome], Pair]] = {
        "v$rowcache": _rowcache,
        "v$system_event": _events,
        "v$sys_time_model": _time_model,
        "v$sysstat": _statistics,
        "v$osstat": _host,
    }
    return {name: rows(outcome) for name, rows in both.items()} | latch_views(outcome) | setting_views(outcome)


def before(outcome: Outcome, change: float, calmer: float = 1.0) -> int:
    """The total of a counter at the begin, if it grew in the interval at the same rate as before, or if the rate before was
    lower.
    """
    it = outcome.instance
    return round(change / it.seconds * it.uptime * it.dice.between(0.3, 1.1) * calmer)


def _rowcache(outcome: Outcome) -> Pair:
    it, dice = outcome.instance, outcome.instance.dice
    begin: list[Row] = []
    end: list[Row] = []
    for cache in it.release.caches:
        key = cache.key
        gets, fast = outcome.gets[key], outcome.fast[key]
        missed = it.missed.get(key, dice.between(*MISSES.get(cache.name, OTHERWISE_MISSED)))
        entries = round(it.entries.get(key) or dice.scale(*ENTRIES.get(cache.name, (1, 40))))
        scans = dice.count(it.scans.get(key, 0.0) * it.seconds)
        changed = dice.count(it.modified.get(key, 0.0) * it.seconds)
        changes: dict[str, int] = {
            "gets": gets,
            "fastgets": fast,
            "getmisses": min(gets, dice.count(gets * missed)),
            "scans": scans,
            "scanmisses": dice.count(scans * 0.01),
            "scancompletes": scans,
            "modifications": changed,
            "flushes": changed,
            **_cluster(outcome, cache.name if cache.subordinate is None else "", gets),
        }
        fixed: Row = {
            "cache#": cache.id,
            "type": cache.kind,
            "subordinate#": cache.subordinate,
            "parameter": cache.name,
            "count": entries + dice.whole(0, 3),
            "usage": entries,
            "fixed": 0,
        }
        if it.release.name.startswith("11.2"):
            del changes["fastgets"]
        totals = {name: before(outcome, change, 0.5) for name, change in changes.items()}
        begin.append(fixed | totals)
        end.append(fixed | {name: totals[name] + change for name, change in changes.items()})
    return begin, end


def _cluster(outcome: Outcome, name: str, gets: int) -> dict[str, int]:
    """Requests to other instances. 12.2 and later do not count them."""
    it, dice = outcome.instance, outcome.instance.dice
    if not it.cluster or it.release.guard == "mutex" or name not in DLM:
        return {"dlm_requests": 0, "dlm_conflicts": 0, "dlm_releases": 0}
    asked, conflicting = it.conflicts.get(name, (dice.between(0.005, 0.05), dice.between(0.0, 0.008)))
    requests = dice.count(gets * asked)
    conflicts = dice.count(requests * conflicting)
    return {"dlm_requests": requests, "dlm_conflicts": conflicts, "dlm_releases": dice.count(requests * 0.02)}


def _events(outcome: Outcome) -> Pair:
    it = outcome.instance
    sums: dict[str, dict[str, int]] = {}
    usual: dict[str, float] = {}
    for each in outcome.counted:
        event = each.stream.event
        row = sums.setdefault(event, dict.fromkeys(EVENT_COUNTERS, 0))
        for name, value in zip(
            EVENT_COUNTERS,
            (each.waits, it.dice.count(each.waits * each.stream.timeouts), each.micros, each.waits_fg, each.micros_fg),
            strict=True,
        ):
            row[name] += value
        usual[event] = max(usual.get(event, 0.0), 1.0 if each.stream.cause is None else it.dice.scale(*CALMER))
    begin: list[Row] = []
    end: list[Row] = []
    for event, changes in sums.items():
        totals = _history(outcome, changes, usual[event])
        if totals["total_waits"]:
            begin.append({"event": event, **totals})
        if totals["total_waits"] or changes["total_waits"]:
            end.append({"event": event, **{name: totals[name] + change for name, change in changes.items()}})
    return begin, end


EVENT_COUNTERS = ("total_waits", "total_timeouts", "time_waited_micro", "total_waits_fg", "time_waited_micro_fg")


def _history(outcome: Outcome, changes: dict[str, int], calmer: float) -> dict[str, int]:
    """Totals of a wait event at the begin: foreground waits are part of all."""
    total = before(outcome, changes["total_waits"], min(calmer, 0.3))
    mean = changes["time_waited_micro"] / max(changes["total_waits"], 1)
    time = round(total * mean)
    return {
        "total_waits": total,
        "total_timeouts": min(total, before(outcome, changes["total_timeouts"], 0.1)),
        "time_waited_micro": time,
        "total_waits_fg": round(total * 0.9),
        "time_waited_micro_fg": round(time * 0.9),
    }


def _named(outcome: Outcome, changes: dict[str, int], key: str) -> Pair:
    totals = {name: before(outcome, change, 0.6) for name, change in changes.items()}
    return (
        [{key: name, "value": total} for name, total in totals.items()],
        [{key: name, "value": totals[name] + change} for name, change in changes.items()],
    )


def _time_model(outcome: Outcome) -> Pair:
    return _named(outcome, outcome.times, "stat_name")


def _statistics(outcome: Outcome) -> Pair:
    return _named(outcome, outcome.statistics, "name")


def _host(outcome: Outcome) -> Pair:
    it, dice = outcome.instance, outcome.instance.dice
    running = outcome.busy / 100 / it.seconds
    load = running + outcome.run_queue + (it.work.io * dice.between(0.2, 0.8) if it.linux else 0.0)
    levels: dict[str, float] = {
        "NUM_CPUS": it.cpus,
        "NUM_CPU_CORES": max(1, it.cpus // 2),
        "LOAD": round(load * dice.about(1.0, 0.15), 2),
        "PHYSICAL_MEMORY_BYTES": it.cpus * 8 * 2**30,
    }
    totals = {
        "BUSY_TIME": outcome.busy,
        "IDLE_TIME": outcome.idle,
        "RSRC_MGR_CPU_WAIT_TIME": round(it.throttled * it.seconds * 100),
        "VM_IN_BYTES": dice.count(it.paging * it.seconds / 4096) * 4096,
        "VM_OUT_BYTES": dice.count(it.paging * it.seconds * 0.7 / 4096) * 4096,
    }
    if not it.linux:
        totals["OS_CPU_WAIT_TIME"] = round(outcome.run_queue * it.seconds * 100)
    begin: list[Row] = [{"stat_name": name, "level_now": level, "total": None} for name, level in levels.items()]
    end = [dict(row) for row in begin]
    for name, change in totals.items():
        total = before(outcome, change, 0.7)
        begin.append({"stat_name": name, "level_now": None, "total": total})
        end.append({"stat_name": name, "level_now": None, "total": total + change})
    return begin, end
