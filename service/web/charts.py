"""Charts as SVG text, drawn on the server: no script, no picture library, the same bytes for the same points."""

from collections.abc import Sequence
from datetime import datetime

from markupsafe import Markup, escape

WIDTH, HEIGHT = 640, 120
LEFT, BOTTOM = 56, 18

Series = Sequence[tuple[datetime, float | None]]


def line(points: Series, title: str, unit: str) -> Markup:
    """A line over time from zero up; a gap where a value is None. Axis labels carry the unit and the first and last time."""
    known = [value for _, value in points if value is not None]
    if len(known) < 2:
        return Markup('<p class="quiet">{}: not enough polls for a chart yet.</p>').format(title)
    top = _round_up(max(known))
    begin, end = points[0][0], points[-1][0]
    paths = "".join(f'<path class="line" d="{_path(run, begin, end, top)}"/>' for run in _runs(points))
    return Markup(
        f'<figure><figcaption>{escape(title)} <span class="unit">({escape(unit)})</span></figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f'<line class="axis" x1="{LEFT}" y1="{HEIGHT - BOTTOM}" x2="{WIDTH}" y2="{HEIGHT - BOTTOM}"/>'
        f'<line class="grid" x1="{LEFT}" y1="8" x2="{WIDTH}" y2="8"/>'
        f'<text x="{LEFT - 6}" y="12" text-anchor="end">{_label(top)}</text>'
        f'<text x="{LEFT - 6}" y="{HEIGHT - BOTTOM + 4}" text-anchor="end">0</text>'
        f'<text x="{LEFT}" y="{HEIGHT - 4}">{begin:%H:%M:%S} UTC</text>'
        f'<text x="{WIDTH}" y="{HEIGHT - 4}" text-anchor="end">{end:%H:%M:%S} UTC</text>'
        f"{paths}</svg></figure>"
    )


def _runs(points: Series) -> list[list[tuple[datetime, float]]]:
    """The stretches without a gap."""
    runs: list[list[tuple[datetime, float]]] = [[]]
    for at, value in points:
        if value is None:
            runs.append([])
        else:
            runs[-1].append((at, value))
    return [run for run in runs if run]


def _path(run: list[tuple[datetime, float]], begin: datetime, end: datetime, top: float) -> str:
    span = (end - begin).total_seconds() or 1.0
    spots = [
        (
            LEFT + (at - begin).total_seconds() / span * (WIDTH - LEFT),
            HEIGHT - BOTTOM - value / top * (HEIGHT - BOTTOM - 8),
        )
        for at, value in run
    ]
    alone = "h1" if len(spots) == 1 else ""
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in spots) + alone


def _round_up(value: float) -> float:
    """The next 1, 2 or 5 times a power of ten, so that the scale reads well and rarely moves."""
    if value <= 0:
        return 1.0
    power = 1.0
    while power > value:
        power /= 10
    while power * 10 <= value:
        power *= 10
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)


def _label(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"
