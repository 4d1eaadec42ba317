"""A study as one HTML page that you can mail: style and charts are included, there is no script, and it loads nothing.

Its curves are SVG of any two quantities, linear or logarithmic. The same points give the same bytes.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from markupsafe import Markup, escape

from service.render.study import StudyLines, StudyPage, StudyTable, tick
from service.web.charts.svg import bars
from service.web.pages.layout import alone


def study_html(page: StudyPage, source: str, made: datetime | None = None) -> str:
    """The page. Every text in it is escaped. `source` is its table; `made` is the time of the page, default now."""
    return alone(
        "study.html",
        made or datetime.now(UTC),
        title=f"{page.title}, {source}",
        page=page,
        source=source,
        tables=[part for part in page.parts if isinstance(part, StudyTable)],
        charts=[
            curves(part) if isinstance(part, StudyLines) else bars(part.amounts, part.title, part.unit)
            for part in page.parts
            if not isinstance(part, StudyTable)
        ],
    )


WIDTH, HEIGHT = 640, 240
LEFT, TOP, BOTTOM, RIGHT = 56, 10, 30, 12
COLOURS = 5
"""Colours of the style sheet. Further curves repeat them with other marks."""
LETTER = 6


def curves(chart: StudyLines) -> Markup:
    """The chart with its legend, or a sentence if nothing can be drawn."""
    if not chart.points:
        return Markup('<p class="quiet">{}: nothing above zero to draw.</p>').format(chart.title)
    low, high = chart.span_y()
    middle = (low * high) ** 0.5 if chart.log_y else (low + high) / 2
    legend = "".join(
        f'<li><svg class="key" viewBox="0 0 24 8" aria-hidden="true">'
        f'<line class="line s{i % COLOURS + 1}" x1="0" x2="24" y1="4" y2="4"/></svg>'
        f"{escape(curve.name)}</li>"
        for i, curve in enumerate(chart.curves)
    )
    drawn = "".join(_curve(chart, i) for i in range(len(chart.curves)))
    floor = HEIGHT - BOTTOM
    return Markup(
        f'<figure><figcaption>{escape(chart.title)}</figcaption><ul class="legend">{legend}</ul>'
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(chart.title)}">'
        f"{''.join(_height(chart, value) for value in (low, middle, high))}{''.join(_ticks(chart))}{drawn}"
        f'<line class="axis" x1="{LEFT}" y1="{floor}" x2="{WIDTH - RIGHT}" y2="{floor}"/>'
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 2}" text-anchor="middle">{escape(chart.x)}</text>'
        "</svg></figure>"
    )


def _curve(chart: StudyLines, index: int) -> str:
    places = [_place(chart, x, y) for x, y in chart.drawn(chart.curves[index])]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    colour = f"line s{index % COLOURS + 1}"
    dots = "".join(
        f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="{2 + index // COLOURS}"/>' for x, y in places
    )
    return f'<polyline class="{colour}" points="{path}"/>{dots}'


def _place(chart: StudyLines, x: float, y: float) -> tuple[float, float]:
    across, up = chart.place(x, y)
    return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)


def _height(chart: StudyLines, value: float) -> str:
    y = _place(chart, chart.points[0][0], value)[1]
    return (
        f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick(value)}</text>'
    )


def _ticks(chart: StudyLines) -> Iterator[str]:
    """The values of x, as many as fit."""
    free = 0.0
    for value in sorted({x for x, _ in chart.points}):
        x, words = _place(chart, value, chart.points[0][1])[0], tick(value)
        half = LETTER * len(words) / 2
        if x - half >= free:
            yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 13}" text-anchor="middle">{words}</text>'
            free = x + half + LETTER
