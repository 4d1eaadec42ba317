"""Alert logs: which of their lines matter, when they were written, and of which instance they are.

A log may have gigabytes. So `read` searches whole blocks for the marks of `collectors.logs.phrases`, and decodes only the lines
that carry one. The moment of a line is on the nearest line above it (the file that Oracle writes), in the element above it
(log.xml), or on the line itself (what shippers, cloud services and queries of v$diag_alert_ext make of it).
"""

import codecs
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cmp_to_key
from typing import IO, Any
from xml.sax.saxutils import unescape

from collectors.delta import reported
from collectors.logs.phrases import DDL_MARK, PHRASES, TYPICAL, Message, fields_of, message_of, trace_in
from collectors.model import Basis, Delta, EventKind, LoggedEvent, Rows, dated
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


_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,6})\d{0,9})?(?: ?(Z|[+-]\d\d:?\d\d))?")
_WORDS = re.compile(
    r"\w{1,4}\.? {1,9}([^\W\d]\w{1,4}\.?|\d{1,2}\D) {1,9}(\d{1,2}) (\d\d:\d\d:\d\d) (?:[A-Z]{3,5} )?(\d{4})\b"
)
_QUERIED = re.compile(
    r"(\d{1,2})-(\w{3,5}\.?)-(\d{2}|\d{4}) (\d\d)[.:](\d\d[.:]\d\d)(?:[.,](\d{1,6})\d{0,9})?(?: ([AP])M)?(?: ?([+-]\d\d:\d\d))?"
)


def moment_at(line: str) -> tuple[datetime | None, int] | None:
    """The moment that a line begins with, None if there is no such moment, and where it ends. None if the line has none.

    As 2019-05-14T10:22:33.123456+02:00, Tue Nov 24 14:02:20 2009, or a query's 24-NOV-09 02.02.20.118 PM +01:00.
    """
    if found := _ISO.match(line):
        day, time, fraction, zone = found.groups()
    elif found := _WORDS.match(line):
        month, number, time, year = found.groups()
        # The host's local time; the log does not say in which zone.
        day, fraction, zone = f"{year}-{month_of(month) or 0:02}-{int(number):02}", None, None
    elif found := _QUERIED.match(line):
        number, month, year, hour, rest, fraction, half, zone = found.groups()
        hour = hour if half is None else f"{int(hour) % 12 + 12 * (half == 'P'):02}"
        day, time = f"20{year[-2:]}-{month_of(month) or 0:02}-{int(number):02}", f"{hour}:{rest.replace('.', ':')}"
    else:
        return None
    try:
        moment = datetime.fromisoformat(f"{day}T{time}.{fraction or '0':<06}{zone or ''}")
    except ValueError:
        return None, found.end()
    return moment if dated(moment) else None, found.end()


def moment_in(line: str) -> datetime | None:
    """The moment that a line begins with. A trace file writes `*** ` before it; take that off first."""
    return (moment_at(line) or (None, 0))[0]


_BEFORE = re.compile(r"[\s\"\[(|]{0,9}(?:<\d{1,3}>\d? ?)?")
_SENDER = re.compile(r"[\w.-]{1,64} [\w./-]{1,32}(?:\[\d{1,9}\])?:? (?:\d{1,9} \S{1,32} (?:- )?)?")
"""What syslog writes between moment and message."""


def shipped(line: str) -> tuple[datetime | None, str] | None:
    """Moment and message of a line that has both: as text, as a row of a query, or as one JSON object. None for others."""
    if line.startswith("{"):
        try:
            members = json.loads(line)
        except (ValueError, RecursionError):
            return None
        texts = [text for text in members.values() if isinstance(text, str)]
        moments = [moment for text in texts if (moment := moment_in(text))]
        messages = [text for text in texts if not moment_at(text) or len(text) > LONGEST_MOMENT]
        return (moments[0], max(messages, key=len)) if moments and messages else None
    start = match.end() if (match := _BEFORE.match(line)) else 0
    found = moment_at(line[start : start + LONGEST_MOMENT])
    message = line[start + found[1] :].strip(' \t",;|])') if found else ""
    return (found[0], message) if found and message else None


# Whether a file is an alert log.

HEAD_BYTES = 64 * 1024
"""How much of a file `looks_like_alert_log` needs at most."""
_XML = re.compile(rb"<msg\s{1,9}time=['\"]\d{4}-\d\d-\d\dT")
_LISTENER = (b"comp_id='tnslsnr'", b'comp_id="tnslsnr"', b"TNSLSNR for ", b"* establish *", b"* service_update *")
_TRACE_HEAD = re.compile(
    r"^(?:Trace file |Dump file |\*\*\* SESSION ID:|\*\*\* CLIENT ID:|Unix process pid: |Redo thread mounted by this instance)",
    re.M,
)
_PDB = re.compile(r"([A-Za-z][\w$#]{0,127})\(\d{1,4}\):")
_TYPICAL = re.compile("|".join(TYPICAL))
_ALONE = re.compile(r"WAITED TOO LONG FOR A \w+ \w+ ENQUEUE LOCK! pid=\d|WARNING: too many parse errors, count=\d")
"""Lines that only an alert log has, even without a moment above them."""

_ONLY_MOMENT = re.compile(r"(?: \d{4}|\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|[+-]\d\d:?\d\d))?)\s{0,9}$")
"""The end of a line that has nothing but a moment. Other programs write their message behind it."""
_ANYWHERE = ("ORA-", "ALTER ", "alter ", "Completed: ", "Patch Id")
"""Typical begins that a line of another program may have behind its moment."""


def looks_like_alert_log(head: bytes) -> bool:
    """Whether the begin of a file is that of an alert log, also where its first line is cut."""
    head = head[:HEAD_BYTES]
    if any(mark in head for mark in _LISTENER):
        return False
    if _XML.search(head):
        return b"comp_id='rdbms'" in head or b'comp_id="rdbms"' in head or b"comp_id=" not in head
    every = list(lines(io.BytesIO(head)))
    if _TRACE_HEAD.search("\n".join(every)[:4096]):
        return False
    dated = typical = False
    for line in every:
        line = _PDB.sub("", line, count=1) if "):" in line[:LONGEST_LINE] else line
        if _ALONE.search(line) or (dated and typical):
            return True
        if len(line) < LONGEST_MOMENT and _ONLY_MOMENT.search(line) and moment_in(line):
            dated = True
        elif _TYPICAL.match(line):
            typical = True
        elif both := shipped(line):
            sent = _SENDER.match(both[1])
            found = _TYPICAL.match(both[1]) or (_TYPICAL.match(both[1][sent.end() :]) if sent else None)
            if found and not found[0].startswith(_ANYWHERE):
                return True
    return dated and typical


# The events of a log, of which a bounded number is kept.

KEPT = 100
"""Of each kind of event, how many of the first and how many of the last are kept."""
TOGETHER = timedelta(minutes=10)
"""Equal lines that follow each other within this time are one event."""
_KEYS = 1000
"""Different lines that are remembered to find equal ones."""
_BY_TRACE = ("row_cache_timeout", "library_cache_timeout", "deadlock", "hang", "internal_error")
"""Kinds of which two events with different trace files are never one."""


class _Events:
    """The first and the last events of each kind, and how many were left out between them."""

    def __init__(self) -> None:
        self._kept: dict[EventKind, list[Message]] = defaultdict(list)
        self._seen: dict[tuple[object, ...], Message] = {}
        self.left_out: Counter[EventKind] = Counter()

    def add(self, event: Message) -> None:
        facts, trace = event.facts, event.facts.get("trace_file")
        key = (event.kind, event.text, trace if event.kind in _BY_TRACE else None)
        earlier = self._seen.get(key)
        until = earlier and earlier.facts.get("until", earlier.at)
        if earlier is not None and (until is None or isinstance(until, datetime)) and _together(until, event.at):
            earlier.facts |= {"times": earlier.event().times + 1} | ({"until": event.at} if event.at else {})
            earlier.facts |= {"count": facts["count"]} if "count" in facts else {}
            return
        if len(self._seen) >= _KEYS:
            self._seen.clear()
        self._seen[key] = event
        kept = self._kept[event.kind]
        kept.append(event)
        if len(kept) > 2 * KEPT:
            self.left_out[event.kind] += kept.pop(KEPT).event().times

    def kept(self) -> tuple[LoggedEvent, ...]:
        """In the order of the file. The last of the first ones says how many lines were left out behind it."""
        for kind, many in self.left_out.items():
            self._kept[kind][KEPT - 1].facts["left_out"] = many
        every = (event for kept in self._kept.values() for event in kept)
        return tuple(event.event() for event in sorted(every, key=lambda event: event.line))


def _together(earlier: datetime | None, later: datetime | None) -> bool:
    """Whether equal lines of these moments are one event. Undated ones are, since nothing tells them apart."""
    if earlier is None or later is None:
        return earlier is later
    return abs(_before(earlier, later)) <= TOGETHER


def _before(moment: datetime, than: datetime) -> timedelta:
    """By how much a moment is earlier than another; by the clock on the wall, if only one has a zone."""
    if (moment.tzinfo is None) == (than.tzinfo is None):
        return than - moment
    return than.replace(tzinfo=None) - moment.replace(tzinfo=None)


_ORDER: Callable[[datetime], Any] = cmp_to_key(lambda one, other: _before(other, one) // timedelta.resolution)

# Moments.

LONGEST_MOMENT = 64
"""Bytes of the longest line that is only a moment."""
_STAMP = re.compile(
    rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|"
    rb"[^\n\d:]{1,32}(?:\d{1,2}[^\n\d:]{1,16})?\d{1,2} \d\d:\d\d:\d\d .{0,12}\d{4}\s{0,9}$"
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
        """The moment of the lines from here on. None if it cannot be read: they are undated."""
        before, self.now = self.last, moment
        if moment is None:
            self.unread += 1
            return
        if before is None or (back := _before(moment, before)) > _NONE:
            self.covers(moment)
            if before is not None and back > _BACK:
                self.back += 1
                went = f"from {before:%Y-%m-%d %H:%M:%S} to {moment:%Y-%m-%d %H:%M:%S} before line {line:,}"
                self.jumps = [*self.jumps, went][:_JUMPS]
        self.last = moment

    def covers(self, moment: datetime) -> None:
        """The log has this moment. Its last one is covered at the end, and before a clock that goes back."""
        seen = [each for each in (self.first, self.latest, self.last, moment) if each is not None]
        self.first, self.latest = min(seen, key=_ORDER), max(seen, key=_ORDER)

    def basis(self, since: datetime | None, until: datetime | None) -> Basis:
        """What the log covers of the time that is asked for."""
        if self.last is not None:
            self.covers(self.last)
        if self.first is None or self.latest is None:
            return Basis("totals", None, None, None)
        begin, end = (
            max(self.first, since or self.first, key=_ORDER),
            min(self.latest, until or self.latest, key=_ORDER),
        )
        if (begin.tzinfo is None) != (end.tzinfo is None):
            begin, end = begin.replace(tzinfo=None), end.replace(tzinfo=None)
        seconds = (end - begin).total_seconds()
        return Basis("interval", begin, end, seconds) if seconds > 0 else Basis("totals", None, end, None)


# Of which instance it is.

_DIAG = re.compile(r"[/\\]diag[/\\]rdbms[/\\]([^/\\\s]{1,90})[/\\]([^/\\\s]{1,90})[/\\]", re.IGNORECASE)
_TRACE_OF = re.compile(r"([A-Za-z][\w$#+-]{0,90}?)_[a-z][a-z0-9]{2,4}_\d{1,20}(?:_\w{1,40})?\.trc$", re.IGNORECASE)
_RELEASE = re.compile(r"Oracle Database .{0,60}?Release (\d[\d.]{1,20}\d)|.{0,40}?RDBMS Version: ?(\d[\d.]{1,20}\d)")
_VERSION = re.compile(r"Version (\d{1,3}(?:\.\d{1,9}){2,5})")
_SETTING = re.compile(
    r" {0,9}(db_name|instance_name|instance_number|cluster_database|Node name) {0,40}[=:] {0,9}[\"']?([\w$#.-]{1,90})",
    re.IGNORECASE,
)
_START_LINES = 400
"""Lines behind the start of an instance that have its release and its parameters."""


class _Identity(dict[str, str]):
    """What the log says of its instance: parameters, release, and the path of its trace files. The last start decides."""

    def start(self, line: str) -> None:
        """A line behind the start of the instance."""
        if found := _SETTING.match(line):
            self[found[1].lower()] = found[2]
        elif found := _RELEASE.match(line):
            self["release"] = release_in(found[1] or found[2]) or ""
        elif (found := _VERSION.match(line)) and self.get("release", "").split(".")[0] == found[1].split(".")[0]:
            self["release"] = found[1]

    def path(self, line: str, trace: str) -> None:
        """A line that names a trace file."""
        if found := _DIAG.search(line):
            self["unique name"], self["instance"] = found[1], found[2]
        elif found := _TRACE_OF.match(trace):
            self.setdefault("instance", found[1])

    def header(self) -> Header:
        number = self.get("instance_number", "")
        return Header(
            db_name=self.get("db_name") or self.get("unique name", ""),
            instance=self.get("instance_name") or self.get("instance", ""),
            instance_number=int(number) if number.isascii() and number.isdigit() else None,
            release=self.get("release") or None,
            cluster={"TRUE": True, "FALSE": False}.get(self.get("cluster_database", "").upper()),
            host=self.get("node name", ""),
        )


# Reading.

_FOLLOWING = (
    b"ncident details in:",
    b"Errors in file ",
    b"PARSE ERROR: ospid",
    b"Additional information: hd=",
    b"Patch Description:",
)
_TRACE_MARK = b".trc"
_FURTHER = (*_FOLLOWING, _TRACE_MARK)
"""Marks of lines that say more about the event above or below them."""
_NEAR = 8
"""Lines between an event and the line that names its trace file."""
_STATEMENT = 60
"""Lines of a statement that failed to parse which are not taken for DDL."""
_ALL = (*(mark for mark in PHRASES if mark != DDL_MARK), *_FURTHER)
_DDL = re.compile(rb"\n(?: ?<txt>)?(?:diag_adl:)?(?:create|alter|drop|truncate|CREATE|ALTER|DROP|TRUNCATE) ")
_QUOTES = {"&quot;": '"', "&apos;": "'"}
_HEAD_LINES = 50


class _Reading:
    """One log on its way to a Delta."""

    def __init__(self, since: datetime | None, until: datetime | None) -> None:
        self.since, self.until = since, until
        self.events, self.clock, self.identity = _Events(), _Clock(), _Identity()
        self.lines = self.long = 0
        self.xml = self.inline = False
        self._stamp: object = None
        self._pending: Message | None = None
        self._errors_in: tuple[int, str] | None = None
        self._starting = 0
        """Lines of a start that are still to be read."""
        self._statement = 0
        """Up to this line the text of a statement may come."""

    def block(self, block: bytes) -> None:
        """The next whole lines."""
        if not self.lines:
            self.xml = _XML.search(block[:HEAD_BYTES]) is not None
            head = [line for line in block[:HEAD_BYTES].split(b"\n")[:_HEAD_LINES] if line.strip()]
            self.inline = 2 * sum(shipped(decoded(line)) is not None for line in head) > len(head)
            block = b"\n" + block  # so that a mark of the begin of a line is found in the first one
        floor = counted = 0
        first_line = self.lines + 1 - (not self.lines)
        started = self._start(block, 0)
        for start, mark in sorted(_marked(block).items()):
            first_line += block.count(b"\n", counted, start)
            counted = start
            end = block.find(b"\n", start)
            end = end if end >= 0 else len(block)
            self._see(block, end + 1 if self.inline else start, floor, first_line)
            floor = start
            self._line(block[start:end], mark, first_line)
            if mark == b"Starting ORACLE instance":
                self._starting = _START_LINES
                started = self._start(block, max(started, end + 1))
        self.lines = first_line - 1 + block.count(b"\n", counted)
        self._see(block, len(block), floor, self.lines + 1)

    def _see(self, block: bytes, end: int, floor: int, line: int) -> None:
        """The last moment above a place, and the first one of the log, which may be far above its first event."""
        if self.clock.first is None and floor == 0:
            for each in block[: min(end, HEAD_BYTES)].split(b"\n"):
                if (first := self._stamp_of(each)) and first[1] is not None:
                    self.clock.covers(first[1])
                    break
        if self.xml:
            at = block.rfind(_MSG, floor, end)
            stamp = self._stamp_of(block[at : at + 60]) if at >= 0 else None
        else:
            stamp = None
            while end > floor and stamp is None:
                begin = block.rfind(b"\n", floor, end - 1) + 1 or floor
                stamp, end = self._stamp_of(block[begin : end - 1]), begin
        if stamp is not None and (stamp[0] != self._stamp or self.clock.now is None):
            self._stamp = stamp[0]
            self.clock.see(stamp[1], line)

    def _stamp_of(self, line: bytes) -> tuple[object, datetime | None] | None:
        """The moment that a line gives, as it is written and as it is read. None for a line that gives none."""
        if self.inline:
            both = shipped(decoded(line))
            return both and (both[0], both[0])
        if self.xml:
            line = line[len(_MSG) + 1 : len(_MSG) + 41] if line.startswith(_MSG) else b""
        if len(line) > LONGEST_MOMENT or not _STAMP.match(line):
            return None
        return line, moment_in(decoded(line).strip())

    def _start(self, block: bytes, begin: int) -> int:
        """Read the lines behind a start of the instance. Where they end."""
        while self._starting and begin < len(block):
            end = block.find(b"\n", begin)
            end = end if end >= 0 else len(block)
            self.identity.start(self._text(block[begin : min(end, begin + 256)]))
            self._starting -= 1
            begin = end + 1
        return begin

    def _text(self, raw: bytes) -> str:
        """What a line says, without what was put around it."""
        line = decoded(raw if self.inline else raw[:LONGEST_EVENT]).strip()
        if self.inline and (both := shipped(line)):
            return both[1]
        if not self.xml:
            return line
        # No entity but the five of XML itself is expanded.
        line = (line.partition("<txt>")[2] or line).partition("</txt>")[0]
        return unescape(line, _QUOTES).strip()

    def _line(self, raw: bytes, mark: bytes, number: int) -> None:
        self.long += len(raw) > LONGEST_EVENT
        line = self._text(raw)[:LONGEST_EVENT]
        container = _PDB.match(line)
        if container:
            line = line[container.end() :]
        if mark in _FURTHER:
            self._more(mark, line, number)
            return
        what = message_of(mark, line)
        if what is None or (what.kind == "ddl" and number <= self._statement):
            return
        if what.kind == "undo_switch" and self._starting and what.text.endswith("in use"):
            return  # each start puts it to use
        if trace := trace_in(line):
            self.identity.path(line, trace)
        elif self._errors_in and number - self._errors_in[0] <= _NEAR and "error" in what.facts:
            trace = self._errors_in[1]
        what.facts |= {"container": container[1]} if container else {}
        what.facts |= {"trace_file": trace} if trace and ("error" in what.facts or what.kind == "deadlock") else {}
        self._close()
        what.at, what.line = self.clock.now, number
        self._pending = what

    def _more(self, mark: bytes, line: str, number: int) -> None:
        """A line that says more about the event above it, or about the one below."""
        near = self._pending if self._pending and number - self._pending.line <= _NEAR else None
        if mark == b"Additional information: hd=":
            self._statement = 0
        elif mark == b"Patch Description:":
            if near and near.kind == "patch":
                near.text += f": {line.partition(':')[2].strip()[:80]}"
        elif mark == b"PARSE ERROR: ospid":
            self._statement = number + _STATEMENT
            error = re.search(r"error=(\d{1,5})\b", line)
            if near and near.kind == "parse_errors" and "error" not in near.facts:
                near.facts |= fields_of(line, "ospid") | ({"error": f"ORA-{int(error[1]):05}"} if error else {})
        elif trace := trace_in(line):
            self.identity.path(line, trace)
            if mark == b"Errors in file ":
                self._errors_in = (number, trace)
            elif near and (mark != _TRACE_MARK or "trace_file" not in near.facts):
                near.facts["trace_file"] = trace

    def _close(self) -> None:
        event, self._pending = self._pending, None
        if event is not None and within(event.at, self.since, self.until):
            self.events.add(event)

    def delta(self, name: str) -> Delta:
        self._close()
        head = self.identity.header()
        return reported(
            head.database if head.database != "unknown" else name,
            head.release,
            self.clock.basis(self.since, self.until),
            {"v$instance": Rows("v$instance", (head.row,))} if head.row else {},
            tuple(self._notes()),
            source="alert log",
            events=self.events.kept(),
        )

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


def within(at: datetime | None, since: datetime | None, until: datetime | None) -> bool:
    """Whether a moment is in the time that is asked for. One without a date is."""
    return at is None or (_before(since or at, at) >= _NONE and _before(at, until or at) >= _NONE)


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


def read(stream: IO[bytes], name: str, since: datetime | None = None, until: datetime | None = None) -> Delta:
    """What an alert log says, as a Delta without counters. `name` stands for the database where the log names none.

    The stream is read once, in blocks. Of dated events only those from `since` to `until` are kept; a bound without a zone is
    by the clock of the log.
    """
    reading = _Reading(since, until)
    for block in blocks(stream):
        reading.block(block)
    return reading.delta(name)
