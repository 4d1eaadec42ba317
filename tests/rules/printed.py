"""Deltas of scripted databases as views give them, and as a report would print them."""

from collections import defaultdict
from datetime import timedelta
from functools import cache

from collectors.delta import between, reported
from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.model import Changes, Delta, Reading, Row, Rows, Value, number
from collectors.poll import poll
from tests.collectors.scripted import BEGAN

PRINTED = ("v$latch", "v$latch_misses", "v$system_event", "v$sys_time_model", "v$sysstat", "v$osstat", "v$mutex_sleep")
SUMMED = ("gets", "getmisses", "scans", "modifications", "usage")


@cache
def scripted(name: str, at: float, seconds: float = 60.0) -> Delta:
    """The views of a scripted database from `at` on, in seconds since its start."""
    now = [at]
    database = ScriptedDatabase(scenarios()[name], BEGAN, lambda: now[0])
    earlier = poll(name, database)
    now[0] = at + seconds
    delta = between(earlier, poll(name, database, earlier))
    assert isinstance(delta, Delta)
    return delta


def printed(delta: Delta, children: bool = False, notes: tuple[str, ...] = ()) -> Delta:
    """The Delta as a report prints it: one row per cache name, no map, no sessions, child latches only when asked for."""
    views: dict[str, Reading] = {}
    for view in (*PRINTED, *(("v$latch_children",) if children else ()), "v$instance"):
        reading = delta.read(view)
        if isinstance(reading, Changes):
            views[view] = Rows(view, reading.rows)
    views["v$rowcache"] = Rows("v$rowcache", tuple(_summed(delta)))
    basis = delta.basis
    assert basis.begin is not None and basis.end is not None
    begin = basis.begin.replace(tzinfo=None) + timedelta(hours=2)
    local = type(basis)(basis.kind, begin, begin + (basis.end - basis.begin), basis.seconds)
    return reported(delta.database, delta.release, local, views, notes)


def _summed(delta: Delta) -> list[Row]:
    sums: dict[str, dict[str, Value]] = defaultdict(dict)
    for row in delta.rows("v$rowcache"):
        own = sums[str(row["parameter"])]
        own["parameter"] = row["parameter"]
        for column in SUMMED:
            own[column] = int(number(own.get(column)) or 0) + int(number(row.get(column)) or 0)
    return [row for row in sums.values() if row["gets"]]
