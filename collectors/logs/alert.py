"""Alert logs, as text or as log.xml: which of their lines matter, when they were written, and of which instance they are.

A log may have gigabytes. So `read` searches whole blocks for the marks of `collectors.logs.phrases`, and decodes only the lines
that carry one. The moment of a line is the nearest one above it.
"""

import codecs
import io
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import IO

from collectors.delta import reported
from collectors.logs.phrases import DDL_MARK, MARKS, Said, numbers_in, trace_in
from collectors.model import Basis, Delta, EventKind, LoggedEvent, Rows, Value
from collectors.reports.header import Header, month_of, release_in

# Text of log files: their lines, decoded one by one with a bound on their length, and the moment that a line begins with.

LONGEST_LINE = 64 * 1024
"""Bytes of a line that are kept; the rest of a longer one is dropped. No line that is looked for is as long."""
LONGEST_EVENT = 4096
"""Bytes of a line with a mark that are read."""
CUT = "… (cut)"
"""The end of a line that is longer."""
_BLOCK = 1024 * 1024


def lines(stream: IO[bytes]) -> Iterator[str]:
    """Each line without its end: UTF-16 by its mark, else UTF-8, and Windows-1252 for a line that is no UTF-8."""
    for block in blocks(stream):
        yield from map(decoded, block.removesuffix(b"\n").split(b"\n"))


def blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Pieces of about a MiB, each of whole lines, as they are or as UTF-8 where the file is UTF-16."""
    utf16 = None
    kept = b""
    first = True
    while block := stream.read(_BLOCK):
        if first:
            first = False
            if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                utf16 = codecs.getincrementaldecoder("utf-16")("replace")
            else:
                block = block.removeprefix(codecs.BOM_UTF8)
        if utf16 is not None:
            block = utf16.decode(block).encode("utf-8", "replace")
        end = block.rfind(b"\n") + 1
        if end:
            yield kept + block[:end]
            kept = b""
        kept = (kept + block[end:])[: LONGEST_LINE + 1]
    if kept:
        yield kept


def decoded(line: bytes) -> str:
    """A line as text, at most `LONGEST_LINE` bytes of it, and CUT where it is longer."""
    line = line.removesuffix(b"\r") if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + CUT.encode()
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


_ISO = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](\d{1,6})\d*)?(?: ?(Z|[+-]\d\d:?\d\d))?")
_WORDS = re.compile(
    r"\w{1,4}\.? +([^\W\d]\w{1,4}\.?|\d{1,2}\D) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (?:[A-Z]{3,5} )?(\d{4})\b"
)


def moment_in(line: str) -> datetime | None:
    """The moment that a line begins with: 2019-05-14T10:22:33.123456+02:00, or Tue Nov 24 14:02:20 2009. None without one.

    A trace file writes `*** ` before it; take that off first.
    """
    if iso := _ISO.match(line):
        return _iso(*iso.groups())
    if words := _WORDS.match(line):
        month, day, hour, minute, second, year = words.groups()
        number = month_of(month)
        try:
            # The host's local time; the log does not say in which zone.
            return datetime(int(year), number, int(day), int(hour), int(minute), int(second)) if number else None  # noqa: DTZ001
        except ValueError:
            return None
    return None


def _iso(moment: str, fraction: str | None, zone: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(f"{moment}.{fraction or '0':<06}{zone or ''}")
    except ValueError:
        return None


# Whether a file is an alert log.

HEAD_BYTES = 64 * 1024
"""How much of a file `looks_like_alert_log` needs at most."""
_XML = re.compile(rb"<msg\s+time=['\"]\d{4}-\d\d-\d\dT")
_LISTENER = (b"comp_id='tnslsnr'", b'comp_id="tnslsnr"', b"TNSLSNR for ", b"* establish *", b"* service_update *")
_TRACE_HEAD = re.compile(
    r"^(?:Trace file |Dump file |\*\*\* SESSION ID:|\*\*\* CLIENT ID:|Unix process pid: |Redo thread mounted by this instance)",
    re.M,
)
_PDB = re.compile(r"([A-Za-z][\w$#]{0,127})\(\d{1,4}\):")
_TYPICAL = re.compile(
    r"Starting ORACLE instance|Shutting down (?:ORACLE )?instance|Thread \d+ (?:advanced to|opened at|cannot allocate)|"
    r"(?:  )?Current log# ?\d|ALTER SYSTEM |ALTER DATABASE |alter database |Completed: |Errors in file \S|ORA-\d{1,6}\b|"
    r"Archived Log entry |Beginning (?:global )?(?:log switch )?checkpoint|Completed checkpoint|Fatal NI connect error|"
    r">>> WAITED TOO LONG FOR |System State dumped to trace file|WARNING: too many|PARSE ERROR: ospid=|LGWR: |ARC\w: |"
    r"Resize operation completed|Incremental checkpoint|\[?\d*\]? ?Successfully onlined Undo|Undo Tablespace \d|LICENSE_MAX|"
    r"Using LOG_ARCHIVE|Dumping diagnostic data|Dumping current patch|Sweep \[inc|Setting Resource Manager|Begin automatic SQL|"
    r"Closing scheduler window|DIA0 |Global Enqueue Services|Reconfiguration started|PMON failed|Patch Id: |TABLE SYS\.|"
    r"Instance shutdown complete|Instance terminated|Process \w+ (?:started|died)|Control autobackup|Media Recovery|"
    r"Private Strand flush|Deleted Oracle|Killing enqueue|diag_adl:",
)
_ALONE = re.compile(r"WAITED TOO LONG FOR A \w+ \w+ ENQUEUE LOCK! pid=\d|WARNING: too many parse errors, count=\d")
"""Lines that only an alert log has, even without a moment above them."""


_ONLY_MOMENT = re.compile(r"(?: \d{4}|\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)\s*$")
"""The end of a line that has nothing but a moment. Other programs write their message behind it."""


def looks_like_alert_log(head: bytes) -> bool:
    """Whether the begin of a file is that of an alert log, also where its first line is cut."""
    head = head[:HEAD_BYTES]
    if any(mark in head for mark in _LISTENER):
        return False
    if _XML.search(head):
        return b"comp_id='rdbms'" in head or b'comp_id="rdbms"' in head or b"comp_id=" not in head
    text = "\n".join(lines(io.BytesIO(head)))
    if _TRACE_HEAD.search(text[:4096]):
        return False
    dated = typical = False
    for line in text.split("\n"):
        line = _PDB.sub("", line, count=1) if "):" in line else line
        if _ALONE.search(line):
            return True
        if not dated and len(line) < LONGEST_MOMENT and _ONLY_MOMENT.search(line) and moment_in(line):
            dated = True
        elif not typical and _TYPICAL.match(line):
            typical = True
        if dated and typical:
            return True
    return False


# The events of a log, of which a bounded number is kept.

KEPT = 100
"""Of each kind of event, how many of the first and how many of the last are kept."""
TOGETHER = timedelta(minutes=10)
"""Equal lines that follow each other within this time are one event."""
_KEYS = 1000
"""Different lines that are remembered to find equal ones."""
_BY_TRACE = ("row_cache_timeout", "library_cache_timeout", "deadlock", "hang", "internal_error")
"""Kinds of which two events with different trace files are never one."""


@dataclass(slots=True)
class _Draft:
    """An event that may still grow: by its trace file, by its error, by equal lines."""

    at: datetime | None
    said: Said
    line: int
    until: datetime | None = None
    times: int = 1

    def event(self) -> LoggedEvent:
        facts = dict(self.said.facts)
        if self.times > 1:
            facts |= {"times": self.times} | ({"until": self.until} if self.until else {})
        return LoggedEvent(self.at, self.said.kind, self.said.text, self.line, facts)


class _Events:
    """The first and the last events of each kind, and how many were left out between them."""

    def __init__(self) -> None:
        self._first: dict[EventKind, list[_Draft]] = {}
        self._last: dict[EventKind, deque[_Draft]] = {}
        self._seen: dict[tuple[object, ...], _Draft] = {}
        self.left_out: dict[EventKind, int] = {}

    def add(self, draft: _Draft) -> None:
        said = draft.said
        kind = said.kind
        key = (kind, said.text, said.facts.get("trace_file") if kind in _BY_TRACE else None)
        earlier = self._seen.get(key)
        if earlier is not None and _together(earlier.until or earlier.at, draft.at):
            earlier.times += 1
            earlier.until = draft.at
            if "count" in said.facts:
                earlier.said.facts["count"] = said.facts["count"]
            return
        if len(self._seen) >= _KEYS:
            self._seen.clear()
        self._seen[key] = draft
        first = self._first.setdefault(kind, [])
        if len(first) < KEPT:
            first.append(draft)
            return
        last = self._last.setdefault(kind, deque(maxlen=KEPT))
        if len(last) == KEPT:
            self.left_out[kind] = self.left_out.get(kind, 0) + last[0].times
        last.append(draft)

    def kept(self) -> tuple[LoggedEvent, ...]:
        """In the order of the file. The last of the first ones says how many lines were left out behind it."""
        for kind, many in self.left_out.items():
            self._first[kind][-1].said.facts["left_out"] = many
        drafts = [draft for kept in (*self._first.values(), *self._last.values()) for draft in kept]
        return tuple(draft.event() for draft in sorted(drafts, key=lambda draft: draft.line))


def _together(earlier: datetime | None, later: datetime | None) -> bool:
    """Whether equal lines of these moments are one event. Undated ones are, since nothing tells them apart."""
    if earlier is None or later is None:
        return earlier is later
    if earlier.tzinfo is later.tzinfo:
        return abs(later - earlier) <= TOGETHER
    return abs(_local(later) - _local(earlier)) <= TOGETHER


def _local(moment: datetime) -> datetime:
    """The clock on the wall, by which moments with and without a zone can be compared."""
    return moment.replace(tzinfo=None)


# Moments.

LONGEST_MOMENT = 64
"""Bytes of the longest line that is only a moment."""
_STAMP = re.compile(
    rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|"
    rb"[^\n\d:]{1,32}(?:\d{1,2}[^\n\d:]{1,16})?\d{1,2} \d\d:\d\d:\d\d .{0,12}\d{4}\s*$"
)
_MSG = b"<msg time="
_BACK = timedelta(seconds=60)
"""A clock that goes back by less is not mentioned."""
_NONE = timedelta()
_JUMPS = 3
"""Jumps that are named."""


@dataclass(slots=True)
class _Clock:
    """The moment at a place of the file, and where the clock went back."""

    now: datetime | None = None
    last: datetime | None = None
    first: datetime | None = None
    latest: datetime | None = None
    jumps: list[str] = field(default_factory=list)
    """The first of them, in words."""
    back: int = 0
    """How often the clock went back."""
    unread: int = 0

    def see(self, moment: datetime | None, line: int) -> None:
        """The moment that a line begins with, None if it cannot be read."""
        if moment is None:
            self.now = None  # a moment that cannot be read: the lines below it are undated
            self.unread += 1
            return
        before = self.last
        if moment == before:
            self.now = moment
            return
        if before is None or (back := _earlier(moment, before)) > _NONE:
            self.covers(moment)
            if before is not None and back > _BACK:
                self.back += 1
                went = f"from {_local(before):%Y-%m-%d %H:%M:%S} to {_local(moment):%Y-%m-%d %H:%M:%S}"
                self.jumps = [*self.jumps, f"{went} before line {line:,}"][:_JUMPS]
        self.now = self.last = moment

    def covers(self, moment: datetime) -> None:
        """The log has this moment. Its last one is covered at the end, and before a clock that goes back."""
        for seen in (moment, self.last or moment):
            if self.first is None or _earlier(seen, self.first) > _NONE:
                self.first = seen
            if self.latest is None or _earlier(self.latest, seen) > _NONE:
                self.latest = seen


def _earlier(moment: datetime, than: datetime) -> timedelta:
    """By how much a moment is earlier than another."""
    if (moment.tzinfo is None) == (than.tzinfo is None):
        return than - moment
    return _local(than) - _local(moment)


def _moment_above(block: bytes, start: int, floor: int, xml: bool) -> bytes | None:
    """The last moment between two places of a block, as it is written. None if there is none."""
    if xml:
        at = block.rfind(_MSG, floor, start)
        return block[at + len(_MSG) + 1 : at + len(_MSG) + 41] if at >= 0 else None
    end = start
    while end > floor:
        begin = block.rfind(b"\n", floor, end - 1) + 1 or floor
        if end - begin <= LONGEST_MOMENT + 1 and _STAMP.match(line := block[begin : end - 1]):
            return line
        end = begin
    return None


# Of which instance it is.

_DIAG = re.compile(r"[/\\]diag[/\\]rdbms[/\\]([^/\\\s]+)[/\\]([^/\\\s]+)[/\\]", re.IGNORECASE)
_TRACE_OF = re.compile(
    r"(?P<instance>[A-Za-z][\w$#+-]{0,99}?)_[a-z][a-z0-9]{2,4}_\d{1,20}(?:_\w{1,99})?\.trc$", re.IGNORECASE
)
_RELEASE = re.compile(r"Oracle Database .{0,60}?Release (\d[\d.]+\d)|RDBMS Version: ?(\d[\d.]+\d)")
_VERSION = re.compile(r"Version (\d+\.\d+(?:\.\d+)+)")
_SETTING = re.compile(
    r" *(db_name|instance_name|instance_number|cluster_database) *= *[\"']?([\w$#.-]+)", re.IGNORECASE
)
_NODE = re.compile(r" *Node name: *(\S+)")
_START_LINES = 400
"""Lines behind the start of an instance that have its release and its parameters."""


@dataclass(slots=True)
class _Identity:
    """What the log says of its instance. The last start decides."""

    settings: dict[str, str] = field(default_factory=dict)
    release: str | None = None
    host: str = ""
    unique_name: str = ""
    instance: str = ""

    def start(self, line: str) -> None:
        """A line behind the start of the instance."""
        if found := _SETTING.match(line):
            self.settings[found[1].lower()] = found[2]
        elif found := _RELEASE.search(line):
            self.release = release_in(found[1] or found[2])
        elif (found := _VERSION.match(line)) and self.release and found[1].split(".")[0] == self.release.split(".")[0]:
            self.release = found[1]
        elif found := _NODE.match(line):
            self.host = found[1]

    def path(self, line: str, trace: str) -> None:
        """A line that names a trace file."""
        if found := _DIAG.search(line):
            self.unique_name, self.instance = found[1], found[2]
        elif not self.instance and (found := _TRACE_OF.match(trace)):
            self.instance = found["instance"]

    def header(self) -> Header:
        number = self.settings.get("instance_number", "")
        cluster = self.settings.get("cluster_database", "").upper()
        return Header(
            db_name=self.settings.get("db_name", "") or self.unique_name,
            instance=self.settings.get("instance_name", "") or self.instance,
            instance_number=int(number) if number.isascii() and number.isdigit() else None,
            release=self.release,
            cluster={"TRUE": True, "FALSE": False}.get(cluster),
            host=self.host,
        )


# Reading.

_FOLLOWING: Mapping[bytes, str] = {
    b"dumped to trace file": "behind",
    b"etails in trace file": "behind",
    b"ncident details in:": "behind",
    b"Errors in file ": "before",
    b"PARSE ERROR: ospid": "parse",
    b"Additional information: hd=": "parsed",
    b"Patch Description:": "patch",
}
"""Lines that say more about the event above or below them."""
_NEAR = 8
"""Lines between an event and the line that names its trace file."""
_STATEMENT = 60
"""Lines of a statement that failed to parse which are not taken for DDL."""
_ALL = (*(mark for mark in MARKS if mark != DDL_MARK), *_FOLLOWING)
_DDL = re.compile(rb"\n(?: ?<txt>)?(?:diag_adl:)?(?:create|alter|drop|truncate|CREATE|ALTER|DROP|TRUNCATE) ")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&"}
_ENTITY = re.compile("|".join(_ENTITIES))


class _Reading:
    """One log on its way to a Delta."""

    def __init__(self, since: datetime | None, until: datetime | None) -> None:
        self.since, self.until = since, until
        self.events, self.clock, self.identity = _Events(), _Clock(), _Identity()
        self.lines = self.long = 0
        self.xml = False
        self._stamp = b""
        self._pending: _Draft | None = None
        self._errors_in: tuple[int, str] | None = None
        self._starting = 0  # lines of a start that are still to be read
        self._behind = (0, 0)  # where in the block the next of them is, and its number
        self._statement = 0  # up to this line the text of a statement may come

    def block(self, block: bytes) -> None:
        """The next whole lines."""
        self.xml = self.xml or (not self.lines and _XML.search(block[:HEAD_BYTES]) is not None)
        if not self.lines:
            block = b"\n" + block  # so that a mark of the begin of a line is found in the first one
        floor = counted = 0
        first_line = self.lines + 1 - (not self.lines)
        self._behind = (0, first_line)
        self._start(block)
        for start, mark in sorted(_marked(block).items()):
            first_line += block.count(b"\n", counted, start)
            counted = start
            self._see(block, start, floor, first_line)
            floor = start
            end = block.find(b"\n", start)
            self._line(block[start : end if end >= 0 else None], mark, first_line)
            if mark == b"Starting ORACLE instance":
                behind = (end + 1 if end >= 0 else len(block), first_line + 1)
                self._behind = max(self._behind, behind)
                self._starting = _START_LINES - (self._behind[1] - behind[1])
                self._start(block)
        self.lines = first_line - 1 + block.count(b"\n", counted)
        self._see(block, len(block), floor, self.lines + 1)

    def _see(self, block: bytes, start: int, floor: int, line: int) -> None:
        if self.clock.first is None and floor == 0:
            self._first(block[:start])
        stamp = _moment_above(block, start, floor, self.xml)
        if stamp is not None and (stamp != self._stamp or self.clock.now is None):
            self._stamp = stamp
            self.clock.see(moment_in(decoded(stamp).strip()), line)

    def _first(self, text: bytes) -> None:
        """The first moment of the log, which may be far above its first event."""
        for line in text[:HEAD_BYTES].split(b"\n"):
            if self.xml and line.startswith(_MSG):
                line = line[len(_MSG) + 1 : len(_MSG) + 41]
            if len(line) <= LONGEST_MOMENT and _STAMP.match(line) and (moment := moment_in(decoded(line).strip())):
                self.clock.covers(moment)
                return

    def _start(self, block: bytes) -> None:
        """The lines behind a start that are still to be read. None is read twice, whatever starts on each line."""
        at, number = self._behind
        for line in block[at : at + 256 * self._starting].split(b"\n")[: self._starting]:
            self._starting -= 1
            at, number = at + len(line) + 1, number + 1
            self.identity.start(decoded(line).strip() if not self.xml else _unescaped(decoded(line)))
        self._behind = at, number

    def _line(self, raw: bytes, mark: bytes, number: int) -> None:
        self.long += len(raw) > LONGEST_EVENT
        line = decoded(raw[:LONGEST_EVENT]).strip()
        if self.xml:
            line = _unescaped(line)
        facts: dict[str, Value] = {}
        if container := _PDB.match(line):
            line = line[container.end() :]
            facts["container"] = container[1]
        if mark in _FOLLOWING:
            self._more(_FOLLOWING[mark], line, number)
            return
        said = MARKS[mark](line)
        if said is None or (said.kind == "ddl" and number <= self._statement):
            return
        if said.kind == "undo_switch" and self._starting and said.text.endswith("in use"):
            return  # each start puts it to use
        if (trace := said.facts.get("trace_file")) is not None:
            self.identity.path(line, str(trace))
        elif self._errors_in and number - self._errors_in[0] <= _NEAR and "error" in said.facts:
            said.facts["trace_file"] = self._errors_in[1]
        said.facts |= facts
        self._close()
        self._pending = _Draft(self.clock.now, said, number)

    def _more(self, how: str, line: str, number: int) -> None:
        """A line that says more about the event above it, or about the one below."""
        near = self._pending if self._pending and number - self._pending.line <= _NEAR else None
        if how == "parsed":
            self._statement = 0
        elif how == "patch":
            if near and near.said.kind == "patch":
                near.said.text += f": {line.partition(':')[2].strip()[:80]}"
        elif how == "parse":
            self._statement = number + _STATEMENT
            error = re.search(r"error=(\d{1,5})\b", line)
            facts = {**numbers_in(line, "ospid"), **({"error": f"ORA-{int(error[1]):05}"} if error else {})}
            if near and near.said.kind == "parse_errors" and "error" not in near.said.facts:
                near.said.facts |= facts
        elif trace := trace_in(line):
            self.identity.path(line, trace)
            if how == "before":
                self._errors_in = (number, trace)
            elif near:
                near.said.facts["trace_file"] = trace

    def _close(self) -> None:
        draft, self._pending = self._pending, None
        if draft is not None and self._within(draft.at):
            self.events.add(draft)

    def _within(self, at: datetime | None) -> bool:
        """Whether a moment is asked for. An undated line always is."""
        if at is None:
            return True
        after = self.since is None or _earlier(at, self.since) <= _NONE
        return after and (self.until is None or _earlier(at, self.until) >= _NONE)

    def delta(self, name: str) -> Delta:
        self._close()
        head = self.identity.header()
        row = head.row
        database = head.database if head.database != "unknown" else name
        return reported(
            database,
            head.release,
            self._basis(),
            {"v$instance": Rows("v$instance", (row,))} if row else {},
            tuple(self._notes()),
            source="alert log",
            events=self.events.kept(),
        )

    def _basis(self) -> Basis:
        if self.clock.last is not None:
            self.clock.covers(self.clock.last)
        begin, end = self.clock.first, self.clock.latest
        if begin is None or end is None:
            return Basis("totals", None, None, None)
        if self.since is not None and _earlier(begin, self.since) > _NONE:
            begin = self.since
        if self.until is not None and _earlier(self.until, end) > _NONE:
            end = self.until
        if (begin.tzinfo is None) != (end.tzinfo is None):
            begin, end = _local(begin), _local(end)
        seconds = (end - begin).total_seconds()
        return Basis("interval", begin, end, seconds) if seconds > 0 else Basis("totals", None, end, None)

    def _notes(self) -> Iterator[str]:
        for kind, many in self.events.left_out.items():
            yield f"{many:,} more events of the kind {kind} are left out between the first {KEPT} and the last {KEPT}"
        jumps = self.clock.jumps
        if jumps:
            more = f", and {self.clock.back - _JUMPS:,} times more" if self.clock.back > _JUMPS else ""
            yield f"the clock of the log goes back {'; '.join(jumps)}{more}; events stay in the order of the file"
        if self.long:
            yield f"lines longer than {LONGEST_EVENT:,} bytes, of which the rest is not read: {self.long:,}"
        if self.clock.unread:
            yield f"{self.clock.unread:,} times could not be read; the lines below them are undated"


def _marked(block: bytes) -> dict[int, bytes]:
    """Where the lines with a mark begin, and their first mark in the order of the tables."""
    found: dict[int, bytes] = {}
    for mark in _ALL:
        at = block.find(mark)
        while at >= 0:
            found.setdefault(block.rfind(b"\n", 0, at) + 1, mark)
            end = block.find(b"\n", at)
            at = block.find(mark, end) if end >= 0 else -1
    for begun in _DDL.finditer(block):
        found.setdefault(begun.start() + 1, DDL_MARK)
    return found


def _unescaped(line: str) -> str:
    """The text of a line of log.xml: without its tags, and with the five entities of XML itself. No other one is expanded."""
    line = line.partition("<txt>")[2] or line
    return _ENTITY.sub(lambda found: _ENTITIES[found[0]], line.partition("</txt>")[0]).strip()


def read(stream: IO[bytes], name: str, since: datetime | None = None, until: datetime | None = None) -> Delta:
    """What an alert log says, as a Delta without counters. `name` stands for the database where the log names none.

    The stream is read once, in blocks. Of dated events only those from `since` to `until` are kept; a bound without a zone is
    by the clock of the log.
    """
    reading = _Reading(since, until)
    for block in blocks(stream):
        reading.block(block)
    return reading.delta(name)
