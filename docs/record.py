"""Draws bench/record.jsonl for docs/benchmarks.md: the picture docs/images/record.svg, and the table below it.

A line joins the points of one machine, where they may be compared: times only if the machine's loop was as fast, truth only if
the generator was of one edition. A figure that is missing breaks the line.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from bench.record import Row, comparable, runs

COLUMNS, WIDTH, HEIGHT = 3, 330, 190
LEFT, RIGHT, TOP, BOTTOM = 46, 92, 44, 40
"""Room around the lines of a panel: for the scale, the names of lines, the title, the commits."""
COLOURS = ("#1565c0", "#c62828", "#2e7d32", "#6a1b9a", "#ef6c00")
MOST_LABELS = 4
"""Commits that are named below a panel."""
STYLE = (
    "text{font-family:sans-serif;font-size:11px;fill:#263238}.h{font-size:13px;font-weight:bold}"
    ".e{text-anchor:end}.m{text-anchor:middle}"
)


@dataclass(frozen=True)
class Panel:
    """One small chart: its lines by name, each with the figure that it shows."""

    title: str
    lines: dict[str, str]
    joined: Callable[[Row, Row], bool]


def always(one: Row, other: Row) -> bool:
    """Bytes and counts are the same on every machine."""
    return True


def same_edition(one: Row, other: Row) -> bool:
    """Instances of another edition of the generator are other instances."""
    return one.figures.get("edition") == other.figures.get("edition")


SINGLE = {strength: f"single, {strength}" for strength in ("weak", "medium", "strong")}
OTHERS = {
    "two problems": "pair",
    "missing view": "degraded",
    "look-alike": "look-alike",
    "hang": "hang",
    "healthy": "healthy",
}
PANELS = (
    Panel("A poll, diagnosed and stored: ms", {"healthy": "healthy_ms", "storm": "storm_ms"}, comparable),
    Panel("/metrics: prometheus_client ÷ ours", {"times": "metrics_ratio"}, comparable),
    Panel("The fixed loop: ms", {"loop": "loop_ms"}, comparable),
    Panel("Right, one problem: %", SINGLE, same_edition),
    Panel("Right, the other parts: %", OTHERS, same_edition),
    Panel("A stored figure: bytes", {"SQLite": "stored_bytes"}, always),
    Panel("Pages, compressed: KB", {"fleet": "fleet_kb", "database": "database_kb"}, always),
    Panel("Tests", {"tests": "tests"}, always),
    Panel("Lines of the product", {"lines": "lines"}, always),
)


def figure(row: Row, name: str) -> float | None:
    """A figure of a row: one of its own, the loop, or of truth the percentage of a part that is right. None if it is missing."""
    if name == "loop_ms":
        return row.loop_ms
    if name in row.figures:
        return None if row.figures[name] is None else float(row.figures[name])
    part = (row.figures.get("truth") or {}).get(name)
    return 100 * part["right"] / part["n"] if part else None


def picture(rows: Sequence[Row]) -> str:
    """The SVG of all panels."""
    commits = list(dict.fromkeys(row.commit for row in rows))
    height = -(-len(PANELS) // COLUMNS) * HEIGHT
    drawn = [
        f'<g transform="translate({place % COLUMNS * WIDTH} {place // COLUMNS * HEIGHT})">{_panel(panel, rows, commits)}</g>'
        for place, panel in enumerate(PANELS)
    ]
    words = "Each figure of the record, commit by commit; the table below has the figures"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {COLUMNS * WIDTH} {height}" role="img" aria-label="{words}">\n'
        f'<style>{STYLE}</style>\n<rect width="{COLUMNS * WIDTH}" height="{height}" fill="#fafafa"/>\n'
        + "\n".join(drawn)
        + "\n</svg>\n"
    )


def _panel(panel: Panel, rows: Sequence[Row], commits: Sequence[str]) -> str:
    known = [value for row in rows for name in panel.lines.values() if (value := figure(row, name)) is not None]
    top = max(known, default=0) or 1.0

    def x(row: Row) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * commits.index(row.commit) / max(1, len(commits) - 1)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)

    parts = [f'<text class="h" x="8" y="20">{escape(panel.title)}</text>']
    for value in (0.0, top):
        parts.append(f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" stroke="#cfd8dc"/>')
        parts.append(f'<text class="e" x="{LEFT - 5}" y="{y(value) + 4:.1f}">{shown(value)}</text>')
    every = -(-len(commits) // MOST_LABELS)
    for row in {row.commit: row for row in rows}.values():
        if commits.index(row.commit) % every == 0:
            parts.append(f'<text class="m" x="{x(row):.1f}" y="{HEIGHT - BOTTOM + 18}">{row.commit[:7]}</text>')
    ends: list[tuple[float, str, str]] = []
    for colour, (label, name) in zip(COLOURS, panel.lines.items(), strict=False):
        points = [(row, value) for row in rows if (value := figure(row, name)) is not None]
        for run in joined_rows(rows, name, panel.joined):
            path = " ".join(f"{x(row):.1f},{y(figure(row, name) or 0.0):.1f}" for row in run)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for row, value in points:
            said = f"{row.commit[:7]}, {label}: {shown(value)} ({row.machine}, loop {shown(row.loop_ms)} ms)"
            parts.append(
                f'<circle cx="{x(row):.1f}" cy="{y(value):.1f}" r="3" fill="{colour}"><title>{escape(said)}</title></circle>'
            )
        if points:
            ends.append((y(points[-1][1]), f"{label} {shown(points[-1][1])}", colour))
    parts.extend(_names(ends))
    return "\n".join(parts)


def joined_rows(rows: Iterable[Row], name: str, joined: Callable[[Row, Row], bool]) -> Iterator[list[Row]]:
    """The rows that one line joins, two or more: of one machine, neighbours that may be joined, without a gap."""
    by_machine = sorted(rows, key=lambda row: row.machine)  # stable: the commits of a machine keep their order
    for _, of in groupby(by_machine, key=lambda row: row.machine):
        both = runs(of, lambda one, other: None not in (figure(one, name), figure(other, name)) and joined(one, other))
        yield from (run for run in both if len(run) > 1)


def _names(ends: Iterable[tuple[float, str, str]]) -> Iterator[str]:
    """The names of lines beside their last points, none over another."""
    free = 0.0
    for at, label, colour in sorted(ends):
        free = max(at + 4, free)
        yield f'<text x="{WIDTH - RIGHT + 7}" y="{free:.1f}" style="fill:{colour}">{escape(label)}</text>'
        free += 12


def shown(value: float) -> str:
    """With as many digits as are significant."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


TABLE = {
    "loop, ms": "loop_ms",
    "healthy, ms": "healthy_ms",
    "storm, ms": "storm_ms",
    "÷ ours": "metrics_ratio",
    "bytes": "stored_bytes",
    "fleet, KB": "fleet_kb",
    "database, KB": "database_kb",
    **{f"right: {name}, %": part for name, part in SINGLE.items()},
    "tests": "tests",
    "lines": "lines",
}


def cells(rows: Iterable[Row]) -> Iterator[tuple[str, ...]]:
    """A row of the table for each row of the record; a missing figure is empty."""
    for row in rows:
        values = (figure(row, name) for name in TABLE.values())
        yield (
            f"`{row.commit[:7]}`",
            row.committed[:10],
            row.machine,
            *("" if one is None else shown(one) for one in values),
        )


def gaps(rows: Iterable[Row]) -> str:
    """Why figures are empty: a line for each reason."""
    lines = []
    for row in rows:
        for why, names in groupby(row.missing.items(), key=lambda item: item[1]):
            lines.append(f"- `{row.commit[:7]}`, {', '.join(name for name, _ in names)}: `{why}`")
    return "\n".join(lines) or "No cell is empty."
