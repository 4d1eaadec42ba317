"""The project's own measures: one row per commit and machine in bench/record.jsonl, which docs/benchmarks.md draws.

A commit is measured in a copy of its own, whatever lies uncommitted here, by the benchmarks of that commit and with the
packages of this environment. Each group of figures has a process of its own. One that fails leaves its figures empty, with
the reason. A row takes some three minutes of processor.
"""

import io
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

from bench._options import parser

TINY = "--here --tiny"
HOME = Path(__file__).resolve().parents[1]
KEPT = HOME / "bench" / "record.jsonl"
PROBES = HOME / "bench" / "_record_probes.py"
MOST_SECONDS = 3600
"""For a group, by the clock. A machine may be shared, and most of this is waiting for it."""
LONGEST_REASON = 160


@dataclass(frozen=True)
class Group:
    """Figures that one process measures: their names, and how much it does in full and in the tiny form."""

    figures: tuple[str, ...]
    full: float = 1
    tiny: float = 0


GROUPS: Mapping[str, Group] = {
    "lines": Group(("lines",)),
    "pages": Group(("fleet_kb", "database_kb"), 100, 2),
    "store": Group(("stored_bytes",), 1_500_000, 1),
    "metrics": Group(("metrics_ratio",), 1000, 2),
    "poll": Group(("healthy_ms", "storm_ms"), 200, 20),
    "truth": Group(("truth", "edition"), 450, 12),
    "published": Group(("published",)),
    "tests": Group(("tests",)),
}
"""In the order in which they run. Full sizes: databases on the board, figures in the store, databases of the scrape, polls of
each kind, and generated instances."""


@dataclass(frozen=True)
class Row:
    """What was measured of one commit on one machine."""

    commit: str
    committed: str
    measured: str
    machine: str
    loop_ms: float
    """Ms of processor of a fixed loop, the median of turns between the groups. It shows how fast the machine was."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Name → figure; None if it could not be measured."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Name → why it could not."""


def rows(path: Path = KEPT) -> list[Row]:
    """Every row, oldest commit first. Raises ValueError with the line that is no row."""
    found = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            found.append(Row(**json.loads(line)))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path.name}, line {number} is no row of the record: {error}; delete the line") from None
    return sorted(found, key=lambda row: row.committed)


def keep(row: Row, path: Path = KEPT) -> None:
    """Append a row; an earlier one of the same commit and machine goes."""
    others = rows(path) if path.exists() else []
    kept = [one for one in others if (one.commit, one.machine) != (row.commit, row.machine)] + [row]
    path.write_text("".join(json.dumps(asdict(one)) + "\n" for one in kept), encoding="utf-8")


def figures(options: Sequence[str] = ()) -> Table:
    """Measure one commit, write its row, and show it."""
    asked = parser("record", __doc__)
    which = asked.add_mutually_exclusive_group()
    which.add_argument("--commit", metavar="REV", default="HEAD", help="what to measure")
    which.add_argument("--here", action="store_true", help="the files of this checkout instead, and write nothing")
    asked.add_argument("--tiny", action="store_true", help="the smallest form, which measures nothing; with --here")
    given = asked.parse_args(options)
    if given.tiny and not given.here:
        asked.error("--tiny measures nothing that is worth a row; add --here")
    if given.here:
        row = _measured(HOME, "here", "", tiny=given.tiny)
    else:
        try:
            commit, committed = _git("show", "-s", "--format=%h %cI", "--abbrev=8", given.commit, "--").decode().split()
        except subprocess.CalledProcessError as error:
            asked.error(
                f"git knows no commit {given.commit}: {_reason(error.stderr.decode(), HOME)}; name one of `git log`"
            )
        with _copy(commit) as tree:
            row = _measured(tree, commit, committed[:16])
        keep(row)
    table = Table(
        "figure", "measured", title=f"{row.commit} on {row.machine}, loop {row.loop_ms} ms", title_justify="left"
    )
    for name, value in row.figures.items():
        table.add_row(name, f"– {row.missing[name]}" if value is None else _shown(value))
    return table


def _shown(value: Any) -> str:
    return ", ".join(f"{key} {_shown(each)}" for key, each in value.items()) if isinstance(value, dict) else f"{value}"


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=HOME, capture_output=True, check=True).stdout


@contextmanager
def _copy(commit: str) -> Iterator[Path]:
    """The files of a commit in a folder of their own."""
    with tempfile.TemporaryDirectory(prefix="latchscope-record-") as folder:
        with tarfile.open(fileobj=io.BytesIO(_git("archive", commit))) as archive:
            archive.extractall(folder, filter="data")
        yield Path(folder)


def _measured(tree: Path, commit: str, committed: str, *, tiny: bool = False) -> Row:
    loops, found, missing = [], dict[str, Any](), dict[str, str]()
    for name, group in GROUPS.items():
        loops.append(_loop())
        answer, why = _probed(tree, name, group.tiny if tiny else group.full)
        found |= {figure: answer.get(figure) for figure in group.figures}
        missing |= {figure: why for figure in group.figures if answer.get(figure) is None}
    measured = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M")
    return Row(commit, committed, measured, _machine(), round(median(loops), 1), found, missing)


def _probed(tree: Path, name: str, size: float) -> tuple[dict[str, Any], str]:
    """What a probe found in a tree; nothing, and why, if it failed."""
    command = [sys.executable, "-P", str(PROBES), name, str(size)]
    environment = {**os.environ, "PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, check=True, timeout=MOST_SECONDS
        )
    except subprocess.CalledProcessError as error:
        return {}, _reason(error.stderr, tree)
    except subprocess.TimeoutExpired:
        return {}, f"took longer than {MOST_SECONDS} s"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found, ""


def _reason(stderr: str, tree: Path) -> str:
    """The last line of what a process said, without a path of this machine."""
    last = (stderr.strip() or "it said nothing").splitlines()[-1].replace(f"{tree}/", "")
    return re.sub(r" \(/[^)]*\)", "", last)[:LONGEST_REASON]


def _loop() -> float:
    """Ms of processor of a loop that never changes."""
    began = time.process_time()
    total = 0
    for number in range(1_000_000):
        total += number * number % 7
    return 1000 * (time.process_time() - began)


def _machine() -> str:
    """Kind of processor and number of cores."""
    try:
        named = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text("utf-8"), re.M)
    except OSError:
        named = None
    return f"{named[1].strip() if named else platform.machine()}, {os.cpu_count()} cores"


def comparable(one: Row, other: Row, *, within: float = 0.1) -> bool:
    """Whether times of two rows may be joined by a line: the same machine, and its loop as fast within a tenth."""
    slow, fast = max(one.loop_ms, other.loop_ms), min(one.loop_ms, other.loop_ms)
    return one.machine == other.machine and slow <= fast * (1 + within)


def runs(every: Iterable[Row], joined: Callable[[Row, Row], bool]) -> Iterator[list[Row]]:
    """Rows in lists whose neighbours may be joined."""
    run: list[Row] = []
    for row in every:
        if run and not joined(run[-1], row):
            yield run
            run = []
        run.append(row)
    if run:
        yield run
