"""Figures as 0.2.0 and its successors packed them, read for the last time: by the migration, from exports and from the spool.

Frozen: it goes with the tables `old_…` in 0.4.0. A poll's figures are one body, those of roll-ups one for each view and hour or
day, in pieces of some items each. A zero was not stored; what was unknown is in `missing`.
"""

import json
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.store.tables import MEANS, NUMBERS, SUMS

Items = NDArray[np.int64]
Values = NDArray[np.float64]
_HEAD = struct.Struct("<IHII")
"""After the version: how many items, buckets, items of a piece, and bytes of the numbers of the items."""
_KINDS = ("<i4", "<i8", "<f8")


class DamagedFigures(ValueError):
    """Bytes that are not figures of a known version."""


class _Reader:
    """Reads the parts of a decompressed body, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = memoryview(data), 0

    def take(self, size: int) -> memoryview:
        """So many bytes. Raises DamagedFigures."""
        begin, self._at = self._at, self._at + size
        if self._at > len(self._data):
            raise DamagedFigures("these figures are cut off")
        return self._data[begin : self._at]

    def count(self) -> int:
        """How many of what follows."""
        return int.from_bytes(self.take(4), "little")

    def mask(self, count: int) -> NDArray[np.bool_]:
        """So many bits."""
        return np.unpackbits(np.frombuffer(self.take((count + 7) // 8), "u1"), count=count).view(bool)

    def planes(self, count: int, kind: str) -> NDArray[Any]:
        """This many numbers, written byte by byte."""
        size = int(kind[-1])
        return np.frombuffer(self.take(count * size), "u1").reshape(size, count).T.copy().view(kind).reshape(count)

    def items(self, count: int) -> Items:
        """Ascending numbers of items, written as differences."""
        return np.cumsum(self.planes(count, "<u4"), dtype=np.int64)

    def numbers(self, count: int) -> Values:
        """This many figures: whole ones of four or eight bytes, and doubles."""
        width, mixed = self.take(2)
        if not mixed:
            return self.planes(count, f"<i{width}").astype(float)
        whole, values = self.mask(count), np.empty(count)
        integers = int(whole.sum())
        values[whole] = self.planes(integers, f"<i{width}")
        values[~whole] = self.planes(count - integers, "<f8")
        return values


def figures_of_poll(body: bytes) -> tuple[Items, Values]:
    """The items of a poll and what each changed by. Raises DamagedFigures."""
    reader = _opened(body, b"\x01")
    items = reader.items(reader.count())
    return items, reader.numbers(len(items))


def figures_of_buckets(body: bytes) -> tuple[Items, Values, Values]:
    """The items of a row of roll-ups, and of each its totals and highest rates by bucket; NaN is none. Raises DamagedFigures."""
    if body[:1] == b"\x01":
        reader = _opened(body, b"\x01")
        items, width = reader.items(reader.count()), reader.count()
        known = reader.mask(len(items) * width)
        both = np.full((2, len(known)), np.nan)
        for values in both:
            values[known] = reader.numbers(int(known.sum()))
        return items, *both.reshape(2, -1, width)
    if body[:1] != b"\x02":
        raise DamagedFigures(
            f"these figures are of version {body[:1].hex() or 'none'}, and this latchscope reads 01 and 02"
        )
    try:
        count, width, size, numbers = _HEAD.unpack_from(body, 1)
        at = 1 + _HEAD.size + numbers
        items = _Reader(zlib.decompress(body[at - numbers : at])).items(count)
        pieces = -(-count // size)
        ends = [at + 4 * pieces + end for end in (0, *struct.unpack_from(f"<{pieces}I", body, at))]
        read = [
            _piece(_Reader(zlib.decompress(body[begin:end])), min(size, count - place * size), width)
            for place, (begin, end) in enumerate(pairwise(ends))
        ]
    except (struct.error, zlib.error, ZeroDivisionError) as error:
        raise DamagedFigures(f"these figures are damaged: {error}") from None
    totals, mosts = (
        np.concatenate(each) if each else np.zeros((0, width)) for each in ([t for t, _ in read], [m for _, m in read])
    )
    return items, totals, mosts


def _opened(body: bytes, version: bytes) -> _Reader:
    if body[:1] != version:
        raise DamagedFigures(f"these figures are of version {body[:1].hex() or 'none'}, and this latchscope reads 01")
    try:
        return _Reader(zlib.decompress(body[1:]))
    except zlib.error as error:
        raise DamagedFigures(f"these figures are damaged: {error}") from None


def _piece(reader: _Reader, many: int, width: int) -> tuple[Values, Values]:
    *kinds, every = reader.take(3)
    bits = None if every else np.frombuffer(reader.take(many * -(-width // 8)), "u1").reshape(many, -1)
    both = [reader.planes(many * width, _KINDS[kind]).astype(float).reshape(many, width) for kind in kinds]
    if bits is not None:
        unknown = np.unpackbits(bits, axis=1, count=width) == 0
        for values in both:
            values[unknown] = np.nan
    return both[0], both[1]


# Which of them are the chosen figures of today, and the sums of many items as one.

LATCH = '"name":"row cache objects"'
_OF: dict[tuple[str, str], Sequence[tuple[str, str, float]]] = {
    ("impact", "share_of_db_time"): [("", "share", 1.0)],
    ("impact", "waiting_sessions"): [("", "waiting", 1.0)],
    ("v$sys_time_model", "value"): [('"DB time"', "db_time", 1e-6), ('"DB CPU"', "db_cpu", 1e-6)],
    ("v$system_event", "time_waited_micro"): [
        ('"latch: row cache objects"', "latch_time", 1e-6),
        ('"row cache mutex"', "mutex_time", 1e-6),
        ('"row cache lock"', "lock_time", 1e-6),
        ('"latch free"', "latch_free_time", 1e-6),
    ],
    **{("v$rowcache", name): [("", name, 1.0)] for name in ("gets", "getmisses", "modifications")},
    **{("v$latch", name): [(LATCH, f"latch_{name}", 1.0)] for name in ("gets", "misses")},
    ("v$latch", "sleeps"): [(LATCH, "sleeps", 1.0)],
    ("v$mutex_sleep", "sleeps"): [("", "sleeps", 1.0)],
    ("v$latch_children", "sleeps"): [("", "hot_child_sleeps", 1.0)],
    ("v$sysstat", "value"): [
        ('"execute count"', "executions", 1.0),
        ('"parse count (total)"', "parses", 1.0),
        ('"parse count (hard)"', "hard_parses", 1.0),
        ('"logons cumulative"', "logons", 1.0),
        ('"user commits"', "commits", 1.0),
    ],
}
"""View and column → what the key of its row holds, the figure, and the factor to its unit."""
PLACES = {name: place for place, name in enumerate((*MEANS, *SUMS))}
_HOT = PLACES["hot_child_sleeps"]
_NEEDS: dict[int, set[str]] = defaultdict(set)
"""The views that each figure needs."""
for (_view, _), _rules in _OF.items():
    for _part, _name, _factor in _rules:
        _NEEDS[PLACES[_name]].add(_view)
VIEWS = tuple(sorted({view for view, _ in _OF}))
"""The views that the figures come from."""


def wanted(view: str, key: str, column: str) -> tuple[int, float, int] | None:
    """The place of an item's figure, the factor to its unit, and its child latch or 0. None if it is none of today's."""
    for part, name, factor in _OF.get((view, column), ()):
        if part in key:
            child = json.loads(key)["child#"] if view == "v$latch_children" else 0
            return PLACES[name], factor, int(child)
    return None


def numbers(
    figures: Iterable[tuple[tuple[int, float, int], float, float]], missing: str, seconds: float | None
) -> tuple[list[float | None], list[float | None]]:
    """The chosen figures of a poll or of an hour, in the order of NUMBERS, and the highest rates of MEANS and SUMS.

    `figures`: what `wanted` said of each item, its total and its highest rate; `missing`: JSON, as it was stored.
    """
    totals, mosts, hot = [0.0] * len(PLACES), [0.0] * len(PLACES), 0
    if not seconds:
        return [None] * len(NUMBERS), [None] * len(PLACES)
    for (place, factor, child), total, most in figures:
        total, most = total * factor, most * factor
        if not child:
            totals[place] += total
        elif total > totals[_HOT]:
            totals[_HOT], hot = total, child
        mosts[place] = max(mosts[place], most)
    for place in range(len(MEANS)):
        totals[place] /= seconds
    unknown = {*_unknown(missing), *({*PLACES.values()} - _NEEDS.keys())}  # a later release may have more figures
    if not totals[PLACES["latch_gets"]]:  # a release without this latch
        unknown |= {PLACES["latch_gets"], PLACES["latch_misses"]}
    told: list[float | None] = list(totals)
    highest = [
        max(most, total / seconds if place >= len(MEANS) else total)
        for place, (most, total) in enumerate(zip(mosts, totals, strict=True))
    ]
    most_told: list[float | None] = list(highest)
    for place in unknown:
        told[place] = most_told[place] = None
    return [*told, hot if hot and told[_HOT] is not None else None], most_told


def _unknown(missing: str) -> Iterator[int]:
    """The places of figures that a view or a counter is missing for."""
    for gap in json.loads(missing):
        if len(gap) > 1:
            found = wanted(gap[0], gap[1], gap[2])
            if found is not None:
                yield found[0]
        else:
            yield from (place for place, views in _NEEDS.items() if gap[0] in views)
