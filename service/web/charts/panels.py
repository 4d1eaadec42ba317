"""Lines of figures over stretches of time: the heaviest of them, fewer of them, two sides of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

TOP = 5
"""Lines of a chart beside those of all others as one."""


@dataclass(frozen=True, slots=True)
class WatchedStretch:
    """A stretch of time that was watched; `seconds` of it are in its figures."""

    begin: datetime
    end: datetime
    seconds: float


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line of a chart: a value for each stretch, None where it cannot be told."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class ChartPanel:
    """One chart: its lines in the order of their weight."""

    key: str
    title: str
    unit: str
    lines: tuple[ChartLine, ...]


def top(lines: Sequence[ChartLine], weights: Sequence[float], most: int = TOP) -> Iterator[ChartLine]:
    """The heaviest lines, and the others as one. Lines that are zero throughout are left out beside others."""
    heavy = sorted(lines, key=lambda one: (-_weight(one, weights), one.name))
    first = [one for one in heavy[:most] if _weight(one, weights) > 0] or heavy[:1]
    rest = [one for one in heavy[len(first) :] if _weight(one, weights) > 0]
    yield from first
    if rest:
        columns = zip(*(one.values for one in rest), strict=True)
        yield ChartLine(
            f"{len(rest)} others" if len(rest) > 1 else rest[0].name, tuple(_total(column) for column in columns)
        )


def _total(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return sum(known) if len(known) == len(values) else None


def _weight(line: ChartLine, weights: Sequence[float]) -> float:
    return sum((value or 0.0) * weight for value, weight in zip(line.values, weights, strict=True))


def thinned(
    stretches: Sequence[WatchedStretch], panels: Iterable[ChartPanel], by: int
) -> tuple[list[WatchedStretch], tuple[ChartPanel, ...]]:
    """So many stretches at a time joined into one, with the mean of what is told; never across a gap."""
    if by <= 1:
        return list(stretches), tuple(panels)
    groups: list[list[int]] = []
    for place, one in enumerate(stretches):
        touches = bool(groups) and (one.begin - stretches[place - 1].end).total_seconds() <= 1.0
        if touches and len(groups[-1]) < by:
            groups[-1].append(place)
        else:
            groups.append([place])
    joined = [
        WatchedStretch(stretches[g[0]].begin, stretches[g[-1]].end, sum(stretches[place].seconds for place in g))
        for g in groups
    ]
    weights = [one.seconds for one in stretches]
    return joined, tuple(
        replace(
            panel,
            lines=tuple(ChartLine(one.name, tuple(_mean(one, g, weights) for g in groups)) for one in panel.lines),
        )
        for panel in panels
    )


def _mean(line: ChartLine, places: Sequence[int], weights: Sequence[float]) -> float | None:
    told = [(value, weights[place]) for place in places if (value := line.values[place]) is not None]
    total = sum(weight for _, weight in told)
    return sum(value * weight for value, weight in told) / total if total else None


def together(
    before: tuple[ChartPanel, Sequence[WatchedStretch]], after: tuple[ChartPanel, Sequence[WatchedStretch]]
) -> tuple[ChartPanel, ChartPanel]:
    """Two sides of one panel with the same lines in the same order: the heaviest of both.

    A line that one side lacks is zero there, where others are told.
    """
    names = list(dict.fromkeys(line.name for panel, _ in (before, after) for line in panel.lines))
    joined = [_found(name, panel, len(stretches)) for panel, stretches in (before, after) for name in names]
    weights = [[one.seconds for one in stretches] for _, stretches in (before, after)]
    both = [
        ChartLine(name, (*joined[place].values, *joined[place + len(names)].values)) for place, name in enumerate(names)
    ]
    chosen = list(top(both, weights[0] + weights[1]))
    cut = len(weights[0])
    return (
        replace(before[0], lines=tuple(ChartLine(one.name, one.values[:cut]) for one in chosen)),
        replace(after[0], lines=tuple(ChartLine(one.name, one.values[cut:]) for one in chosen)),
    )


def _found(name: str, panel: ChartPanel, length: int) -> ChartLine:
    for line in panel.lines:
        if line.name == name:
            return line
    told = [any(line.values[place] is not None for line in panel.lines) for place in range(length)]
    return ChartLine(name, tuple(0.0 if one else None for one in told))
