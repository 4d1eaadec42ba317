"""Figures over time: points of series, at the resolution that fits, with what was watched and what was not."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Connection, Engine, select

from service.config.settings import HistorySettings
from service.store.ingest.names import NameTables
from service.store.ingest.samples import SampleItem
from service.store.schema.history_tables import FIRST_POLL, FiveMinutes, Hours, StoredBucket, StoredDelta, StoredPoll
from service.store.upkeep.rollup import FIVE_MINUTES, HOUR

Resolution = Literal["poll", "5m", "1h"]
WIDTHS: Mapping[str, int] = {"5m": FIVE_MINUTES, "1h": HOUR}
FINEST_FOR: Sequence[tuple[timedelta, Resolution]] = ((timedelta(hours=2), "poll"), (timedelta(days=3), "5m"))
"""The longest time for which a resolution is chosen by itself; beyond, hours."""
FINER: Mapping[Resolution, Resolution] = {"1h": "5m", "5m": "poll"}
LEVELS_FOR = timedelta(hours=1)
"""A gauge is kept when it changes, and at least so often."""


class BadCursor(ValueError):
    """A cursor that this store did not give."""


@dataclass(frozen=True, slots=True)
class SeriesSelector:
    """Which figures: a column of a view; of the rows whose key has these members, or of every row."""

    view: str
    column: str
    match: Mapping[str, object] = field(default_factory=dict)

    def takes(self, item: SampleItem) -> bool:
        """Whether the item is one of them."""
        view, key, column, _ = item
        if (view, column) != (self.view, self.column):
            return False
        return not self.match or self.match.items() <= json.loads(key).items()


@dataclass(frozen=True, slots=True)
class HistorySpan:
    """One stretch that was watched: a poll (`at` is the end of its interval) or a bucket (`at` is its begin).

    `seconds` is what its figures cover, None or 0 where there is no interval. `missing` has views, and single counters
    as "view key column".
    """

    at: datetime
    seconds: float | None
    polls: int
    missing: frozenset[str]
    why: str | None = None

    def lacks(self, view: str, key: str, column: str) -> bool:
        """Whether the figure could not be told here."""
        return view in self.missing or f"{view} {key} {column}" in self.missing


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A stored figure: a counter's total and highest rate per second; of a gauge its level, and the highest."""

    total: float
    most: float


@dataclass(frozen=True, slots=True)
class StoredSeries:
    """The stored figures of one item, by the time of their span. Where a span has none, the counter stood still."""

    view: str
    key: Mapping[str, Any]
    column: str
    gauge: bool
    values: Mapping[datetime, StoredValue]
    name: str
    """The key as it is stored."""

    def at(self, span: HistorySpan) -> float | None:
        """Rate per second over a span, the level for a gauge that was kept there; None where it cannot be told."""
        value = self.values.get(span.at)
        if self.gauge:
            return value.total if value else None
        if not span.seconds or span.lacks(self.view, self.name, self.column):
            return None
        return value.total / span.seconds if value else 0.0


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Series over a stretch of time. `cursor` asks for what follows, None where that is all."""

    resolution: Resolution
    begin: datetime
    end: datetime
    spans: tuple[HistorySpan, ...]
    series: tuple[StoredSeries, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Poll:
    """One poll as it was kept."""

    at: datetime
    seconds: float | None
    severity: str
    share: float | None
    waiting: float | None
    missing: frozenset[str]
    startup_time: str | None
    why: str | None


@dataclass(frozen=True, slots=True)
class Break:
    """A poll that had no interval, and why."""

    at: datetime
    why: str
    first_poll: bool
    """Nothing was there to compare with: no reason for what was before it."""


class History:
    """Reads the figures of one store."""

    def __init__(self, engine: Engine, names: NameTables, kept_for: HistorySettings) -> None:
        self._engine = engine
        self._names = names
        self._kept_for = kept_for

    def points(
        self,
        database: str,
        selectors: Sequence[SeriesSelector],
        begin: datetime,
        end: datetime,
        resolution: Literal["auto", "poll", "5m", "1h"] = "auto",
        cursor: str | None = None,
        limit: int = 20_000,
    ) -> HistoryPage:
        """Series of a database from `begin` up to and without `end`; at most `limit` spans at once.

        Raises BadCursor. A database nobody has kept anything of gives no spans.
        """
        chosen = self.resolution(begin, end) if resolution == "auto" else resolution
        begin = _after(cursor) if cursor else begin
        number = self._names.database(database)
        if number is None:
            return HistoryPage(chosen, begin, end, (), ())
        with self._engine.connect() as connection:
            spans = _spans(connection, chosen, number, begin, end, limit + 1)
            more = spans[limit].at if len(spans) > limit else None
            spans = spans[:limit]
            found = self._items(selectors)
            values = _values(connection, chosen, number, list(found), begin, more or end)
        series = tuple(_series(found[id], values[id]) for id in sorted(values))
        return HistoryPage(chosen, begin, more or end, tuple(spans), series, more.isoformat() if more else None)

    def polls(self, database: str, begin: datetime, end: datetime, limit: int = 20_000) -> tuple[Poll, ...]:
        """Polls of a database, oldest first."""
        number = self._names.database(database)
        table = StoredPoll
        query = select(table).where(table.database_id == number, table.at >= begin, table.at < end).order_by(table.at)
        with self._engine.connect() as connection:
            rows = connection.execute(query.limit(limit)).all() if number is not None else []
        spans = [
            (r.at, r.seconds, r.severity, r.share, r.waiting, _missing(r.missing), r.startup_time, r.why) for r in rows
        ]
        return tuple(Poll(*each) for each in spans)

    def breaks(self, database: str, begin: datetime, end: datetime, limit: int = 200) -> tuple[Break, ...]:
        """Polls without an interval, as after a restart; oldest first, as long as polls are kept."""
        number = self._names.database(database)
        table = StoredPoll
        query = select(table.at, table.why).where(table.database_id == number, table.at >= begin, table.at < end)
        query = query.where(table.seconds.is_(None), table.why.is_not(None)).order_by(table.at).limit(limit)
        with self._engine.connect() as connection:
            rows = connection.execute(query).all() if number is not None else []
        return tuple(Break(at, why or "", why == FIRST_POLL) for at, why in rows)

    def levels_before(
        self, database: str, selectors: Sequence[SeriesSelector], begin: datetime, resolution: Resolution
    ) -> dict[tuple[str, str, str], float]:
        """The gauges in force at `begin`, by view, key and column; of a finer resolution where this one has none yet."""
        before = self.points(database, selectors, begin - LEVELS_FOR, begin, resolution)
        levels = {
            (series.view, series.name, series.column): series.values[max(series.values)].total
            for series in before.series
            if series.gauge and series.values
        }
        if levels or resolution not in FINER:
            return levels
        return self.levels_before(database, selectors, begin, FINER[resolution])

    def resolution(self, begin: datetime, end: datetime, now: datetime | None = None) -> Resolution:
        """The resolution for a stretch: fine for a short one, and never finer than what is still kept at its begin."""
        age = ((now or datetime.now(UTC)) - begin).total_seconds()
        kept = {"poll": self._kept_for.polls, "5m": self._kept_for.five_minutes}
        for longest, resolution in FINEST_FOR:
            if end - begin <= longest and age <= kept[resolution]:
                return resolution
        return "1h"

    def _items(self, selectors: Sequence[SeriesSelector]) -> dict[int, SampleItem]:
        known: dict[int, SampleItem] = {}
        for selector in selectors:
            known |= {id: item for id, item in self._names.known_items(selector.view).items() if selector.takes(item)}
        return known


def _after(cursor: str) -> datetime:
    try:
        at = datetime.fromisoformat(cursor)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise BadCursor(f"{cursor!r} is no cursor; take the one that the last answer gave")
    return at


def _spans(
    connection: Connection, resolution: str, database: int, begin: datetime, end: datetime, limit: int
) -> list[HistorySpan]:
    if resolution == "poll":
        poll = StoredPoll
        query = select(poll.at, poll.seconds, poll.missing, poll.why).where(
            poll.database_id == database, poll.at >= begin, poll.at < end
        )
        rows = connection.execute(query.order_by(poll.at).limit(limit))
        return [HistorySpan(at, seconds, 1, _missing(missing), why) for at, seconds, missing, why in rows]
    table = StoredBucket
    wanted = select(table.at, table.seconds, table.polls, table.missing).where(
        table.width == WIDTHS[resolution], table.database_id == database, table.at >= begin, table.at < end
    )
    buckets = connection.execute(wanted.order_by(table.at).limit(limit))
    return [HistorySpan(at, seconds, polls, _missing(missing)) for at, seconds, polls, missing in buckets]


def _values(
    connection: Connection, resolution: str, database: int, items: list[int], begin: datetime, end: datetime
) -> dict[int, dict[datetime, StoredValue]]:
    values: dict[int, dict[datetime, StoredValue]] = {}
    if not items:
        return values
    if resolution == "poll":
        table = StoredDelta
        query = select(table.item_id, table.at, table.value, table.value)
        query = query.where(table.database_id == database, table.at >= begin, table.at < end, table.item_id.in_(items))
    else:
        rolled: Any = FiveMinutes if resolution == "5m" else Hours
        query = select(rolled.item_id, rolled.at, rolled.total, rolled.most)
        query = query.where(
            rolled.database_id == database, rolled.at >= begin, rolled.at < end, rolled.item_id.in_(items)
        )
    for id, at, total, most in connection.execute(query):
        values.setdefault(id, {})[at] = StoredValue(total, most)
    return values


def _series(item: SampleItem, values: dict[datetime, StoredValue]) -> StoredSeries:
    view, key, column, gauge = item
    return StoredSeries(view, json.loads(key), column, gauge, values, key)


_KNOWN: dict[str, frozenset[str]] = {}


def _missing(text: str) -> frozenset[str]:
    """The same few texts stand in every poll of a database, so they are read once."""
    if text not in _KNOWN:
        if len(_KNOWN) > 1000:
            _KNOWN.clear()
        _KNOWN[text] = frozenset(" ".join(load) for load in json.loads(text))
    return _KNOWN[text]
