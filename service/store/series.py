"""Figures over time: points of series, at a suitable resolution, with what was watched and what was not."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, Connection, Engine, Select, literal, select, type_coerce

from service.config.settings import HistorySettings
from service.store.figures.codec import Items
from service.store.figures.rows import FigureColumns, once, read
from service.store.ingest.names import NameTables
from service.store.ingest.samples import SampleItem
from service.store.queries.kinds import obstacle_kind
from service.store.queries.series import (
    Break,
    HistoryPage,
    Poll,
    Resolution,
    SeriesSelector,
    StoredSeries,
    chosen,
)
from service.store.queries.spans import HistorySpans, Times, missing_in
from service.store.schema.history_tables import (
    StoredBucket,
    StoredPoll,
    millis,
)
from service.store.upkeep.rollup import FIVE_MINUTES, HOUR

WIDTHS: Mapping[str, int] = {"5m": FIVE_MINUTES, "1h": HOUR}
FINEST_FOR: Sequence[tuple[timedelta, Resolution]] = ((timedelta(hours=2), "poll"), (timedelta(days=3), "5m"))
"""The longest time with an automatic resolution. Beyond it, hours."""
FINER: Mapping[Resolution, Resolution] = {"1h": "5m", "5m": "poll"}
LEVELS_FOR = timedelta(hours=1)
"""A gauge is kept when it changes, and at least this often."""


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

        Raises BadCursor. A database without any stored poll gives no spans.
        """
        tier = self.resolution(begin, end) if resolution == "auto" else resolution
        begin = _after(cursor) if cursor else begin
        number = self._names.database(database)
        if number is None:
            return HistoryPage(tier, begin, end, HistorySpans.of(()), ())
        with self._engine.connect() as connection:
            spans = _spans(connection, tier, number, begin, end, limit + 1)
            more = spans[limit].at if len(spans) > limit else None
            spans = spans[:limit]
            wanted = _Choice(self._names, selectors)
            columns = {(selector.view, selector.column) for selector in selectors}
            figures = read(connection, tier, number, millis(begin), millis(more or end), columns, wanted)
        wanted(np.unique(figures.items))
        series = tuple(_series(wanted.items, figures, spans.times))
        return HistoryPage(tier, begin, more or end, spans, series, more.isoformat() if more else None)

    def polls(self, database: str, begin: datetime, end: datetime, limit: int = 20_000) -> tuple[Poll, ...]:
        """Polls of a database, oldest first."""
        number = self._names.database(database)
        table = StoredPoll
        query = select(table).where(table.database_id == number, table.at >= begin, table.at < end).order_by(table.at)
        with self._engine.connect() as connection:
            rows = connection.execute(query.limit(limit)).all() if number is not None else []
        spans = [
            (
                r.at,
                r.seconds,
                r.severity,
                r.share,
                r.waiting,
                missing_in(r.missing),
                r.startup_time,
                r.why,
                obstacle_kind(r.kind, r.why),
            )
            for r in rows
        ]
        return tuple(Poll(*each) for each in spans)

    def breaks(self, database: str, begin: datetime, end: datetime, limit: int = 200) -> tuple[Break, ...]:
        """Polls without an interval, as after a restart; oldest first, as long as polls are kept."""
        number = self._names.database(database)
        table = StoredPoll
        query = select(table.at, table.why, table.kind).where(
            table.database_id == number, table.at >= begin, table.at < end
        )
        query = query.where(table.seconds.is_(None), table.why.is_not(None)).order_by(table.at).limit(limit)
        with self._engine.connect() as connection:
            rows = connection.execute(query).all() if number is not None else []
        return tuple(Break(at, why or "", obstacle_kind(kind, why) or "not_comparable") for at, why, kind in rows)

    def row(
        self, database: str, tier: Resolution, at: datetime | None = None
    ) -> tuple[datetime | None, list[tuple[SampleItem, float, float]]]:
        """The figures of the newest stored poll or bucket, not later than `at`: its time, and item, total, most."""
        number = self._names.database(database)
        if number is None:
            return None, []
        end = (at or datetime.now(UTC) + timedelta(days=1)) + timedelta(milliseconds=1)
        width = WIDTHS.get(tier, 0)
        table: type[StoredPoll] | type[StoredBucket] = StoredBucket if width else StoredPoll
        newest = select(table.at).where(table.database_id == number, table.at < end).order_by(table.at.desc()).limit(1)
        with self._engine.connect() as connection:
            found = connection.scalar(newest.where(StoredBucket.width == width) if width else newest)
            if found is None:
                return None, []
            figures = once(read(connection, tier, number, millis(found), millis(found) + 1))
        items = self._names.named(figures.items.tolist())
        rows = zip(figures.items.tolist(), figures.totals.tolist(), figures.mosts.tolist(), strict=True)
        return found, sorted((items[item], total, most) for item, total, most in rows if item in items)

    def levels_before(
        self, database: str, selectors: Sequence[SeriesSelector], begin: datetime, resolution: Resolution
    ) -> dict[tuple[str, str, str], float]:
        """The gauges in force at `begin`, by view, key and column. From a finer resolution if this one has none yet."""
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
        raise BadCursor(f"{cursor!r} is not a cursor; use the one from the last answer")
    return at


def _spans(
    connection: Connection, resolution: str, database: int, begin: datetime, end: datetime, limit: int
) -> HistorySpans:
    query: Select[*tuple[Any, ...]]
    if resolution == "poll":
        poll = StoredPoll
        at = poll.at
        query = select(type_coerce(at, BigInteger), poll.seconds, literal(1), poll.missing, poll.why)
        query = query.where(poll.database_id == database)
    else:
        bucket = StoredBucket
        at = bucket.at
        query = select(type_coerce(at, BigInteger), bucket.seconds, bucket.polls, bucket.missing)
        query = query.where(bucket.width == WIDTHS[resolution], bucket.database_id == database)
    return HistorySpans.of(connection.execute(query.where(at >= begin, at < end).order_by(at).limit(limit)).all())


class _Choice:
    """The requested items. Each is looked up once, whatever number of rows it is in."""

    def __init__(self, names: NameTables, selectors: Sequence[SeriesSelector]) -> None:
        self._names = names
        self._selectors = selectors
        self._verdicts = np.zeros(0, np.int8)
        self._last: tuple[Items, NDArray[np.bool_]] | None = None
        self.items: dict[int, SampleItem] = {}

    def __call__(self, items: Items) -> NDArray[np.bool_]:
        if self._last is None or self._last[0] is not items:
            self._last = items, self._of(items)
        return self._last[1]

    def _of(self, items: Items) -> NDArray[np.bool_]:
        highest = int(items[-1]) if len(items) else 0
        if highest >= len(self._verdicts):
            self._verdicts = np.pad(self._verdicts, (0, highest + 1 - len(self._verdicts)))
        new = items[self._verdicts[items] == 0]
        if len(new):
            taken = chosen(self._selectors, self._names.named(new.tolist()))
            self.items |= taken
            self._verdicts[new] = _NO
            self._verdicts[list(taken)] = _YES
        verdicts: NDArray[np.bool_] = self._verdicts[items] == _YES
        return verdicts


_NO, _YES = 1, 2


def _series(items: Mapping[int, SampleItem], figures: FigureColumns, times: Times) -> Iterator[StoredSeries]:
    """A series for each item, its figures laid out by span; those of no span are of a poll that is gone."""
    numbers = np.array(sorted(items), np.int64)
    totals, mosts = figures.matrix(numbers, times)
    for place, number in enumerate(numbers.tolist()):
        view, key, name, gauge = items[number]
        yield StoredSeries(view, json.loads(key), name, gauge, key, totals[place], mosts[place])
