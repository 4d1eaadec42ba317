"""poll(): every collector once, over one connection, into one Snapshot. A refused view costs only that view.

`GroupFallback` decides which views one statement reads together, and which are read one by one for a while.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Protocol

from collectors.delta import Answers, Cells, keyed, keys_of
from collectors.errors import SessionError, StatementError, ViewRefused, cut
from collectors.grants import ANYBODY, grant
from collectors.model import (
    LONGEST_NAME,
    Binds,
    Collector,
    ColumnKind,
    Cost,
    Missing,
    Reading,
    Row,
    Rows,
    Snapshot,
    Value,
    text,
)
from collectors.registry import Group, GroupText, collectors, groups, under_older_name
from collectors.release import parts, text_for

# Which groups one statement reads on a database, and which groups have their views read one by one for a while.

log = logging.getLogger("latchscope.poll")

ASIDE_SECONDS = 3600.0
"""How long the statement of a group is not sent after it was refused, failed or was slow."""
SLOW_SECONDS = 1.0
"""A group that takes longer is slow. On a healthy instance its views take a fraction of this one by one."""
SLOW_IN_A_ROW, REST_SECONDS = 3, 600.0
"""A view that was too slow this many times is read again only after this time. Otherwise each poll could cost a login."""


class Grouping:
    """The groups of one database, and its views that are too slow. It outlives the sessions."""

    def __init__(self, database: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._groups = sorted(groups().values(), key=lambda group: -len(group.views))
        self._until: dict[str, float] = {}
        self._aside: dict[str, Missing] = {}
        self._slow: dict[str, tuple[int, float, str]] = {}

    def usable(self) -> list[Group]:
        """The groups that one statement reads now, those of most views first: a view may be in several."""
        now = self._clock()
        return [group for group in self._groups if self._until.get(group.name, now) <= now]

    def set_aside(self, group: Group, error: str | StatementError | SessionError) -> None:
        """Do without the statement of a group for an hour, so that a problem of one view costs only that view.

        An optional view goes with all its groups, so that it costs one statement an hour where it is not granted.
        """
        why, until = str(error), self._clock() + ASIDE_SECONDS
        self._until[group.name] = until
        for view in group.views:
            if collectors()[view].optional:
                self._until |= {other.name: until for other in groups().values() if view in other.views}
                self._aside[view] = _set_aside(collectors()[view], error)
        log.info(
            "%s: the views of the group %s are not asked for together for an hour: %s", self._database, group.name, why
        )

    def left_out(self, view: str) -> Missing | None:
        """What stands for an optional view while its groups are set aside. None if it is read."""
        held, now = self._aside.get(view), self._clock()
        if held is None:
            return None
        aside = any(self._until.get(group.name, now) > now for group in groups().values() if view in group.views)
        return held if aside else None

    def resting(self, view: str) -> str | None:
        """Why a view is not read now, in one line. None if it is."""
        times, until, why = self._slow.get(view, (0, 0.0, ""))
        if times < SLOW_IN_A_ROW or until <= self._clock():
            return None
        return f"{view} was too slow {times} times in a row and is read only every {REST_SECONDS / 60:g} minutes: {why}"

    def was_slow(self, view: str, why: str) -> None:
        """Note that a view did not answer in time. v$instance is read every time: without it nothing can be diagnosed."""
        times = self._slow.get(view, (0, 0.0, ""))[0] + 1
        if view != "v$instance":
            self._slow[view] = (times, self._clock() + REST_SECONDS, why)
        if times == SLOW_IN_A_ROW:
            log.warning("%s: %s", self._database, self.resting(view))

    def was_quick(self, view: str) -> None:
        """Note that it answered in time."""
        self._slow.pop(view, None)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one statement: column names in lower case, rows in that order, and its network cost."""

    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]]
    round_trips: int = 1
    seconds: float | None = None
    """Time from the request to its last row, measured by the driver. None if it was not measured."""

    def as_rows(self) -> tuple[Row, ...]:
        """The rows, each by the names of its columns."""
        return tuple([dict(zip(self.columns, cells, strict=True)) for cells in self.rows])


class Connection(Protocol):
    """One session on one database: a real one (`collectors.oracle`) or a scripted one (`collectors.demo.database`)."""

    def query(self, sql: str, binds: Binds) -> Answer:
        """Run one statement and fetch all its rows.

        Raises ViewRefused or StatementError if only this statement failed, SessionError if the session is lost.
        """
        ...

    def close(self) -> None:
        """Close the session; never raises."""
        ...


def poll(
    database: str,
    connection: Connection,
    previous: Snapshot | None = None,
    clock: Callable[[], float] = time.perf_counter,
    grouping: Grouping | None = None,
) -> Snapshot:
    """Read every view once, by groups of views where `grouping` has them. Views that never or hardly ever change come
    from `previous`.

    Raises SessionError if the session is lost. Any other failure is a reading.
    """
    return _Poll(connection, previous, clock, grouping).snapshot_of(database)


@dataclass(slots=True)
class _Poll:
    """One poll in progress: what it asks, and what it has read so far."""

    connection: Connection
    previous: Snapshot | None
    """The poll before, once v$instance shows that it was of the same life of the instance. Else None."""
    clock: Callable[[], float]
    grouping: Grouping | None
    readings: dict[str, Reading] = field(default_factory=dict)
    cells: dict[str, Cells] = field(default_factory=dict)
    """What groups gave. The rows get their names when somebody asks for them."""
    costs: dict[str, Cost] = field(default_factory=dict)
    taken_at: datetime | None = None
    """The database's clock at the start of the poll, as UTC."""

    def snapshot_of(self, database: str) -> Snapshot:
        """Every view, each group after the views it needs. A group is read only if all its views are due."""
        together = self.grouping.usable() if self.grouping else []
        grouped = frozenset[str]().union(*(group.views for group in together))
        self._read_patiently(collectors()["v$instance"])
        if self.previous is not None and not same_life(_instance_row(self.readings), self.previous.instance):
            self.previous = None
        moment = _instance_row(self.readings).get("taken_at")
        if isinstance(moment, datetime) and moment.tzinfo is None:
            self.taken_at = moment.replace(tzinfo=UTC)
        for collector in _asked():
            if (known := _carried_over(collector, self.previous, self.taken_at)) is not None:
                self.readings[collector.view] = known
            elif collector.view not in grouped and not self._read(collector.view):
                self._read_patiently(collector)
        for group in together:
            if not any(map(self._read, group.views)):
                self._read_together(group)
        for collector in _asked():
            if not self._read(collector.view):
                self._read_patiently(collector)
        release = release_of_login(self.connection)
        read = Answers(self.readings, self.cells, lambda view, rows: sound(collectors()[view], rows))
        return Snapshot(database, self.taken_at, read, self.costs, release)

    def _read(self, view: str) -> bool:
        return view in self.readings or view in self.cells

    def _read_patiently(self, collector: Collector) -> None:
        """One view by its own statement, unless it has been too slow repeatedly. Raises SessionError."""
        view, grouping = collector.view, self.grouping
        if grouping is None:
            return self._read_alone(collector)
        if (left_out := grouping.left_out(view)) is not None:
            self.readings[view] = left_out
            return None
        if (why := grouping.resting(view)) is not None:
            self.readings[view] = Missing(view, "failed", why, "find out why it is slow; the other views go on")
            return None
        began = self.clock()
        try:
            self._read_alone(collector)
        except SessionError as error:
            if self.clock() - began > SLOW_SECONDS:
                grouping.was_slow(view, str(error))
            raise
        reading = self.readings[view]
        if isinstance(reading, Missing) and reading.kind == "failed" and self.clock() - began > SLOW_SECONDS:
            grouping.was_slow(view, reading.why)
        elif isinstance(reading, Rows):
            grouping.was_quick(view)
        return None

    def _read_alone(self, collector: Collector) -> None:
        """One view by its own statement. One that is optional and was refused is not asked again before the next start."""
        view, readings = collector.view, self.readings
        if collector.optional and self.previous is not None:
            before = self.previous.readings.get(view)
            if isinstance(before, Missing) and before.kind == "refused":
                readings[view] = before
                return
        began = self.clock()
        readings[view], answer = read_view(collector, self.connection, readings)
        if collector.formerly and self.previous is None:  # once after each start of the instance
            refused = readings[view]
            if isinstance(refused, Missing) and refused.kind == "refused":
                reading, answer = read_view(collector, self.connection, readings, formerly=True)
                readings[view] = refused if answer is None else reading
        if answer is not None:
            self.costs[view] = _cost(answer, self.clock() - began)

    def _read_together(self, group: Group) -> None:
        """The views of a group by one statement, the cost under the group's name. Nothing if they must be read otherwise."""
        statement = group.text(text(_instance_row(self.readings).get("version")))
        binds = _binds_of(group, self.readings)
        if statement is None or isinstance(binds, Missing) or self.grouping is None:
            return
        began = self.clock()
        try:
            answer = self.connection.query(statement.sql, binds)
        except StatementError as error:
            self.grouping.set_aside(group, error)
            return
        except SessionError as error:
            self.grouping.set_aside(group, error)  # the group may have cost the session
            raise
        self.costs[group.name] = cost = _cost(answer, self.clock() - began)
        if cost.seconds > SLOW_SECONDS:
            self.grouping.set_aside(group, f"it took {cost.seconds:.1f} s")
        of_view = parted(statement, answer.rows) if answer.columns == statement.columns else None
        if of_view is None:
            self.grouping.set_aside(group, "the answer has other columns, or rows of other views, than were asked for")
            return
        self.cells |= of_view


@cache
def _asked() -> tuple[Collector, ...]:
    """The statements of a poll, in order."""
    return tuple(collector for collector in collectors().values() if not (collector.sampled or collector.on_request))


def release_of_login(connection: Connection) -> str | None:
    """The release that the server reported at login. None if the connection does not know it."""
    release = getattr(connection, "release", None)
    return release if isinstance(release, str) else None


def parted(statement: GroupText, rows: Iterable[Sequence[Value]]) -> dict[str, Cells] | None:
    """The rows of a group's answer by view. None if a row is of no such view."""
    found: dict[Value, list[Sequence[Value]]] = {view: [] for view in statement.views}
    for row in rows:
        of = found.get(row[0])
        if of is None:
            return None
        of.append(row)
    parts = {}
    for view, columns in statement.views.items():  # most cells of a row are NULL, for it has the columns of all views
        cells = [*zip(*found[view], strict=True)]
        parts[view] = Cells(view, {name: cells[place] for name, place in columns} if cells else _no_rows(columns))
    return parts


@lru_cache(256)
def _no_rows(columns: tuple[tuple[str, int], ...]) -> dict[str, tuple[Value, ...]]:
    """Of a view without rows, which many have at each poll."""
    return {name: () for name, _ in columns}


def _binds_of(group: Group, readings: Mapping[str, Reading]) -> Binds | Missing:
    """The binds of all views of a group, or why one of them is not to be asked."""
    binds: dict[str, Value] = {}
    for view in group.views:
        wanted = collectors()[view].binds
        found = wanted(readings) if wanted else {}
        if isinstance(found, Missing):
            return found
        binds |= found
    return binds


def _cost(answer: Answer, elapsed: float) -> Cost:
    """The cost of an answer. `elapsed` may include a wait of our own thread, so the driver's own time counts."""
    seconds = elapsed if answer.seconds is None else answer.seconds
    return Cost(seconds, len(answer.rows), answer.round_trips)


def _carried_over(collector: Collector, previous: Snapshot | None, now: datetime | None) -> Reading | None:
    """The reading of the poll before, of a view that cannot have changed since or that is not due yet.

    `previous`: of the same life of the instance.
    """
    if previous is None or not (collector.once or collector.every_seconds or collector.unneeded):
        return None
    known = previous.readings.get(collector.view)
    if isinstance(known, Missing) and known.kind == "not_asked" and collector.unneeded:
        return known  # an instance does not change what guards its row cache
    if not isinstance(known, Rows):
        return None
    if collector.once:
        return known
    read_at = known.read_at or previous.taken_at
    if collector.every_seconds is None or read_at is None or previous.taken_at is None or now is None:
        return None
    age, pause = (now - read_at).total_seconds(), (now - previous.taken_at).total_seconds()
    in_time = (
        pause > 0 and age + pause <= collector.every_seconds
    )  # otherwise the next poll, one pause later, would be too late
    if not in_time:
        return None
    return known if known.read_at else replace(known, read_at=read_at)


def same_life(instance: Row, before: Row) -> bool:
    """Whether it is the same instance, not restarted. False if its start is unknown."""
    started = instance.get("startup_time")
    if started is None or started != before.get("startup_time"):
        return False
    return instance.get("instance_number") == before.get("instance_number")


def read_view(
    collector: Collector, connection: Connection, readings: Mapping[str, Reading], *, formerly: bool = False
) -> tuple[Reading, Answer | None]:
    """One view, given the views read before it, perhaps under its older name. With the answer, if one came.

    Raises SessionError.
    """
    release = text(_instance_row(readings).get("version")) or release_of_login(connection)
    statement = text_for(collector.statements, release)
    if statement is None:
        oldest = min(collector.statements, key=parts)
        return _not_asked(collector, f"needs Oracle {oldest} or newer, this is {release}"), None
    if formerly:
        statement = under_older_name(collector, statement)
    binds = collector.binds(readings) if collector.binds else {}
    if isinstance(binds, Missing):
        return binds, None
    try:
        answer = connection.query(statement, binds)
    except ViewRefused as error:
        if collector.unneeded and (unneeded := collector.unneeded(readings)):
            return unneeded, None
        return Missing(
            collector.view, "refused", f"{collector.view}: {error}", grant(collector, ANYBODY, release=release)
        ), None
    except StatementError as error:
        return Missing(collector.view, "failed", f"{collector.view}: {error}", "see the error; other views go on"), None
    declared = {column.name for column in collector.columns}
    if len(set(answer.columns)) < len(answer.columns) or not set(answer.columns) <= declared:
        odd = next((name for name in answer.columns if name not in declared), "the same name twice")
        why = f"{collector.view}: the answer has the column {odd[:60]!r}, which the statement does not ask for"
        return _odd(collector, why), None
    return sound(collector, answer.as_rows()), answer


def sound(collector: Collector, rows: tuple[Row, ...]) -> Rows | Missing:
    """The rows of an answer. A cell that its column cannot have is unknown, and a name that is too long is cut; a note says so.
    No row is known where there are too many, or some are without their key, or have that of another.

    Here ends what a damaged or hostile database can answer: all that follows reads numbers, names and times that exist.
    """
    view, notes = collector.view, list[str]()
    if not rows:
        return Rows(view, ())
    if len(rows) > collector.most_rows:
        return _odd(collector, f"{view} gives {len(rows):,} rows; no instance has more than {collector.most_rows:,}")
    for column in collector.columns:
        name, cells = column.name, [row.get(column.name) for row in rows]
        if odd := column.odd(cells):
            why = f"{name} of {view} cannot be {repr(odd[0])[:40]}, as {len(odd)} of {len(rows)} rows have it"
            if column.kind is ColumnKind.KEY:
                return _odd(collector, why)
            notes.append(f"{why}; it counts as unknown")
            rows = tuple([row if column.holds(row.get(name)) else {**row, name: None} for row in rows])
        if name in collector.names and max(map(len, map(str, cells)), default=0) > LONGEST_NAME:
            notes.append(f"{name} of {view} has names of more than {LONGEST_NAME} characters; they are cut")
            long = {cell: cut(cell, LONGEST_NAME) for cell in cells if isinstance(cell, str)}
            rows = tuple([{**row, name: long.get(str(row.get(name)), row.get(name))} for row in rows])
    read = Rows(view, rows, tuple(notes))
    by_key = keyed(collector, read, keys_of(collector, read), []) if rows[1:] else None
    return by_key if isinstance(by_key, Missing) else replace(read, rows=tuple(by_key.values())) if by_key else read


def _odd(collector: Collector, why: str) -> Missing:
    """The reading of a view that gave what it cannot have."""
    return Missing(collector.view, "failed", why, "see whether it goes on; other views go on")


def _set_aside(collector: Collector, error: str | Exception) -> Missing:
    """The reading of an optional view whose group gave nothing. Another view of the group may be the reason."""
    view, why = collector.view, f"{collector.view}: the statement with other views gave nothing: {error}"
    if isinstance(error, ViewRefused):
        return Missing(view, "refused", f"{why}; it is tried again within an hour", grant(collector, ANYBODY))
    return Missing(view, "failed", why, "latchscope tries again within an hour")


def _not_asked(collector: Collector, why: str) -> Missing:
    return Missing(collector.view, "not_asked", f"{collector.view} {why}", "nothing to do on this release")


def _instance_row(readings: Mapping[str, Reading]) -> Row:
    reading = readings.get("v$instance")
    return reading.rows[0] if isinstance(reading, Rows) and reading.rows else {}
