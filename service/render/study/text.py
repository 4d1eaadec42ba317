"""A study as text for a terminal: at most 100 columns, with charts of characters, and only letters in a pipe."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from textwrap import wrap as wrapped

from service.render.study.page import StudyBars, StudyLines, StudyPage, StudyTable, tick

WIDTH = 100
MARKS = "ox+*#@%&"
COLUMNS, LINES = 72, 12
SCALE = 9
"""Columns of the upright axis."""
LONGEST_NAME = 44


def as_text(page: StudyPage) -> str:
    """The answer, its basis, and what the figures do not say."""
    lines = [*wrap(page.answer), ""]
    lines += [line for finding in page.findings for line in _item(finding)]
    for part in page.parts:
        lines += ["", *_part(part)]
    if page.limits:
        lines += ["", "Limits"]
        lines += [line for limit in page.limits for line in _item(limit)]
    return "\n".join(line.rstrip() for line in lines)


def _part(part: StudyTable | StudyLines | StudyBars) -> list[str]:
    if isinstance(part, StudyTable):
        return table(part)
    return lines(part) if isinstance(part, StudyLines) else bars(part)


def _item(words: str) -> list[str]:
    return wrap(words, "- ", "  ")


def table(part: StudyTable) -> list[str]:
    rows = [part.headings, *part.rows]
    rows = [tuple(_short(cell) if i < part.words else cell for i, cell in enumerate(row)) for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(part.headings))]
    between = "  " if sum(widths) + 2 * (len(widths) - 1) <= WIDTH else " "
    laid = [
        between.join(
            cell.ljust(width) if i < part.words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return [*wrap(part.title), *(line[:WIDTH] for line in laid)]


def bars(part: StudyBars) -> list[str]:
    names = [_short(name) for name, _ in part.amounts]
    wide = max(map(len, names))
    top = max(value for _, value in part.amounts) or 1.0
    room = WIDTH - wide - 14
    return [
        *wrap(f"{part.title} ({part.unit})"),
        *(
            f"{name.ljust(wide)}  {'#' * max(1, round(value / top * room))} {tick(value)}"
            for name, (_, value) in zip(names, part.amounts, strict=True)
        ),
    ]


def lines(part: StudyLines) -> list[str]:
    """The chart: a mark for each point, dots between them, and a legend."""
    if not part.points:
        return [*wrap(part.title), "(nothing above zero to draw)"]
    grid = [[" "] * COLUMNS for _ in range(LINES)]
    for mark, curve in zip(MARKS, part.curves, strict=False):
        places = [_cell(part, x, y) for x, y in part.drawn(curve)]
        for column, line in _between(places):
            if grid[line][column] == " ":
                grid[line][column] = "."
        for column, line in places:
            grid[line][column] = mark if grid[line][column] in " ." else "="
    low, high = part.span_y()
    middle = (low * high) ** 0.5 if part.log_y else (low + high) / 2
    named = {0: tick(high), LINES // 2: tick(middle), LINES - 1: tick(low)}
    drawn = [f"{named.get(i, ''):>{SCALE}} |{''.join(cells)}" for i, cells in enumerate(grid)]
    legend = [f"{mark} {_short(curve.name)}" for mark, curve in zip(MARKS, part.curves, strict=False)]
    return [
        *wrap(part.title),
        *drawn,
        f"{'':>{SCALE}} +{'-' * COLUMNS}",
        f"{'':>{SCALE}}  {_axis(part)}",
        *_legend([*legend, f"({_short(part.x)})"]),
    ]


def _cell(part: StudyLines, x: float, y: float) -> tuple[int, int]:
    across, up = part.place(x, y)
    return round(across * (COLUMNS - 1)), round((1 - up) * (LINES - 1))


def _between(places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The cells of straight lines from each point to the next."""
    for (left, first), (right, last) in pairwise(places):
        for column in range(left + 1, right):
            yield column, round(first + (last - first) * (column - left) / (right - left))


def _axis(part: StudyLines) -> str:
    """The values of x below their columns, as many as fit."""
    axis, free = [" "] * (COLUMNS + 8), 0
    for x in sorted({x for x, _ in part.points}):
        words, column = tick(x), _cell(part, x, part.points[0][1])[0]
        if column >= free:
            axis[column : column + len(words)] = words
            free = column + len(words) + 1
    return "".join(axis).rstrip()


def _legend(names: Sequence[str]) -> list[str]:
    """Names side by side. Line breaks only between them."""
    lines = [""]
    for name in names:
        if lines[-1] and len(lines[-1]) + len(name) + 3 > WIDTH - SCALE - 2:
            lines.append("")
        lines[-1] += f"   {name}" if lines[-1] else name
    return [f"{'':>{SCALE}}  {line}" for line in lines]


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def wrap(words: str, indent: str = "", further: str = "") -> list[str]:
    """The words in lines of at most WIDTH. An address is broken only if it is longer than a line."""
    whole = words.replace(" %", "\u00a0%")  # a number stays with its sign
    laid = wrapped(whole, WIDTH, initial_indent=indent, subsequent_indent=further, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in laid]
