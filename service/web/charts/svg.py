"""Charts as SVG text, drawn on the server: no script, no picture library. The same points give the same bytes.

Here are the parts of every chart: the time axis, the choice of lines, and lines as paths.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import floor, log10

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from rules.formatting import rough
from service.state.time_window import Window
from service.store.polls import Values

# The time axis that charts of one page share: the position of a moment in a drawing, and the round times below it.
#
# Every chart is drawn twice, for a wide page and for a narrow one, so that its text stays as large as the text around
# it.

_CLOCK = (1, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200)
STEPS = (*_CLOCK, *(days * 86400 for days in (1, 2, 5, 7, 14, 28, 56, 112, 224)))
"""Seconds between two ticks."""
EPOCH = datetime(1970, 1, 5, tzinfo=UTC)
"""A Monday, so that weeks begin with one."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A drawing: its size, its margins, and how many times fit below it."""

    kind: str
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    ticks: int

    @property
    def floor(self) -> int:
        """The y position of zero."""
        return self.height - self.bottom

    @property
    def edge(self) -> int:
        """The right end of the drawing area."""
        return self.width - self.right


WIDE = Frame("wide", 1200, 180, 62, 10, 26, 24, 8)
NARROW = Frame("narrow", 360, 170, 62, 10, 26, 24, 4)
FRAMES = (WIDE, NARROW)
HALF = Frame("half", 570, 160, 62, 10, 26, 24, 5)
"""One of two drawings side by side."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The time axis of a window in a drawing."""

    window: Window
    frame: Frame = WIDE

    def x(self, at: datetime) -> float:
        """The position of a moment. Moments outside are on the edge."""
        share = (at - self.window.begin) / self.window.length
        return self.frame.left + min(max(share, 0.0), 1.0) * (self.frame.edge - self.frame.left)

    def ticks(self) -> list[tuple[datetime, str]]:
        """Round moments in UTC, as many as fit into the frame, each with its label."""
        seconds = self.window.length.total_seconds()
        step = timedelta(seconds=next((step for step in STEPS if seconds / step <= self.frame.ticks), STEPS[-1]))
        first = -((EPOCH - self.window.begin) // step)
        form = "%d %b" if step >= timedelta(days=1) else "%H:%M:%S" if step < timedelta(minutes=1) else "%H:%M"
        at, times = EPOCH + first * step, []
        while at < self.window.end:
            if at >= self.window.begin:
                times.append((at, at.strftime(form)))
            at += step
        return times

    def times(self, floor: float) -> str:
        """The ticks drawn below `floor`."""
        drawn = ""
        for at, words in self.ticks():
            x = self.x(at)
            drawn += f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{floor:g}" y2="{floor + 4:g}"/>'
            # A label half outside the drawing would be cut.
            if self.frame.left - 20 <= x <= self.frame.width - 22:
                drawn += f'<text x="{x:.1f}" y="{floor + 18:g}" text-anchor="middle">{words}</text>'
        return drawn


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch without figures, and why. Its length is zero if the figures of a longer stretch cover it."""

    begin: datetime
    end: datetime
    why: str


def gap_marks(axis: Axis, gaps: Sequence[Gap], top: float, floor: float) -> str:
    """Gaps as hatched areas between two heights."""
    return "".join(
        f'<rect class="gap" x="{axis.x(gap.begin):.1f}" y="{top:g}" width="{max(axis.x(gap.end) - axis.x(gap.begin), 2):.1f}" '
        f'height="{floor - top:g}"><title>{escape(gap.why)}</title></rect>'
        for gap in gaps
    )


# Lines of figures over stretches of time: the heaviest ones, fewer points, two sides.

CHANCE = 10.0
"""Events of a poll below which its rate is chance."""
MOST_LINES = 3
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


def top(lines: Mapping[str, Values], weights: Sequence[float], most: int = MOST_LINES) -> Iterator[ChartLine]:
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
    stretches: Sequence[WatchedStretch], panels: Iterable[ChartPanel], most: int
) -> tuple[list[WatchedStretch], tuple[ChartPanel, ...]]:
    """About so many stretches: neighbours joined, with mean, lowest and highest of the known values. Never across a gap."""
    by = -(-len(stretches) // most)
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
        replace(panel, lines=tuple(_joined(line, begins, weights) for line in panel.lines)) for panel in panels
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


def levelled(panel: ChartPanel, stretches: Sequence[WatchedStretch], least: float) -> ChartPanel:
    """Rates where few events happened, as their mean over `least` seconds: one sleep in a poll of 2 s is no sixty a minute."""
    weights = np.array([stretch.seconds for stretch in stretches])
    values = np.array([line.values for line in panel.lines], float)
    events, groups = np.nansum(values, axis=0) * weights, [0]
    for index in range(1, len(stretches)):
        apart = (stretches[index].begin - stretches[index - 1].end).total_seconds() > 1.0
        begin = groups[-1]
        if apart or events[index] >= CHANCE or events[begin] >= CHANCE or weights[begin:index].sum() >= least:
            groups.append(index)
    whole = np.add.reduceat(np.nan_to_num(values) * weights, groups, axis=1) / np.add.reduceat(weights, groups)
    spread = np.repeat(whole, np.diff([*groups, len(stretches)]), axis=1)
    told = np.where(np.isnan(values), np.nan, spread)
    return replace(
        panel, lines=tuple(replace(line, values=_told(of)) for line, of in zip(panel.lines, told, strict=True))
    )


def _told(values: Values) -> tuple[float | None, ...]:
    return tuple(None if value != value else value for value in values.tolist())


def together(
    before: tuple[ChartPanel, Sequence[WatchedStretch]], after: tuple[ChartPanel, Sequence[WatchedStretch]]
) -> tuple[ChartPanel, ChartPanel]:
    """Two sides of one panel with the same lines in the same order: the heaviest of both.

    A line that one side lacks is zero there, where other lines are known.
    """
    weights = [[stretch.seconds for stretch in stretches] for _, stretches in (before, after)]
    sides = []
    for panel, stretches in (before, after):
        known = [any(line.values[place] is not None for line in panel.lines) for place in range(len(stretches))]
        nothing = tuple(0.0 if is_known else None for is_known in known)
        sides.append(({line.name: line.values for line in panel.lines}, nothing))
    both = {
        name: np.array([value for lines, nothing in sides for value in lines.get(name, nothing)], dtype=float)
        for name in dict.fromkeys(name for lines, _ in sides for name in lines)
    }
    chosen = list(top(both, weights[0] + weights[1]))
    cut = len(weights[0])
    return (
        replace(before[0], lines=tuple(replace(line, values=line.values[:cut]) for line in chosen)),
        replace(after[0], lines=tuple(replace(line, values=line.values[cut:]) for line in chosen)),
    )


def round_up(value: float) -> float:
    """The next 1, 2, 4 or 5 times a power of ten, so that the scale is round and rarely moves."""
    if value <= 0:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next(step * power for step in (1, 2, 4, 5, 10) if step * power >= value)


def label(value: float) -> str:
    """A value on an axis, without its unit: three significant digits, millions as M."""
    if value >= 1e6:
        return f"{value / 1e6:.3g} M"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def reached(line: ChartLine, index: int) -> str:
    """The mean of a row, and in brackets the highest single poll if it differs."""
    figures = (line.values[index], line.highs[index] if line.highs else None)
    mean, high = ("–" if value is None else rough(value) for value in figures)
    return mean if high in ("–", mean) else f"{mean} ({high})"


# Lines over stretches of time as the paths of a drawing. The position of each stretch is computed once for all lines.

Run = list[tuple[float, float, float]]
"""Neighbouring stretches with a known value: left, right and height of each."""
Places = Sequence[tuple[float, float, bool]]
"""The position of each stretch, left and right, and whether it touches the one before it."""


def places_of(axis: Axis, stretches: Sequence[WatchedStretch]) -> Places:
    """The positions of stretches on an axis."""
    placed = []
    reached: datetime | None = None
    for stretch in stretches:
        left = axis.x(stretch.begin)
        touches = reached is not None and (stretch.begin - reached).total_seconds() <= 1.0
        # At least one unit wide, so that a single short stretch is visible.
        placed.append((left, max(axis.x(stretch.end), left + 1), touches))
        reached = stretch.end
    return placed


def runs_of(values: Sequence[float | None], places: Places, frame: Frame, top: float) -> list[Run]:
    """The known parts of a line, heights on a scale that ends at `top`."""
    runs: list[Run] = []
    going = False
    for (left, right, touches), value in zip(places, values, strict=True):
        if value is not None:
            if not (going and touches):
                runs.append([])
            runs[-1].append((left, right, height_of(frame, value, top)))
        going = value is not None
    return runs


def path_of(runs: Sequence[Run]) -> str:
    """Level over each stretch, joined if stretches touch and both are known."""
    return "".join(
        "".join(f"{'V' if index else f'M{left:.1f},'}{y:.1f}H{right:.1f}" for index, (left, right, y) in enumerate(run))
        for run in runs
    )


def area_of(runs: Sequence[Run], frame: Frame) -> str:
    """The area between a line and zero."""
    return "".join(
        f"M{run[0][0]:.1f},{frame.floor}" + "".join(f"V{y:.1f}H{right:.1f}" for _, right, y in run) + f"V{frame.floor}Z"
        for run in runs
    )


def spread_of(line: ChartLine, places: Places, frame: Frame, top: float) -> str:
    """The area between the lowest and the highest value, if several stretches were joined into one."""
    drawn = ""
    highs, lows = (runs_of(values, places, frame, top) for values in (line.highs, line.lows))
    for high, low in zip(highs, lows, strict=True):
        drawn += f"M{high[0][0]:.1f},{high[0][2]:.1f}" + "".join(f"V{y:.1f}H{right:.1f}" for _, right, y in high)
        drawn += "".join(f"V{y:.1f}H{left:.1f}" for left, _, y in reversed(low)) + "Z"
    return drawn


def height_of(frame: Frame, value: float, top: float) -> float:
    """The y position of a value in a drawing. A value beyond the scale is on its edge."""
    return frame.floor - min(max(value / top, 0.0), 1.0) * (frame.floor - frame.top)


WIDTH, ROW, NAMES = 640, 18, 220


def bars(amounts: Sequence[tuple[str, float]], title: str, unit: str) -> Markup:
    """A row for each name with its bar and its number, in the given order. Values are not negative."""
    top = max((value for _, value in amounts), default=0.0) or 1.0
    height = ROW * len(amounts)
    rows = ""
    for y, (name, value) in zip(range(0, height, ROW), amounts, strict=True):
        width = max(1.0, value / top * (WIDTH - NAMES - 90))
        short = name if len(name) <= 40 else f"{name[:39]}…"
        rows += (
            f'<text x="{NAMES - 6}" y="{y + 13}" text-anchor="end">{escape(short)}</text>'
            f'<rect class="fill" x="{NAMES}" y="{y + 3}" width="{width:.1f}" height="{ROW - 6}"/>'
            f'<text x="{NAMES + width + 5:.1f}" y="{y + 13}">{label(value)}</text>'
        )
    return Markup(
        f'<figure><figcaption>{escape(title)} <span class="quiet">{escape(unit)}</span></figcaption>'
        f'<svg class="amounts" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">{rows}</svg></figure>'
    )
