"""Which figures are followed over time, and how one poll changed them. Contains no SQL."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache, lru_cache

from collectors.model import Changes, Collector, ColumnKind, Delta, Missing, Row, Snapshot, number
from collectors.registry import collectors
from rules.model import Impact

COUNTED = (
    "v$latch_children",
    "v$latch",
    "v$latch_misses",
    "v$rowcache",
    "v$mutex_sleep",
    "v$system_event",
    "v$sys_time_model",
    "v$sysstat",
    "v$osstat",
)
"""Views whose counters are followed."""
LEVELS: Mapping[str, tuple[str, ...]] = {"v$rowcache": ("count", "usage")}
"""Gauges that are followed: kept when they change, and with the first poll of every hour."""
IMPACT = "impact"
"""Our own view: the cost of row cache waits, as a quantity that can be summed (share × seconds, sessions × seconds)."""
IMPACT_COLUMNS = ("share_of_db_time", "waiting_sessions")
_PASSING = ("addr",)
"""Text that changes with a restart and names nothing."""

SampleItem = tuple[str, str, str, bool]
"""View, key (JSON), column, and whether it is a gauge."""
Sample = tuple[SampleItem, float]


def key_of(collector: Collector, row: Row) -> str:
    """The name of a row, as JSON: its key columns, and the text that gives their meaning on this instance."""
    return _encoded(_names_of(collector.view), *_cells(collector, row))


_NO_CELL = object()
"""In place of a cell that a row does not have."""


def _cells(collector: Collector, row: Row) -> tuple[object, ...]:
    return tuple([row.get(name, _NO_CELL) for name in _names_of(collector.view)])


@lru_cache(16384, typed=True)  # 1.0 equals 1, but is written differently
def _encoded(names: tuple[str, ...], *cells: object) -> str:
    """Created once, because the same caches, events and statistics come with every poll of every database."""
    return _ENCODED({name: cell for name, cell in zip(names, cells, strict=True) if cell is not _NO_CELL})


_ENCODED = json.JSONEncoder(separators=(",", ":"), default=str).encode
"""One encoder for every row of every poll. `json.dumps` would create one each time."""


@cache
def _names_of(view: str) -> tuple[str, ...]:
    columns = collectors()[view].columns
    return tuple(c.name for c in columns if c.kind in (ColumnKind.KEY, ColumnKind.TEXT) and c.name not in _PASSING)


def counters_of(collector: Collector) -> tuple[str, ...]:
    """The names of a view's counters."""
    return collector.counters


def changes_of(delta: Delta, impact: Impact | None) -> Iterator[Sample]:
    """Every counter that changed. Zero is left out. The impact comes as share × seconds and sessions × seconds."""
    for view in COUNTED:
        collector = collectors()[view]
        counters = counters_of(collector)
        for row in delta.rows(view):
            changed = [
                (name, float(value)) for name in counters if isinstance(value := row.get(name), (int, float)) and value
            ]
            if changed:
                key = key_of(collector, row)
                yield from [((view, key, name, False), value) for name, value in changed]
    seconds = delta.basis.seconds or 0.0
    for column in IMPACT_COLUMNS:
        value = getattr(impact, column) if impact else None
        if value and seconds:
            yield (IMPACT, "{}", column, False), value * seconds


def levels_of(snapshot: Snapshot, previous: Snapshot | None) -> Iterator[Sample]:
    """Every followed gauge that differs from the previous poll's. All of them at the start of an hour or of a life."""
    anew = previous is None or _hour(previous.taken_at) != _hour(snapshot.taken_at)
    for view, columns in LEVELS.items():
        collector = collectors()[view]
        known = () if anew or previous is None else previous.rows(view)
        before = {_cells(collector, row): row for row in known}
        for row in snapshot.rows(view):
            old = before.get(_cells(collector, row), {})
            for column in columns:
                value = number(row.get(column))
                if value is not None and value != number(old.get(column)):
                    yield (view, key_of(collector, row), column, True), value


def missing_of(delta: Delta, snapshot: Snapshot, impact: Impact | None) -> list[list[str]]:
    """What is unknown, so that its absence is not zero: [view], or [view, key, column] for a single counter."""
    whole = {oddity.view for oddity in delta.oddities if oddity.what in ("vanished", "repeated")}
    missing: list[list[str]] = []
    for view in COUNTED:
        reading = delta.read(view)
        if isinstance(reading, Missing) or view in whole:
            missing.append([view])
        else:
            missing.extend(_untold(collectors()[view], reading, snapshot))
    missing.extend([IMPACT, "{}", c] for c in IMPACT_COLUMNS if impact is None or getattr(impact, c) is None)
    return missing


def _untold(collector: Collector, changes: Changes, snapshot: Snapshot) -> Iterator[list[str]]:
    """Counters that the poll read and whose change is unknown: they fell, wrapped, or are new."""
    counters = counters_of(collector)
    every = frozenset(counters)
    short = [row for row in changes.rows if not row.keys() >= every]
    if not short:
        return
    read = {key_of(collector, row): row for row in snapshot.rows(collector.view)}
    for row in short:
        key = key_of(collector, row)
        lacking = [c for c in counters if c not in row and number(read.get(key, {}).get(c)) is not None]
        yield from ([collector.view, key, name] for name in lacking)


def _hour(at: datetime | None) -> object:
    return None if at is None else (at.date(), at.hour)
