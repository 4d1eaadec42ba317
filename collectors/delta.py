"""between(): the only place where totals become changes. Restarts, falls and wraps are named, never clamped."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, lru_cache
from itertools import chain
from operator import ge, sub
from typing import Any

from collectors.grants import ANYBODY, grant, privilege_on
from collectors.model import (
    SCRIPT,
    Basis,
    Changes,
    Collector,
    ColumnKind,
    ConfirmationResult,
    Delta,
    DeltaSource,
    Key,
    LoggedEvent,
    MadeOnRequest,
    Missing,
    NotComparable,
    ObstacleKind,
    Oddity,
    Reading,
    Row,
    Rows,
    Snapshot,
    Value,
    cells,
    number,
)
from collectors.registry import collectors

WRAP = 2**32
OWN_CONNECTION = (
    "give each instance its own connection (SERVICE_NAME with INSTANCE_NAME in its DSN, or a service of one instance)"
)


def between(
    earlier: Snapshot, later: Snapshot, confirmations: Mapping[str, ConfirmationResult] | None = None
) -> Delta | NotComparable:
    """The change from one snapshot to the next of the same instance, with the confirmations that are still valid, or the
    reason why there is none."""
    obstacle = _obstacle(earlier, later)
    if obstacle:
        return obstacle
    assert earlier.taken_at is not None and later.taken_at is not None  # _obstacle has seen to it
    seconds = (later.taken_at - earlier.taken_at).total_seconds()
    basis = Basis("interval", earlier.taken_at, later.taken_at, seconds)
    return _delta(basis, later, earlier, confirmations)


# The rows of an answer as they came, without names: enough to see that all goes on as it did.

LARGEST_COUNT = 2**63


@dataclass(slots=True)
class Cells:
    """The rows of a view in the answer to a group's statement, column by column."""

    view: str
    columns: dict[str, tuple[Any, ...]]
    """The cells of each row by the name of their column. Those that stay are the same objects from poll to poll."""
    sound: bool = False
    """Whether every cell was seen to be as its column can have it, in these rows or in those that they follow."""

    def named(self) -> tuple[Row, ...]:
        """The rows, each by the names of its columns."""
        return _by_name(self.columns)

    @property
    def many(self) -> int:
        """How many rows."""
        return len(next(iter(self.columns.values())))

    @property
    def negative(self) -> bool:
        """Whether a counter is below zero that cannot be."""
        of = collectors()[self.view]
        unsigned = (self.columns.get(name, ()) for name in of.counters if not of.column(name).signed)
        return any(isinstance(cell, int | float) and cell < 0 for cells in unsigned for cell in cells)

    def follow(self, before: "Cells") -> bool:
        """Whether they are the same rows as before, each number is one, and each counter is sound and has not fallen."""
        columns, then = self.columns, before.columns
        if not before.sound or columns.keys() != then.keys():
            return False
        moved = [name for name in columns if columns[name] != then[name]]
        if not _fixed(self.view).isdisjoint(moved):
            return False
        counted = [name for name in moved if name in collectors()[self.view].counters]
        now, was = ([*chain.from_iterable([side[name] for name in counted])] for side in (columns, then))
        if None in now or None in was:
            if [cell is None for cell in now] != [cell is None for cell in was]:
                return False
            now, was = ([cell for cell in each if cell is not None] for each in (now, was))
        levels = chain.from_iterable([columns[name] for name in moved if name not in counted])
        every = [*now, *(cell for cell in levels if cell is not None)]
        self.sound = (
            {*map(type, every)} <= {int, float}
            and (not every or -LARGEST_COUNT <= min(every) <= max(every) <= LARGEST_COUNT)
            and (total := sum(every)) == total  # else one is not a number
            and all(map(ge, now, was))
        )
        if self.sound:
            columns.update({name: then[name] for name in columns.keys() - moved})
        return self.sound

    def risen(self, before: "Cells", name: str) -> Sequence[Any]:
        """A column, a counter as its change since the rows that these follow; NULL where that is unknown."""
        now = self.columns[name]
        if name not in collectors()[self.view].counters:
            return now
        try:
            return [*map(sub, now, before.columns[name])]
        except TypeError:
            return [None if cell is None else cell - was for was, cell in zip(before.columns[name], now, strict=True)]

    def since(self, before: "Cells") -> tuple[Row, ...]:
        """The rows by name, each counter as its change since the rows that these follow, if that is known."""
        told = {name: self.risen(before, name) for name in self.columns}
        unknown = [name for name in collectors()[self.view].counters if None in told.get(name, ())]
        rows = _by_name(told)
        for row in rows:
            for name in unknown:
                if row[name] is None:
                    del row[name]
        return rows


def _by_name(columns: Mapping[str, Sequence[Any]]) -> tuple[dict[str, Any], ...]:
    return tuple([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)])


@lru_cache(4096)
def _same(cells: tuple[str, ...]) -> tuple[str, ...]:
    """One object for all databases that have these names."""
    return cells


@cache
def _fixed(view: str) -> frozenset[str]:
    """The columns that stay while a row is the same: names, texts and times."""
    kinds = (ColumnKind.KEY, ColumnKind.TEXT)
    return frozenset(one.name for one in collectors()[view].columns if one.kind in kinds or one.unit == "date")


@lru_cache(1024)
def _once(views: tuple[str, ...]) -> Mapping[str, None]:
    """The views in order, as one object for all polls that read them."""
    return dict.fromkeys(views)


class Answers(MadeOnRequest[Reading]):
    """The readings of a poll. `of`: the cells of the views that a group gave."""

    def __init__(
        self, known: Mapping[str, Reading], of: Mapping[str, Cells], check: Callable[[str, tuple[Row, ...]], Reading]
    ) -> None:
        """`check`: makes the reading of a view of its rows by name."""
        super().__init__(_once((*known, *of)), self._named, known, of)
        self._check = check

    def _named(self, view: str) -> Reading:
        cells = self.of[view]
        if self.columns(view):  # a level in time, which no view with counters has, has a bound of its own
            return Rows(view, cells.named())
        reading = self._check(view, cells.named())
        whole = isinstance(reading, Rows) and not reading.notes and len(reading.rows) == cells.many
        cells.sound = whole and not cells.negative
        names = ((name, cells.columns[name]) for name in collectors()[view].names & cells.columns.keys())
        cells.columns.update({name: _same(each) for name, each in names if {*map(type, each)} == {str}})
        return reading

    def columns(self, view: str) -> Mapping[str, Sequence[Value]] | None:
        """The cells of a view by column, where nothing has to be mended in them. None of a view that no group gave."""
        cells = self.of.get(view)
        return cells.columns if cells and cells.many and cells.sound and collectors()[view].counters else None

    def release(self) -> None:
        """The same without sessions, whose rows a Delta has too: they are other ones at each poll, and are looked at again."""
        self._made = {view: reading for view, reading in self._made.items() if collectors()[view].momentary}

    def beside(self, more: Mapping[str, Reading]) -> "Answers":
        """The same with these readings, which were asked for by themselves."""
        other = Answers({**self._known, **more}, self.of, self._check)
        other._made = self._made
        return other


def changes_of(delta: Delta, view: str, names: tuple[str, ...]) -> list[tuple[Any, ...]] | None:
    """These cells of each row of a view, those of counters as their changes; NULL where one is unknown. None if it is missing."""
    pair = delta.readings.of.get(view) if isinstance(delta.readings, MadeOnRequest) else None
    if pair is None:
        reading = delta.read(view)
        return cells(reading.rows, names) if isinstance(reading, Changes) else None
    was, now = pair
    return [*zip(*[now.risen(was, name) for name in names], strict=True)]


def _cells(snapshot: Snapshot | None) -> Mapping[str, Cells]:
    return snapshot.readings.of if snapshot and isinstance(snapshot.readings, Answers) else {}


def together(parts: Sequence[Delta]) -> Delta:
    """The changes of intervals that follow each other as one: counters are summed, everything else is as of the last.

    A view or a counter that one of them lacks is missing. What passed between two of them, such as a restart, is in none.
    """
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return last
    seconds = sum(part.basis.seconds or 0.0 for part in parts)
    readings: dict[str, Changes | Missing] = dict(last.readings)
    for view, reading in last.readings.items():
        gap = next((found for part in parts if isinstance(found := part.read(view), Missing)), None)
        collector = collectors()[view]
        if gap is not None:
            readings[view] = gap
        elif isinstance(reading, Changes) and collector.counters:
            readings[view] = replace(reading, rows=_summed_rows(collector, [part.rows(view) for part in parts]))
    basis = Basis("interval", first.basis.begin, last.basis.end, seconds)
    oddities, notes = (
        [*dict.fromkeys(one for part in parts for one in getattr(part, name))] for name in ("oddities", "notes")
    )
    return replace(
        last, basis=basis, readings=readings, oddities=tuple(oddities), notes=tuple(notes), at_begin=first.at_begin
    )


def _summed_rows(collector: Collector, sides: Sequence[Sequence[Row]]) -> tuple[Row, ...]:
    whole: dict[Key, dict[str, Value]] = {}
    for rows in sides:
        for row in rows:
            key = tuple(row.get(name) for name in collector.key)
            known = whole.get(key)
            whole[key] = dict(row)
            for name in collector.counters if known else ():
                before, more = number((known or {}).get(name)), number(row.get(name))
                if before is None or more is None:
                    whole[key].pop(name, None)
                else:
                    whole[key][name] = before + more
    return tuple(whole.values())


def since_startup(snapshot: Snapshot) -> Delta:
    """One snapshot read as the change since instance start; without a known start time, as totals of unknown age."""
    seconds = snapshot.uptime_seconds
    if seconds and snapshot.taken_at and seconds > 0:
        begin = snapshot.taken_at - timedelta(seconds=seconds)
        basis = Basis("since_startup", begin, snapshot.taken_at, seconds)
    else:
        basis = Basis("totals", None, snapshot.taken_at, None)
    return _delta(basis, snapshot, None)


A_SOURCE = {"report": "a report", "alert log": "an alert log", "trace": "a trace file", "views": "a capture"}


def reported(
    database: str,
    release: str | None,
    basis: Basis,
    printed: Mapping[str, Reading],
    notes: tuple[str, ...] = (),
    *,
    dbid: str | None = None,
    lost: str = "",
    source: DeltaSource = "report",
    events: tuple[LoggedEvent, ...] = (),
) -> Delta:
    """The interval of a report or a log file as a Delta. Its counters are differences already, and it has few views.

    `printed` has the views that the file has rows of. Any other view is missing, and the script is the way out. `events`: what
    a log file says happened.
    """
    oddities: list[Oddity] = []
    readings = {
        view: _printed(
            collector,
            printed.get(view)
            or Missing(collector.view, "unread", f"{A_SOURCE[source]} does not hold {collector.view}", SCRIPT),
            oddities,
        )
        for view, collector in collectors().items()
    }
    return Delta(
        database,
        release,
        basis,
        readings,
        tuple(oddities),
        source=source,
        events=events,
        notes=notes,
        dbid=dbid,
        lost=lost,
    )


def _printed(collector: Collector, reading: Reading, oddities: list[Oddity]) -> Changes | Missing:
    """Rows of a report. Some sections print no key at all (of a dictionary cache only the name), so names tell rows apart."""
    if isinstance(reading, Missing):
        return reading
    by_key = keyed(collector, reading, [_printed_key(collector, row) for row in reading.rows], oddities)
    if isinstance(by_key, Missing):
        return by_key
    rows = [_totals(collector, key, row, oddities) for key, row in by_key.items()]
    return Changes(collector.view, tuple(rows), reading.notes)


def _printed_key(collector: Collector, row: Row) -> Key:
    key = tuple(row[name] for name in collector.key if name in row)
    return key or tuple(
        row[column.name] for column in collector.columns if column.kind is ColumnKind.TEXT and column.name in row
    )


def _obstacle(earlier: Snapshot, later: Snapshot) -> NotComparable | None:
    def because(why: str, way_out: str, kind: ObstacleKind = "not_comparable") -> NotComparable:
        return NotComparable(later.database, later.release, why, way_out, kind=kind)

    if earlier.database != later.database:
        why = f"one snapshot is of {earlier.database}, the other of {later.database}"
        return because(why, "compare snapshots of one database")
    was, now = earlier.instance.get("instance_number"), later.instance.get("instance_number")
    if was != now and was is not None and now is not None:
        why = f"the session was on instance {was} of the cluster and is on instance {now} now, which counts for itself"
        return because(why, OWN_CONNECTION)
    started, before = later.startup_time, earlier.startup_time
    if earlier.taken_at is None or later.taken_at is None:
        opening = privilege_on("sys.v_$instance", later.release)
        return because("a snapshot has no time", f"{opening}, which brings the database's clock")
    if later.taken_at <= earlier.taken_at:
        return because("the later snapshot is not later by the database's clock", "wait for the next poll")
    if before is None or started is None:
        opening = privilege_on("sys.v_$instance", later.release)
        return because("no startup_time, so a restart would go unseen", opening)
    if started != before:
        why = f"the instance restarted (started {before}, now {started}); counters began again"
        return because(why, "wait for the second poll after the restart", "restart")
    if earlier.release != later.release:
        return because(f"the release changed from {earlier.release} to {later.release}", "wait for the next poll")
    return None


def _delta(
    basis: Basis,
    later: Snapshot,
    earlier: Snapshot | None,
    confirmations: Mapping[str, ConfirmationResult] | None = None,
) -> Delta:
    oddities: list[Oddity] = []

    def changes(view: str) -> Changes | Missing:
        collector = collectors()[view]
        if collector.counters and view in going_on:
            before_cells, cells = going_on[view]
            return Changes(view, cells.since(before_cells))
        after = later.readings.get(view)
        if after is None or isinstance(after, Missing):
            return after or _not_captured(collector, later.release)
        before = None if earlier is None or collector.momentary or collector.sampled else earlier.read(view)
        return _changes(collector, before, after, oddities)

    were = _cells(earlier)
    seen = {view: (were[view], after) for view, after in _cells(later).items() if view in were}
    going_on = {view: pair for view, pair in seen.items() if pair[1].follow(pair[0])}
    alike = {*going_on, *(view for view in later.readings if earlier and _carried_over(view, earlier, later))}
    known = {view: changes(view) for view in collectors() if view in later.readings and view not in alike}
    began = {
        view: Changes(view, before.rows, before.notes, before.read_at)
        for view in later.readings
        if earlier is not None and collectors()[view].momentary and isinstance(before := earlier.read(view), Rows)
    }
    rest = {*later.readings, *(earlier.readings if earlier else ())} - alike
    lasting = [one for view in rest if not ((one := collectors()[view]).momentary or one.sampled or one.on_request)]
    return Delta(
        later.database,
        later.release,
        basis,
        MadeOnRequest(collectors(), changes, known, going_on),
        tuple(oddities),
        confirmations or {},
        at_begin=began,
        missing=frozenset(one.view for one in lasting if isinstance(known.get(one.view), Missing)),
        steady=earlier is not None
        and not oddities
        and all(
            one.view not in seen and _same_rows(one, earlier.read(one.view), later.read(one.view)) for one in lasting
        ),
    )


def _carried_over(view: str, earlier: Snapshot, later: Snapshot) -> bool:
    """Whether a poll has the very rows of the one before, which were looked through then."""
    if view in _cells(later):
        return False
    before, after = earlier.readings.get(view), later.readings[view]
    return isinstance(before, Rows) and isinstance(after, Rows) and before.rows is after.rows


def _same_rows(collector: Collector, before: Reading, after: Reading) -> bool:
    """Whether a view has the rows that it had, or gives nothing for the reason that it had."""
    if isinstance(before, Missing) or isinstance(after, Missing):
        return isinstance(before, Missing) and isinstance(after, Missing) and before.kind == after.kind
    return keys_of(collector, before) == keys_of(collector, after)


def _not_captured(collector: Collector, release: str | None) -> Missing:
    """A view that the source does not have, and what it takes to get it."""
    needs = f"; it needs: {grant(collector, ANYBODY, release=release)}" if collector.granted_on else ""
    return Missing(
        collector.view, "unread", f"{collector.view} was not read", f"capture {collector.view} as well{needs}"
    )


def _changes(collector: Collector, before: Reading | None, after: Rows, oddities: list[Oddity]) -> Changes | Missing:
    if isinstance(before, Missing):
        return _missing_before(before)
    if not after.rows and (before is None or not before.rows):
        return Changes(collector.view, (), after.notes, after.read_at)
    new = keyed(collector, after, keys_of(collector, after), oddities)
    if isinstance(new, Missing):
        return new
    if before is None:
        rows = [_totals(collector, key, row, oddities) for key, row in new.items()]
        return Changes(collector.view, tuple(rows), after.notes, after.read_at)
    earlier: Sequence[Row | None] = tuple(new.values())
    if before.rows is not after.rows:
        earlier, keys = before.rows, keys_of(collector, before)
        if keys != list(new):  # seldom: nearly always rows at the same place belong together
            old = keyed(collector, before, keys, oddities)
            if isinstance(old, Missing):
                return _missing_before(old)
            if collector.counters:
                gone = old.keys() - new.keys()
                oddities.extend(Oddity(collector.view, key, "", "vanished", None, None) for key in gone)
            earlier = [old.get(key) for key in new]
    if not collector.counters:
        return Changes(collector.view, tuple(new.values()), after.notes, after.read_at)
    pairs = zip(new.items(), earlier, strict=True)
    rows = [_change(collector, key, was, row, oddities) for (key, row), was in pairs]
    return Changes(collector.view, tuple(rows), after.notes)


def _missing_before(before: Missing) -> Missing:
    why = f"{before.view} was missing at the start of the interval ({before.why})"
    return Missing(before.view, before.kind, why, before.way_out)


def keys_of(collector: Collector, reading: Rows) -> list[Key]:
    return list(zip(*[[row.get(name) for row in reading.rows] for name in collector.key], strict=True))


def keyed(collector: Collector, reading: Rows, keys: list[Key], oddities: list[Oddity]) -> Mapping[Key, Row] | Missing:
    """Rows by key. A key that repeats unexpectedly makes the whole view missing.

    Such rows mean that the release tells rows apart by a column we do not read. It is unknown which row is meant and whether the
    others are whole, so a zero or a part would pass for a figure. Every reader of a view checks for Missing first.
    """
    if collector.repeats == "kept" or collector.momentary:  # sessions of a look, events
        keys = [(*key, place) for place, key in enumerate(keys)]
    found = dict(zip(keys, reading.rows, strict=True))
    if len(found) == len(keys):
        return found
    grouped: dict[Key, list[Row]] = {}
    for key, row in zip(keys, reading.rows, strict=True):
        grouped.setdefault(key, []).append(row)
    if collector.repeats != "sum":
        figures = any(column.kind in (ColumnKind.COUNTER, ColumnKind.GAUGE) for column in collector.columns)
        repeated = [
            key for key, rows in grouped.items() if rows[1:] and (figures or any(row != rows[0] for row in rows))
        ]
        if repeated:
            oddity = Oddity(collector.view, min(repeated, key=str), "", "repeated", None, None)
            oddities.append(oddity)
            cure = f"look at these rows of {collector.view} and report which column tells them apart"
            return Missing(collector.view, "failed", str(oddity), cure)
    return {key: rows[0] if len(rows) == 1 else _summed(collector, rows) for key, rows in grouped.items()}


def _summed(collector: Collector, rows: list[Row]) -> Row:
    """Rows of one key as one. Figures are added; a figure that one row lacks, or has corrupt, is unknown."""
    whole: dict[str, Value] = {}
    for column in collector.columns:
        cells = [row.get(column.name) for row in rows]
        known = [cell for cell in cells if isinstance(cell, int | float)]
        if column.kind not in (ColumnKind.COUNTER, ColumnKind.GAUGE):
            known_cells = [cell for cell in cells if cell is not None]
            whole[column.name] = max(known_cells, key=lambda cell: (number(cell) or 0.0, str(cell)), default=None)
        elif len(known) < len(cells):
            whole[column.name] = None
        else:
            corrupt = min(known) if min(known) < 0 and not column.signed else None
            whole[column.name] = sum(known) if corrupt is None else corrupt
    return {name: value for name, value in whole.items() if any(name in row for row in rows)}


def _totals(collector: Collector, key: Key, row: Row, oddities: list[Oddity]) -> Row:
    kept = dict(row)
    for name in collector.counters:
        total = number(row.get(name))
        if total is not None and total < 0:
            oddities.append(Oddity(collector.view, key, name, "negative", None, row[name]))
            del kept[name]
    return kept


def _change(collector: Collector, key: Key, old: Row | None, new: Row, oddities: list[Oddity]) -> Row:
    kept = dict(new)
    totals: Mapping[str, Any] = old or {}
    for name in collector.counters:
        if name not in new:
            continue
        # Nearly each of the hundreds of cells of a poll is a number that did not fall; to ask each for its type costs more.
        after: Any = new[name]
        try:
            before = totals[name]
            if 0 <= before <= after:
                kept[name] = after - before
                continue
        except (KeyError, TypeError):
            pass
        change = _difference(collector, key, name, old, new, oddities)
        if change is None:
            del kept[name]
        else:
            kept[name] = change
    return kept


def _difference(collector: Collector, key: Key, name: str, old: Row | None, new: Row, oddities: list[Oddity]) -> Value:
    """later − earlier, or None with an Oddity (or with a NULL or absent cell, which needs none)."""
    after = new[name]
    before = old.get(name) if old is not None else (0 if collector.starts_at_zero else None)
    if not isinstance(after, int | float) or not isinstance(before, int | float):
        return None
    if (after < 0 or before < 0) and not collector.column(name).signed:
        oddities.append(Oddity(collector.view, key, name, "negative", before, after))
        return None
    if after < before:
        # A 32-bit counter that wrapped was near the top before, and is not far past zero after.
        wrapped = WRAP // 2 <= before < WRAP and after < WRAP // 2 and before - after > WRAP // 2
        oddities.append(Oddity(collector.view, key, name, "wrapped" if wrapped else "fell", before, after))
        return None
    return after - before
