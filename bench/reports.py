"""How fast latchscope reads reports, compared with the least that any reader must do: parse the HTML, or decode the text and
split its lines.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from lxml import html
from rich.table import Table

from bench._options import parser
from collectors.model import Delta
from collectors.reports.read import read
from rules.engine import diagnose
from tests.conftest import found_reports
from tests.paths import REPORTS, ROOT

TINY = "--seconds 0.001 --files 2"
PEAK = """
import sys
from pathlib import Path
if sys.argv[1] == "read":
    from collectors.reports.read import read
elif sys.argv[1] == "parse":
    from lxml import html as lxml_html
for name in sys.argv[2:]:
    data = Path(name).read_bytes()
    if sys.argv[1] == "read":
        read(data, name)
    elif sys.argv[1] == "parse":
        lxml_html.document_fromstring(data)
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024)
"""


def figures(options: Sequence[str] = ()) -> Table:
    """One table: reports per second by format, the ratio to the bare minimum, and the memory of a process that reads all."""
    asked = parser("reports", __doc__)
    asked.add_argument("--seconds", type=float, default=2.0, help="for which each way repeats")
    asked.add_argument("--files", type=int, help="only so many of each format")
    given = asked.parse_args(options)
    anonymised = found_reports()
    folder, which = (anonymised, "the anonymised set") if anonymised else (REPORTS, "the synthetic set")
    table = Table(title=f"reading reports: {which}", title_justify="left")
    for heading in ("what", "HTML", "text"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    ways = {"html": _parsed, "txt": _split}
    columns = [
        _column(sorted(folder.glob(f"*.{kind}"))[: given.files], minimum, given.seconds)
        for kind, minimum in ways.items()
    ]
    for row in zip(*columns, strict=True):
        table.add_row(row[0][0], *(cell for _, cell in row))
    return table


def _column(files: Sequence[Path], minimum: Callable[[bytes], object], seconds: float) -> list[tuple[str, str]]:
    contents = [path.read_bytes() for path in files]
    size = sum(len(data) for data in contents)
    ours = _per_second(contents, lambda data: read(data, "bench"), seconds)
    rates = _per_second(contents, _diagnosed, seconds)
    least = _per_second(contents, minimum, seconds)
    is_html = files[0].suffix == ".html"
    return [
        ("files", f"{len(files)}"),
        ("MB", f"{size / 1e6:.2f}"),
        ("read, reports per second", f"{ours:,.1f}"),
        ("read, MB per second", f"{ours * size / len(files) / 1e6:,.1f}"),
        ("read and diagnosed, reports per second", f"{rates:,.1f}"),
        ("least: parsed by lxml | decoded and split, per second", f"{least:,.1f}"),
        ("reading takes times the least", f"{least / ours:,.2f}"),
        ("peak memory of reading all, MiB", f"{_peak('read', files):,.0f}"),
        ("peak memory of parsing all by lxml, MiB", f"{_peak('parse', files):,.0f}" if is_html else "–"),
        ("peak memory of a bare interpreter, MiB", f"{_peak('nothing', files):,.0f}"),
    ]


def _per_second(contents: Sequence[bytes], work: Callable[[bytes], object], seconds: float) -> float:
    """Reports per second. It reads all of them in turn until the time is over."""
    done, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds:
        for data in contents:
            work(data)
        done += len(contents)
    return done / spent


def _diagnosed(data: bytes) -> object:
    return [diagnose(delta) for delta in read(data, "bench") if isinstance(delta, Delta)]


def _parsed(data: bytes) -> object:
    return html.document_fromstring(data)


def _split(data: bytes) -> object:
    return data.decode("utf-8", "replace").split("\n")


def _peak(how: str, files: Sequence[Path]) -> float:
    command = [sys.executable, "-c", PEAK, how, *map(str, files)]
    return float(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
