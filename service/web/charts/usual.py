"""The usual figures of a database hour by hour, as a quiet line behind a chart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rules.baseline import UsualRange
from service.history.usual_hours import HOUR, hours_of, usual_over
from service.state.window import Window
from service.store.repository import Repository
from service.web.charts.axis import Axis
from service.web.charts.panels import label
from service.web.charts.paths import height_of

LONGEST = timedelta(days=8)
"""In a longer window the lines of the weeks would be too dense to read."""
PANELS: Mapping[str, tuple[str, float]] = {
    "share": ("row_cache_wait_share", 100.0),
    "gets": ("dictionary_gets_per_second", 1.0),
    "hard": ("hard_parses_per_second", 1.0),
    "executions": ("executions_per_second", 1.0),
}
"""Chart → the figure for all its lines together, and the factor from its unit to that of the chart."""


@dataclass(frozen=True, slots=True)
class UsualStretch:
    """Hours with one usual value, in the unit of the chart."""

    begin: datetime
    end: datetime
    usual: UsualRange


def usual_lines(store: Repository, database: str, window: Window) -> Mapping[str, Sequence[UsualStretch]]:
    """The usual values over a window, by chart. Empty without enough history. Raises what the store raises."""
    if window.length > LONGEST:
        return {}
    hours = hours_of(window)
    known = usual_over(store, database, hours)
    return {
        panel: _stretches(hours, known[figure], scale) for panel, (figure, scale) in PANELS.items() if figure in known
    }


def usual_at(usual: Sequence[UsualStretch], at: datetime) -> UsualRange | None:
    """The usual value at a moment."""
    return next((stretch.usual for stretch in usual if stretch.begin <= at < stretch.end), None)


def usual_drawing(axis: Axis, usual: Sequence[UsualStretch], top: float) -> str:
    """The line, level over each hour. It breaks where nothing is known."""
    drawn = ""
    for place, stretch in enumerate(usual):
        left, right = axis.x(stretch.begin), axis.x(stretch.end)
        touches = place and usual[place - 1].end == stretch.begin
        y = height_of(axis.frame, stretch.usual.median, top)
        drawn += f"{'V' if touches else f'M{left:.1f},'}{y:.1f}H{right:.1f}"
    return f'<path class="normal" d="{drawn}"><title>{usual_words(usual)}</title></path>' if usual else ""


def usual_words(usual: Sequence[UsualStretch]) -> str:
    """The last usual value and its range in words."""
    last = usual[-1].usual
    return f"usual {label(last.median)}, mostly {label(last.low)} to {label(last.high)}: {last.words}"


def _stretches(
    hours: Sequence[datetime], values: Sequence[UsualRange | None], scale: float
) -> tuple[UsualStretch, ...]:
    found: list[UsualStretch] = []
    for hour, value in zip(hours, values, strict=True):
        if value is None:
            continue
        parts = {name: getattr(value, name) * scale for name in ("median", "low", "high")}
        scaled = value.model_copy(update=parts)
        if found and found[-1].end == hour and found[-1].usual == scaled:
            found[-1] = replace(found[-1], end=hour + HOUR)
        else:
            found.append(UsualStretch(hour, hour + HOUR, scaled))
    return tuple(found)
