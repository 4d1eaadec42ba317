"""A rival that the diagnosis should beat: who names the cache with the most sleeps or waits, and knows nothing else.

It names none if waits for the row cache are too small a part of the time. A report has no sleeps by cache, so there the cache
with the most gets counts as the busiest.
"""

from collections import Counter

from collectors.model import Snapshot
from tests.recordings.reports.interval import Interval
from tests.truth.printed import changes, rows

ENOUGH = 0.02
"""Share of processor time and waits from which waits for the row cache are worth a look."""
IDLE = ("SQL*Net message from client", "rdbms ipc message")
NAMING = ("row cache lock", "row cache mutex")
"""Waits that say the id of their cache."""


def in_views(begin: Snapshot, end: Snapshot) -> str | None:
    """The cache that it names from two snapshots: by sleeps of child latches, by sampled waiters, else by gets."""
    waits = Counter[str]()
    for row, moved in changes(begin, end, "v$system_event"):
        waits[str(row["event"])] += moved.get("time_waited_micro_fg", moved["time_waited_micro"]) / 1e6
    cpu = sum(moved["value"] for row, moved in changes(begin, end, "v$sys_time_model") if row["stat_name"] == "DB CPU")
    sleeps, gets = Counter[str](), Counter[str]()
    for row, moved in changes(begin, end, "v$rowcache"):
        gets[str(row["parameter"])] += moved["gets"]
    names = {row["cache#"]: str(row["parameter"]) for row in rows(end, "v$rowcache")}
    guarded = {row["child#"]: names.get(row["cache#"]) for row in rows(end, "x$kqrst")}
    for row, moved in changes(begin, end, "v$latch_children"):
        sleeps[guarded.get(row["child#"]) or ""] += moved["sleeps"]
    met = Counter(names.get(row["p1"], "") for row in rows(end, "v$session") if row.get("event") in NAMING)
    return _busiest(waits, cpu / 1e6, sleeps, met, gets)


def in_report(prints: Interval) -> str | None:
    """The cache that it names from what a report prints."""
    waits = Counter({wait.event: wait.seconds for wait in prints.foreground})
    gets = Counter({cache.name: cache.gets for cache in prints.caches})
    return _busiest(waits, prints.time_model.get("DB CPU", 0.0), gets)


def _busiest(waits: Counter[str], cpu: float, *counts: Counter[str]) -> str | None:
    ours = sum(seconds for event, seconds in waits.items() if "row cache" in event)
    all_time = cpu + sum(seconds for event, seconds in waits.items() if event not in IDLE)
    if waits and ours < ENOUGH * all_time:
        return None
    known = (Counter({name: count for name, count in each.items() if name and count > 0}) for each in counts)
    return next((each.most_common(1)[0][0] for each in known if each), None)
