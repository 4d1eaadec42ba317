"""Lines over stretches of time as the paths of a drawing. The position of each stretch is computed once for all lines."""

from collections.abc import Sequence
from datetime import datetime

from service.web.charts.axis import Axis, Frame
from service.web.charts.panels import ChartLine, WatchedStretch

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
