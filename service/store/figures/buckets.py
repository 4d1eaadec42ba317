"""Figures of many buckets packed into bytes for each item of a view, in pieces, so that one series is read alone.

A body has a head, the numbers of its items, where its pieces end, and the pieces. Each piece has some of the items, in
ascending order, and is compressed separately. In it every item has a place for every bucket, so that the place of a
figure is known before it is read.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from service.store.figures.codec import (
    Chooser,
    DamagedFigures,
    Items,
    Values,
    byte_planes,
    is_whole,
    item_planes,
    items_of,
    unpack_older_buckets,
)

OLDER, VERSION = b"\x01", b"\x02"
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
    return b"".join((VERSION, head, numbers, ends, *pieces))


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
    found.extend(_numbers(layout, pieces) for layout, pieces in alike.items())
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
    if body[:1] != VERSION:
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


_EXPECTED = 4
"""The expected ratio of decompressed size to size. More only takes longer."""


def _numbers(layout: _Layout, pieces: Sequence[tuple[int, Items, bytes]]) -> BucketSeries:
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
