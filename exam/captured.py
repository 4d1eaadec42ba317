"""A capture as the checker of certificates reads it: the rows of its snapshots, and what they give for each cell.

Of a counter that is the last total less the first one, of anything else the last cell. It shares no code with what
reads captures. As data it takes the columns that docs/reports.md lists, of which those in bold name a row. It needs Python alone.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

COLUMNS = Path(__file__).parents[1] / "docs" / "reports.md"
FORMAT = ("latchscope-capture", 1)
BY_CONTAINER = {"total_waits_fg", "time_waited_micro_fg"}
OF_DICTIONARY = {"gets", "fastgets", "getmisses", "scans", "scanmisses", "scancompletes", "modifications", "flushes"}
OF_LATCH = {"gets", "misses", "sleeps", "spin_gets", "wait_time"}
COUNTERS = {
    "v$con_system_event": BY_CONTAINER,
    "v$latch": OF_LATCH,
    "v$latch_children": OF_LATCH | {"immediate_gets", "immediate_misses"},
    "v$latch_misses": {"nwfail_count", "sleep_count", "wtr_slp_count", "longhold_count"},
    "v$mutex_sleep": {"sleeps", "wait_time"},
    "v$osstat": {"total"},
    "v$rowcache": OF_DICTIONARY | {"dlm_requests", "dlm_conflicts", "dlm_releases"},
    "v$sys_time_model": {"value"},
    "v$sysstat": {"value"},
    "v$system_event": BY_CONTAINER | {"total_waits", "total_timeouts", "time_waited_micro"},
}
"""View → its running totals."""
FROM_ZERO = {"v$con_system_event", "v$latch_misses", "v$mutex_sleep", "v$system_event"}
"""Oracle adds their rows on first use, so one that is new counts from zero."""
SUMMED = {"v$latch", "v$latch_misses", "v$mutex_sleep", "v$sgastat"}
"""Several rows of one name count together."""
ONE_KIND = {"v$mutex_sleep": ("mutex_type", "Row Cache")}
"""Rows of another kind are left out of a capture."""
UNNAMED = ("module", "program", "con_id", "final_blocking_instance", "final_blocking_session")
"""What a certificate does not show of sampled sessions."""
TELLING = ("event", "p1", "p1raw", "p2", "p3", "sql_id", "blocking_instance", "blocking_session", *UNNAMED)
"""Sampled sessions are counted together if all of these columns are equal."""
Cells = dict[str, Any]
Json = Mapping[str, Any]


class Unreadable(Exception):
    """Why a file is no capture, in one sentence."""


class Captured:
    """A capture, and what its snapshots say together: release, and seconds from the first to the last, or since the start."""

    def __init__(self, file: Path) -> None:
        self.name = file.name
        try:
            document = json.loads(file.read_text(encoding="utf-8-sig"))
            if not isinstance(document, dict) or (document.get("format"), document.get("version")) != FORMAT:
                raise ValueError(f"its format and version are not {FORMAT[0]} and {FORMAT[1]}")
            taken = [snapshot["taken_at"] for snapshot in document["snapshots"]]
            self.views = [_views(snapshot) for snapshot in document["snapshots"]]
            instance = next(iter(self.views[-1].get("v$instance", ())), Cells())
            self.release = instance.get("version_full") or instance.get("version")
            self.seconds = instance.get("uptime_seconds")
            if len(taken) > 1 and taken[0] and taken[-1]:
                begin, end = (datetime.fromisoformat(when).astimezone(UTC) for when in (taken[0], taken[-1]))
                self.seconds = (end - begin).total_seconds()
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise Unreadable(f"{file} cannot be read as a capture ({error}); docs/reports.md describes one") from None
        listed = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|$", COLUMNS.read_text(encoding="utf-8"), re.M)
        self.named_by = {view: re.findall(r"\*\*([^*]+)\*\*", columns) for view, columns in listed}
        self._by_name: dict[tuple[str, int], dict[tuple[Any, ...], list[Cells]]] = {}

    def by_name(self, view: str, place: int) -> dict[tuple[Any, ...], list[Cells]]:
        """The rows of a view in one snapshot by their names."""
        if (view, place) not in self._by_name:
            found = self._by_name.setdefault((view, place), defaultdict(list))
            column, kind = ONE_KIND.get(view, ("", None))
            for row in self.views[place].get(view, ()):
                if row.get(column, kind) == kind:
                    found[tuple(row.get(name) for name in self.named_by[view])].append(row)
        return self._by_name[view, place]

    def cells(self, view: str, name: tuple[Any, ...], columns: Iterable[str], place: int = -1) -> list[Cells]:
        """What the capture gives for some columns of the rows of a name."""
        rows = self.by_name(view, place).get(name, [])
        rows = [_sum(rows)] if view in SUMMED and rows[1:] else rows
        before = self.by_name(view, 0).get(name, []) if view in COUNTERS and len(self.views) > 1 else None
        return [{column: _cell(view, column, each, before) for column in columns} for each in rows]

    def lacking(self, view: str, column: str, kind: str, there: Sequence[Json]) -> list[str]:
        """The names of rows with that column that are not there, though they are equal to one of them in `kind`."""
        kinds = {row.get(kind) for row in there}
        names = {tuple(row.get(name) for name in self.named_by[view]) for row in there}
        others = (
            (name, self.cells(view, name, (column, kind))[0]) for name in self.by_name(view, -1) if name not in names
        )
        return [
            " ".join(str(each) for each in name if each is not None)
            for name, cells in others
            if cells[kind] in kinds and cells[column] is not None
        ]

    @cached_property
    def alike(self) -> list[tuple[Cells, int]]:
        """The cells that sampled sessions have in common, as a certificate names them, and how many there are."""
        sessions = (tuple(row.get(name) for name in TELLING) for row in self.views[-1].get("v$session", ()))
        groups = ((zip(TELLING, cells, strict=True), many) for cells, many in Counter(sessions).items())
        return [
            ({name: cell for name, cell in named if cell is not None and name not in UNNAMED}, many)
            for named, many in groups
        ]


def _views(snapshot: Json) -> dict[str, list[Cells]]:
    """View → its rows, each without the cells that are absent or null."""
    found = {}
    for view, read in snapshot["views"].items():
        rows = [dict(zip(read["columns"], cells, strict=True)) for cells in read["rows"]]
        found[view] = [{name: cell for name, cell in row.items() if type(cell) in (int, float, str)} for row in rows]
    return found


def _cell(view: str, column: str, after: Cells, before: Sequence[Cells] | None) -> Any:
    """What the capture gives for a cell. None if it gives nothing, as for a total that fell."""
    total = after.get(column)
    if before is None or total is None or column not in COUNTERS[view]:
        return total
    start = _sum(before).get(column) if before else 0 if view in FROM_ZERO else None
    return total - start if start is not None and start <= total else None


def _sum(rows: Sequence[Cells]) -> Cells:
    """Rows of one name as one. Figures are added where every row has one; of texts the first counts."""
    cells = {column: [row[column] for row in rows if column in row] for column in rows[0]}
    return {
        column: several[0] if isinstance(several[0], str) else sum(several)
        for column, several in cells.items()
        if len(several) == len(rows)
    }
