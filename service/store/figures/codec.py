"""Figures packed into bytes and back, exactly: those of one poll, and those of many buckets for each item of a view.

A body is a version byte and a zlib stream. In it stand the numbers of the items as differences, and the figures as
whole numbers of four or eight bytes where they are whole, else as doubles; bytes of equal weight lie together, because
that is what compresses.
"""

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Items = NDArray[np.int64]
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
    return items, reader.numbers(len(items))


def pack_buckets(items: Items, totals: Values, mosts: Values) -> bytes:
    """A row of buckets for each item, in ascending order of their numbers; NaN where a bucket has none."""
    known = ~np.isnan(totals)
    width = totals.shape[1].to_bytes(4, "little")
    parts = (_items(items), width, np.packbits(known).tobytes(), _numbers(totals[known]), _numbers(mosts[known]))
    return VERSION + zlib.compress(b"".join(parts))


def unpack_buckets(body: bytes) -> tuple[Items, Values, Values]:
    """What `pack_buckets` took. Raises DamagedFigures."""
    reader = _Reader(body)
    items = reader.items()
    width = int(reader.take(1, "<u4")[0])
    count = len(items) * width
    known = np.unpackbits(reader.take((count + 7) // 8, "u1"), count=count).astype(bool).reshape(len(items), width)
    totals, mosts = (np.full(known.shape, np.nan) for _ in range(2))
    totals[known] = reader.numbers(int(known.sum()))
    mosts[known] = reader.numbers(int(known.sum()))
    return items, totals, mosts


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


class _Reader:
    """Reads the parts of a body, one after the other."""

    def __init__(self, body: bytes) -> None:
        if body[:1] != VERSION:
            raise DamagedFigures(
                f"these figures are of version {body[:1].hex() or 'none'}, and this latchscope reads 01"
            )
        try:
            self._data = zlib.decompress(body[1:])
        except zlib.error as error:
            raise DamagedFigures(f"these figures are damaged: {error}") from None
        self._at = 0

    def take(self, count: int, kind: str) -> NDArray[Any]:
        """So many numbers of a kind."""
        size = np.dtype(kind).itemsize * count
        if self._at + size > len(self._data):
            raise DamagedFigures("these figures are cut off")
        found = np.frombuffer(self._data, kind, count, self._at)
        self._at += size
        return found

    def planes(self, count: int, kind: str) -> NDArray[Any]:
        """So many numbers, byte by byte."""
        size = np.dtype(kind).itemsize
        return np.ascontiguousarray(self.take(count * size, "u1").reshape(size, count).T).view(kind).reshape(count)

    def items(self) -> Items:
        return np.cumsum(self.planes(int(self.take(1, "<u4")[0]), "<u4"), dtype=np.int64)

    def numbers(self, count: int) -> Values:
        """So many figures, as `_numbers` wrote them."""
        width, mixed = self.take(2, "u1").tolist()
        whole = np.ones(count, dtype=bool)
        if mixed:
            whole = np.unpackbits(self.take((count + 7) // 8, "u1"), count=count).astype(bool)
        integers = int(np.count_nonzero(whole))
        values = np.empty(count)
        values[whole] = self.planes(integers, f"<i{width}")
        values[~whole] = self.planes(count - integers, "<f8")
        return values
