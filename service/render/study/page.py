"""The common form of every study: an answer, sentences, tables and charts. Text and HTML draw the same page."""

from dataclasses import dataclass
from math import floor, log10

from rules.formatting import rough

HUGE = 1e8
"""From here on a number is written with its power of ten."""


@dataclass(frozen=True, slots=True)
class StudyTable:
    """A table. The first `words` columns are words, the others numbers."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1


@dataclass(frozen=True, slots=True)
class StudyCurve:
    """A named curve through points (x, y), ordered by x."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class StudyLines:
    """A chart of curves over one axis. A logarithmic axis leaves out values that are not positive."""

    title: str
    x: str
    curves: tuple[StudyCurve, ...]
    log_x: bool = False
    log_y: bool = False

    @property
    def points(self) -> list[tuple[float, float]]:
        """Every point that can be drawn."""
        return [point for curve in self.curves for point in self.drawn(curve)]

    def drawn(self, curve: StudyCurve) -> list[tuple[float, float]]:
        """The points of a curve that its axes can show."""
        return [(x, y) for x, y in curve.points if (x > 0 or not self.log_x) and (y > 0 or not self.log_y)]

    def span_y(self) -> tuple[float, float]:
        """The ends of the vertical axis: from 0, or powers of ten if it is logarithmic."""
        values = [y for _, y in self.points]
        top = max(values)
        if not self.log_y:
            return 0.0, round_up(top)
        low, high = floor(log10(min(values))), -floor(-log10(top))
        return 10.0**low, 10.0 ** max(high, low + 1)

    def place(self, x: float, y: float) -> tuple[float, float]:
        """The position of a point, both coordinates from 0 to 1."""
        (low, high), xs = self.span_y(), [each for each, _ in self.points]
        return _part(x, min(xs), max(xs), self.log_x), _part(y, low, high, self.log_y)


@dataclass(frozen=True, slots=True)
class StudyBars:
    """A bar for each name; values are not negative."""

    title: str
    unit: str
    amounts: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class StudyPage:
    """One study: the answer first, then its basis."""

    title: str
    answer: str
    findings: tuple[str, ...]
    parts: tuple[StudyTable | StudyLines | StudyBars, ...]
    limits: tuple[str, ...]
    """What the figures do not say."""


def share(value: float | None) -> str:
    """A share in percent: two decimals, or three digits below one percent. Empty if unknown."""
    if value is None:
        return "–"
    percent = value * 100
    if abs(percent) >= HUGE:
        return f"{percent:.3g} %"
    return "0 %" if percent == 0 else f"{percent:.2f} %" if abs(percent) >= 1 else f"{percent:.3g} %"


def figure(value: float | None, unit: str = "") -> str:
    """A number to three digits with its unit. Empty if unknown."""
    return "–" if value is None else f"{tick(value)} {unit}".rstrip()


def tick(value: float) -> str:
    """A number to three digits, short enough for any axis."""
    return rough(value) if abs(value) < HUGE else f"{value:.3g}"


def duration(seconds: float) -> str:
    """A time in the unit that reads best: 0.0015820 → 1.6 ms."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size * 0.9995:
            value = f"{seconds / size:.1f}"
            return f"{value.removesuffix('.0')} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def round_up(value: float) -> float:
    """The next round number, so that little of an axis stays empty."""
    if value <= 0:
        return 1.0
    power: float = 10.0 ** floor(log10(value))
    return next(
        step * power for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= value * (1 - 1e-12)
    )


def _part(value: float, low: float, high: float, logarithmic: bool) -> float:
    if logarithmic:
        value, low, high = log10(value), log10(low), log10(high)
    return 0.5 if high == low else (value - low) / (high - low)
