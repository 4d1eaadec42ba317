"""Compares the rows of a certificate with the capture that was judged: `python -m exam.check_certificate FILE --capture CAPTURE`.

Each row has to be a row of the capture with the same names, and each cell what the snapshots give: of a counter the last total
less the first one, of anything else the last cell. It shares no code with what reads captures. As data it reads the columns that
docs/reports.md lists, of which those in bold name a row. It needs Python alone.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

COLUMNS = Path(__file__).parents[1] / "docs" / "reports.md"
FORMAT = ("latchscope-capture", 1)
AT_BEGIN = " at the beginning"
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


class Differs(Exception):
    """Why a row is not what the capture says, in one sentence."""


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


def differences(certificate: Json, captures: Sequence[Captured]) -> list[str]:
    """Why the rows of a certificate are not those of its capture, one sentence each. Empty if they are, or without captures.

    The capture is the one with the name of the input, or the only one.
    """
    if not captures:
        return []
    source, given = certificate.get("source"), str(certificate.get("input"))
    if source != "views":
        counts = Counter(row["view"] for row in certificate["rows"])
        listed = ", ".join(f"{many} of {view}" for view, many in counts.items())
        return [f"its rows cannot be compared, because they come from another source ({source}): {listed}"]
    named = [each for each in captures if each.name == Path(given).name]
    if not named and len(captures) != 1:
        return [f"its rows cannot be compared, because no capture is named {given}"]
    captured = (named or captures)[0]
    bases = ("since_startup", "totals") if len(captured.views) == 1 else ("interval",)
    reasons, met = [], Counter[tuple[Any, ...]]()
    if certificate.get("basis") not in bases:
        reasons.append(f"its basis is {certificate.get('basis')}, and that of the capture {' or '.join(bases)}")
    if certificate.get("release") != captured.release:
        reasons.append(f"its release is {certificate.get('release')}, and that of the capture {captured.release}")
    for row in certificate["rows"]:
        try:
            name, there = found(row, captured)
            met[name] += 1
            if met[name] > there:
                raise Differs("is a row that the certificate has already")
        except Differs as differs:
            reasons.append(f"row {row['id']} of {row['view']} {differs}")
    return reasons


def found(row: Json, captured: Captured) -> tuple[tuple[Any, ...], int]:
    """The name of a row, and how many such rows the capture has. Raises Differs if it has none, or has it otherwise."""
    columns, view = row["columns"], row["view"].removesuffix(AT_BEGIN)
    place = 0 if row["view"] != view else -1
    if any(type(cell) not in (int, float, str) for cell in columns.values()):
        raise Differs("has a cell that is neither a number nor a text")
    if view == "interval" and columns == {"seconds": captured.seconds}:
        return (view,), 1
    if view not in captured.named_by or (place == 0 and (view in COUNTERS or len(captured.views) == 1)):
        raise Differs(f"has {columns}, which the capture does not say")
    if view == "v$session" and "sessions" in columns:
        return _group(columns, captured)
    name = tuple(columns.get(column) for column in captured.named_by[view])
    rows = captured.by_name(view, place).get(name, [])
    rows = [_sum(rows)] if view in SUMMED and rows[1:] else rows
    before = captured.by_name(view, 0).get(name, []) if view in COUNTERS and len(captured.views) > 1 else None
    given = [{column: _cell(view, column, each, before) for column in columns} for each in rows]
    if columns in given:
        return (row["view"], *name), given.count(columns)
    named = " ".join(str(each) for each in name if each is not None)
    if not given:
        raise Differs(f"is {named}, which the capture does not have")
    column = next(column for column in columns if columns[column] != given[0][column])
    raise Differs(f"of {named} has {column} {columns[column]}, and the capture gives {given[0][column]}")


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


def _group(columns: Json, captured: Captured) -> tuple[tuple[Any, ...], int]:
    """Sampled sessions that are alike: the capture has a group of so many with these names."""
    names = {column: cell for column, cell in columns.items() if column != "sessions"}
    sizes = [many for alike, many in captured.alike if alike == names]
    if columns["sessions"] not in sizes:
        given = " or ".join(map(str, sizes)) or "none"
        raise Differs(f"counts {columns['sessions']} sessions in {names.get('event')}, and the capture {given}")
    return ("sessions", *sorted(columns.items())), sizes.count(columns["sessions"])
