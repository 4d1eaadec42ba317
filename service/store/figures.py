"""Figures of many items in one row: packing, reading and writing."""

import struct
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, Connection, select, type_coerce

from service.store.tables import (
    FiveMinuteFigures,
    HourlyFigures,
    StoredFigures,
    moment,
)

# Figures of a poll packed into bytes and back, exactly. `figures.buckets` packs those of many buckets.
#
# A body is a version byte and a zlib stream. It has the numbers of the items as differences, and the figures as
# whole numbers of four or eight bytes if they are whole, else as doubles. Bytes of equal weight are together, because
# that compresses best.

Items = NDArray[np.int64]
Chooser = Callable[[Items], NDArray[np.bool_]]
"""Which of these items are wanted."""
Values = NDArray[np.float64]
"""Numbers. In a time or a span, NaN means that there is none."""
FIGURES_VERSION = b"\x01"
MINUS_ZERO = np.iinfo(np.int64).min
"""The bits of a zero with a sign, as a whole number has none."""
WHOLE = 2.0**53
"""From here on a double cannot separate neighbouring whole numbers, so it is kept as it is."""


class DamagedFigures(ValueError):
    """Bytes that are not figures of a known version."""


def pack(items: Items, values: Values) -> bytes:
    """The figures of one poll, the numbers of the items in ascending order."""
    return FIGURES_VERSION + zlib.compress(len(items).to_bytes(4, "little") + item_planes(items) + _numbers(values), 1)


def unpack(body: bytes) -> tuple[Items, Values]:
    """What `pack` took. Raises DamagedFigures."""
    reader = _Reader(body)
    items = reader.items()
    return items, reader.numbers(len(items))


def unpack_older_buckets(body: bytes) -> tuple[Items, Values, Values]:
    """Buckets as they were packed before `figures.buckets`: all of a view in one piece. Raises DamagedFigures."""
    reader = _Reader(body)
    items = reader.items()
    width = reader.count()
    known = reader.mask(len(items) * width)
    totals, mosts = np.full(known.shape, np.nan), np.full(known.shape, np.nan)
    count = int(known.sum())
    totals[known] = reader.numbers(count)
    mosts[known] = reader.numbers(count)
    return items, totals.reshape(-1, width), mosts.reshape(-1, width)


def byte_planes(values: NDArray[Any], kind: str) -> bytes:
    """First the lowest byte of every number, then the next."""
    plain = values.astype(kind)
    return plain.view("u1").reshape(len(plain), plain.itemsize).T.tobytes()


def item_planes(items: Items) -> bytes:
    """The numbers of items, ascending, as the bytes of their differences."""
    differences = items.copy()
    differences[1:] -= items[:-1]
    return byte_planes(differences, "<u4")


@lru_cache(maxsize=64)
def items_of(planes: bytes) -> Items:
    """What `item_planes` took; rows of one view often have the same ones, day after day."""
    differences = np.frombuffer(planes, "u1").reshape(4, -1).T
    numbers = np.cumsum(np.ascontiguousarray(differences).view("<u4").reshape(-1), dtype=np.int64)
    numbers.flags.writeable = False
    return numbers


def is_whole(values: Values) -> NDArray[np.bool_]:
    """Which of the numbers are the same as whole numbers of eight bytes."""
    whole: NDArray[np.bool_] = (
        (np.rint(values) == values) & (np.abs(values) < WHOLE) & (values.view(np.int64) != MINUS_ZERO)
    )
    return whole


def _numbers(values: Values) -> bytes:
    whole = is_whole(values)
    integers, others = values[whole], values[~whole]
    kind = "<i4" if not len(integers) or -(2**31) < integers.min() <= integers.max() < 2**31 else "<i8"
    head = bytes([4 if kind == "<i4" else 8, len(others) > 0])
    mask = np.packbits(whole).tobytes() if len(others) else b""
    return head + mask + byte_planes(integers, kind) + byte_planes(others, "<f8")


class _Reader:
    """Reads the parts of a body, one after the other."""

    def __init__(self, body: bytes) -> None:
        if body[:1] != FIGURES_VERSION:
            raise DamagedFigures(
                f"these figures are of version {body[:1].hex() or 'none'}, and this latchscope reads 01"
            )
        try:
            self._data = memoryview(zlib.decompress(memoryview(body)[1:], bufsize=_EXPECTED * len(body)))
        except zlib.error as error:
            raise DamagedFigures(f"these figures are damaged: {error}") from None
        self._at = 0

    def take(self, size: int) -> memoryview:
        """This many bytes."""
        begin, self._at = self._at, self._at + size
        if self._at > len(self._data):
            raise DamagedFigures("these figures are cut off")
        return self._data[begin : self._at]

    def count(self) -> int:
        """A whole number that is a count of what follows."""
        return int.from_bytes(self.take(4), "little")

    def mask(self, count: int) -> NDArray[np.bool_]:
        """This many bits."""
        return np.unpackbits(np.frombuffer(self.take((count + 7) // 8), "u1"), count=count).view(bool)

    def items(self) -> Items:
        return items_of(bytes(self.take(4 * self.count())))

    def planes(self, count: int, kind: str) -> NDArray[Any]:
        """This many numbers, written byte by byte."""
        size = int(kind[-1])
        planes = np.frombuffer(self.take(count * size), "u1").reshape(size, count)
        return planes.T.copy().view(kind).reshape(count)

    def numbers(self, count: int) -> Values:
        """This many figures, as `_numbers` wrote them."""
        width, mixed = self.take(2)
        if not mixed:
            return self.planes(count, f"<i{width}").astype(float)
        whole, values = self.mask(count), np.empty(count)
        integers = int(whole.sum())
        values[whole] = self.planes(integers, f"<i{width}")
        values[~whole] = self.planes(count - integers, "<f8")
        return values


_EXPECTED = 4
"""The expected ratio of decompressed size to size. More only takes longer."""


# Figures of many buckets packed into bytes for each item of a view, in pieces, so that one series is read alone.
#
# A body has a head, the numbers of its items, where its pieces end, and the pieces. Each piece has some of the items,
# in
# ascending order, and is compressed separately. In it every item has a place for every bucket, so that the place of a
# figure is known before it is read.

OLDER, BUCKET_VERSION = b"\x01", b"\x02"
_HEAD = struct.Struct("<IHII")
"""After the version: how many items, buckets, items of a piece, and bytes of the numbers of the items."""
_KINDS = ("<i4", "<i8", "<f8")
_FEWEST, _PIECES = 16, 16
"""Items of a piece, of which fewer compress worse; of a view of thousands a piece is a sixteenth."""


@dataclass(frozen=True, slots=True, eq=False)
class BucketSeries:
    """Series in no order: the place of the body that each is of, its item, and a figure or NaN for each bucket."""

    body: NDArray[np.intp]
    items: Items
    totals: Values
    mosts: Values


class _Piece(NamedTuple):
    """What is wanted of a piece: of so many items those at these places, None where it is every one."""

    number: int
    many: int
    places: tuple[int, ...] | None
    items: Items


class _Layout(NamedTuple):
    """What the bytes of a decompressed piece are: kinds of numbers and whether a figure lacks, buckets, items, places."""

    head: bytes
    width: int
    many: int
    places: tuple[int, ...] | None


def pack_buckets(items: Items, totals: Values, mosts: Values) -> bytes:
    """A row of buckets for each item, in ascending order of their numbers; NaN where a bucket has none."""
    size = max(_FEWEST, -(-len(items) // _PIECES))
    known = ~np.isnan(totals)
    both = [(values, _kinds(values)) for values in (np.where(known, each, 0.0) for each in (totals, mosts))]
    pieces = [zlib.compress(_piece(known, both, at, at + size)) for at in range(0, len(items), size)]
    numbers = _compressed_items(items.tobytes())
    ends = np.cumsum([len(piece) for piece in pieces], dtype="<u4").tobytes()
    head = _HEAD.pack(len(items), totals.shape[1], size, len(numbers))
    return b"".join((BUCKET_VERSION, head, numbers, ends, *pieces))


def unpack_buckets(body: bytes) -> tuple[Items, Values, Values]:
    """What `pack_buckets` took. Raises DamagedFigures."""
    series = unpack_bodies([body])
    order = np.argsort(series.items)
    return series.items[order], series.totals[order], series.mosts[order]


def unpack_bodies(bodies: Sequence[bytes], wanted: Chooser | None = None) -> BucketSeries:
    """What `pack_buckets` took, of the items that are wanted; the same number of buckets in each. Raises DamagedFigures.

    Only pieces that have them are read. Those that are laid out alike become numbers together: numpy is slow where it is
    called for each.
    """
    alike: dict[_Layout, list[tuple[int, Items, bytes]]] = {}
    plans: dict[tuple[int, int], tuple[Items, list[_Piece]]] = {}
    found: list[BucketSeries] = []
    width = 0
    for place, body in enumerate(bodies):
        if body[:1] == OLDER:
            found.append(_older(place, body, wanted))
            continue
        items, width, size, ends = _head(body)
        if (id(items), size) not in plans:
            plans[id(items), size] = items, list(_plan(items, size, wanted))
        for piece in plans[id(items), size][1]:
            data = _decompressed(body, ends[piece.number], ends[piece.number + 1])
            layout = _Layout(data[:3], width, piece.many, piece.places)
            alike.setdefault(layout, []).append((place, piece.items, data))
    found.extend(_bucket_numbers(layout, pieces) for layout, pieces in alike.items())
    if not found:
        nothing = np.zeros((0, width))
        return BucketSeries(np.zeros(0, np.intp), np.zeros(0, np.int64), nothing, nothing)
    parts = ([getattr(series, name) for series in found] for name in BucketSeries.__slots__)
    return BucketSeries(*map(np.concatenate, parts))


def _older(place: int, body: bytes, wanted: Chooser | None) -> BucketSeries:
    items, totals, mosts = unpack_older_buckets(body)
    if wanted is not None:
        chosen = wanted(items)
        items, totals, mosts = items[chosen], totals[chosen], mosts[chosen]
    return BucketSeries(np.full(len(items), place, np.intp), items, totals, mosts)


def _plan(items: Items, size: int, wanted: Chooser | None) -> Iterator[_Piece]:
    """The pieces with wanted items."""
    chosen = None if wanted is None else wanted(items)
    for number, begin in enumerate(range(0, len(items), size)):
        some = items[begin : begin + size]
        if chosen is None or (taken := chosen[begin : begin + size]).all():
            yield _Piece(number, len(some), None, some)
        elif taken.any():
            yield _Piece(number, len(some), tuple(taken.nonzero()[0].tolist()), some[taken])


def _kinds(values: Values) -> NDArray[np.int8]:
    """The kind of number of each item: the smallest that holds all of them."""
    small = np.abs(values) < 2**31
    kinds: NDArray[np.int8] = (
        np.where(is_whole(values), np.where(small, 0, 1), 2).max(axis=1, initial=0).astype(np.int8)
    )
    return kinds


def _piece(known: NDArray[np.bool_], both: Sequence[tuple[Values, NDArray[np.int8]]], begin: int, end: int) -> bytes:
    some = known[begin:end]
    mask = b"" if some.all() else np.packbits(some, axis=1).tobytes()
    kinds = [int(kinds[begin:end].max()) for _, kinds in both]
    planes = [
        byte_planes(values[begin:end].ravel(), _KINDS[kind]) for (values, _), kind in zip(both, kinds, strict=True)
    ]
    return b"".join((bytes((*kinds, not mask)), mask, *planes))


@lru_cache(maxsize=64)
def _compressed_items(items: bytes) -> bytes:
    return zlib.compress(item_planes(np.frombuffer(items, np.int64)))


@lru_cache(maxsize=64)
def _item_numbers(compressed: bytes) -> Items:
    return items_of(zlib.decompress(compressed))


def _head(body: bytes) -> tuple[Items, int, int, Sequence[int]]:
    """The items of a body, how many buckets, how many items a piece has, and where in the body each begins and ends."""
    if body[:1] != BUCKET_VERSION:
        raise DamagedFigures(
            f"these figures are of version {body[:1].hex() or 'none'}, and this latchscope reads 01 and 02"
        )
    try:
        count, width, size, numbers = _HEAD.unpack_from(body, 1)
        begin = 1 + _HEAD.size
        items = _item_numbers(body[begin : begin + numbers])
        pieces = -(-count // size)
        begin += numbers
        ends = struct.unpack_from(f"<{pieces}I", body, begin)
    except (struct.error, zlib.error, ZeroDivisionError) as error:
        raise DamagedFigures(f"these figures are damaged: {error}") from None
    begin += 4 * pieces
    return items, width, size, (begin, *(begin + end for end in ends))


def _decompressed(body: bytes, begin: int, end: int) -> bytes:
    try:
        return zlib.decompress(memoryview(body)[begin:end], bufsize=_EXPECTED * (end - begin))
    except zlib.error as error:
        raise DamagedFigures(f"these figures are damaged: {error}") from None


def _bucket_numbers(layout: _Layout, pieces: Sequence[tuple[int, Items, bytes]]) -> BucketSeries:
    """Pieces that are laid out alike as numbers."""
    (*kinds, every), width, many, places = layout
    mask = 0 if every else many * -(-width // 8)
    sizes = [int(_KINDS[kind][-1]) * many * width for kind in kinds]
    length = 3 + mask + sum(sizes)
    if any(len(data) != length for _, _, data in pieces):
        raise DamagedFigures("these figures are cut off")
    block = np.frombuffer(b"".join([data for _, _, data in pieces]), "u1").reshape(len(pieces), length)
    inner = slice(None) if places is None else list(places)
    values, at = [], 3 + mask
    for kind, size in zip(kinds, sizes, strict=True):
        planes = block[:, at : at + size].reshape(len(pieces), -1, many, width)[:, :, inner]
        values.append(planes.transpose(0, 2, 3, 1).copy().view(_KINDS[kind]).astype(float).reshape(-1, width))
        at += size
    if mask:
        bits = block[:, 3 : 3 + mask].reshape(len(pieces), many, -1)[:, inner]
        unknown = np.unpackbits(bits, axis=2, count=width).reshape(-1, width) == 0
        for each in values:
            each[unknown] = np.nan
    taken = [len(items) for _, items, _ in pieces]
    body = np.repeat(np.array([place for place, _, _ in pieces], np.intp), taken)
    return BucketSeries(body, np.concatenate([items for _, items, _ in pieces]), *values)


# Reads and writes the rows of figures as columns: one row per poll, and one per view and hour or day of roll-ups.

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
    """One after the other."""
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
    """Each figure once, the last value of it, by item and time."""
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

    `wanted` selects among those of a row.
    """
    if tier == "poll":
        return joined(_polls(connection, database, begin, end, wanted))
    views = None if columns is None else sorted({view for view, _ in columns})
    return joined(_buckets(connection, ROLLED[tier], database, begin, end, views, wanted))


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
