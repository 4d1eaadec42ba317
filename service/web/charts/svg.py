"""Charts as SVG text, drawn on the server: no script, no picture library. The same points give the same bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from markupsafe import Markup, escape

from service.web.charts.panels import label, round_up

WIDTH, HEIGHT = 640, 120
LEFT, BOTTOM = 56, 18

ROW, NAMES = 18, 220
HAIRLINE = 1.5
"""Height of the bar for next to nothing, so that it is visible."""
LETTER = 6


@dataclass(frozen=True, slots=True)
class ChartSpan:
    """One interval of a chart over reports: its value, None if unknown, whether it is marked, how bad it is."""

    begin: datetime
    end: datetime
    value: float | None
    marked: bool = False
    severity: str = "info"


def spans(intervals: Sequence[ChartSpan], title: str, unit: str, mark: str) -> Markup:
    """A bar for each interval, as wide as the interval. `mark` explains the marked one. None is a dashed stretch."""
    placed = [
        replace(interval, begin=interval.begin.replace(tzinfo=None), end=interval.end.replace(tzinfo=None))
        for interval in intervals
    ]
    known = [interval.value for interval in placed if interval.value is not None]
    if not known:
        return Markup('<p class="quiet">{}: unknown in every interval.</p>').format(title)
    top = round_up(max(known))
    begin, end = min(interval.begin for interval in placed), max(interval.end for interval in placed)
    drawn = "".join(_span(interval, begin, (end - begin).total_seconds() or 1.0, top) for interval in placed)
    legend = f' <span class="mark-bad">▼</span> {escape(mark)}' if any(interval.marked for interval in placed) else ""
    return Markup(
        f'<figure><figcaption>{escape(title)} <span class="quiet">{escape(unit)}</span>{legend}</figcaption>'
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f'<line class="grid" x1="{LEFT}" y1="8" x2="{WIDTH}" y2="8"/>'
        f'<text x="{LEFT - 6}" y="12" text-anchor="end">{label(top)}</text>'
        f'<text x="{LEFT - 6}" y="{HEIGHT - BOTTOM + 4}" text-anchor="end">0</text>'
        f"{''.join(_times(placed, begin, end))}{drawn}"
        f'<line class="axis" x1="{LEFT}" y1="{HEIGHT - BOTTOM}" x2="{WIDTH}" y2="{HEIGHT - BOTTOM}"/></svg></figure>'
    )


def bars(amounts: Sequence[tuple[str, float]], title: str, unit: str) -> Markup:
    """A row for each name with its bar and its number, in the given order. Values are not negative."""
    top = max((value for _, value in amounts), default=0.0) or 1.0
    height = ROW * len(amounts)
    rows = "".join(_bar(index, name, value, value / top) for index, (name, value) in enumerate(amounts))
    return Markup(
        f'<figure><figcaption>{escape(title)} <span class="quiet">{escape(unit)}</span></figcaption>'
        f'<svg class="amounts" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">{rows}</svg></figure>'
    )


def _span(span: ChartSpan, begin: datetime, seconds: float, top: float) -> str:
    left = LEFT + (span.begin - begin).total_seconds() / seconds * (WIDTH - LEFT)
    width = max(2.0, (span.end - span.begin).total_seconds() / seconds * (WIDTH - LEFT) - 1)
    if span.value is None:
        y = HEIGHT - BOTTOM - 3
        return f'<line class="unknown" x1="{left:.1f}" y1="{y}" x2="{left + width:.1f}" y2="{y}"/>'
    tall = max(HAIRLINE, span.value / top * (HEIGHT - BOTTOM - 8))
    top_edge = HEIGHT - BOTTOM - tall
    kind = f"fill {escape(span.severity)}{' first' if span.marked else ''}"
    mark = f'<text class="mark-bad" x="{left + width / 2:.1f}" y="{max(9.0, top_edge - 2):.1f}" text-anchor="middle">▼</text>'
    bar = f'<rect class="{kind}" x="{left:.1f}" y="{top_edge:.1f}" width="{width:.1f}" height="{tall:.1f}"/>'
    return bar + mark * span.marked


def _times(placed: Sequence[ChartSpan], begin: datetime, end: datetime) -> Iterator[str]:
    """The starts of intervals and the end of the last, as many as fit. The day where it changes."""
    seconds, day, free = (end - begin).total_seconds() or 1.0, date.min, float(LEFT)
    for at in [*sorted({interval.begin for interval in placed}), end]:
        x = LEFT + (at - begin).total_seconds() / seconds * (WIDTH - LEFT)
        words = f"{at:%H:%M}" if at.date() == day else f"{at:%Y-%m-%d %H:%M}"
        room = LETTER * len(words)
        left = min(x, WIDTH - room)
        if left >= free:
            yield f'<text x="{left:.1f}" y="{HEIGHT - 4}">{words}</text>'
            day, free = at.date(), left + room + LETTER


def _bar(index: int, name: str, value: float, share: float) -> str:
    y, width = index * ROW, max(1.0, share * (WIDTH - NAMES - 90))
    short = name if len(name) <= 40 else f"{name[:39]}…"
    return (
        f'<text x="{NAMES - 6}" y="{y + 13}" text-anchor="end">{escape(short)}</text>'
        f'<rect class="fill" x="{NAMES}" y="{y + 3}" width="{width:.1f}" height="{ROW - 6}"/>'
        f'<text x="{NAMES + width + 5:.1f}" y="{y + 13}">{label(value)}</text>'
    )
