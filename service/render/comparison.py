"""A Comparison as text for a terminal and as Markdown for a ticket: one sentence, then what changed and what did not."""

from collections.abc import Iterator
from textwrap import wrap

from rules.comparison.changes import Comparison, FigureChange, Side
from rules.formatting import percent, rough
from service.escape import inline, row, visible
from service.render.parts import LINE_WIDTH, columns

Cells = tuple[str, str, str, str, str, str]
HEADER: Cells = ("figure", "before", "after", "unit", "factor", "verdict")
RIGHT = (1, 2, 4)
"""Columns of numbers."""


def as_text(comparison: Comparison) -> str:
    """The sentence, the limits of the comparison, the sides, the changes as a table, the rest in a line."""
    changed = list(rows(comparison))
    lines = [comparison.sentence, *_warnings(comparison), "", *_sides(comparison), ""]
    lines += columns([HEADER, *changed], RIGHT) if changed else []
    for remark in map(visible, _remarks(comparison)):
        lines += wrap(remark, LINE_WIDTH.get(), subsequent_indent="    ", break_on_hyphens=False) or [""]
    return "\n".join(map(visible, lines))


def as_markdown(comparison: Comparison) -> str:
    lines = [f"**{inline(comparison.sentence)}**", "", *(f"- {inline(warning)}" for warning in _warnings(comparison))]
    lines += [*(f"- {inline(side)}" for side in _sides(comparison)), ""]
    table = [row(each) for each in rows(comparison)]
    lines += [row(HEADER), "| --- | ---: | ---: | --- | ---: | --- |", *table] if table else []
    remarks = list(_remarks(comparison))
    return "\n".join([*lines, *([""] if remarks else []), *(f"- {inline(remark)}" for remark in remarks if remark)])


def rows(comparison: Comparison) -> Iterator[Cells]:
    """One row for each figure that changed, in the order of the Comparison."""
    yield from (cells(change) for change in comparison.changes if change.verdict == "changed")


def cells(change: FigureChange) -> Cells:
    """A change in the words of every table of a comparison, on a terminal, in a ticket and on a page."""
    before, after = _value(change, change.before), _value(change, change.after)
    return (change.title, before, after, change.unit, _factor(change), _verdict(change))


def _value(change: FigureChange, value: float | None) -> str:
    """A figure in its unit. One that cannot be compared is blank, which is not zero."""
    if value is None:
        return "–"
    return percent(value) if change.is_share else rough(value)


def _factor(change: FigureChange) -> str:
    if change.factor is None:
        return "–"
    if change.factor >= 1 or not change.factor:
        return f"{rough(change.factor)} ×"
    divisor = rough(1 / change.factor)
    return "1 ×" if divisor == "1" else f"1/{divisor}"


def _verdict(change: FigureChange) -> str:
    if change.direction == "same":
        return "no change"
    usual = "" if change.outside_usual is not True else ", outside the usual here"
    return f"{change.direction if change.verdict == 'changed' else change.verdict}{usual}"


def _sides(comparison: Comparison) -> Iterator[str]:
    yield f"before: {_side(comparison.before)}"
    yield f"after:  {_side(comparison.after)}"
    if comparison.mark:
        yield f"mark:   {comparison.mark}"


def _side(side: Side) -> str:
    basis, source = side.basis, "a printed report" if side.source == "report" else "views"
    times = " to ".join(f"{time:%Y-%m-%d %H:%M:%S}" for time in (basis.begin, basis.end) if time is not None)
    length = "" if basis.seconds is None else f", {basis.seconds:,.0f} s"
    kind = "" if basis.kind == "interval" else f", {basis.kind.replace('_', ' ')}"
    return (
        f"{side.database}, release {side.release or 'unknown'}, {times or 'time unknown'}{length}{kind}, from {source}"
    )


def _warnings(comparison: Comparison) -> Iterator[str]:
    """What to know about the sides before you read a figure."""
    yield from (f"Note: {note}" for note in comparison.notes)


def _remarks(comparison: Comparison) -> Iterator[str]:
    """What did not change, in one line, and what is unknown, by reason. An empty line before them."""
    not_measured: dict[str, list[str]] = {}
    for change in comparison.changes:
        if change.verdict == "cannot tell":
            not_measured.setdefault(change.why, []).append(change.title)
    same = [change.title for change in comparison.changes if change.verdict in ("within noise", "within the usual")]
    if same or not_measured:
        yield ""
    if same:
        yield f"Unchanged, or within noise or the usual ({len(same)}): {', '.join(same)}"
    yield from (f"Cannot tell: {', '.join(names)}, because {why}" for why, names in not_measured.items())
