"""A figure that a view or a report prints, and a Delta in which it is another number.

What contains the figure moves with it by the same amount: the sleeps of a child are part of those of the latch, a wait is part of
DB time. A part never exceeds its whole. Nothing else moves.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from collectors.model import (
    ROW_CACHE_LATCH,
    ROW_CACHE_MUTEX_EVENT,
    Changes,
    Delta,
    Row,
    Value,
    number,
)
from rules.cache_map import PARENT_LATCH_GETS, SUBORDINATE_LATCH_GETS, CacheMap, cache_map, identifier
from rules.context import SignalContext, inside_pdb
from rules.contradictions import ROW_CACHE_EVENTS
from rules.memoize import remembered
from rules.signals.instance import PARSING_WAITS
from rules.waits import LATCH_EVENT, WAITING_SESSIONS

SESSIONS = "sessions"
"""Stands for a column: the number of sampled sessions whose columns are as the row says."""
EVENT_TIMES = ("time_waited_micro_fg", "time_waited_micro")


@dataclass(frozen=True, slots=True)
class PrintedFigure:
    """One cell: its view, the columns that name its row, and its column (or SESSIONS)."""

    view: str
    row: tuple[tuple[str, Value], ...]
    column: str

    @property
    def step(self) -> float:
        """The smallest change that is printed."""
        return 0.01 if self.column == "level_now" else 1.0

    def rows(self, delta: Delta) -> Sequence[Row]:
        """The row (for SESSIONS: all rows) that holds the figure."""
        rows: Sequence[Row] = delta.rows(self.view)
        for name, value in self.row:  # one column after the other: a look may have met thousands
            rows = [row for row in rows if row.get(name) == value]
        return rows

    def names(self, row: Row) -> bool:
        """Whether a row is the one (for SESSIONS: one of those) that holds the figure."""
        return all(row.get(name) == value for name, value in self.row)

    def value(self, delta: Delta) -> float | None:
        """The figure in Oracle's unit. None if it was not captured."""
        rows = self.rows(delta)
        if self.column == SESSIONS:
            return float(len(rows)) or None
        return _as_number(rows[0].get(self.column)) if rows else None

    def limits(self, delta: Delta) -> tuple[float, float]:
        """The least and the most that it can be while what it is part of, and what is part of it, stay as they are."""
        return _limits(self, delta)


@remembered
def value_of(context: SignalContext, figure: PrintedFigure) -> float | None:
    """The figure in Oracle's unit. None if it was not captured."""
    return figure.value(context.delta)


@remembered
def in_order(context: SignalContext, figure: PrintedFigure) -> list[Row]:
    """The sessions of a figure, in the order in which they leave or come twice."""
    return _by_look(figure.rows(context.delta))


@remembered
def limits_of(context: SignalContext, figure: PrintedFigure) -> tuple[float, float]:
    """What `PrintedFigure.limits` gives for the Delta of a context."""
    return figure.limits(context.delta)


def _as_number(value: Value) -> float | None:
    """A cell as a number. Numeric parameters are text."""
    if isinstance(value, str):
        return float(value) if value.replace(".", "", 1).isdigit() else None
    return number(value)


TIME_WITHIN: Mapping[str, str] = {
    "hard parse elapsed time": "parse time elapsed",
    "failed parse elapsed time": "parse time elapsed",
    "parse time elapsed": "DB time",
    "connection management call elapsed time": "DB time",
    "sequence load elapsed time": "DB time",
}
"""A time of v$sys_time_model, and the one that contains it."""
COUNT_WITHIN: Mapping[str, str] = {
    "parse count (hard)": "parse count (total)",
    "parse count (failures)": "parse count (total)",
}
WITHIN: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "v$sys_time_model": ("stat_name", TIME_WITHIN),
    "v$sysstat": ("name", COUNT_WITHIN),
}
"""View → the column that names its rows, and which of them contains which."""
AT_MOST: Mapping[str, str] = {"getmisses": "gets", "dlm_conflicts": "dlm_requests"}
"""Columns of v$rowcache, and the column of the same row that they cannot exceed."""


def _limits(figure: PrintedFigure, delta: Delta) -> tuple[float, float]:
    (_, name), *_ = figure.row
    if figure.view == "v$osstat" and name == "BUSY_TIME":
        return 0.0, sum(
            delta.cell("v$osstat", "stat_name", each, "total") or 0.0 for each in ("BUSY_TIME", "IDLE_TIME")
        )
    if figure.view == "v$rowcache" and figure.column in AT_MOST:
        whole = replace(figure, column=AT_MOST[figure.column]).value(delta)
        return 0.0, inf if whole is None else whole
    if figure.view == "v$rowcache" and figure.column in AT_MOST.values():
        parts = [part for part, whole in AT_MOST.items() if whole == figure.column]
        return max(replace(figure, column=part).value(delta) or 0.0 for part in parts), inf
    if figure.view in WITHIN:
        key, within = WITHIN[figure.view]
        inner = (part for part, whole in within.items() if whole == name)
        least = [delta.cell(figure.view, key, part, "value") or 0.0 for part in inner]
        if name == "DB time":  # it includes the waits
            own = [row for row in delta.rows("v$system_event") if row.get("event") in ROW_CACHE_EVENTS]
            least.append(sum(number(row.get(EVENT_TIMES["time_waited_micro_fg" not in row])) or 0.0 for row in own))
        return max(least, default=0.0), inf
    return 0.0, inf


def in_full(row: Row) -> str:
    """A row in words. Rows have no order, and of equal figures always the same one must be taken."""
    return str(sorted(row.items()))


LOOK = ("sample", "sid", "serial#", "sql_id", "module", "wait_time_micro")


def _by_look(rows: Sequence[Row]) -> list[Row]:
    """The order in which sessions leave or come again. Thousands may have been met, so not every column counts."""
    keys = [f"{row.get('sample')}\0{row.get('sid')}\0{row.get('serial#')}" for row in rows]
    if len(set(keys)) < len(keys):
        keys = ["\0".join([str(row.get(name)) for name in LOOK]) for row in rows]
    return [rows[place] for place in sorted(range(len(rows)), key=keys.__getitem__)]


# The Delta with another figure: first the cell itself, then what contains it.


def with_figure(
    delta: Delta,
    figure: PrintedFigure,
    value: float,
    caches: CacheMap | None = None,
    sessions: list[Row] | None = None,
) -> Delta:
    """The Delta as it would be with this value. A figure that was not captured changes nothing.

    `caches` is its map, and `sessions` are the rows of the figure as `in_order` has them, if the caller has them already.
    """
    if figure.column == SESSIONS:
        own = _by_look(figure.rows(delta)) if sessions is None else sessions
        return _with_rows(delta, figure.view, _with_sessions(delta, figure, own, round(value))) if own else delta
    now = figure.value(delta)
    if now is None:
        return delta
    changed = _set(delta, figure.view, figure.names, figure.column, value)
    follow = _FOLLOWING.get(figure.view)
    if follow is None:
        return changed
    return follow(_Move(figure, now, value, cache_map(delta) if caches is None else caches), changed)


@dataclass(frozen=True, slots=True)
class _Move:
    """A figure that became another number."""

    figure: PrintedFigure
    now: float
    value: float
    caches: CacheMap

    @property
    def by(self) -> float:
        """The change, in Oracle's unit."""
        return self.value - self.now

    @property
    def name(self) -> Value:
        """What names its row."""
        return self.figure.row[0][1]


def _with_rows(delta: Delta, view: str, rows: Iterable[Row]) -> Delta:
    reading = delta.read(view)
    assert isinstance(reading, Changes)
    return replace(delta, readings={**delta.readings, view: replace(reading, rows=tuple(rows))})


def _set(delta: Delta, view: str, chosen: Callable[[Row], bool], column: str, value: float) -> Delta:
    def written(row: Row) -> Value:
        return f"{value:g}" if isinstance(row.get(column), str) else value

    rows = [{**row, column: written(row)} if chosen(row) else row for row in delta.rows(view)]
    return _with_rows(delta, view, rows)


def _add(delta: Delta, view: str, key: str, name: Value, column: str, by: float) -> Delta:
    """The Delta with an amount added to a cell, which never falls below zero. The same if it was not captured."""
    if not any(row.get(key) == name and number(row.get(column)) is not None for row in delta.rows(view)):
        return delta
    was = next(number(row.get(column)) or 0.0 for row in delta.rows(view) if row.get(key) == name)
    return _set(delta, view, lambda row: row.get(key) == name, column, max(was + by, 0.0))


def _scaled(delta: Delta, view: str, column: str, factor: float) -> Delta:
    """The Delta with a column of all rows times a factor."""
    rows = delta.rows(view)
    if not rows:
        return delta
    changed = [row if (was := number(row.get(column))) is None else {**row, column: was * factor} for row in rows]
    return _with_rows(delta, view, changed)


def _with_sessions(delta: Delta, figure: PrintedFigure, own: list[Row], wanted: int) -> list[Row]:
    """The rows with as many sessions as wanted: the last of its own leave, or the first come again."""
    rows = delta.rows(figure.view)
    again, rest = divmod(wanted, len(own))
    leaving = {id(row) for row in own[wanted:]}
    kept = [row for row in rows if id(row) not in leaving] if leaving else [*rows, *own * (again - 1), *own[:rest]]
    if figure.view == WAITING_SESSIONS:
        by = wanted - len(own)
        return [row if (met := number(row.get("met"))) is None else {**row, "met": met + by} for row in kept]
    if not leaving:
        return kept
    looks = {row.get("sample") for row in kept}
    return kept + [{"sample": look} for look in dict.fromkeys(row.get("sample") for row in rows) if look not in looks]


# What contains a figure, view by view.


def _latch(move: _Move, delta: Delta) -> Delta:
    """The children have the same parts of the latch as before."""
    if move.name != ROW_CACHE_LATCH or not move.now:
        return delta
    return _scaled(delta, "v$latch_children", move.figure.column, move.value / move.now)


def _rowcache(move: _Move, delta: Delta) -> Delta:
    """Each get of a parent takes three gets of its child latch, one of a subordinate takes one."""
    row = next(row for row in delta.rows("v$rowcache") if move.figure.names(row))
    if move.figure.column != "gets" or row.get("type") is None:
        return delta
    own = identifier(row)
    child = next(
        (
            child
            for child, guarded in move.caches.children.items()
            if any((each.cache_id, each.type, each.subordinate) == own for each in guarded.caches)
        ),
        None,
    )
    if child is None:
        return delta
    gets = move.by * (PARENT_LATCH_GETS if row.get("type") == "PARENT" else SUBORDINATE_LATCH_GETS)
    beside = _add(delta, "v$latch_children", "child#", child, "gets", gets)
    return _add(beside, "v$latch", "name", ROW_CACHE_LATCH, "gets", gets)


def _system_event(move: _Move, delta: Delta) -> Delta:
    """A wait is part of DB time, one of parsing part of the time of parsing. A latch or mutex counts the same wait too."""
    if move.figure.column not in EVENT_TIMES:
        return delta
    if move.figure.column == EVENT_TIMES[0]:
        delta = _add(delta, "v$system_event", "event", move.name, EVENT_TIMES[1], move.by)
    if move.name in PARSING_WAITS:
        delta = _add(delta, "v$sys_time_model", "stat_name", "parse time elapsed", "value", move.by)
    delta = _add(delta, "v$sys_time_model", "stat_name", "DB time", "value", move.by)
    if move.now and not inside_pdb(delta):  # there the wait is that of the PDB, and the latch that of the whole CDB
        factor = move.value / move.now
        if move.name == LATCH_EVENT:
            slept = delta.cell("v$latch", "name", ROW_CACHE_LATCH, "wait_time") or 0.0
            delta = _add(delta, "v$latch", "name", ROW_CACHE_LATCH, "wait_time", slept * (factor - 1))
            delta = _scaled(delta, "v$latch_children", "wait_time", factor)
        elif move.name == ROW_CACHE_MUTEX_EVENT:
            delta = _scaled(delta, "v$mutex_sleep", "wait_time", factor)
    return _parts_fit(delta)


def _containing(move: _Move, delta: Delta) -> Delta:
    """The times and counts of which it is a part, one in the other."""
    view, (key, within) = move.figure.view, WITHIN[move.figure.view]
    whole = within.get(str(move.name))
    while whole is not None:
        delta = _add(delta, view, key, whole, "value", move.by)
        whole = within.get(whole)
    return _parts_fit(delta)


def _parts_fit(delta: Delta) -> Delta:
    """No time of v$sys_time_model exceeds the one that contains it."""
    for part, whole in sorted(TIME_WITHIN.items(), key=lambda pair: pair[1] != "DB time"):
        inner, outer = (delta.cell("v$sys_time_model", "stat_name", name, "value") for name in (part, whole))
        if inner is not None and outer is not None and inner > outer:
            delta = _add(delta, "v$sys_time_model", "stat_name", part, "value", outer - inner)
    return delta


_FOLLOWING: Mapping[str, Callable[[_Move, Delta], Delta]] = {
    "v$latch_children": lambda move, delta: _add(
        delta, "v$latch", "name", ROW_CACHE_LATCH, move.figure.column, move.by
    ),
    "v$latch": _latch,
    "v$rowcache": _rowcache,
    "v$system_event": _system_event,
    "v$sys_time_model": _containing,
    "v$sysstat": _containing,
    # The processors have no more time than there is: what is busy is not idle.
    "v$osstat": lambda move, delta: _add(
        delta, "v$osstat", "stat_name", "IDLE_TIME", "total", -move.by if move.name == "BUSY_TIME" else 0.0
    ),
}
"""View → what contains its figures and moves with them."""
