"""Small pictures beside a number, as SVG: a line of one hour, a bar, a value with its bound, a scale, an arrow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import log10

from markupsafe import Markup, escape

from rules.formatting import number
from service.web.charts.svg import label, round_up

SPARK_WIDTH, SPARK_HEIGHT = 150, 34
FLOOR = SPARK_HEIGHT - 2
SPARK_TOP = 40.0
"""Percent of DB time at the top of every spark, so that rows are comparable. The next step up if one is above."""
BAR_NAMES, BAR_WIDTH, BAR_ROW = 124, 210, 15
LONGEST_NAME = 19
BULLET_ROOM = 1.09


@dataclass(frozen=True, slots=True)
class SparkMarks:
    """What a spark shows beside its line, each as a share of its width: the start of the state, and change marks."""

    state: str
    since: float | None = None
    changes: tuple[float, ...] = ()


def spark(values: Sequence[float | None], words: str, marks: SparkMarks, top: float = SPARK_TOP) -> Markup:
    """One hour in percent, oldest first. None is an unwatched stretch. `words` say it for readers who cannot see it."""
    calm = marks.state in ("elsewhere", "fine", "none")
    step, drawn, line, filled = SPARK_WIDTH / max(len(values), 1), "", "", ""
    for start, length, value in _stretches(values):
        if not value:
            left, width = start * step, length * step
            drawn += f'<rect class="gap" x="{left:.1f}" y="0" width="{width:.1f}" height="{FLOOR}"/>'
            continue
        points = [
            (min((start + place + 0.5) * step, SPARK_WIDTH - 2), _height(values[start + place] or 0.0, top))
            for place in range(length)
        ]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        line += f"M{path}" + ("h1" if length == 1 else "")
        filled += f"M{points[0][0]:.1f} {FLOOR}L{path}V{FLOOR}Z"
    if marks.since is not None and not calm:
        left = marks.since * SPARK_WIDTH
        size = f'width="{SPARK_WIDTH - left:.1f}" height="{FLOOR}"'
        drawn += f'<rect class="band {escape(marks.state)}" x="{left:.1f}" y="0" {size}/>'
    if line:
        kind = " calm" if calm else ""
        drawn += ("" if calm else f'<path class="area" d="{filled}"/>') + f'<path class="line thin{kind}" d="{line}"/>'
    drawn += f'<line class="axis" x1="0" x2="{SPARK_WIDTH}" y1="{FLOOR}.5" y2="{FLOOR}.5"/>'
    for at in marks.changes:
        drawn += f'<path class="flag" d="M{at * SPARK_WIDTH:.1f} {FLOOR}V1h8l-2.4 3 2.4 3h-6.6V{FLOOR}z"/>'
    if values and values[-1] is not None and not calm:
        drawn += f'<circle class="dot" cx="{SPARK_WIDTH - 2}" cy="{_height(values[-1], top):.1f}" r="2.6"/>'
    label = escape(words)
    return Markup(
        f'<svg class="spark" viewBox="0 0 {SPARK_WIDTH} {SPARK_HEIGHT}" role="img" aria-label="{label}">'
        f"<title>{label}</title>{drawn}</svg>"
    )


def spark_top(rows: Sequence[Sequence[float | None]]) -> float:
    """The top of all sparks of a page."""
    return max(SPARK_TOP, round_up(max((value for row in rows for value in row if value is not None), default=0.0)))


def bar(share: float, kind: str = "") -> Markup:
    """A share of a whole, 0 to 1. It is hidden from screen readers, because the number is beside it."""
    width = min(max(share, 0.0), 1.0) * 100
    return Markup(
        f'<svg class="hbar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="track" width="100" height="8" rx="1"/>'
        f'<rect class="fill {escape(kind)}" width="{width:.2f}" height="8" rx="1"/></svg>'
    )


def bars(amounts: Sequence[tuple[str, float, str, bool]], kind: str) -> Markup:
    """At most four rows: name, amount, the amount in words, and whether it is the hot one, which has the colour of the state."""
    top = max((value for _, value, _, _ in amounts), default=0.0) or 1.0
    words = escape("; ".join(f"{name} {amount}" for name, _, amount, _ in amounts))
    rows = ""
    for index, (name, value, amount, hot) in enumerate(amounts):
        y, width = index * BAR_ROW, max(value / top * (BAR_WIDTH - BAR_NAMES), 1.0)
        short = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        colour = escape(kind) if hot else "s5"
        rows += (
            f'<text class="{"ink" if hot else "plain"}" x="0" y="{y + 11}">{escape(short)}</text>'
            f'<rect class="track" x="{BAR_NAMES}" y="{y + 3}" width="{BAR_WIDTH - BAR_NAMES}" height="9" rx="1.5"/>'
            f'<rect class="fill {colour}" x="{BAR_NAMES}" y="{y + 3}" width="{width:.1f}" height="9" rx="1.5">'
            f"<title>{escape(name)}: {escape(amount)}</title></rect>"
        )
    return Markup(
        f'<svg viewBox="0 0 {BAR_WIDTH} {BAR_ROW * len(amounts)}" width="100%" role="img" aria-label="{words}">{rows}</svg>'
    )


def bullet(
    value: float,
    bound: float | None,
    usual: tuple[float | None, float | None] | None,
    words: str,
    kind: str,
    spell: tuple[str, str] = ("", ""),
    width: int = 210,
) -> Markup:
    """A value as a bar with a pointer, its bound as a line, the usual range as a strip below. `spell`: bound and top in words."""
    high = usual[1] if usual else None
    top = max(value * BULLET_ROOM, (bound or 0.0) * 1.25, high or 0.0) or 1.0
    x = width / top
    drawn = f'<rect class="track" y="6" width="{width}" height="12" rx="2"/>'
    if usual:
        left = (usual[0] or 0.0) * x
        right = width if high is None else high * x
        drawn += f'<rect class="usual" x="{left:.1f}" y="20" width="{max(right - left, 1):.1f}" height="3"/>'
    drawn += f'<rect class="fill {escape(kind)}" y="6" width="{max(value * x, 1):.1f}" height="12" rx="2"/>'
    drawn += f'<path class="ink" d="M{max(value * x, 4):.1f} 6l-4 -6h8z"/>'
    drawn += '<text x="0" y="35">0</text>'
    if bound is not None:
        at = min(max(bound * x, 0.0), width)
        anchor = "end" if at > width - 30 else "middle" if at > 26 else "start"
        place = max(at, 12) if anchor == "start" else at
        drawn += f'<line class="limit" x1="{at:.1f}" x2="{at:.1f}" y1="2" y2="22"/>'
        drawn += f'<text x="{place:.1f}" y="35" text-anchor="{anchor}">{escape(spell[0])}</text>'
        if at < width - 7 * (len(spell[0]) + len(spell[1])) / 1.4 and spell[1]:
            drawn += f'<text x="{width}" y="35" text-anchor="end">{escape(spell[1])}</text>'
    shown = escape(words)
    return Markup(
        f'<svg viewBox="0 0 {width} 38" width="100%" role="img" aria-label="{shown}"><title>{shown}</title>{drawn}</svg>'
    )


def scale(value: float | None, bands: Sequence[tuple[float, str]]) -> Markup:
    """The scale of a confirming query: equal bands by their begin and meaning, the result as a pointer. Empty without bands."""
    if not bands:
        return Markup("")
    width, part = 340, 340 / len(bands)
    shown = "" if value is None else number(value)
    listed = "; ".join(f"from {label(start)}: {meaning}" for start, meaning in bands)
    words = escape(f"{shown}. {listed}" if shown else listed)
    drawn = ""
    for index, ((start, _), kind) in enumerate(zip(bands, _band_kinds(len(bands)), strict=True)):
        left, anchor = index * part, ' text-anchor="middle"' * bool(index)
        drawn += f'<rect class="{escape(kind)}" x="{left:.1f}" y="26" width="{part:.1f}" height="10"/>'
        drawn += f'<text x="{left:.1f}" y="52"{anchor}>{label(start)}</text>'
    if value is not None:
        place = _place(value, [start for start, _ in bands]) * part
        x = min(max(place, 4), width - 4)
        anchor = "start" if x < 40 else "end" if x > width - 40 else "middle"
        drawn += f'<path class="ink" d="M{x:.1f} 25l-5 -8h10z"/>'
        drawn += f'<text class="strong" x="{x:.1f}" y="12" text-anchor="{anchor}">{escape(shown)}</text>'
    return Markup(f'<svg viewBox="0 0 {width} 58" role="img" aria-label="{words}">{drawn}</svg>')


def _band_kinds(count: int) -> Sequence[str]:
    """The look of that many bands, from ordinary to trouble."""
    return ["usual", *["track"] * (count - 2), "fill critical"][-count:] if count > 1 else ["usual"][:count]


def arrow(before: float, after: float, low: float, high: float, words: str) -> Markup:
    """From before (a ring) to after (a head) on a logarithmic scale from `low` to `high`. Zero is at its left end."""
    span = max(log10(high / low), 0.01) if low > 0 and high > low else 1.0

    def x(value: float) -> float:
        return 8.0 if value <= 0 or low <= 0 else 8 + min(max(log10(value / low) / span, 0.0), 1.0) * 244

    start, end = x(before), x(after)
    tip = 9 if end < start else -9
    head = f'<path class="dot" d="M{end:.1f} 11l{tip} -5v10z"/>' if abs(end - start) > 9 else ""
    line = f'<line class="line" x1="{start:.1f}" x2="{end + (tip * 0.7 if head else 0):.1f}" y1="11" y2="11"/>'
    return Markup(
        f'<svg viewBox="0 0 260 22" width="260" height="22" role="img" aria-label="{escape(words)}">'
        f'<line class="axis" x1="0" x2="260" y1="18.5" y2="18.5"/>{line}'
        f'<circle class="ring" cx="{start:.1f}" cy="11" r="5"/>{head}</svg>'
    )


def _place(value: float, starts: Sequence[float]) -> float:
    """The position of a value among bands of equal width: 1.5 is the middle of the second."""
    index = max((place for place, start in enumerate(starts) if value >= start), default=0)
    begin = starts[index] if starts else 0.0
    end = starts[index + 1] if index + 1 < len(starts) else max(2 * begin, value, 1.0)
    return index + min(max((value - begin) / ((end - begin) or 1.0), 0.0), 1.0)


def _height(value: float, top: float) -> float:
    return FLOOR - min(value / top, 1.0) * (FLOOR - 4)


def _stretches(values: Sequence[float | None]) -> Iterator[tuple[int, int, bool]]:
    """Runs of known and of unknown values: where each starts, how long it is, whether it is known."""
    start = 0
    for known, run in groupby(value is not None for value in values):
        length = len([*run])
        yield start, length, known
        start += length
