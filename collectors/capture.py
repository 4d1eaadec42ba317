"""Capture files: snapshots and confirmations of one database as JSON, written here and by hand. See docs/reports.md."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NoReturn, TypeGuard

from collectors.delta import Answers, between, since_startup
from collectors.errors import InputError, cut
from collectors.model import (
    LARGEST,
    Collector,
    ColumnKind,
    ConfirmationResult,
    Delta,
    Missing,
    NotComparable,
    Reading,
    Row,
    Rows,
    Snapshot,
    Value,
    cells,
    dated,
    encodable,
)
from collectors.registry import collectors

FORMAT = "latchscope-capture"
VERSION = 1
LIMIT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CapturedConfirmation:
    """A confirming query that somebody ran for a cause, and the number it gave."""

    cause: str
    query: str
    value: float


@dataclass(frozen=True, slots=True)
class Capture:
    """The content of a capture file. `source` says where the figures come from."""

    database: str
    snapshots: tuple[Snapshot, ...]
    confirmations: tuple[CapturedConfirmation, ...] = ()
    source: str = ""


def delta_of(capture: Capture) -> Delta | NotComparable:
    """A capture as one change: from its first to its last snapshot, or its only snapshot as totals."""
    if len(capture.snapshots) == 1:
        delta: Delta | NotComparable = since_startup(capture.snapshots[0])
    else:
        delta = between(capture.snapshots[0], capture.snapshots[-1])
    if isinstance(delta, NotComparable):
        return delta
    confirmed = {confirmation.cause: ConfirmationResult(confirmation.value) for confirmation in capture.confirmations}
    return replace(delta, confirmations=confirmed)


# Writing. A column is written once, and a cell that its row lacks is marked, because absent is not null.


def dump(capture: Capture) -> str:
    head = {"format": FORMAT, "version": VERSION, "database": capture.database, "source": capture.source}
    snapshots = [dump_snapshot(snapshot) for snapshot in capture.snapshots]
    confirmations = [asdict(confirmation) for confirmation in capture.confirmations]
    return json.dumps({**head, "snapshots": snapshots, "confirmations": confirmations}) + "\n"


def dump_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """One snapshot as JSON members. The store keeps snapshots in the form of capture files."""
    views: dict[str, Any] = {}
    missing: dict[str, Any] = {}
    answers = snapshot.readings if isinstance(snapshot.readings, Answers) else None
    for view in snapshot.readings:
        if answers and (known := answers.columns(view)):  # most rows of a poll have no names yet, and need none here
            names = _dumped(view, frozenset(known))
            views[view] = {"columns": names, "rows": [*zip(*(known[name] for name in names), strict=True)]}
            continue
        reading = snapshot.readings[view]
        if isinstance(reading, Missing):
            missing[view] = {"kind": reading.kind, "why": reading.why, "way_out": reading.way_out}
            continue
        names = _dumped(view, frozenset().union(*reading.rows))
        views[view] = {"columns": names, "rows": cells(reading.rows, names, ABSENT)}
        if reading.notes:
            views[view]["assumed"] = list(reading.notes)
        if reading.read_at:
            views[view]["read_at"] = _dump_time(reading.read_at)
    taken_at = _dump_time(snapshot.taken_at) if snapshot.taken_at else None
    return {"taken_at": taken_at, "views": views, "missing": missing}


@lru_cache(512)
def _dumped(view: str, read: frozenset[str]) -> tuple[str, ...]:
    """Those of the columns read that a file can hold: not dates."""
    return tuple(column.name for column in collectors()[view].columns if column.unit != "date" and column.name in read)


def _dump_time(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


ABSENT = {"absent": True}
"""A cell without a value, in a column where other rows have one."""


# Reading. A file may be written by hand, so each mistake is named with its place in the document.


def looks_like_capture(data: bytes) -> bool:
    """Whether a file means to be a capture: JSON, whole or cut, that names our format."""
    return data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{" and FORMAT.encode() in data


def is_json(data: bytes) -> bool:
    """Whether a file is one JSON document, an object or a list. What begins like one may be anything."""
    try:
        return isinstance(json.loads(data), dict | list)
    except (ValueError, RecursionError):
        return False


def load(text: str | bytes, name: str) -> Capture:
    """Read the text of a capture file; `name` is its name in errors. Raises InputError, one line each."""
    document = _object(_parse(text, name), f"{name}: the document")
    if document.get("format") != FORMAT:
        raise InputError(f'{name} is JSON but not a capture: "format" must be "{FORMAT}" (see docs/reports.md)')
    if type(document.get("version")) is not int or document["version"] != VERSION:
        raise InputError(
            f"{name} is a capture of version {document.get('version')!r}; this latchscope reads version {VERSION}"
        )
    database = document.get("database")
    if not isinstance(database, str) or not database or not database.isprintable():
        raise InputError(f'{name}: "database" must be the name of the database, in printable characters')
    snapshots = _list(document.get("snapshots"), f"{name}: snapshots")
    if not snapshots:
        raise InputError(f"{name} has no snapshot; a capture needs at least one")
    confirmations = _list(document.get("confirmations", []), f"{name}: confirmations")
    return Capture(
        database,
        tuple(load_snapshot(snapshot, database, f"{name}: snapshots[{i}]") for i, snapshot in enumerate(snapshots)),
        tuple(_confirmation(entry, f"{name}: confirmations[{i}]") for i, entry in enumerate(confirmations)),
        str(document.get("source", "")),
    )


def _parse(text: str | bytes, name: str) -> object:
    if len(text) > LIMIT_BYTES:
        raise InputError(f"{name} is {len(text) / 2**20:,.0f} MiB; a capture is at most {LIMIT_BYTES // 2**20} MiB")
    try:
        decoded = text.decode("utf-8-sig") if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is not text: byte {error.start} is not UTF-8; a capture is a JSON file, saved as UTF-8"
        ) from None
    if not decoded.strip():
        raise InputError(f"{name} is empty; a capture is a JSON file (write one with `latchscope capture`)")
    try:
        document = json.loads(decoded, parse_constant=_no_constant)
        if re.search(r"\\u[dD]", decoded) and not encodable(json.dumps(document, ensure_ascii=False)):
            raise ValueError("it has half of a surrogate pair, which is no character")
        return document
    except json.JSONDecodeError as error:
        early = error.pos >= len(decoded.rstrip()) or "Unterminated" in error.msg
        hint = "it ends too early, so copy it again" if early else "a capture is a JSON file"
        raise InputError(
            f"{name} is not valid JSON at line {error.lineno} column {error.colno} ({error.msg}); {hint}"
        ) from None
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error).split(";")[0]
        raise InputError(f"{name} is not a capture: {why}") from None


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number a counter can have")


def load_snapshot(document: object, database: str, where: str) -> Snapshot:
    """Read one snapshot from its JSON members. Raises InputError."""
    members = _object(document, where)
    readings: dict[str, Reading] = {}
    for view, content in _object(members.get("views"), f"{where}.views").items():
        readings[view] = _rows(_known(view, where), content, f"{where}.views.{view}")
    for view, content in _object(members.get("missing", {}), f"{where}.missing").items():
        readings[view] = _missing(_known(view, where), content, f"{where}.missing.{view}")
    return Snapshot(database, _time(members.get("taken_at"), f"{where}.taken_at"), readings)


def _known(view: str, where: str) -> Collector:
    if view not in collectors():
        raise InputError(
            f"{where} has the view {view!r}, which latchscope does not read; it reads {', '.join(sorted(collectors()))}"
        )
    return collectors()[view]


ONLY: Mapping[str, tuple[str, Value]] = {"v$mutex_sleep": ("mutex_type", "Row Cache")}
"""View → a column and the one value that our statement asks for. Rows of any other are about something else."""


def _rows(collector: Collector, content: object, where: str) -> Rows:
    members = _object(content, where)
    columns = _list(members.get("columns"), f"{where}.columns")
    declared = {column.name: column.kind for column in collector.columns}
    for name in columns:
        if not isinstance(name, str) or name not in declared:
            raise InputError(f"{where}.columns has {name!r}; {collector.view} has {', '.join(declared)}")
    if len(set(columns)) != len(columns):
        raise InputError(f"{where}.columns names a column twice")
    kinds = {name: declared[name] for name in columns}
    rows = _list(members.get("rows"), f"{where}.rows")
    notes = tuple(str(note) for note in _list(members.get("assumed", []), f"{where}.assumed"))
    read = tuple(_row(kinds, row, f"{where}.rows[{i}]") for i, row in enumerate(rows))
    if collector.view in ONLY:
        # A capture made by hand may hold all of a view of which our statement asks for a part.
        column, wanted = ONLY[collector.view]
        read = tuple(row for row in read if row.get(column, wanted) == wanted)
    return Rows(collector.view, read, notes, _time(members.get("read_at"), f"{where}.read_at"))


def _row(kinds: Mapping[str, ColumnKind], row: object, where: str) -> Row:
    cells = _list(row, where)
    if len(cells) != len(kinds):
        raise InputError(f"{where} has {len(cells)} cells for {len(kinds)} columns")
    pairs = zip(kinds.items(), cells, strict=True)
    return {name: _cell(kind, cell, f"{where} {name}") for (name, kind), cell in pairs if cell != ABSENT}


def _cell(kind: ColumnKind, cell: object, where: str) -> Value:
    if cell is None or _is_number(cell):
        return cell
    if kind in (ColumnKind.KEY, ColumnKind.TEXT) and isinstance(cell, str) and not where.endswith("#"):
        return cut(cell)
    numeric = kind in (ColumnKind.COUNTER, ColumnKind.GAUGE) or where.endswith("#")
    wanted = "a number or null" if numeric else "text, a number or null"
    raise InputError(f"{where} is {json.dumps(cell)[:40]}; it must be {wanted}")


def _is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a number that fits a float. True and false are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST


def _missing(collector: Collector, content: object, where: str) -> Missing:
    members = _object(content, where)
    kind = members.get("kind")
    if kind not in ("refused", "not_asked", "failed", "unread"):
        raise InputError(f"{where}.kind is {kind!r}; it must be refused, not_asked, failed or unread")
    return Missing(collector.view, kind, str(members.get("why", "")), str(members.get("way_out", "")))


def _confirmation(entry: object, where: str) -> CapturedConfirmation:
    members = _object(entry, where)
    value = members.get("value")
    if not _is_number(value):
        raise InputError(f"{where}.value must be the number the query gave")
    if not isinstance(members.get("cause"), str):
        raise InputError(f"{where}.cause must be the id of a cause")
    return CapturedConfirmation(members["cause"], str(members.get("query", "")), value)


def _time(value: object, where: str) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        utc = moment.astimezone(UTC) if moment and moment.tzinfo else None
    except (ValueError, OverflowError):
        utc = None
    if utc is None or not dated(utc):
        raise InputError(f"{where} is {value!r}; it must be a UTC time such as 2010-06-15T08:00:00Z, or null")
    return utc


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where} must be a JSON object")
    return value


def _list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"{where} must be a JSON list")
    return value
