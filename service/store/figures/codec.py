"""Figures packed into bytes and back, exactly: those of one poll, and those of many buckets for each item of a view.

A body is a version byte and a zlib stream. In it stand the numbers of the items as differences, and the figures as
whole numbers of four or eight bytes where they are whole, else as doubles; bytes of equal weight lie together, because
that is what compresses.
"""

import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Items = NDArray[np.int64]
Chooser = Callable[[Items], NDArray[np.bool_]]
"""Which of these items are wanted."""
Values = NDArray[np.float64]
"""Numbers; where one stands for a time or a span, NaN says that there is none."""
VERSION = b"\x01"
MINUS_ZERO = np.iinfo(np.int64).min
"""The bits of a zero with a sign, as a whole number has none."""
WHOLE = 2.0**53
"""From here on a double does not tell neighbouring whole numbers apart, and is kept as it is."""


class DamagedFigures(ValueError):
    """Bytes that are no figures of a version we know."""


def pack(items: Items, values: Values) -> bytes:
    """The figures of one poll; the numbers of the items in ascending order."""
    return VERSION + zlib.compress(_items(items) + _numbers(values), 1)


def unpack(body: bytes) -> tuple[Items, Values]:
    """What `pack` took. Raises DamagedFigures."""
    reader = _Reader(body)
    items = reader.items()
    return items, reader.numbers(len(items), 0, len(items))


def pack_buckets(items: Items, totals: Values, mosts: Values) -> bytes:
    """A row of buckets for each item, in ascending order of their numbers; NaN where a bucket has none."""
    known = ~np.isnan(totals)
    width = totals.shape[1].to_bytes(4, "little")
    parts = (_items(items), width, np.packbits(known).tobytes(), _numbers(totals[known]), _numbers(mosts[known]))
    return VERSION + zlib.compress(b"".join(parts))


def unpack_buckets(body: bytes, wanted: Chooser | None = None) -> tuple[Items, Values, Values]:
    """What `pack_buckets` took, of the items that are wanted. Raises DamagedFigures.

    From the first item that is wanted up to the last one they are read, and no others: a chart asks for one of hundreds.
    """
    reader = _Reader(body)
    items = reader.items()
    width = reader.count()
    chosen = None if wanted is None else wanted(items).nonzero()[0]
    first, last = (0, len(items)) if chosen is None else _extent(chosen)
    mask = reader.mask(len(items) * width)
    known = mask.bits(first * width, last * width)
    begin, end = mask.before(first * width), mask.before(last * width)
    shape, count = (last - first, width), mask.before(len(items) * width)
    totals, mosts = np.full(known.shape, np.nan), np.full(known.shape, np.nan)
    totals[known] = reader.numbers(count, begin, end)
    mosts[known] = reader.numbers(count, begin, end)
    totals, mosts = totals.reshape(shape), mosts.reshape(shape)
    if chosen is None:
        return items, totals, mosts
    if len(chosen) == last - first:
        return items[first:last], totals, mosts
    return items[chosen], totals[chosen - first], mosts[chosen - first]


def _extent(places: NDArray[np.intp]) -> tuple[int, int]:
    return (int(places[0]), int(places[-1]) + 1) if len(places) else (0, 0)


def _planes(values: NDArray[Any], kind: str) -> bytes:
    """First the lowest byte of every number, then the next."""
    plain = values.astype(kind)
    return plain.view("u1").reshape(len(plain), plain.itemsize).T.tobytes()


def _items(items: Items) -> bytes:
    differences = items.copy()
    differences[1:] -= items[:-1]
    return len(items).to_bytes(4, "little") + _planes(differences, "<u4")


def _numbers(values: Values) -> bytes:
    whole = (np.rint(values) == values) & (np.abs(values) < WHOLE) & (values.view(np.int64) != MINUS_ZERO)
    integers, others = values[whole], values[~whole]
    kind = "<i4" if not len(integers) or -(2**31) < integers.min() <= integers.max() < 2**31 else "<i8"
    head = bytes([4 if kind == "<i4" else 8, len(others) > 0])
    mask = np.packbits(whole).tobytes() if len(others) else b""
    return head + mask + _planes(integers, kind) + _planes(others, "<f8")


@lru_cache(maxsize=64)
def _item_numbers(planes: bytes) -> Items:
    """The numbers of the items; rows of one view often have the same ones, day after day."""
    differences = np.frombuffer(planes, "u1").reshape(4, -1).T
    numbers = np.cumsum(np.ascontiguousarray(differences).view("<u4").reshape(-1), dtype=np.int64)
    numbers.flags.writeable = False
    return numbers


class _Mask:
    """One bit for each of so many numbers."""

    def __init__(self, data: memoryview) -> None:
        self._data = data

    def before(self, place: int) -> int:
        """How many bits are set before this place."""
        whole, rest = divmod(place, 8)
        found = int.from_bytes(self._data[:whole], "little").bit_count()
        return found + (self._data[whole] >> (8 - rest)).bit_count() if rest else found

    def bits(self, begin: int, end: int) -> NDArray[np.bool_]:
        """The bits from `begin` up to and without `end`."""
        skipped = begin // 8
        packed = np.frombuffer(self._data[skipped : (end + 7) // 8], "u1")
        return np.unpackbits(packed)[begin - 8 * skipped : end - 8 * skipped].view(bool)


class _Reader:
    """Reads the parts of a body, one after the other."""

    def __init__(self, body: bytes) -> None:
        if body[:1] != VERSION:
            raise DamagedFigures(
                f"these figures are of version {body[:1].hex() or 'none'}, and this latchscope reads 01"
            )
        try:
            self._data = memoryview(zlib.decompress(memoryview(body)[1:], bufsize=_EXPECTED * len(body)))
        except zlib.error as error:
            raise DamagedFigures(f"these figures are damaged: {error}") from None
        self._at = 0

    def take(self, size: int) -> memoryview:
        """So many bytes."""
        begin, self._at = self._at, self._at + size
        if self._at > len(self._data):
            raise DamagedFigures("these figures are cut off")
        return self._data[begin : self._at]

    def count(self) -> int:
        """A whole number that tells how many of something follow."""
        return int.from_bytes(self.take(4), "little")

    def mask(self, count: int) -> _Mask:
        """So many bits."""
        return _Mask(self.take((count + 7) // 8))

    def items(self) -> Items:
        return _item_numbers(bytes(self.take(4 * self.count())))

    def planes(self, count: int, kind: str, begin: int, end: int) -> NDArray[Any]:
        """Those numbers from `begin` up to and without `end`, of so many that are written byte by byte."""
        size = int(kind[-1])
        planes = np.frombuffer(self.take(count * size), "u1").reshape(size, count)
        return planes[:, begin:end].T.copy().view(kind).reshape(end - begin)

    def numbers(self, count: int, begin: int, end: int) -> Values:
        """Those figures from `begin` up to and without `end`, of so many that `_numbers` wrote."""
        width, mixed = self.take(2)
        if not mixed:
            return self.planes(count, f"<i{width}", begin, end).astype(float)
        mask = self.mask(count)
        integers, first, last = mask.before(count), mask.before(begin), mask.before(end)
        whole, values = mask.bits(begin, end), np.empty(end - begin)
        values[whole] = self.planes(integers, f"<i{width}", first, last)
        values[~whole] = self.planes(count - integers, "<f8", begin - first, end - last)
        return values


_EXPECTED = 4
"""How many times its size a body is expected to have when it is decompressed; more only takes longer."""
