"""Lines of figures over stretches of time: the heaviest ones, fewer points, two sides."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from rules.formatting import rough
from service.store.figures.codec import Values

TOP = 3
"""Lines of a chart, beside one for all others. More could not be distinguished."""


@dataclass(frozen=True, slots=True)
class WatchedStretch:
    """A watched stretch of time. Its figures cover `seconds` of it."""

    begin: datetime
    end: datetime
    seconds: float


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line of a chart: a value for each stretch, None if unknown."""

    name: str
    values: tuple[float | None, ...]
    lows: tuple[float | None, ...] = ()
    """If several stretches were joined into one: their lowest values, and in `highs` their highest."""
    highs: tuple[float | None, ...] = ()
    rest: bool = False
    """Whether it is the sum of all other lines."""


@dataclass(frozen=True, slots=True)
class ChartPanel:
    """One chart: its lines, the heaviest first."""

    key: str
    title: str
    unit: str
    lines: tuple[ChartLine, ...]


def top(lines: Mapping[str, Values], weights: Sequence[float], most: int = TOP) -> Iterator[ChartLine]:
    """The heaviest lines, and the others as one. Lines that are always zero are left out beside others."""
    weighed = np.array(weights, dtype=np.float64)
    heaviness = {name: float(np.nan_to_num(values) @ weighed) for name, values in lines.items()}
    heavy = sorted(lines, key=lambda name: (-heaviness[name], name))
    first = [name for name in heavy[:most] if heaviness[name] > 0] or heavy[:1]
    rest = [name for name in heavy[len(first) :] if heaviness[name] > 0]
    yield from (line_of(name, lines[name]) for name in first)
    if rest:
        others = f"{len(rest)} others" if len(rest) > 1 else rest[0]
        yield replace(line_of(others, np.sum([lines[name] for name in rest], axis=0)), rest=len(rest) > 1)


def line_of(name: str, values: Values) -> ChartLine:
    """A line from numbers. NaN is unknown."""
    return ChartLine(name, _told(values))


def thinned(
    stretches: Sequence[WatchedStretch], panels: Iterable[ChartPanel], by: int
) -> tuple[list[WatchedStretch], tuple[ChartPanel, ...]]:
    """Stretches joined in groups of this size, with mean, lowest and highest of the known values. Never across a gap."""
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
    weights = np.array([stretch.seconds for stretch in stretches])
    begins = np.array([group[0] for group in groups], np.intp)
    return joined, tuple(
        replace(
            panel,
            lines=tuple(_joined(line, begins, weights) for line in panel.lines),
        )
        for panel in panels
    )


def _joined(line: ChartLine, begins: NDArray[np.intp], weights: Values) -> ChartLine:
    """A line over joined stretches, which begin at these places: a peak of one poll is still seen in `highs`."""
    values, lows, highs = (
        np.array(each, float) for each in (line.values, line.lows or line.values, line.highs or line.values)
    )
    weighed = np.where(np.isnan(values), 0.0, weights)
    total = np.add.reduceat(weighed, begins)
    mean = np.add.reduceat(np.nan_to_num(values) * weighed, begins) / np.where(total > 0, total, np.nan)
    fewest, most = np.fmin.reduceat(lows, begins), np.fmax.reduceat(highs, begins)
    return replace(line, values=_told(mean), lows=_told(fewest), highs=_told(most))


def _told(values: Values) -> tuple[float | None, ...]:
    return tuple(None if value != value else value for value in values.tolist())


def together(
    before: tuple[ChartPanel, Sequence[WatchedStretch]], after: tuple[ChartPanel, Sequence[WatchedStretch]]
) -> tuple[ChartPanel, ChartPanel]:
    """Two sides of one panel with the same lines in the same order: the heaviest of both.

    A line that one side lacks is zero there, where other lines are known.
    """
    weights = [[stretch.seconds for stretch in stretches] for _, stretches in (before, after)]
    sides = [({line.name: line for line in panel.lines}, _without(panel, len(each))) for panel, each in (before, after)]
    names = list(dict.fromkeys(name for lines, _ in sides for name in lines))
    both = {
        name: np.array([*(value for lines, nothing in sides for value in lines.get(name, nothing).values)], dtype=float)
        for name in names
    }
    chosen = list(top(both, weights[0] + weights[1]))
    cut = len(weights[0])
    return (
        replace(before[0], lines=tuple(replace(line, values=line.values[:cut]) for line in chosen)),
        replace(after[0], lines=tuple(replace(line, values=line.values[cut:]) for line in chosen)),
    )


def _without(panel: ChartPanel, length: int) -> ChartLine:
    """The line for a panel without it: zero where any other line is known."""
    known = [any(line.values[index] is not None for line in panel.lines) for index in range(length)]
    return ChartLine("", tuple(0.0 if is_known else None for is_known in known))


def round_up(value: float) -> float:
    """The next 1, 2, 4 or 5 times a power of ten, so that the scale is round and rarely moves."""
    if value <= 0:
        return 1.0
    power = 1.0
    while power > value:
        power /= 10
    while power * 10 <= value:
        power *= 10
    return next(step * power for step in (1, 2, 4, 5, 10) if step * power >= value)


def label(value: float) -> str:
    """A value on an axis, without its unit: three significant digits, millions as M."""
    if value >= 1e6:
        return f"{value / 1e6:.3g} M"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def reached(line: ChartLine, index: int) -> str:
    """The mean of a row, and in brackets the highest single poll if it differs."""
    mean, high = _cell(line.values[index]), _cell(line.highs[index] if line.highs else None)
    return mean if high in ("–", mean) else f"{mean} ({high})"


def _cell(value: float | None) -> str:
    """A figure of a table to three significant digits. A dash if it is unknown."""
    return "–" if value is None else rough(value)
