"""The figures of one change that are drawn beside its Diagnosis: gets by cache, sleeps by location."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from collectors.model import ROW_CACHE_LATCH, Delta, NotComparable, Row, number
from rules.base import Frozen

MOST = 12
"""Bars of one chart. The others are too small to see."""


class Bar(Frozen):
    """One bar: its name and its value."""

    label: str
    value: float


class Bars(Frozen):
    """Bars of one chart, highest first; `left_out` counts the smaller ones that are not drawn."""

    title: str
    unit: str
    bars: tuple[Bar, ...]
    left_out: int = 0


def figures(change: Delta | NotComparable) -> tuple[Bars, ...]:
    """The charts for which the change has figures."""
    return () if isinstance(change, NotComparable) else tuple(_charts(change))


def _charts(delta: Delta) -> Iterator[Bars]:
    holders = [row for row in delta.rows("v$latch_misses") if row.get("parent_name") == ROW_CACHE_LATCH]
    yield from _bars("Dictionary cache gets", "gets", delta.rows("v$rowcache"), "parameter", "gets")
    yield from _bars(
        "Row cache latch: sleeps by the location that held it", "sleeps", holders, "location", "sleep_count"
    )
    mutexes = delta.rows("v$mutex_sleep")
    yield from _bars("Row cache mutexes: sleeps by location", "sleeps", mutexes, "location", "sleeps")


def _bars(title: str, unit: str, rows: Iterable[Row], key: str, column: str) -> Iterator[Bars]:
    """One chart, if any value is above zero. Rows of the same name, such as a cache's subordinates, are added up."""
    sums: dict[str, float] = defaultdict(float)
    for row in rows:
        sums[str(row.get(key))] += number(row.get(column)) or 0.0
    highest = sorted(((name, value) for name, value in sums.items() if value > 0), key=lambda pair: (-pair[1], pair[0]))
    if highest:
        drawn = tuple(Bar(label=name, value=value) for name, value in highest[:MOST])
        yield Bars(title=title, unit=unit, bars=drawn, left_out=max(0, len(highest) - MOST))
