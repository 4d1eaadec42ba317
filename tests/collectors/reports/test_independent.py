"""The figures of every report against a second parser that shares no code with the reader: all are equal.

The second parser is the standard library's for pages, and splits lines at blanks for text.
"""

import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest

from collectors.model import Delta, Missing
from collectors.registry import collectors
from collectors.reports.read import read
from tests.conftest import wanted_reports
from tests.paths import REPORTS

Figure = tuple[str, str, str, float]
"""View, name, column, value."""

PAGES: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "latch statistics": ("v$latch", "latch name", {"get requests": "gets"}),
    "latch sleep statistics": (
        "v$latch",
        "latch name",
        {"misses": "misses", "sleeps": "sleeps", "spin gets": "spin_gets"},
    ),
    "dictionary cache statistics. get requests": (
        "v$rowcache",
        "cache",
        {"get requests": "gets", "mod reqs": "modifications", "final usage": "usage", "scan reqs": "scans"},
    ),
    "foreground wait events": ("v$system_event", "event", {"waits": "total_waits_fg"}),
    "instance activity": ("v$sysstat", "statistic", {"total": "value"}),
    "different time model": ("v$sys_time_model", "statistic name", {"time (s)": "seconds"}),
    "operating systems statistics": ("v$osstat", "statistic", {"value": "total"}),
}
"""The words behind "This table displays" in the summary of a table: view, heading of its names, columns by heading."""
LINES: Mapping[str, tuple[str, Mapping[int, str]]] = {
    "Latch Activity": ("v$latch", {0: "gets"}),
    "Latch Sleep Breakdown": ("v$latch", {1: "misses", 2: "sleeps", 3: "spin_gets"}),
    "Dictionary Cache Stats": ("v$rowcache", {0: "gets", -2: "modifications", -1: "usage"}),
    "Foreground Wait Events": ("v$system_event", {0: "total_waits_fg"}),
    "Instance Activity Stats": ("v$sysstat", {0: "value"}),
    "Other Instance Activity Stats": ("v$sysstat", {0: "value"}),
    "Time Model Statistics": ("v$sys_time_model", {0: "seconds"}),
    "Time Model System Stats": ("v$sys_time_model", {0: "seconds"}),
}
"""Title of a section of a text report: view, and columns by their place among the words behind the name."""
KEYS = {"v$rowcache": "parameter", "v$system_event": "event", "v$sys_time_model": "stat_name", "v$osstat": "stat_name"}


class Tables(HTMLParser):
    """The tables of a page: the summary, and the cells of each row."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[tuple[str, list[list[str]]]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a table, a row or a cell."""
        if tag == "table":
            self.tables.append((dict(attrs).get("summary") or "", []))
        elif tag == "tr" and self.tables:
            self.tables[-1][1].append([])
        elif tag in ("td", "th") and self.tables and self.tables[-1][1]:
            self.tables[-1][1][-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        """Close a cell."""
        if tag in ("td", "th", "table"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        """The text of the open cell."""
        if self.inside:
            self.tables[-1][1][-1][-1] += data


def number_of(cell: str) -> float | None:
    plain = cell.strip().replace(",", "")
    scale = {"K": 1e3, "M": 1e6, "G": 1e9}.get(plain[-1:], 1.0)
    try:
        return float(plain.rstrip("KMG")) * scale
    except ValueError:
        return None


def of_page(content: str) -> Iterator[Figure]:
    parser = Tables()
    parser.feed(content)
    for summary, rows in parser.tables:
        words = summary.lower().removeprefix("this table displays ").removeprefix("key ")
        kind = next((kind for kind in PAGES if words.startswith(kind)), None)
        if kind is None or not rows:
            continue
        view, heading, columns = PAGES[kind]
        heads = [" ".join(cell.split()).lower() for cell in rows[0]]
        if heading not in heads:
            continue
        for row in rows[1:]:
            name = re.sub(r"\s*\[\d+\]$", "", " ".join(row[heads.index(heading)].split()))
            for head, column in columns.items():
                value = number_of(row[heads.index(head)]) if head in heads else None
                if value is not None:
                    yield view, name, column, value


def of_text(content: str) -> Iterator[Figure]:
    section, seen = "", set[tuple[str, str]]()
    for line in content.replace("\f", "\n").split("\n"):
        if "DB/Inst:" in line and not line.startswith(" "):
            section = line.split("DB/Inst:")[0].strip()
        if section not in LINES or line.startswith(("->", "-", " ")) or (section, line) in seen:
            continue
        seen.add((section, line))
        # Behind the name come at least two blanks, or one before a number that fills its column.
        found = re.match(r"(\S.*?)(?:\s{2,}|\s)(-?[\d,.]+K?M?(?:\s+\S+)*)$", line.rstrip())
        if found is None:
            continue
        view, places = LINES[section]
        cells = found[2].split()
        for place, column in places.items():
            value = number_of(cells[place]) if -len(cells) <= place < len(cells) else None
            if value is not None:
                yield view, found[1].strip(), column, value


def summed(figures: Iterator[Figure]) -> Mapping[tuple[str, str, str], float]:
    """Rows of several containers together. A statistic of two sections counts once."""
    total: dict[tuple[str, str, str], float] = {}
    for view, name, column, value in figures:
        key = (view, name, column)
        total[key] = value if view in ("v$sysstat", "v$osstat", "v$sys_time_model") else total.get(key, 0.0) + value
    return total


def told(delta: Delta, view: str, name: str, column: str) -> float | None:
    """The figure as the reader gives it. None where it has none or does not follow the name."""
    if isinstance(delta.read(view), Missing):
        return None
    key = KEYS.get(view, "name")
    if column == "seconds":
        micros = delta.cell(view, key, name, "value")
        return None if micros is None else micros / 1e6
    return delta.cell(view, key, name, column)


def is_asked(view: str, name: str) -> bool:
    """Whether our statement names it. Dictionary caches are all read."""
    return view == "v$rowcache" or f"'{name}'" in list(collectors()[view].statements.values())[-1]


def compared(path: Path) -> tuple[int, list[str]]:
    """How many figures are equal, and those that are not."""
    content = path.read_bytes().decode("utf-8", "replace").replace("\r", "")
    (delta,) = read(path.read_bytes(), path.name)
    assert isinstance(delta, Delta)
    figures = summed(of_page(content) if path.suffix == ".html" else of_text(content))
    pairs = [(key, value, told(delta, *key)) for key, value in figures.items()]
    known = [(key, value, ours) for key, value, ours in pairs if ours is not None]
    # Levels of the host come as another column, and Oracle's names that nobody asks for are not read.
    lost = [key for key, _, ours in pairs if ours is None and key[0] != "v$osstat" and is_asked(*key[:2])]
    wrong = [f"{path.name} {key} is not read" for key in lost]
    wrong += [
        f"{path.name} {key}: {ours} for {value}" for key, value, ours in known if abs(ours - value) > 1e-6 * value
    ]
    return len(known) + len(lost) - len(wrong), wrong


@pytest.mark.parametrize("folder", ["reports", "reports-3"])
def test_figures_of_every_real_report_are_those_of_another_parser(folder: str) -> None:
    home = wanted_reports(folder)
    check(
        [path for path in sorted(home.iterdir()) if path.suffix in (".html", ".txt")],
        least=100 if folder == "reports" else 50,
    )


def test_figures_of_every_synthetic_report_are_those_of_another_parser() -> None:
    files = [path for path in sorted(REPORTS.iterdir()) if path.suffix in (".html", ".txt")]
    check([path for path in files if "restart" not in path.name and "awrdd" not in path.name], least=20)


def check(files: list[Path], least: int) -> None:
    """All equal, and at least so many figures for each file on average."""
    equal, wrong = 0, []
    for path in files:
        same, others = compared(path)
        equal += same
        wrong += others
    print(f"{len(files)} reports, {equal:,} figures equal")  # noqa: T201 – the figure is what one wants to see with -s
    assert wrong == []
    assert equal >= least * len(files)
