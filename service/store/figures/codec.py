"""Figures of a poll packed into bytes and back, exactly. `figures.buckets` packs those of many buckets.

A body is a version byte and a zlib stream. It has the numbers of the items as differences, and the figures as
whole numbers of four or eight bytes if they are whole, else as doubles. Bytes of equal weight are together, because
that compresses best.
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
"""Numbers. In a time or a span, NaN means that there is none."""
VERSION = b"\x01"
MINUS_ZERO = np.iinfo(np.int64).min
"""The bits of a zero with a sign, as a whole number has none."""
WHOLE = 2.0**53
"""From here on a double cannot separate neighbouring whole numbers, so it is kept as it is."""


class DamagedFigures(ValueError):
    """Bytes that are not figures of a known version."""


def pack(items: Items, values: Values) -> bytes:
    """The figures of one poll, the numbers of the items in ascending order."""
    return VERSION + zlib.compress(len(items).to_bytes(4, "little") + item_planes(items) + _numbers(values), 1)


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
