"""The ordinary interval that every case starts from, and the consequences of the rows that a case states."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

from collectors.delta import between
from collectors.demo.database import ScriptedDatabase
from collectors.demo.load import RESLEEPS, Scenario
from collectors.demo.scenarios import loads, row_caches
from collectors.model import ROW_CACHE_LATCH, ROW_CACHE_MUTEX_EVENT, Changes, ColumnKind, Delta, Row, Value
from collectors.poll import poll
from collectors.registry import collectors
from rules.cache_map import cache_map

SECONDS = 30
SLEEP_US = 900
MOVING = ("gets", "misses", "sleeps", "spin_gets", "wait_time")
SETTINGS = {
    "undo_management": "AUTO",
    "undo_retention": "900",
    "session_cached_cursors": "50",
    "cursor_sharing": "EXACT",
    "result_cache_mode": "MANUAL",
    "optimizer_dynamic_sampling": "2",
}
"""Unchanged settings, as v$parameter shows them."""

_LATCHES = ("latch: row cache objects", "row cache lock", "latch free")
_MUTEXES = (*_LATCHES, ROW_CACHE_MUTEX_EVENT)
_RELEASE_12_2 = tuple(one for one in row_caches()["19"] if not one.name.startswith("dc_realtime"))
ORDINARY_19 = loads()["ordinary-19"]
_ORDINARY_12_2 = replace(
    ORDINARY_19, mutexes={place.replace("[10]", "[13]"): moved for place, moved in ORDINARY_19.mutexes.items()}
)


def _scenario(release: str) -> Scenario:
    version, caches, load, events = {
        "11.2": ("11.2.0.4.0", row_caches()["11.2"], loads()["ordinary"], _LATCHES),
        "12.1": ("12.1.0.2.0", row_caches()["12.1"], loads()["ordinary"], _LATCHES),
        "12.2": ("12.2.0.1.0", _RELEASE_12_2, _ORDINARY_12_2, _MUTEXES),
        "19": ("19.0.0.0.0", row_caches()["19"], ORDINARY_19, _MUTEXES),
    }[release]
    return Scenario(
        name="ordinary",
        release=version,
        about="an ordinary day",
        caches=caches,
        ordinary=load,
        loop=((300, load),),
        parameters=SETTINGS,
        events=events,
        mutexes=events is _MUTEXES,
    )


@cache
def ordinary(release: str) -> Delta:
    """The ordinary 30 seconds of an instance of that release."""
    now = [0.0]
    database = ScriptedDatabase(_scenario(release), datetime(2026, 3, 2, 9, 0, tzinfo=UTC), lambda: now[0])
    earlier = poll("ordinary", database)
    now[0] = SECONDS
    delta = between(earlier, poll("ordinary", database, earlier))
    assert isinstance(delta, Delta)
    return delta


def naming(view: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The members of a stated row that identify it: all keys, else its keys and texts."""
    collector = collectors()[view]
    if _keys(view) <= set(row):
        return {name: row[name] for name in collector.key if name in row}
    return {
        name: value for name, value in row.items() if collector.column(name).kind in (ColumnKind.KEY, ColumnKind.TEXT)
    }


def _keys(view: str) -> set[str]:
    """What a new row must state. A row without a container belongs to the only one."""
    return set(collectors()[view].key) - {"con_id"}


def merged(usual: Delta, view: str, stated: Sequence[Mapping[str, Any]]) -> Changes:
    """The rows of a view, with the stated ones over them. A row that names all its keys may be new."""
    rows = [dict(row) for row in usual.rows(view)]
    for one in stated:
        named = naming(view, one)
        meant = [row for row in rows if all(row.get(name) == value for name, value in named.items())]
        if not meant and _keys(view) <= set(named):
            rows.append(dict(one))
        elif len(meant) == 1:
            meant[0].update(one)
            # A case that states a total alone means the waits of sessions, so the ordinary share of theirs goes.
            for total in ("total_waits", "time_waited_micro"):
                if total in one and f"{total}_fg" not in one:
                    meant[0].pop(f"{total}_fg", None)
        else:
            raise ValueError(f"{view}: {named} names {len(meant)} rows; name one, or a new one by all its keys")
    return Changes(view, tuple(rows))


def followed(delta: Delta, stated: Mapping[str, Sequence[Mapping[str, Any]]]) -> Delta:
    """The Delta with all consequences of what the case states."""
    if not delta.rows("v$latch_children"):
        return _mutexes_followed(delta, stated)
    delta = _with(delta, "v$latch_children", _children(delta, stated))
    sums = {name: sum(_whole(row.get(name)) for row in delta.rows("v$latch_children")) for name in MOVING}
    own = next((one for one in stated.get("v$latch", ()) if one.get("name") == ROW_CACHE_LATCH), {})
    latch = [{**row, **(sums if row.get("name") == ROW_CACHE_LATCH else {})} for row in delta.rows("v$latch")]
    delta = _with(delta, "v$latch", [{**row, **(own if row.get("name") == ROW_CACHE_LATCH else {})} for row in latch])
    delta = _with_event(delta, stated, "latch: row cache objects", sums["sleeps"], sums["wait_time"])
    return _with(delta, "v$latch_misses", _locations(delta, stated, sums["sleeps"]))


def _mutexes_followed(delta: Delta, stated: Mapping[str, Sequence[Mapping[str, Any]]]) -> Delta:
    """Wait times that follow from the sleeps of a mutex location, and the event that follows from all of them."""
    silent = {one["location"] for one in stated.get("v$mutex_sleep", ()) if "wait_time" not in one}
    rows: list[Row] = [
        {**row, "wait_time": _whole(row["sleeps"]) * SLEEP_US} if row["location"] in silent else row
        for row in delta.rows("v$mutex_sleep")
    ]
    delta = _with(delta, "v$mutex_sleep", rows)
    waits, waited = (sum(_whole(row[name]) for row in rows) for name in ("sleeps", "wait_time"))
    return _with_event(delta, stated, ROW_CACHE_MUTEX_EVENT, waits, waited)


def _with_event(
    delta: Delta, stated: Mapping[str, Sequence[Mapping[str, Any]]], name: str, waits: int, waited: int
) -> Delta:
    if name in {one["event"] for one in stated.get("v$system_event", ())}:
        return delta
    others = [row for row in delta.rows("v$system_event") if row.get("event") != name]
    event: Row = {"event": name, "total_waits": waits, "time_waited_micro": waited}
    return _with(delta, "v$system_event", [*others, event])


def _with(delta: Delta, view: str, rows: Sequence[Row]) -> Delta:
    return replace(delta, readings={**delta.readings, view: Changes(view, tuple(rows))})


def _children(delta: Delta, case: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Row]:
    """Children whose gets follow from the dictionary gets, and whose misses and waits follow from their sleeps."""
    stated = {one["child#"]: one for one in case.get("v$latch_children", ())}
    guarded = cache_map(delta).children
    rows: list[Row] = []
    for row in delta.rows("v$latch_children"):
        child = row["child#"]
        assert isinstance(child, int)
        own = stated.get(child, {})
        sleeps = _whole(row["sleeps"])
        follows: dict[str, Value] = {"gets": int(guarded[child].predicted_gets or 0)}
        if "sleeps" in own:
            follows |= {"misses": max(_whole(row["misses"]), sleeps), "wait_time": sleeps * SLEEP_US}
        misses = _whole(own.get("misses", follows.get("misses", row["misses"])))
        follows["spin_gets"] = max(misses - sleeps, 0) + math.ceil(sleeps * RESLEEPS)
        rows.append({**row, **follows, **own})
    return rows


def _locations(delta: Delta, case: Mapping[str, Sequence[Mapping[str, Any]]], sleeps: int) -> list[Row]:
    """Locations as the case gives them, in counts or in shares such as `85 %`. The others share the rest as usual."""
    stated = {one["location"]: one for one in case.get("v$latch_misses", ()) if _own(one)}
    rows: dict[Value, dict[str, Value]] = {
        row["location"]: dict(row) for row in delta.rows("v$latch_misses") if _own(row)
    }
    for column in ("sleep_count", "wtr_slp_count"):
        given = {place: _share(one[column], sleeps) for place, one in stated.items() if column in one}
        usual = {place: _whole(row.get(column, 0)) for place, row in rows.items() if place not in given}
        rest, whole = max(sleeps - sum(given.values()), 0), sum(usual.values()) or 1
        for place, row in rows.items():
            row[column] = given[place] if place in given else rest * usual[place] // whole
    return [*rows.values(), *(row for row in delta.rows("v$latch_misses") if not _own(row))]


def _own(row: Mapping[str, Any]) -> bool:
    """Whether a row of v$latch_misses is about the row cache latch. It is unless the row says otherwise."""
    return bool(row.get("parent_name", ROW_CACHE_LATCH) == ROW_CACHE_LATCH)


def _share(value: int | str, sleeps: int) -> int:
    return round(float(value.removesuffix("%")) / 100 * sleeps) if isinstance(value, str) else value


def _whole(value: object) -> int:
    assert isinstance(value, int | float)
    return int(value)
