"""Figures over time: points of series, at the resolution that fits, with what was watched and what was not."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, Connection, Engine, select, tuple_, type_coerce

from service.config.settings import HistorySettings
from service.store.ingest.names import NameTables
from service.store.ingest.samples import SampleItem
from service.store.queries.series import (
    Break,
    HistoryPage,
    HistorySpan,
    Poll,
    Resolution,
    SeriesSelector,
    StoredSeries,
    Values,
    chosen,
    missing_in,
)
from service.store.schema.history_tables import (
    FIRST_POLL,
    FiveMinutes,
    Hours,
    StoredBucket,
    StoredDelta,
    StoredItem,
    StoredPoll,
    millis,
)
from service.store.upkeep.rollup import FIVE_MINUTES, HOUR

WIDTHS: Mapping[str, int] = {"5m": FIVE_MINUTES, "1h": HOUR}
FINEST_FOR: Sequence[tuple[timedelta, Resolution]] = ((timedelta(hours=2), "poll"), (timedelta(days=3), "5m"))
"""The longest time for which a resolution is chosen by itself; beyond, hours."""
FINER: Mapping[Resolution, Resolution] = {"1h": "5m", "5m": "poll"}
LEVELS_FOR = timedelta(hours=1)
"""A gauge is kept when it changes, and at least so often."""


class BadCursor(ValueError):
    """A cursor that this store did not give."""


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
        tier = self.resolution(begin, end) if resolution == "auto" else resolution
        begin = _after(cursor) if cursor else begin
        number = self._names.database(database)
        if number is None:
            return HistoryPage(tier, begin, end, (), ())
        with self._engine.connect() as connection:
            spans = _spans(connection, tier, number, begin, end, limit + 1)
            more = spans[limit].at if len(spans) > limit else None
            spans = spans[:limit]
            figures = _figures(connection, tier, number, selectors, begin, more or end)
        items = chosen(selectors, self._names.named(np.unique(figures.items).tolist()))
        series = tuple(_series(items, figures, [millis(span.at) for span in spans]))
        return HistoryPage(tier, begin, more or end, tuple(spans), series, more.isoformat() if more else None)

    def polls(self, database: str, begin: datetime, end: datetime, limit: int = 20_000) -> tuple[Poll, ...]:
        """Polls of a database, oldest first."""
        number = self._names.database(database)
        table = StoredPoll
        query = select(table).where(table.database_id == number, table.at >= begin, table.at < end).order_by(table.at)
        with self._engine.connect() as connection:
            rows = connection.execute(query.limit(limit)).all() if number is not None else []
        spans = [
            (r.at, r.seconds, r.severity, r.share, r.waiting, missing_in(r.missing), r.startup_time, r.why)
            for r in rows
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
            (series.view, series.name, series.column): level
            for series in before.series
            if series.gauge and (level := series.last()) is not None
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
        return [HistorySpan(at, seconds, 1, missing_in(missing), why) for at, seconds, missing, why in rows]
    table = StoredBucket
    wanted = select(table.at, table.seconds, table.polls, table.missing).where(
        table.width == WIDTHS[resolution], table.database_id == database, table.at >= begin, table.at < end
    )
    buckets = connection.execute(wanted.order_by(table.at).limit(limit))
    return [HistorySpan(at, seconds, polls, missing_in(missing)) for at, seconds, polls, missing in buckets]


@dataclass(frozen=True, slots=True)
class _Figures:
    """Figures as columns: of which item, when (milliseconds), its total and its most."""

    items: NDArray[np.int64]
    at: NDArray[np.int64]
    totals: Values
    mosts: Values


def _figures(
    connection: Connection,
    resolution: str,
    database: int,
    selectors: Sequence[SeriesSelector],
    begin: datetime,
    end: datetime,
) -> _Figures:
    """The figures of a window in the columns asked for. The window decides what this costs, not the number of items."""
    table: Any = {"poll": StoredDelta, "5m": FiveMinutes, "1h": Hours}[resolution]
    value = (table.value, table.value) if table is StoredDelta else (table.total, table.most)
    columns = sorted({(selector.view, selector.column) for selector in selectors})
    query = (
        select(table.item_id, type_coerce(table.at, BigInteger), *value)
        .join(StoredItem, StoredItem.id == table.item_id)
        .where(table.database_id == database, table.at >= begin, table.at < end)
        .where(tuple_(StoredItem.view, StoredItem.column).in_(columns))
    )
    rows = connection.execute(query).all() if columns else []
    items, at, totals, mosts = zip(*rows, strict=True) if rows else ((), (), (), ())
    return _Figures(np.array(items, np.int64), np.array(at, np.int64), np.array(totals, float), np.array(mosts, float))


def _series(items: Mapping[int, SampleItem], figures: _Figures, times: Sequence[int]) -> Iterator[StoredSeries]:
    """A series for each item, its figures laid out by span; those of no span are of a poll that is gone."""
    numbers = np.array(sorted(items), np.int64)
    spans = np.array(times, np.int64)
    if not len(numbers) or not len(spans):
        return
    row, column = np.searchsorted(numbers, figures.items), np.searchsorted(spans, figures.at)
    row, column = np.minimum(row, len(numbers) - 1), np.minimum(column, len(spans) - 1)
    inside = (numbers[row] == figures.items) & (spans[column] == figures.at)
    totals, mosts = (np.full((len(numbers), len(spans)), np.nan) for _ in range(2))
    totals[row[inside], column[inside]] = figures.totals[inside]
    mosts[row[inside], column[inside]] = figures.mosts[inside]
    for place, number in enumerate(numbers.tolist()):
        view, key, name, gauge = items[number]
        yield StoredSeries(view, json.loads(key), name, gauge, key, totals[place], mosts[place])
