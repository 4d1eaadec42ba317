"""Reads the spool file of the SQL*Plus script into a Capture. Whole views are used; the rest is missing with its reason."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from collectors.capture import Capture, CapturedConfirmation
from collectors.errors import InputError, cut
from collectors.grants import ANYBODY, grant
from collectors.model import Collector, Column, ColumnKind, Missing, Reading, Row, Rows, Snapshot, Value, text, unread
from collectors.ondemand.sampling import not_sampled
from collectors.registry import collectors
from collectors.reports.undo import as_text
from collectors.sqlplus.script import FORMAT, INSTANCE, SAMPLED

# Finds the records of a spool file, however its lines were wrapped, indented or re-encoded on the way.
#
# A record has no blanks, so the text is read without blanks, and the length in each record says where it ends. Text
# between records is kept as printed, because errors are there.

HEADER = re.compile(r"\{ls\|([a-z]+\d*|\d)\|([\w$#,.-]{1,400})\|(open|end|\d{1,6}/\d{1,6})\|(\d{1,5})\|")
ERROR = re.compile(r"\b(?:ORA|SP2|PLS|TNS)-\d{4,5}\b[^\r\n]*")
GAP = re.compile(r"[\s\ufeff\u200b\x00]+")
ESCAPED = re.compile(r"\\([0-9A-Fa-f]{4})")


@dataclass
class Section:
    """What one statement of the script printed, as far as the file has it."""

    opened: bool = False
    rows: dict[int, list[str]] = field(default_factory=dict)
    total: int = 0
    columns: list[str] | None = None
    """Names of the columns; None until the record that proves the statement's end."""
    damaged: int = 0
    """Records whose stated length is wrong."""
    error: str | None = None
    """The first error printed between its records."""

    @property
    def whole(self) -> bool:
        """Whether the statement ran to its end and every row of it is here."""
        if self.columns is None or self.damaged or set(self.rows) != set(range(1, self.total + 1)):
            return False
        return all(len(cells) == len(self.columns) for cells in self.rows.values())

    def table(self) -> Iterator[dict[str, str]]:
        """The rows in order, as cells by column."""
        for _, cells in sorted(self.rows.items()):
            yield dict(zip(self.columns or (), cells, strict=True))


def sections(text: str) -> Mapping[tuple[str, str], Section]:
    """Everything the last run in the file printed, by part and view."""
    printed: dict[tuple[str, str], Section] = {}
    packed, at = GAP.sub("", text), _Origin(text)
    current, upto = Section(), 0
    for header, body in _records(packed):
        _note_error(current, text[at(upto) : at(header.start())])
        part, view, tag, _ = header.groups()
        if part == "head" and tag == "open" and view.startswith("latchscope-spool-"):
            printed.clear()
        section = printed.setdefault((part, view), Section())
        _take(section, tag, body)
        current = section if tag == "open" else current
        upto = header.end() if body is None else header.end() + len(body) + 1
    _note_error(current, text[at(upto) :])
    return printed


class _Origin:
    """The place in the text of a place in the packed text. A file of words alone has millions of gaps."""

    def __init__(self, text: str) -> None:
        self._ends, self._gone = array("Q"), array("Q")
        gone = 0
        for gap in GAP.finditer(text):
            self._ends.append(gap.start() - gone)
            gone += len(gap[0])
            self._gone.append(gone)

    def __call__(self, index: int) -> int:
        gaps = bisect_right(self._ends, index)
        return index + (self._gone[gaps - 1] if gaps else 0)


def _records(packed: str) -> Iterator[tuple[re.Match[str], str | None]]:
    """Each record with its body. None if the length does not match."""
    at = 0
    while header := HEADER.search(packed, at):
        end = header.end() + int(header[4])
        if packed[end : end + 1] == "}":
            yield header, packed[header.end() : end]
            at = end + 1
        else:
            yield header, None
            at = header.end()


def _take(section: Section, tag: str, body: str | None) -> None:
    if tag == "open":
        section.opened = True
    elif body is None:
        section.damaged += 1
    elif tag == "end":
        section.columns = body.split("|")
    else:
        number, _, total = tag.partition("/")
        section.rows[int(number)] = body.split("|")
        section.total = max(section.total, int(total))


def _note_error(section: Section, between: str) -> None:
    if section.error is None and (error := ERROR.search(between)):
        section.error = "".join(char for char in error[0].strip() if char.isprintable())[:200]


def plain(cell: str) -> str:
    """A text as the database had it: ~ was a blank, \\XXXX a character outside ASCII."""
    units = ESCAPED.sub(lambda code: chr(int(code[1], 16)), cell.replace("~", " "))
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


LIMIT_BYTES = 16 * 1024 * 1024
PEEK_BYTES = 256 * 1024
REFUSED = ("ORA-00942", "ORA-01031", "ORA-01702", "ORA-02030")
"""Errors that a grant cures."""
NUMBER = re.compile(r"-?(\d{1,60}(\.\d{0,60})?|\.\d{1,60})([eE][+-]?\d{1,2})?")
AGAIN = "run the script again and copy the whole file"

Sections = Mapping[tuple[str, str], Section]


def looks_like_spool(data: bytes) -> bool:
    """Whether a file has records of ours in its first 256 KiB."""
    return HEADER.search("".join(as_text(data[:PEEK_BYTES]).split())) is not None


def load(data: bytes, name: str) -> Capture:
    """Read a spool file; `name` is its name in errors. Raises InputError, one line.

    Two snapshots may not be comparable, because the file ends within the second or the instance is hidden. Then one of them is
    read as totals, and a note says so.
    """
    if len(data) > LIMIT_BYTES:
        raise InputError(
            f"{name} is {len(data) / 2**20:,.0f} MiB; a spooled file is at most {LIMIT_BYTES // 2**20} MiB"
        )
    printed = sections(as_text(data))
    _check_format(printed, name)
    once = {
        view: _reading(collector, printed, "once", "sys", "old")
        for view, collector in collectors().items()
        if _alone(view, printed) and not collector.optional
    }
    earlier, later = (_bound(_snapshot(printed, part, once)) for part in "12")
    for view in once:  # read after the second snapshot, so it is not in the first
        if collectors()[view].momentary:
            earlier[view] = unread(view)
    if not any(isinstance(reading, Rows) for snapshot in (earlier, later) for reading in snapshot.values()):
        raise InputError(_no_rows(printed, name))
    taken, notes = _comparable(printed, earlier, {**later, SAMPLED: _looks(printed)})
    readings = tuple(_with_notes(reading, (*notes, *_notes(printed))) for reading in taken)
    instance = text(_instance(readings[-1]).get("instance_name"))
    database = (
        instance if instance and instance.isprintable() else re.split(r"[/\\]", name)[-1].rpartition(".")[0] or name
    )
    snapshots = tuple(Snapshot(database, _taken_at(reading), reading) for reading in readings)
    confirmed = [
        CapturedConfirmation(cause, "", value)
        for (part, ids), section in printed.items()
        if part == "confirm" and (value := _answer(section)) is not None
        for cause in ids.split(",")
    ]
    return Capture(database, snapshots, tuple(confirmed), "spooled by the script of `latchscope script`")


def _check_format(printed: Sections, name: str) -> None:
    if not printed:
        raise InputError(f"{name} has no record of `latchscope script`; give the text file that the script wrote")
    for part, view in printed:
        version = view.removeprefix("latchscope-spool-")
        if part == "head" and version.isdecimal() and int(version) != FORMAT:
            raise InputError(f"{name} was spooled in form {version}; this latchscope reads form {FORMAT}")


def _no_rows(printed: Sections, name: str) -> str:
    error = next((block.error for block in printed.values() if block.error), None)
    if error:
        cure = "run the script as a user who may read them" if error.startswith(REFUSED) else "cure that, " + AGAIN
        return f"{name} has no rows of any view; the database said {error}: {cure}"
    return f"{name} has no rows of any view: it is the script itself, or ends too early; {AGAIN}"


def _alone(view: str, printed: Sections) -> bool:
    """Whether a view is read once for both snapshots. The file says so; if it is cut, the collector does."""
    twice = view == INSTANCE or any(column.kind is ColumnKind.COUNTER for column in collectors()[view].columns)
    return view != SAMPLED and (("once", view) in printed or not twice)


def _snapshot(printed: Sections, part: str, once: Mapping[str, Reading]) -> dict[str, Reading]:
    return {
        view: once[view] if view in once else _reading(collector, printed, part)
        for view, collector in collectors().items()
        if not (collector.sampled or collector.optional)  # the script leaves optional views out
    }


def _reading(collector: Collector, printed: Sections, *attempts: str) -> Reading:
    """The rows of the first attempt that succeeded, or why the first one gave none."""
    read = [_rows(collector, printed.get((part, collector.view))) for part in attempts]
    return next((reading for reading in read if isinstance(reading, Rows)), read[0])


def _rows(collector: Collector, section: Section | None) -> Reading:
    view = collector.view
    if section is None:
        return Missing(view, "unread", f"{view}: the file ends before it", AGAIN)
    if section.error and not section.whole:
        if section.error.startswith(REFUSED):
            return Missing(view, "refused", f"{view}: {section.error}", grant(collector, ANYBODY))
        return Missing(view, "failed", f"{view}: {section.error}", "see the error; other views go on")
    if section.columns is None:
        return Missing(view, "unread", f"{view}: its end is missing; it hung or was cut off", AGAIN)
    try:
        if section.whole:
            columns = {column.name: column for column in collector.columns}
            return Rows(view, tuple(_row(columns, cells) for cells in section.table()))
    except ValueError as wrong:
        return Missing(view, "unread", f"{view}: {wrong}", AGAIN)
    bad = section.damaged + section.total - len(section.rows)
    return Missing(view, "unread", f"{view}: {bad or 'some'} of its {section.total} records are damaged or lost", AGAIN)


def _row(columns: Mapping[str, Column], cells: Mapping[str, str]) -> Row:
    """A row of the columns we know. Raises ValueError if a cell does not fit its column."""
    return {
        name: _cell(name, columns[name].kind, columns[name].unit, cell)
        for name, cell in cells.items()
        if name in columns
    }


def _cell(name: str, kind: ColumnKind, unit: str, cell: str) -> Value:
    """'"' starts a text. An empty cell, and an empty text, is Oracle's NULL."""
    if cell in ("", '"'):
        return None
    if unit == "date":
        return datetime.fromisoformat(cell)
    numeric = kind in (ColumnKind.COUNTER, ColumnKind.GAUGE) or name.endswith("#")
    if cell.startswith('"') and not numeric:
        return cut(plain(cell[1:]))
    if not NUMBER.fullmatch(cell):
        raise ValueError(f"{name} is {cell[:40]!r}, which is not a number")
    return int(cell) if cell.lstrip("-").isdecimal() else float(cell)


def _bound(readings: dict[str, Reading]) -> dict[str, Reading]:
    """Views that need a number which the instance does not have are not empty: they were not read."""
    for view, collector in collectors().items():
        if collector.binds and isinstance(readings.get(view), Rows):
            asked = collector.binds(readings)
            readings[view] = asked if isinstance(asked, Missing) and asked.kind == "not_asked" else readings[view]
    return readings


def _looks(printed: Sections) -> Reading:
    """Who waited, look by look. An incomplete look does not count."""
    collector = collectors()[SAMPLED]
    rows: list[Row] = []
    looks = 0
    for (part, view), section in printed.items():
        read = _rows(collector, section) if view == SAMPLED and re.fullmatch(r"look\d+", part) else None
        if isinstance(read, Rows):
            looks += 1
            rows.append({"sample": looks, "sid": None})
            rows += [{"sample": looks, **row} for row in read.rows]
    if looks:
        return Rows(SAMPLED, tuple(rows))
    opened = printed.get(("look", SAMPLED))
    return _rows(collector, opened) if opened else not_sampled()


def _comparable(
    printed: Sections, earlier: dict[str, Reading], later: dict[str, Reading]
) -> tuple[tuple[dict[str, Reading], ...], tuple[str, ...]]:
    """The snapshots to use, and a note if it is one of two."""
    first_alone = {**earlier, SAMPLED: later[SAMPLED]}
    cut = [view for view in _cut(printed) if isinstance(earlier.get(view), Rows)]
    if ("2", INSTANCE) not in printed:
        return (first_alone,), ("the file ends before the second snapshot: the first is used, as totals",)
    if cut:
        return (first_alone,), (
            f"the second snapshot is cut off ({', '.join(cut)}): only the first is used, as totals",
        )
    if isinstance(earlier[INSTANCE], Missing):
        return (later,), (f"{INSTANCE} could not be read at the start: only the second snapshot is used, as totals",)
    if isinstance(later[INSTANCE], Missing):
        return (first_alone,), (f"{INSTANCE} could not be read at the end: only the first snapshot is used, as totals",)
    return (earlier, later), ()


def _cut(printed: Sections) -> Iterator[str]:
    """The views of the second snapshot that are cut off, unless the database gave an error for them."""
    for part, view in printed:
        if part == "1" and view in collectors():
            again = printed.get(("2", view))
            if again is None or (again.columns is None and again.error is None):
                yield view


def _notes(printed: Sections) -> Iterator[str]:
    """What the reader must know about how the file was made."""
    waited = printed.get(("head", "wait"))
    if waited and ["none"] in waited.rows.values():
        yield (
            "the script had no way to wait, so its snapshots are close together: "
            "grant execute on sys.dbms_lock to the user, or run it as SYS"
        )
    silent = [ids for (part, ids), block in printed.items() if part == "confirm" and _answer(block) is None]
    if silent:
        yield f"confirming queries without a number: {', '.join(silent)}"
    strange = sorted({view for part, view in printed if part in ("1", "2", "once", "sys") and view not in collectors()})
    if strange:
        yield f"views that this latchscope does not know: {', '.join(strange)}"


def _with_notes(readings: dict[str, Reading], notes: tuple[str, ...]) -> dict[str, Reading]:
    """Notes belong to the first view that gave rows, so that every output shows them."""
    for view, reading in readings.items():
        if notes and isinstance(reading, Rows):
            return {**readings, view: replace(reading, notes=notes)}
    return readings


def _answer(section: Section) -> float | None:
    cells = [cell for row in section.rows.values() for cell in row] if section.whole else []
    return float(cells[0]) if len(cells) == 1 and NUMBER.fullmatch(cells[0]) else None


def _instance(readings: Mapping[str, Reading]) -> Row:
    reading = readings[INSTANCE]
    return reading.rows[0] if isinstance(reading, Rows) and reading.rows else {}


def _taken_at(readings: Mapping[str, Reading]) -> datetime | None:
    moment = _instance(readings).get("taken_at")
    return moment.replace(tzinfo=UTC) if isinstance(moment, datetime) else None
