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
    heavy = sorted(lines, key=lambda line: (-_weight(line, weights), line.name))
    first = [line for line in heavy[:most] if _weight(line, weights) > 0] or heavy[:1]
    rest = [line for line in heavy[len(first) :] if _weight(line, weights) > 0]
    yield from first
    if rest:
        columns = zip(*(line.values for line in rest), strict=True)
        yield ChartLine(
            f"{len(rest)} others" if len(rest) > 1 else rest[0].name, tuple(_total(column) for column in columns)
        )


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
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
    for index, stretch in enumerate(stretches):
        touches = bool(groups) and (stretch.begin - stretches[index - 1].end).total_seconds() <= 1.0
        if touches and len(groups[-1]) < by:
            groups[-1].append(index)
        else:
            groups.append([index])
    joined = [
        WatchedStretch(stretches[g[0]].begin, stretches[g[-1]].end, sum(stretches[index].seconds for index in g))
        for g in groups
    ]
    weights = [stretch.seconds for stretch in stretches]
    return joined, tuple(
        replace(
            panel,
            lines=tuple(ChartLine(line.name, tuple(_mean(line, g, weights) for g in groups)) for line in panel.lines),
        )
        for panel in panels
    )


def _mean(line: ChartLine, places: Sequence[int], weights: Sequence[float]) -> float | None:
    weighed = [(value, weights[index]) for index in places if (value := line.values[index]) is not None]
    total = sum(weight for _, weight in weighed)
    return sum(value * weight for value, weight in weighed) / total if total else None


def together(
    before: tuple[ChartPanel, Sequence[WatchedStretch]], after: tuple[ChartPanel, Sequence[WatchedStretch]]
) -> tuple[ChartPanel, ChartPanel]:
    """Two sides of one panel with the same lines in the same order: the heaviest of both.

    A line that one side lacks is zero there, where others are told.
    """
    names = list(dict.fromkeys(line.name for panel, _ in (before, after) for line in panel.lines))
    joined = [_found(name, panel, len(stretches)) for panel, stretches in (before, after) for name in names]
    weights = [[stretch.seconds for stretch in stretches] for _, stretches in (before, after)]
    both = [
        ChartLine(name, (*joined[index].values, *joined[index + len(names)].values)) for index, name in enumerate(names)
    ]
    chosen = list(top(both, weights[0] + weights[1]))
    cut = len(weights[0])
    return (
        replace(before[0], lines=tuple(ChartLine(line.name, line.values[:cut]) for line in chosen)),
        replace(after[0], lines=tuple(ChartLine(line.name, line.values[cut:]) for line in chosen)),
    )


def _found(name: str, panel: ChartPanel, length: int) -> ChartLine:
    for line in panel.lines:
        if line.name == name:
            return line
    known = [any(line.values[index] is not None for line in panel.lines) for index in range(length)]
    return ChartLine(name, tuple(0.0 if is_known else None for is_known in known))


def round_up(value: float) -> float:
    """The next 1, 2 or 5 times a power of ten, so that the scale reads well and rarely moves."""
    if value <= 0:
        return 1.0
    power = 1.0
    while power > value:
        power /= 10
    while power * 10 <= value:
        power *= 10
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)


def label(value: float) -> str:
    """A value on an axis, without its unit."""
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"
