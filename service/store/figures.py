"""Reads and writes the rows of figures as columns: one row per poll, and one per view and hour or day of roll-ups.

Rows of an older release are read too. If both have a figure, the newer layout is right: it was computed from
the same polls and later ones.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, Connection, select, tuple_, type_coerce

from service.store.figures.buckets import pack_buckets, unpack_bodies, unpack_buckets
from service.store.figures.codec import Chooser, Items, Values, pack, unpack
from service.store.schema.history_tables import (
    FiveMinuteFigures,
    HourlyFigures,
    StoredFigures,
    StoredItem,
    moment,
)
from service.store.schema.old_tables import OldDelta, OldFiveMinutes, OldHours

Tier = Literal["poll", "5m", "1h"]
ViewColumn = tuple[str, str]
AT_ONCE = 2**20
"""This many rows become columns together, because numpy is slow per call."""


@dataclass(frozen=True, slots=True)
class RolledTier:
    """A tier of roll-ups: its table, and the milliseconds of a bucket and of a row of them."""

    table: type[FiveMinuteFigures] | type[HourlyFigures]
    bucket: int
    row: int


ROLLED = {
    "5m": RolledTier(FiveMinuteFigures, 300_000, 3_600_000),
    "1h": RolledTier(HourlyFigures, 3_600_000, 86_400_000),
}
OLDEST = 32_767
"""The highest number of a database that the old tables can hold."""
OLD: dict[str, Any] = {"poll": OldDelta, "5m": OldFiveMinutes, "1h": OldHours}


@dataclass(frozen=True, slots=True, eq=False)
class FigureColumns:
    """Figures as columns: item, time (milliseconds), total and highest rate, which are the same for a poll."""

    items: Items
    at: NDArray[np.int64]
    totals: Values
    mosts: Values

    def __len__(self) -> int:
        return len(self.items)

    def matrix(self, items: Items, times: NDArray[np.int64]) -> tuple[Values, Values]:
        """Totals and highest rates with a row per item and a column per time, both ascending. NaN if there is none."""
        shape = len(items), len(times)
        totals, mosts = np.full(shape, np.nan), np.full(shape, np.nan)
        if not len(self) or 0 in shape:
            return totals, mosts
        row = np.minimum(np.searchsorted(items, self.items), len(items) - 1)
        column = np.minimum(np.searchsorted(times, self.at), len(times) - 1)
        inside = (items[row] == self.items) & (times[column] == self.at)
        totals[row[inside], column[inside]] = self.totals[inside]
        mosts[row[inside], column[inside]] = self.mosts[inside]
        return totals, mosts


def joined(parts: Iterable[FigureColumns]) -> FigureColumns:
    """One after the other. A repeated figure replaces the earlier one."""
    found = [part for part in parts if len(part)]
    if not found:
        return FigureColumns(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    return FigureColumns(
        np.concatenate([part.items for part in found]),
        np.concatenate([part.at for part in found]),
        np.concatenate([part.totals for part in found]),
        np.concatenate([part.mosts for part in found]),
    )


def once(figures: FigureColumns) -> FigureColumns:
    """Each figure once, the last value of it."""
    order = np.lexsort((np.arange(len(figures)), figures.at, figures.items))
    items, at = figures.items[order], figures.at[order]
    last = np.append((items[1:] != items[:-1]) | (at[1:] != at[:-1]), True)[: len(items)]
    kept = order[last]
    return FigureColumns(figures.items[kept], figures.at[kept], figures.totals[kept], figures.mosts[kept])


def read(
    connection: Connection,
    tier: Tier,
    database: int,
    begin: int,
    end: int,
    columns: Collection[ViewColumn] | None = None,
    wanted: Chooser | None = None,
) -> FigureColumns:
    """Figures of a database from `begin` up to and without `end`, in milliseconds; of these columns, or of all.

    `wanted` selects among those of a row. A figure in both layouts occurs twice, the right one last.
    """
    old = _old(connection, OLD[tier], database, begin, end, columns)
    if tier == "poll":
        return joined((old, *_polls(connection, database, begin, end, wanted)))
    views = None if columns is None else sorted({view for view, _ in columns})
    return joined((old, *_buckets(connection, ROLLED[tier], database, begin, end, views, wanted)))


def _polls(
    connection: Connection, database: int, begin: int, end: int, wanted: Chooser | None
) -> Iterator[FigureColumns]:
    table = StoredFigures
    query = select(type_coerce(table.at, BigInteger), table.body).where(
        table.database_id == database, table.at >= moment(begin), table.at < moment(end)
    )
    for at, body in connection.execute(query.order_by(table.at)):
        items, values = unpack(body)
        if wanted is not None:
            chosen = wanted(items)
            items, values = items[chosen], values[chosen]
        yield FigureColumns(items, np.full(len(items), at), values, values)


def _buckets(
    connection: Connection,
    tier: RolledTier,
    database: int,
    begin: int,
    end: int,
    views: Sequence[str] | None,
    wanted: Chooser | None,
) -> Iterator[FigureColumns]:
    table = tier.table
    query = select(type_coerce(table.at, BigInteger), table.body).where(
        table.database_id == database, table.at >= moment(begin - begin % tier.row), table.at < moment(end)
    )
    if views is not None:
        query = query.where(table.view.in_(views))
    read: list[tuple[int, bytes]] = []
    size = 0
    for at, body in connection.execute(query).all():
        read.append((at, body))
        size += len(body)
        if size >= AT_ONCE:
            yield _within(tier, read, wanted, begin, end)
            read, size = [], 0
    if read:
        yield _within(tier, read, wanted, begin, end)


def _within(
    tier: RolledTier, rows: Sequence[tuple[int, bytes]], wanted: Chooser | None, begin: int, end: int
) -> FigureColumns:
    """Rows by their begin as columns, without what is before `begin` or not before `end`."""
    series = unpack_bodies([body for _, body in rows], wanted)
    slots = tier.bucket * np.arange(series.totals.shape[1], dtype=np.int64)
    at = np.array([at for at, _ in rows], np.int64)[series.body][:, np.newaxis] + slots
    row, slot = np.nonzero(~np.isnan(series.totals) & (at >= begin) & (at < end))
    return FigureColumns(series.items[row], at[row, slot], series.totals[row, slot], series.mosts[row, slot])


def _old(
    connection: Connection, table: Any, database: int, begin: int, end: int, columns: Collection[ViewColumn] | None
) -> FigureColumns:
    if database > OLDEST:
        return as_columns(())
    value = (table.value, table.value) if table is OldDelta else (table.total, table.most)
    query = select(table.item_id, type_coerce(table.at, BigInteger), *value).where(
        table.database_id == database, table.at >= moment(begin), table.at < moment(end)
    )
    if columns is not None:
        query = query.join(StoredItem, StoredItem.id == table.item_id)
        query = query.where(tuple_(StoredItem.view, StoredItem.column).in_(sorted(columns)))
    return as_columns(connection.execute(query).all())


def as_columns(rows: Sequence[Sequence[Any]]) -> FigureColumns:
    """Rows of item, time, total and most as columns."""
    items, at, totals, mosts = zip(*rows, strict=True) if rows else ((), (), (), ())
    return FigureColumns(
        np.array(items, np.int64), np.array(at, np.int64), np.array(totals, float), np.array(mosts, float)
    )


def merged_buckets(tier: RolledTier, body: bytes | None, row_at: int, new: FigureColumns, *, over: bool) -> bytes:
    """The body of a row of buckets with these figures added. `over`: they replace existing ones, or go beside them."""
    slots = row_at + tier.bucket * np.arange(tier.row // tier.bucket, dtype=np.int64)
    if body is None:
        items = np.unique(new.items)
        return pack_buckets(items, *new.matrix(items, slots))
    before, *kept = unpack_buckets(body)
    items = np.union1d(before, new.items)
    place = np.searchsorted(items, before)
    merged = new.matrix(items, slots)
    for put, was in zip(merged, kept, strict=True):
        gone = np.isnan(put[place] if over else was)
        put[place] = np.where(gone, was, put[place]) if over else np.where(gone, put[place], was)
    return pack_buckets(items, *merged)


def merged_poll(body: bytes | None, items: Items, values: Values) -> bytes:
    """The body of a poll with these figures added to its own."""
    order = np.argsort(items, kind="stable")
    items, values = items[order], values[order]
    if body is None:
        return pack(items, values)
    before, kept = unpack(body)
    new = ~np.isin(items, before)
    every = np.append(before, items[new])
    order = np.argsort(every)
    return pack(every[order], np.append(kept, values[new])[order])
