"""Trace files, streamed: time-outs for the row cache, chains of a hang, system states, deadlocks, and errors.

A trace file has no counters. What it says is returned as events, and the sessions of its last telling dump as rows of the looks
that a hang has (`collectors.logs.sessions`). Neither SQL texts nor keys of entries, nor names of clients, are kept.

The layouts are those of public pages and files; tests/collectors/logs/published_traces.py has their addresses.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import PurePath
from typing import IO

from collectors.delta import reported
from collectors.errors import InputError
from collectors.logs.alert import CUT, LONGEST_LINE, lines, moment_in
from collectors.logs.hanganalyze import HangAnalysis
from collectors.logs.sessions import MODES, Dump, SessionKey, TracedSession, decimal
from collectors.logs.systemstate import ENTRY, ProcessDumps
from collectors.model import Basis, Delta, EventKind, LoggedEvent, Reading, Row, Rows, Value
from collectors.reports.header import dbid_in, release_in
from collectors.reports.undo import as_text

MOST_EVENTS = 5_000
TEXT_BEGINS = 20
"""A file with a zero byte within its first lines is binary."""
HELD = {0: "not held", 3: "share", 5: "exclusive"}

_HEADS = re.compile(
    r"^(?:Trace file \S+\.trc|Dump file \S+\.tr[cm]|Unix process pid: *\d+|Windows thread id: *\d+"
    r"|\*\*\* \d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|\*\*\* SESSION ID:\(\d|HANG ANALYSIS:|SYSTEM STATE\b|PROCESS STATE\b"
    r"|PROCESS \d+:(?: *[A-Z]\w{2,4})?[ \t]*$|DEADLOCK DETECTED \( ?ORA-00060|Deadlock graph:|Global Wait-For-Graph\(WFG\)"
    r"|>{1,3} *WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! *<|[ \t]*row cache enqueue: session: "
    r"|[ \t]*row cache parent object: address=|[ \t]*(?:=> )?Oracle session identified by:|(?:Chain|Cycle) \d+ : *<\w+/"
    r"|[ \t]*\(session\) sid: \d+ |[ \t]*SOC?: (?:0x)?[0-9a-fA-F]{6,16}, type: |Resolvable Hangs in the System)",
    re.MULTILINE,
)
"""How a line of a trace file begins that no alert log and no report has."""


def looks_like_trace(head: bytes) -> bool:
    """Whether a file is a trace file, by its first bytes. Its first line may be cut."""
    return _HEADS.search(as_text(head).replace("\r", "")) is not None


def read(stream: IO[bytes], name: str, since: datetime | None = None, until: datetime | None = None) -> Delta:
    """What a trace file says. Only one pass, and memory for the sessions of two dumps, however large the file is.

    `since`, `until`: what is dated outside is left out; what has no date stays. Raises InputError, one line that starts with
    `name`, for a file that is empty or binary.
    """
    reader = TraceReader(since, until)
    number = 0
    for number, line in enumerate(lines(stream), 1):
        if "\0" in line:
            if number <= TEXT_BEGINS:
                raise InputError(
                    f"{name} is no trace file but binary data; give the file with the ending .trc, unpacked"
                )
            line = line.replace("\0", "")
        reader.line(number, line)
    if not number:
        raise InputError(f"{name} is empty; copy the trace file again")
    return reader.delta(name)


def within(at: datetime | None, since: datetime | None, until: datetime | None) -> bool:
    """Whether a moment is in the time that is asked for. One without a date is, and zones count only if both have one."""

    def before(one: datetime, other: datetime) -> bool:
        if (one.tzinfo is None) != (other.tzinfo is None):
            one, other = one.replace(tzinfo=None), other.replace(tzinfo=None)
        return one < other

    return at is None or not ((since and before(at, since)) or (until and before(until, at)))


_SESSION_ID = re.compile(r"\*\*\* SESSION ID:\((\d+)\.(\d+)\)")
_NAMED = re.compile(r"\*\*\* [A-Z ]{1,40}:\([^)]{0,200}\)+ ?(?=\d{4}-)")
_RELEASE = re.compile(r"(?:Oracle.*\bRelease|Version):? +(\d+\.\d+[\d.]*)")
_HEADER = re.compile(
    r"(Instance name|Instance number|Node name|Database name|Database id|Unix process pid|Windows thread id):\s*(\S+)"
)
_TIMEOUT = re.compile(r"WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK!(?: *pid=(\d+))?")
_REQUEST = re.compile(r"row cache enqueue: session: \S+, mode: ([NSX]), request: ([NSX])")
_CACHE = re.compile(r'\bcid="?(\d{1,4})\(([\w $#/&.-]{1,64})\)')
_LISTS = re.compile(r"own=(?:0x)?([0-9a-fA-F]+)\[(?:0x)?([0-9a-fA-F]+),.* mode=([NSX])")
_GRAPH = re.compile(r"([A-Z]{2})-[0-9A-Fa-f]{4,}-[0-9A-Fa-f-]+ +(.*)")
_GLOBAL = re.compile(
    r"BLOCK(?:ED|ER) 0x[0-9a-fA-F]+ \d+ wq \d+ cvtops x\w+ (?:([A-Z]{2}) .* inst (\d+)|\[0x\w+\]\[0x\w+\],\[([A-Z]{2})\])"
)
"""10g prints a node after the resource. Its number need not be that of the instance, so it is left out."""
_SIGNALED = re.compile(
    r"Resolving deadlock by signaling ORA-00060 to 'instance: (\d+), os id: ([\w.]+), session id: (\d+)"
)
_HANG = re.compile(r"(\d+) +(HANG|DEADLOCK) +(\w+) +(\d+) +(\d+) +(\d+) +(\d+) +\w+ +\w+ +(\S.*)")
_ERROR = re.compile(r"ORA-(\d{5}): (.*)")
_ALLOCATE = re.compile(r'unable to allocate (\d+) bytes of shared memory \("([\w ]{1,40})"')
_OBJECT = re.compile(r"lock object ([\w$#.]{1,260})")
_ARGUMENT = re.compile(r"arguments?: \[([\w: .+-]{1,64})\]|core dump \[([\w: .+()-]{1,64})\]")
ERRORS: Mapping[str, EventKind] = {
    "00018": "processes",
    "00020": "processes",
    "00060": "deadlock",
    "00600": "internal_error",
    "01652": "space",
    "01653": "space",
    "01654": "space",
    "04020": "library_cache_timeout",
    "04021": "library_cache_timeout",
    "04031": "shared_pool",
    "07445": "internal_error",
    "30036": "space",
    "32701": "hang",
}
SAID_ABOVE = 60
"""Lines after a deadlock in which ORA-00060 is the same one."""


class TraceReader:
    """Reads a trace file line by line."""

    def __init__(self, since: datetime | None = None, until: datetime | None = None) -> None:
        self._since, self._until = since, until
        self._inside = True
        self.at: datetime | None = None
        self.first_moment: datetime | None = None
        self.header: dict[str, str] = {}
        self._session_id: tuple[int | None, int | None] = (None, None)
        self.events: list[LoggedEvent] = []
        self._more_events = 0
        self._open: LoggedEvent | None = None
        """A time-out or deadlock whose lines are being read."""
        self._serials = False
        self._line = 0
        self.dump: Dump = Dump("process state", 0)
        self._analysis, self._processes = HangAnalysis(self.dump), ProcessDumps(self.dump)
        self.dumps = 0
        self._best: Dump | None = None
        self.cut_off = False
        self._long = 0

    def line(self, number: int, line: str) -> None:
        """One line of the file."""
        self._line = number
        self._long += line.endswith(CUT)
        stripped = line.strip()
        handler = _BEGINNINGS.get(stripped[:4])
        if handler is not None and (self._inside or handler in _ALWAYS):
            handler(self, stripped)
        elif stripped[2:3] == "-" and self._deadlocked():
            self._graph(stripped)
        elif stripped[:1].isdigit():
            self._numbered(stripped)
        if self._inside:
            self._processes.line(stripped)
            if self.dump.kind != "system state":
                self._analysis.line(stripped)
            if not self.dump.line and self.dump.sessions:
                self.dump.line, self.dump.at = number, self.at

    # The head, and the time

    def _stars(self, line: str) -> None:
        if found := _SESSION_ID.match(line):
            self._session_id = decimal(found[1]), decimal(found[2])
        if moment := moment_in(_NAMED.sub("", line).removeprefix("*** ")):
            self._moment(moment)

    def _moment(self, moment: datetime) -> None:
        self._close()
        self.at = moment
        self.first_moment = self.first_moment or moment
        self._inside = within(moment, self._since, self._until)

    def _head(self, line: str) -> None:
        if "Release" in line or line.startswith("Version"):
            if (found := _RELEASE.match(line)) and "release" not in self.header:
                self.header["release"] = found[1]
        elif found := _HEADER.match(line):
            self.header.setdefault(found[1], found[2])

    # Time-outs for the row cache

    def _timeout(self, line: str) -> None:
        found = _TIMEOUT.search(line)
        if found is None:
            return
        self._close()
        facts: dict[str, Value] = {"pid": decimal(found[1])} if found[1] else {}
        sid, serial = self._session_id
        facts |= {"sid": sid, "serial#": serial} if sid is not None else {}
        facts |= self._who()
        self._open = LoggedEvent(self.at, "row_cache_timeout", "", self._line, facts)
        self._entry(line)

    def _who(self) -> dict[str, Value]:
        ospid = self.header.get("Unix process pid") or self.header.get("Windows thread id")
        number = decimal(self.header.get("Instance number"))
        facts: dict[str, Value] = {"ospid": ospid.strip(",") if ospid else None, "instance": number}
        return {name: value for name, value in facts.items() if value is not None}

    def _row_cache(self, line: str) -> None:
        if found := _REQUEST.match(line):
            if self._open is None or self._open.kind != "row_cache_timeout" or "lock_request" in self._open.facts:
                self._timeout("WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK!")
            self._add(lock_mode=MODES[found[1]], lock_request=MODES[found[2]])
        elif self._open is not None and self._open.kind == "row_cache_timeout" and "cache_id" not in self._open.facts:
            self._entry(line)

    def _entry(self, line: str) -> None:
        if found := ENTRY.match(line):
            self._add(cache_id=decimal(found[2]), cache=found[3])
        elif found := _CACHE.search(line):
            self._add(cache_id=decimal(found[1]), cache=found[2])

    def _lists(self, line: str) -> None:
        """Who holds the entry: its list of owners is empty where it leads back to itself."""
        if self._open is None or self._open.kind != "row_cache_timeout" or "held" in self._open.facts:
            return
        if (found := _LISTS.match(line)) and found[1].lower() != found[2].lower():
            self._add(held=MODES[found[3]])

    def _add(self, **facts: Value) -> None:
        if self._open is not None:
            self._open = replace(self._open, facts={**self._open.facts, **facts})

    # Deadlocks and errors

    def _deadlock(self, line: str) -> None:
        if line.lower().startswith("deadlock") and not self._deadlocked():
            self._close()
            self._open = LoggedEvent(self.at, "deadlock", "", self._line, {"error": "ORA-00060"})
        self._serials = False

    def _deadlocked(self) -> bool:
        return self._open is not None and self._open.kind == "deadlock"

    def _resource(self, line: str) -> None:
        self._serials = line.endswith("serial")

    def _graph(self, line: str) -> None:
        found = _GRAPH.match(line)
        if found is None or self._open is None or not self._deadlocked():
            return
        numbers = [part for part in found[2].split() if part.isdigit()]
        width = 3 if self._serials else 2
        sessions = [numbers[place] for place in (1, width + 1) if place < len(numbers)]
        self._involve(found[1], sessions)

    def _global(self, line: str) -> None:
        if line.startswith("Glob"):
            if not self._deadlocked() or "global" in (self._open.facts if self._open else ()):
                self._close()
                self._open = LoggedEvent(self.at, "deadlock", "", self._line, {"error": "ORA-00060", "global": 1})
            self._add(**{"global": 1})
        elif (found := _GLOBAL.match(line)) and self._deadlocked():
            self._involve(found[1] or found[3], [], found[2] or "")

    def _involve(self, resource: str, sessions: list[str], instance: str = "") -> None:
        known: Row = self._open.facts if self._open else {}

        def with_(name: str, more: list[str]) -> str | None:
            parts = str(known.get(name) or "").split() + [part for part in more if part]
            return " ".join(list(dict.fromkeys(parts))[:20]) or None

        facts = {
            "resources": with_("resources", [resource]),
            "sessions": with_("sessions", sessions),
            "instances": with_("instances", [instance]),
        }
        self._add(**{name: value for name, value in facts.items() if value})

    def _resolving(self, line: str) -> None:
        if found := _SIGNALED.match(line):
            self._close()
            facts: Row = {
                "error": "ORA-00060",
                "instance": decimal(found[1]),
                "ospid": found[2],
                "sid": decimal(found[3]),
            }
            self._open = LoggedEvent(self.at, "deadlock", "", self._line, facts)

    def _error(self, line: str) -> None:
        found = _ERROR.match(line)
        kind = ERRORS.get(found[1]) if found else None
        if found is None or kind is None:
            return
        last = self.events[-1] if self.events else None
        just_said = self._open or last
        if kind == "deadlock" and just_said and just_said.kind == kind and self._line - just_said.line < SAID_ABOVE:
            return
        facts: dict[str, Value] = {"error": f"ORA-{found[1]}", **self._who()}
        text = f"ORA-{found[1]}"
        if kind == "shared_pool" and (asked := _ALLOCATE.search(found[2])):
            facts["argument"], text = asked[2], f"{text}: no piece of {int(asked[1]):,} bytes in the {asked[2]}"
        elif kind == "library_cache_timeout" and (object_ := _OBJECT.search(found[2])):
            facts["argument"] = object_[1]
            text = f"{text}: {'a deadlock' if found[1] == '04020' else 'a time-out'} while locking {object_[1]}"
        elif kind == "internal_error" and (argument := _ARGUMENT.search(found[2])):
            facts["argument"] = argument[1] or argument[2]
            text = f"{text}: an internal error, first argument {facts['argument']}"
        elif kind == "hang":
            text = f"{text}: Oracle found a possible hang"
        self._say(LoggedEvent(self.at, kind, text, self._line, facts))

    def _numbered(self, line: str) -> None:
        """A moment without stars before it, or a hang that Hang Manager found."""
        if line.startswith("20") and (moment := moment_in(line)):
            self._moment(moment)
        elif self._inside and (found := _HANG.match(line)):
            number, kind, status, instance, sid, _, total, action = found.groups()
            text = (
                f"Hang Manager found {kind.lower()} {number}: {total} sessions wait, session {sid} on instance {instance} is at "
                f"the end; status {status}; it means to: {action.strip().lower()[:60]}"
            )
            facts: Row = {"instance": decimal(instance), "sid": decimal(sid), "sessions": decimal(total)}
            self._say(LoggedEvent(self.at, "hang", text, self._line, facts))

    # Dumps

    def _analysis_begins(self, line: str) -> None:
        if line.startswith("HANG ANALYSIS:"):
            self._begin("hang analysis")

    def _state(self, line: str) -> None:
        if line.startswith("SYSTEM STATE") and not line.startswith("SYSTEM STATE DUMP"):
            self._begin("system state")
            self.cut_off = True

    def _end(self, line: str) -> None:
        if line.startswith("END OF SYSTEM STATE"):
            self.cut_off = False

    def _begin(self, kind: str) -> None:
        self._finish()
        self.dump = Dump(kind, self._line, self.at)
        self._analysis, self._processes = HangAnalysis(self.dump), ProcessDumps(self.dump)

    def _finish(self) -> None:
        """The end of a dump: keep it if it says more than an earlier one, or as much and later."""
        self._close()
        dump = self.dump
        self._analysis.end()
        dump.at = dump.at or self.at
        dump.settle(self._own(dump))
        if not dump.sessions:
            return
        self.dumps += 1
        chained = dump.in_chains()
        if dump.kind == "hang analysis" or chained:
            self._say(_summary(dump, chained))
        if self._best is None or _telling(dump) >= _telling(self._best):
            self._best = dump

    def _own(self, dump: Dump) -> int | None:
        """Number of the instance that wrote the file: from its head, else the only one that a dump names."""
        told = decimal(self.header.get("Instance number"))
        named = {instance for instance, _ in dump.sessions if instance is not None}
        return told if told is not None else next(iter(named)) if len(named) == 1 else None

    # Events

    def _close(self) -> None:
        """The event whose lines were read is complete."""
        event, self._open = self._open, None
        if event is not None:
            words = self._deadlock_words if event.kind == "deadlock" else _timeout_words
            self._say(replace(event, text=words(event.facts)))

    def _deadlock_words(self, facts: Row) -> str:
        sid = facts.get("sid")
        if sid is not None:
            session = self.dump.sessions.get((decimal(str(facts.get("instance"))), int(str(sid))))
            cache = "" if session is None or session.event is None else f", which waits for {session.event}"
            return f"deadlock: Oracle ends a wait of session {sid} with ORA-00060{cache}"
        words = ["global deadlock" if facts.get("global") else "deadlock"]
        if facts.get("sessions"):
            words.append(f"of sessions {' and '.join(str(facts['sessions']).split())}")
        if facts.get("instances"):
            words.append(f"over instances {', '.join(sorted(str(facts['instances']).split()))}")
        if facts.get("resources"):
            words.append(f"on enqueues {', '.join(str(facts['resources']).split())}")
        return f"{' '.join(words)} (ORA-00060)"

    def _say(self, event: LoggedEvent) -> None:
        last = self.events[-1] if self.events else None
        if last is not None and (last.at, last.kind, last.text) == (event.at, event.kind, event.text):
            self.events[-1] = replace(last, facts={**last.facts, "times": last.times + 1})
        elif len(self.events) < MOST_EVENTS:
            self.events.append(event)
        else:
            self._more_events += 1

    # The result

    def delta(self, name: str) -> Delta:
        """All that was read."""
        self._finish()
        dump = self._best
        readings: dict[str, Reading] = {} if dump is None else dump.readings()
        instance = self._instance(dump)
        if instance:
            readings["v$instance"] = Rows("v$instance", (instance,))
        dated = sorted(
            (event for event in self.events if event.at is not None),
            key=lambda event: (event.at.replace(tzinfo=None) if event.at else datetime.min, event.line),  # noqa: DTZ901
        )
        undated = [event for event in self.events if event.at is None]
        end = (dump.at if dump else None) or (dated[-1].at if dated else None) or self.at
        return reported(
            str(instance.get("instance_name") or PurePath(name).stem or name),
            self.header.get("release") and release_in(self.header["release"]),
            Basis("totals", None, end, None),
            readings,
            tuple(self._notes(dump)),
            dbid=dbid_in(self.header.get("Database id", "")),
            cut_off=self.cut_off,
            source="trace",
            events=(*undated, *dated),
        )

    def _instance(self, dump: Dump | None) -> dict[str, Value]:
        number = None if dump is None else self._own(dump)
        told = decimal(self.header.get("Instance number"))
        row: dict[str, Value] = {
            "instance_name": self.header.get("Instance name"),
            "host_name": self.header.get("Node name"),
            "version": self.header.get("release"),
            "instance_number": told if told is not None else number,
        }
        if dump is not None and len({instance for instance, _ in dump.sessions if instance is not None}) > 1:
            row["parallel"] = "YES"
        return {name: value for name, value in row.items() if value is not None}

    def _notes(self, dump: Dump | None) -> Iterator[str]:
        if dump is not None and dump.sessions:
            when = "without a time" if dump.at is None else f"of {dump.at:%Y-%m-%d %H:%M:%S}"
            which = f"the {dump.kind} {when}, line {dump.line:,}"
            if self.dumps > 1:
                which += f", which says most of {self.dumps} dumps in the file"
            yield f"sessions are those of {which}; they may have gone on since"
            if dump.left_out:
                yield f"{dump.left_out:,} sessions and locks are left out: a dump is read up to a bound"
        elif not self.events:
            yield (
                "the trace file says nothing about the row cache, a hang, a deadlock or the shared pool; bring the one that the "
                "alert log names, or one with a hang analysis (docs/traces.md)"
            )
        if self.cut_off:
            yield "the file ends inside a system state: sessions after the end are not known (max_dump_file_size may cut it)"
        if self._long:
            yield f"lines longer than {LONGEST_LINE:,} bytes, of which the rest is not read: {self._long:,}"
        if self._more_events:
            yield f"{self._more_events:,} events more are left out"


def _timeout_words(facts: Row) -> str:
    cache, cache_id = facts.get("cache"), facts.get("cache_id")
    words = "a wait for a row cache lock took too long"
    if cache is not None:
        words += f": {cache} (cache id {cache_id})"
    request, held = facts.get("lock_request"), facts.get("held")
    asked = request in (3, 5)
    if asked:
        words += f", asked for in {HELD[int(str(request))]} mode"
    if facts.get("sid") is not None:
        words += f"{'' if asked else ', asked for'} by session {facts['sid']},{facts.get('serial#')}"
    if held in (3, 5):
        words += f", held in {HELD[int(str(held))]} mode by another session"
    return words


def _telling(dump: Dump) -> tuple[bool, bool, bool]:
    """How much a dump says: of waits for the row cache, and of who waits for whom."""
    waiting = dump.on_row_cache()
    return bool(waiting), any(session.blockers for session in waiting), bool(dump.in_chains())


def _summary(dump: Dump, chained: list[TracedSession]) -> LoggedEvent:
    """A dump in one line: how many sessions wait behind whom."""
    waiting = [session for session in chained if session.blockers]
    if not waiting:
        return LoggedEvent(dump.at, "other", f"{dump.kind}: no session waits for another one", dump.line, {})
    ends: dict[SessionKey | None, list[TracedSession]] = {}
    for session in waiting:
        ends.setdefault(session.final, []).append(session)
    end, most = max(ends.items(), key=lambda item: len(item[1]))
    events = Counter(session.event for session in most if session.event)
    common = max(sorted(events), key=events.__getitem__, default=None)
    facts: dict[str, Value] = {"sessions": len(waiting)}
    text = f"{dump.kind}: {len(waiting):,} session{'s' * (len(waiting) != 1)} wait{'s' * (len(waiting) == 1)}"
    if end is None:
        text += ", in a circle" if any(session.cycle for session in most) else ""
    else:
        last = dump.sessions.get(end)
        serial = None if last is None else last.serial
        where = "" if end[0] is None else f" on instance {end[0]}"
        facts |= {"sid": end[1], "serial#": serial, "instance": end[0]}
        behind = "" if len(most) == len(waiting) else f", {len(most):,} of them"
        text += f"{behind} behind session {end[1]}{'' if serial is None else f',{serial}'}{where}"
        if last is not None and last.waits is not None:
            text += f", which waits for {last.event}" if last.event else ", which is not in a wait"
        if last is not None and last.blocking is not None and last.blocking > len(most):
            text += f"; Oracle counts {last.blocking:,} sessions behind it"
    if common:
        text += f"; most wait for {common}"
    seconds = max((session.seconds for session in waiting if session.seconds is not None), default=None)
    if seconds is not None:
        facts["seconds"] = seconds
    return LoggedEvent(
        dump.at, "hang", text, dump.line, {name: each for name, each in facts.items() if each is not None}
    )


_BEGINNINGS: Mapping[str, Callable[[TraceReader, str], None]] = {
    "*** ": TraceReader._stars,
    "Orac": TraceReader._head,
    "Vers": TraceReader._head,
    "Inst": TraceReader._head,
    "Node": TraceReader._head,
    "Data": TraceReader._head,
    "Unix": TraceReader._head,
    "Wind": TraceReader._head,
    ">>> ": TraceReader._timeout,
    ">> W": TraceReader._timeout,
    "WAIT": TraceReader._timeout,
    "row ": TraceReader._row_cache,
    "own=": TraceReader._lists,
    "DEAD": TraceReader._deadlock,
    "Dead": TraceReader._deadlock,
    "Reso": lambda self, line: self._resolving(line) if line.startswith("Resolving") else self._resource(line),
    "Glob": TraceReader._global,
    "BLOC": TraceReader._global,
    "ORA-": TraceReader._error,
    "HANG": TraceReader._analysis_begins,
    "SYST": TraceReader._state,
    "END ": TraceReader._end,
}
"""The first four characters of a line → what reads it."""
_ALWAYS = (TraceReader._stars, TraceReader._head)
"""What is read outside the time that is asked for as well."""
