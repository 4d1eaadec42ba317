"""Published incidents: the figures of published.yaml, on an ordinary instance of the generator.

A page prints a few figures. They are taken as they are. Everything else is an ordinary instance whose work is scaled to what
the page's DB time leaves for it.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from collectors.model import Rows, Snapshot
from tests.truth.dice import Dice
from tests.truth.instance import ordinary
from tests.truth.outcome import come_out
from tests.truth.printed import changes, rows
from tests.truth.recording import snapshots
from tests.truth.releases import Release, releases
from tests.truth.sessions import address

GROWS = ("system_event", "sys_time_model", "sysstat", "rowcache", "latch", "latch_misses", "latch_children")
"""Views whose counters go with the work of the instance, without v$."""
LEVELS = ("count", "usage", "fixed")
LEAST, MOST = 0.01, 100.0
"""Bounds of the scale, so that some ordinary work remains and none runs away."""
LOOKS = 10
MOST_MET = 60
"""Sessions that one look shows at most."""
NEW: dict[str, dict[str, Any]] = {
    "v$latch_misses": {"parent_name": "row cache objects", "nwfail_count": 0, "longhold_count": 0},
    "v$mutex_sleep": {"mutex_type": "Row Cache"},
}
"""What a row has beside its name and its figures, if the ordinary instance has no row of that name."""
Incident = Mapping[str, Any]
"""An entry of published.yaml, whose head describes the members."""
Views = dict[str, list[dict[str, Any]]]


@cache
def incidents() -> tuple[Incident, ...]:
    """Every published incident."""
    return tuple(yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")))


def staged(incident: Incident, edition: int) -> tuple[Snapshot, Snapshot]:
    """The begin and the end of the interval. Another edition draws another ordinary instance around the page's figures."""
    release, seconds = releases()[incident["release"]], float(incident.get("seconds", 3600))
    dice, cluster = Dice(edition, *incident["id"].encode()), incident.get("cluster", False)
    begin, end = snapshots(come_out(ordinary(dice, release, 16, "medium", cluster=cluster, seconds=seconds)))
    times = dict(_of(incident, "times"))
    if "db_time" in incident:
        end = _scaled(begin, end, incident["db_time"] - sum(waited for _, (_, waited) in _of(incident, "waits")))
        times["DB time"] = incident["db_time"]
    views: Views = {name: [dict(row) for row in rows(end, name)] for name in end.readings if rows(end, name)}
    sleeps = {release.cache(name).child: {"sleeps": count} for name, count in _of(incident, "sleeps")}
    held = {place: {"sleep_count": own, "wtr_slp_count": other} for place, (own, other) in _of(incident, "holders")}
    slept = {place: {"sleeps": count, "wait_time": ms * 1000} for place, (count, ms) in _of(incident, "mutexes")}
    for view, given in (("v$latch_misses", held), ("v$mutex_sleep", slept)):
        if given:  # the page lists every place, so none of the ordinary instance grows
            views[view] = [dict(row) for row in rows(begin, view)]
    for view, key, by_name in (
        ("v$system_event", "event", {name: _wait(*waited) for name, waited in _of(incident, "waits")}),
        ("v$sys_time_model", "stat_name", {name: {"value": round(value * 1e6)} for name, value in times.items()}),
        ("v$sysstat", "name", {name: {"value": value} for name, value in _of(incident, "work")}),
        ("v$rowcache", "parameter", dict(_of(incident, "lookups"))),
        ("v$latch", "name", dict(_of(incident, "latches"))),
        ("v$latch_children", "child#", sleeps),
        ("v$latch_misses", "location", held),
        ("v$mutex_sleep", "location", slept),
    ):
        _grow(begin, views, view, key, by_name)
    if "full" in incident:
        views["v$instance"][0]["version_full"] = incident["full"]
    readings = {name: Rows(name, tuple(made)) for name, made in {**views, **_sessions(incident, release)}.items()}
    return begin, replace(end, readings={**end.readings, **readings})


def _of(incident: Incident, member: str) -> Any:
    return incident.get(member, {}).items()


def _wait(count: int, seconds: float) -> dict[str, int]:
    waited = dict.fromkeys(("time_waited_micro", "time_waited_micro_fg"), round(seconds * 1e6))
    return {"total_waits": count, "total_waits_fg": count, "total_timeouts": 0, **waited}


def _scaled(begin: Snapshot, end: Snapshot, left: float) -> Snapshot:
    """The end with as much ordinary work as fits into these seconds of DB time."""
    (usual,) = [moved for row, moved in changes(begin, end, "v$sys_time_model") if row["stat_name"] == "DB time"]
    factor = min(MOST, max(LEAST, left / (usual["value"] / 1e6)))
    readings = dict(end.readings)
    for view in [f"v${name}" for name in GROWS if rows(end, f"v${name}")]:
        scaled = [
            {**row, **{n: round(float(str(row[n])) - by * (1 - factor)) for n, by in moved.items() if n not in LEVELS}}
            for row, moved in changes(begin, end, view)
        ]
        readings[view] = Rows(view, tuple(scaled))
    return replace(end, readings=readings)


def _grow(begin: Snapshot, views: Views, view: str, key: str, given: Mapping[Any, Mapping[str, float]]) -> None:
    """Let the rows of these names grow by exactly the given numbers between begin and end. Of a cache, the parent grows."""
    before = {row[key]: row for row in rows(begin, view) if row.get("subordinate#") is None}
    for name, by in given.items():
        grown = (row for row in views.setdefault(view, []) if row[key] == name and row.get("subordinate#") is None)
        row = next(grown, None)
        if row is None:
            row = {**NEW.get(view, {}), key: name}
            views[view].append(row)
        for column, change in by.items():
            row[column] = change + (0 if column in LEVELS else int(str(before.get(name, {}).get(column) or 0)))


def _sessions(incident: Incident, release: Release) -> Views:
    """The waiting sessions that looks met, those that still wait at the end, those of the library cache; and resizes."""
    group = incident.get("sessions", {})
    number = release.cache(group["cache"]).id if group else 0
    alike = {
        "event": group.get("event"),
        "p1": number,
        "p1raw": f"{number:016X}",
        "p2": group.get("p2", 0),
        "p3": group.get("p3"),
        "program": group.get("program", "JDBC Thin Client"),
        "module": "JDBC Thin Client",
        "username": "APP",
        "con_id": 0,
        **dict.fromkeys(("sql_id", "blocking_instance", "blocking_session")),
        **dict.fromkeys(("final_blocking_instance", "final_blocking_session")),
    }
    met = [row | alike for row in _waiting(group, 5000)]
    wanted = {"event": "library cache lock", "p1raw": address(0), "p3": incident.get("library", {}).get("p3")}
    library = [row | wanted for row in _waiting(incident.get("library", {}), 7000)]
    columns = ("oper_type", "initial_size", "final_size", "start_time")
    resized = [dict(zip(columns, one, strict=True)) for one in incident.get("resizes", ())]
    return {
        "v$session": [{"sample": look, **row} for look in range(1, LOOKS + 1) for row in ({"sid": None}, *met)],
        "waiting_sessions": [{**row, "met": len(met)} for row in met],
        "library_cache_sessions": [{**row, "met": len(library)} for row in library],
        **({"v$sga_resize_ops": [{"component": "shared pool", **row} for row in resized]} if resized else {}),
    }


def _waiting(group: Mapping[str, Any], first: int) -> list[dict[str, Any]]:
    """The sessions of a group: who they are, and how long each has waited."""
    waited = round(group.get("seconds", 0) * 1e6)
    return [
        {"sid": first + place, "serial#": 1, "type": "USER", "wait_time_micro": waited}
        for place in range(min(MOST_MET, group.get("sessions", 0)))
    ]
