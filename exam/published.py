"""Published incidents as questions: the figures of published.yaml, on an ordinary instance of the generator.

A page prints a few figures. They are taken as they are. Everything else is an ordinary instance whose work is scaled to what
the page's DB time leaves for it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from collectors.model import Rows, Snapshot
from exam.printed import changes, rows
from tests.truth.dice import Dice
from tests.truth.instance import ordinary
from tests.truth.outcome import come_out
from tests.truth.recording import snapshots
from tests.truth.releases import releases

FILE = Path(__file__).with_name("published.yaml")
GROWS = (
    "v$system_event",
    "v$sys_time_model",
    "v$sysstat",
    "v$rowcache",
    "v$latch",
    "v$latch_misses",
    "v$latch_children",
)
"""Views whose counters go with the work of the instance."""
LEAST, MOST = 0.01, 100.0
"""Bounds of the scale, so that some ordinary work remains and none runs away."""
LOOKS = 10
MOST_MET = 60
"""Sessions that one look shows at most."""
Change = Callable[[dict[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class Incident:
    """One published incident. Waits are (count, seconds); `times` are seconds; `holders` are (sleeps, waiter sleeps)."""

    id: str
    source: str
    says: str
    """The verdict of its author, in our words."""
    assumed: str
    """What the page leaves out and the question needs."""
    release: str
    kinds: tuple[str, ...]
    causes: tuple[str, ...]
    incident: str
    prints: str | None = None
    """The release that a report prints, if it is not the instance's own."""
    seconds: float = 3600.0
    db_time: float | None = None
    cluster: bool = False
    relatives: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()
    wait: str | None = None
    waits: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)
    work: Mapping[str, int] = field(default_factory=dict)
    lookups: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    latches: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    sleeps: Mapping[str, int] = field(default_factory=dict)
    """Sleeps of the child latch that guards a cache."""
    holders: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    mutexes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Sleeps and milliseconds waited, by location."""
    sessions: tuple[Mapping[str, Any], ...] = ()
    """Groups of waiting sessions: event, cache, p3, how many, seconds waited, and the blocker if one is known."""
    library: tuple[Mapping[str, Any], ...] = ()
    """Groups of sessions that wait for library cache lock: p3, how many, seconds waited."""
    resizes: tuple[tuple[str, int, int], ...] = ()
    full: str | None = None
    """The release with its update."""


@cache
def incidents() -> tuple[Incident, ...]:
    """Every published incident of the exam."""
    told: list[dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    tuples = {"kinds", "causes", "relatives", "caches", "sessions", "library", "resizes"}
    members: list[dict[str, Any]] = [
        {name: tuple(value) if name in tuples else value for name, value in one.items()} for one in told
    ]
    return tuple(Incident(**one) for one in members)


def staged(incident: Incident, edition: int) -> tuple[Snapshot, Snapshot]:
    """The begin and the end of the interval. Another edition draws another ordinary instance around the page's figures."""
    dice = Dice(edition, *incident.id.encode())
    release = releases()[incident.release]
    it = ordinary(dice, release, 16, "medium", cluster=incident.cluster, seconds=incident.seconds)
    begin, end = snapshots(come_out(it))
    if incident.db_time:
        end = _scaled(begin, end, incident)
    views = {name: [dict(row) for row in rows(end, name)] for name in end.readings if rows(end, name)}
    _grow(begin, views, "v$system_event", "event", {name: _wait(*given) for name, given in incident.waits.items()})
    seconds = {**incident.times, **({"DB time": incident.db_time} if incident.db_time else {})}
    _grow(begin, views, "v$sys_time_model", "stat_name", {k: {"value": round(v * 1e6)} for k, v in seconds.items()})
    _grow(begin, views, "v$sysstat", "name", {name: {"value": value} for name, value in incident.work.items()})
    _grow(begin, views, "v$rowcache", "parameter", incident.lookups, lambda row: row["subordinate#"] is None)
    _grow(begin, views, "v$latch", "name", incident.latches)
    held = {place: {"sleep_count": own, "wtr_slp_count": other} for place, (own, other) in incident.holders.items()}
    slept = {place: {"sleeps": count, "wait_time": ms * 1000} for place, (count, ms) in incident.mutexes.items()}
    fixed: dict[str, dict[str, Any]] = {
        "v$latch_misses": {"parent_name": "row cache objects", "nwfail_count": 0, "longhold_count": 0},
        "v$mutex_sleep": {"mutex_type": "Row Cache"},
    }
    for view, given in (("v$latch_misses", held), ("v$mutex_sleep", slept)):
        if given:
            views[view] = [dict(row) for row in rows(begin, view)]
            _grow(begin, views, view, "location", given, new=fixed[view])
    children = {release.cache(name).child: count for name, count in incident.sleeps.items()}
    _grow(begin, views, "v$latch_children", "child#", {child: {"sleeps": count} for child, count in children.items()})
    if incident.full:
        views["v$instance"][0]["version_full"] = incident.full
    return begin, _with_sessions(replace(end, readings={**end.readings, **_rows(views)}), incident, release)


def _wait(count: int, seconds: float) -> dict[str, int]:
    waited = round(seconds * 1e6)
    return {
        "total_waits": count,
        "total_waits_fg": count,
        "total_timeouts": 0,
        "time_waited_micro": waited,
        "time_waited_micro_fg": waited,
    }


def _scaled(begin: Snapshot, end: Snapshot, incident: Incident) -> Snapshot:
    """The end with as much ordinary work as fits into the DB time that the page's own waits leave."""
    usual = next(moved for row, moved in changes(begin, end, "v$sys_time_model") if row["stat_name"] == "DB time")
    assert incident.db_time is not None
    left = incident.db_time - sum(seconds for _, seconds in incident.waits.values())
    factor = min(MOST, max(LEAST, left / (usual["value"] / 1e6)))
    readings = dict(end.readings)
    for view in GROWS:
        scaled = []
        for row, moved in changes(begin, end, view):
            counted = {name: value for name, value in moved.items() if name not in ("count", "usage", "fixed")}
            fewer = {name: round(float(str(row[name])) - value * (1 - factor)) for name, value in counted.items()}
            scaled.append({**row, **fewer})
        if scaled:
            readings[view] = Rows(view, tuple(scaled))  # type: ignore[arg-type]
    return replace(end, readings=readings)


def _grow(
    begin: Snapshot,
    views: dict[str, list[dict[str, Any]]],
    view: str,
    key: str,
    given: Mapping[Any, Mapping[str, float]],
    only: Change = lambda row: True,
    new: Mapping[str, Any] | None = None,
) -> None:
    """Let these rows grow by exactly the given numbers between begin and end."""
    for name, by in given.items():
        old = next((row for row in rows(begin, view) if row[key] == name and only(dict(row))), {})
        row = next((row for row in views.setdefault(view, []) if row[key] == name and only(row)), None)
        if row is None:
            row = {**(new or {}), key: name}
            views[view].append(row)
        for column, change in by.items():
            row[column] = change if column in ("count", "usage") else int(old.get(column) or 0) + change  # type: ignore[call-overload]


def _rows(views: Mapping[str, list[dict[str, Any]]]) -> dict[str, Rows]:
    return {name: Rows(name, tuple(made)) for name, made in views.items()}


def _with_sessions(end: Snapshot, incident: Incident, release: Any) -> Snapshot:
    """The waiting sessions that looks met, those that still wait at the end, and those of the library cache."""
    met = [session for group in incident.sessions for session in _sessions(group, release)]
    looks: list[dict[str, Any]] = []
    for look in range(1, LOOKS + 1):
        looks.append({"sample": look, "sid": None})
        looks += [{"sample": look, **session} for session in met]
    waiting = [{**session, "met": len(met)} for session in met]
    library = [
        {
            "sid": 7000 + 100 * number + place,
            "serial#": 1,
            "event": "library cache lock",
            "p1raw": f"{0x0700011807C00000 + number * 0xA0:016X}",
            "p3": group["p3"],
            "type": "USER",
            "wait_time_micro": round(group["seconds"] * 1e6),
        }
        for number, group in enumerate(incident.library)
        for place in range(min(MOST_MET, group["sessions"]))
    ]
    library = [{**row, "met": len(library)} for row in library]
    views = {"v$session": looks, "waiting_sessions": waiting, "library_cache_sessions": library}
    if incident.resizes:
        views["v$sga_resize_ops"] = [
            {
                "component": "shared pool",
                "oper_type": kind,
                "initial_size": before,
                "final_size": after,
                "start_time": f"2025-03-11 09:{58 - 2 * place}:10",
            }
            for place, (kind, before, after) in enumerate(incident.resizes)
        ]
    return replace(end, readings={**end.readings, **_rows(views)})


def _sessions(group: Mapping[str, Any], release: Any) -> list[dict[str, Any]]:
    """A group of alike sessions. A latch is named by the address of its child, the others by the id of the cache."""
    cache = release.cache(group["cache"])
    latch = group["event"].startswith("latch")
    first = 0x0700011807B00000 + cache.child * 0xA0 if latch else cache.id
    blocker = group.get("blocker")
    return [
        {
            "sid": 5000 + 7 * place,
            "serial#": 11 + place,
            "event": group["event"],
            "p1": first,
            "p1raw": f"{first:016X}",
            "p2": group.get("p2", 0),
            "p3": group.get("p3", 3),
            "program": group.get("program", "JDBC Thin Client"),
            "module": group.get("module", "JDBC Thin Client"),
            "username": "APP",
            "type": "USER",
            "sql_id": None,
            "con_id": 0,
            "blocking_instance": 1 if blocker else None,
            "blocking_session": blocker,
            "final_blocking_instance": 1 if blocker else None,
            "final_blocking_session": blocker,
            "wait_time_micro": round(group.get("seconds", 0.1) * 1e6),
        }
        for place in range(min(MOST_MET, group["sessions"]))
    ]
