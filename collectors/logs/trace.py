"""Trace files, streamed: time-outs for the row cache, dumps of who waits for whom, deadlocks, errors, and waits of a SQL trace.

A trace file has no counters. What it says is returned as events, and the sessions of its last telling dump as rows of the looks
that a hang has (`collectors.logs.dumps`). Neither SQL texts nor keys of entries, nor names of clients, are kept.

The layouts are those of public pages and files; tests/collectors/logs/published_traces.py has their addresses.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePath
from typing import IO

from collectors.delta import reported
from collectors.errors import InputError
from collectors.logs.alert import CUT, LONGEST_LINE, lines, moment_in, within
from collectors.logs.dumps import ENTRY, MODES, ROW_CACHE_EVENTS, Dump, DumpReader, TracedSession, grammar, take, whole
from collectors.logs.phrases import Message, error, traced
from collectors.model import Basis, Delta, EventKind, LoggedEvent, Reading, Row, Rows, Value, spoken
from collectors.release import at_least
from collectors.reports.header import dbid_in, release_in
from collectors.reports.undo import as_text

MOST_EVENTS = 5_000
MOST_STATEMENTS = 1_000
"""Cursors, and statements with their waits, that are remembered of a SQL trace."""
TEXT_BEGINS = 20
"""A file with a zero byte within its first lines is binary."""
HELD: Mapping[Value, str] = {3: "share", 5: "exclusive"}
APPLICATION, DICTIONARY = re.compile(r"TX|TM|UL"), re.compile(r"Q[A-Z]|[LN][A-Z]")
"""Enqueues whose deadlocks are the application's, and those of the row cache and the library cache."""
_BY_ID = (
    "dc_tablespaces dc_free_extents dc_segments dc_rollback_segments dc_used_extents dc_tablespace_quotas dc_files - dc_objects "
    "- - - dc_constraints dc_sequences - - dc_histogram_defs dc_global_oids"
)
CACHES: Mapping[int, str] = {id: name for id, name in enumerate(_BY_ID.split()) if name != "-"}
"""Caches by id, for a file that prints ids only: those that have the same id in every list that is public, from 9.2
(https://www.iter01.com/355568.html) to 12.1. Others have moved, and are not named."""

_HEADS = re.compile(
    r"^(?:Trace file \S{1,250}\.trc|Dump file \S{1,250}\.tr[cm]|Unix process pid: {0,9}\d|Windows thread id: {0,9}\d"
    r"|\*\*\* \d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|\*\*\* SESSION ID:\(\d|HANG ANALYSIS:|SYSTEM STATE\b|PROCESS STATE\b"
    r"|PROCESS \d{1,9}: {0,9}(?:[A-Z]\w{2,4})?[ \r]{0,9}$|DEADLOCK DETECTED \( ?ORA-00060|Deadlock graph:|Global Wait-For-Graph"
    r"|>{1,3} {0,9}WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! {0,9}<|\s{0,40}row cache enqueue: session: "
    r"|\s{0,40}row cache parent object: address=|\s{0,40}(?:=> )?Oracle session identified by:"
    r"|(?:Chain|Cycle) \d{1,9} : {0,9}<\w{1,30}/"
    r"|\s{0,40}\(session\) sid: \d{1,9} |\s{0,40}SOC?: (?:0x)?[0-9a-fA-F]{6,16}, type: |Resolvable Hangs in the System"
    r"|PARSING IN CURSOR #\d|WAIT #\d{1,20}: nam=')",
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


@dataclass(slots=True)
class _Waits:
    """The waits of one statement for one thing."""

    line: int
    at: datetime | None
    many: int = 0
    total: int = 0
    longest: int = 0
    """Microseconds."""


# How the lines are read that no table below has, and the reader.

_NAMED = re.compile(r"\*\*\* [A-Z ]{1,40}:\([^)]{0,200}\){1,9} ?(?=\d{4}-)")
_CACHE = re.compile(r'\bcid="?(\d{1,4})\(([\w $#/&.-]{1,64})\)')
_GRAPH = re.compile(r"([A-Z]{2})-[0-9A-Fa-f]{4,20}-[0-9A-Fa-f-]{1,60} {1,60}(.*)")


class TraceReader:
    """Reads a trace file line by line."""

    def __init__(self, since: datetime | None = None, until: datetime | None = None) -> None:
        self._since, self._until = since, until
        self._inside = True
        self.at: datetime | None = None
        self.header: dict[str, str] = {}
        self._session_id: dict[str, Value] = {}
        self.events: list[LoggedEvent] = []
        self._more_events = 0
        self._open: Message | None = None
        """A time-out or deadlock whose lines are being read."""
        self._serials = False
        self._line = 0
        self.dump = Dump("process state", 0)
        self._reader = DumpReader(self.dump)
        self.dumps = 0
        self._best: Dump | None = None
        self.cut_off = False
        self._long = 0
        self._statements: dict[str, str] = {}
        """Cursor → id of its statement."""
        self._waits: dict[tuple[str, int | None, str], _Waits] = {}
        """By event, P1 of a cache, and statement."""
        self._parses: Counter[str] = Counter()
        """Microseconds of the longest parse, by statement."""

    def line(self, number: int, line: str) -> None:
        """One line of the file."""
        self._line = number
        self._long += line.endswith(CUT)
        stripped = line.strip()
        if take(_ALWAYS, self, stripped) or not self._inside:
            return
        if stripped[2:3] == "-" and self._of("deadlock") and (found := _GRAPH.match(stripped)):
            self._graph(found[1], found[2])
        take(_LINES, self, stripped)
        self._reader.line(stripped)
        if not self.dump.line and self.dump.sessions:
            self.dump.line, self.dump.at = number, self.at

    # The head, and the time

    def _stars(self, line: str) -> None:
        if line.startswith("*** SESSION ID:("):
            sid, _, serial = line.partition("(")[2].partition(")")[0].partition(".")
            self._session_id = {"sid": whole(sid), "serial#": whole(serial)}
        self._dated(_NAMED.sub("", line, count=1).removeprefix("*** "))

    def _dated(self, line: str) -> None:
        if moment := moment_in(line):
            self._close()
            self.at = moment
            self._inside = within(moment, self._since, self._until)

    # Time-outs for the row cache

    def _begin(self, kind: EventKind, **facts: Value) -> dict[str, Value]:
        self._close()
        self._open = Message(kind, "", facts, self.at, self._line)
        return facts

    def _of(self, kind: EventKind) -> dict[str, Value] | None:
        """The facts of the event of that kind whose lines are being read."""
        return self._open.facts if self._open is not None and self._open.kind == kind else None

    def _timed_out(self, pid: str | None = None, rest: str = "") -> None:
        self._begin("row_cache_timeout", **_known(pid=whole(pid), **self._session_id), **self._writer())
        self._entry(rest)

    def _number(self) -> int | None:
        return whole(self.header.get("Instance number"))

    def _writer(self) -> dict[str, Value]:
        ospid = self.header.get("Unix process pid") or self.header.get("Windows thread id")
        return _known(ospid=ospid and ospid.strip(","), instance=self._number())

    def _request(self, mode: str, request: str) -> None:
        facts = self._of("row_cache_timeout")
        if facts is None or "lock_request" in facts:
            self._timed_out()
        self._learn(lock_mode=MODES[mode], lock_request=MODES[request])

    def _learn(self, **more: Value) -> None:
        """More of the time-out that is being read. What is known of it stays."""
        if (facts := self._of("row_cache_timeout")) is not None:
            facts |= {**more, **facts}

    def _entry(self, line: str) -> None:
        if self._of("row_cache_timeout") is not None and (found := _CACHE.search(line) or _TYPE.match(line)):
            self._learn(cache_id=whole(found[1]), cache=found[2])

    def _owners(self, entry: str, first: str, mode: str) -> None:
        """Who holds the entry: its list of owners is empty where it leads back to itself."""
        if entry.lower() != first.lower():
            self._learn(held=MODES[mode])

    # Deadlocks and errors

    def _deadlock(self) -> None:
        if self._of("deadlock") is None:
            self._begin("deadlock", error="ORA-00060")
        self._serials = False

    def _resource(self, rest: str) -> None:
        self._serials = rest.endswith("serial")

    def _graph(self, resource: str, rest: str) -> None:
        numbers = [part for part in rest.split() if part.isdigit()]
        places = (1, 4) if self._serials else (1, 3)
        self._involve(resources=resource, sessions=" ".join(numbers[place] for place in places if place < len(numbers)))

    def _global(self) -> None:
        facts = self._of("deadlock")
        if facts is None or "global" in facts:
            facts = self._begin("deadlock", error="ORA-00060")
        facts["global"] = 1

    def _blocked(self, resource: str | None, instance: str | None, old: str | None) -> None:
        """10g prints a node after the resource. Its number need not be that of the instance, so it is left out."""
        self._involve(resources=resource or old or "", instances=instance or "")

    def _involve(self, **more: str) -> None:
        facts = self._of("deadlock") or {}
        for name, parts in more.items():
            each = list(dict.fromkeys([*str(facts.get(name) or "").split(), *parts.split()]))[:20]
            facts |= {name: " ".join(each)} if each else {}

    def _resolving(self, instance: str, ospid: str, sid: str) -> None:
        self._begin("deadlock", error="ORA-00060", instance=whole(instance), ospid=ospid, sid=whole(sid))

    def _error(self, line: str) -> None:
        message = error(line)
        just = self._open or (self.events[-1] if self.events else None)
        if message is None or message.kind == "other":
            return
        if message.kind == "deadlock" and just and just.kind == "deadlock" and self._line - just.line < SAID_ABOVE:
            return
        message.facts |= self._writer()
        message.at, message.line = self.at, self._line
        self._say(message.event())

    def _hang(self, number: str, kind: str, status: str, instance: str, sid: str, total: str, action: str) -> None:
        facts = {"instance": whole(instance), "sid": whole(sid), "sessions": whole(total)}
        how = {"_kind": kind.lower(), "_number": number, "_status": status, "_action": action.strip().lower()[:60]}
        text, kept = traced("hang", {**facts, **how})
        self._reader.hang(instance, sid, total)
        self._say(LoggedEvent(self.at, "hang", text, self._line, kept))

    # Waits of a SQL trace

    def _parsing(self, cursor: str, sql_id: str) -> None:
        if len(self._statements) >= MOST_STATEMENTS:
            self._statements.clear()
        self._statements[cursor] = sql_id

    def _waited(self, cursor: str, event: str, micro: str, rest: str) -> None:
        if not event.startswith(WAITS):
            return
        p1 = whole(rest.partition("=")[2].partition(" ")[0]) if event in ROW_CACHE_EVENTS[1:] else None
        key = (event, p1, self._statements.get(cursor, ""))
        if key in self._waits or len(self._waits) < MOST_STATEMENTS:
            waits = self._waits.setdefault(key, _Waits(self._line, self.at))
            waits.many, waits.total = waits.many + 1, waits.total + int(micro)
            waits.longest = max(waits.longest, int(micro))

    def _parsed(self, cursor: str, micro: str) -> None:
        sql_id = self._statements.get(cursor, "")
        if sql_id in self._parses or len(self._parses) < MOST_STATEMENTS:
            self._parses[sql_id] = max(self._parses[sql_id], int(micro))

    # Dumps

    def _dump(self, kind: str) -> None:
        self._finish()
        self.dump = Dump(kind, self._line, self.at)
        self._reader = DumpReader(self.dump)
        self.cut_off |= kind == "system state"

    def _finish(self) -> None:
        """The end of a dump: keep it if it says more than an earlier one, or as much and later."""
        self._close()
        dump = self.dump
        self._reader.end()
        dump.at = dump.at or self.at
        dump.settle(self._own(dump))
        if not dump.sessions:
            return
        self.dumps += 1
        if dump.in_chains() or dump.kind == "hang analysis":
            self._say(_summary(dump))
        if self._best is None or _telling(dump) >= _telling(self._best):
            self._best = dump

    def _own(self, dump: Dump) -> int | None:
        """Number of the instance that wrote the file: from its head, else the only one that a dump names."""
        named = {instance for instance, _ in dump.sessions if instance is not None}
        number = self._number()
        return number if number is not None else next(iter(named)) if len(named) == 1 else None

    # Events

    def _close(self) -> None:
        """The event whose lines were read is complete."""
        event, self._open = self._open, None
        if event is not None:
            words = self._deadlock_words if event.kind == "deadlock" else _timeout_words
            event.text = words(event.facts)
            self._say(event.event())

    def _deadlock_words(self, facts: dict[str, Value]) -> str:
        if "sid" in facts:
            session = self.dump.sessions.get((whole(str(facts.get("instance"))), int(str(facts["sid"]))))
            facts |= _known(event=(session.event or None) if session else None)
            return traced("ended", facts)[0]
        each = {name: str(facts.get(name) or "").split() for name in ("sessions", "instances", "resources")}
        resources = each["resources"]
        ours = bool(resources) and all(map(APPLICATION.fullmatch, resources))
        if ours or any(map(DICTIONARY.fullmatch, resources)):
            facts["whose"] = "application" if ours else "dictionary"
        words = {
            "_global": facts.get("global") and "global",
            "_sessions": " and ".join(each["sessions"]) or None,
            "_instances": ", ".join(sorted(each["instances"])) or None,
            "_resources": ", ".join(resources) or None,
            "_whose": "application's" if ours else None,
        }
        return traced("deadlock", {**facts, **words})[0]

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
        dump, release = self._best, release_in(self.header.get("release", ""))
        caches = caches_of(release)
        for key, waits in self._waits.items():
            self._say(_traced(*key, waits, self._parses[key[2]], caches))
        readings: dict[str, Reading] = {} if dump is None else dump.readings(caches)
        instance = self._instance(dump)
        if instance:
            readings["v$instance"] = Rows("v$instance", (instance,))
        events = sorted(self.events, key=_by_time)
        end = (dump.at if dump else None) or (events[-1].at if events else None) or self.at
        return reported(
            str(instance.get("instance_name") or PurePath(name).stem or name),
            release,
            Basis("totals", None, end, None),
            readings,
            tuple(self._notes(dump)),
            dbid=dbid_in(self.header.get("Database id", "")),
            lost="the file ends inside a system state" if self.cut_off else "",
            source="trace",
            events=tuple(events),
        )

    def _instance(self, dump: Dump | None) -> dict[str, Value]:
        several = dump is not None and len({instance for instance, _ in dump.sessions if instance is not None}) > 1
        return _known(
            instance_name=self.header.get("Instance name"),
            host_name=self.header.get("Node name"),
            version=self.header.get("release"),
            instance_number=self._number() if dump is None else self._own(dump),
            parallel="YES" if several else None,
        )

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


SAID_ABOVE = 60
"""Lines after a deadlock in which ORA-00060 is the same one."""
WAITS = (*ROW_CACHE_EVENTS, "library cache", "latch: library cache", "cursor: ")
"""How the names of the waits of a SQL trace begin that become events."""
_TYPE = re.compile(ENTRY.replace("(?:0x)?([0-9a-fA-F]{1,16})", "(?:0x)?[0-9a-fA-F]{1,16}"))
_is = TraceReader
_ALWAYS = grammar(
    ("*** ", r"(.*)", _is._stars),
    ("0", r"(20\d\d-.*)", _is._dated),
    ("Orac|Vers", r"(?:Oracle.{0,90}?\bRelease|Version):? {1,9}(\d{1,3}\.\d[\d.]{0,20})",
     lambda reader, release: reader.header.setdefault("release", release)),
    ("Inst|Node|Data|Unix|Wind", r"(Instance name|Instance number|Node name|Database name|Database id|Unix process pid|"
     r"Windows thread id):\s{0,40}(\S{1,90})", lambda reader, name, value: reader.header.setdefault(name, value)),
)  # fmt: skip
"""What is read outside the time that is asked for as well."""
_LINES = grammar(
    (">>> |>> W|WAIT", r".{0,9}WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK!(?: {0,9}pid=(\d{1,9}))?(.*)", _is._timed_out),
    ("row ", r"row cache enqueue: session: [^ ,]{1,30}, mode: ([NSX]), request: ([NSX])", _is._request),
    ("row ", r"(.*)", _is._entry),
    ("own=", r"own=(?:0x)?([0-9a-fA-F]{1,16})\[(?:0x)?([0-9a-fA-F]{1,16}),.{0,200}? mode=([NSX])", _is._owners),
    ("DEAD|Dead", r"(?i:deadlock)", _is._deadlock),
    ("Reso", r"Resolving deadlock by signaling ORA-00060 to 'instance: (\d{1,9}), os id: ([\w.]{1,30}), session id: (\d{1,9})",
     _is._resolving),
    ("Reso", r"Resource Name (.*)", _is._resource),
    ("Reso", r"Resolvable Hangs in the System", lambda reader: reader._dump("table of Hang Manager")),
    ("Glob", r"Global Wait-For-Graph", _is._global),
    ("BLOC", r"BLOCK(?:ED|ER) 0x[0-9a-fA-F]{1,16} \d{1,9} wq \d{1,9} cvtops x\w{1,9} "
     r"(?:([A-Z]{2}) .{0,200}? inst (\d{1,9})|\[0x\w{1,16}\]\[0x\w{1,16}\],\[([A-Z]{2})\])", _is._blocked),
    ("ORA-", r"(.*)", _is._error),
    ("0", r"(\d{1,9}) {1,9}(HANG|DEADLOCK) {1,9}(\w{1,20}) {1,9}(\d{1,9}) {1,9}(\d{1,9}) {1,9}\d{1,9} {1,9}(\d{1,9}) "
     r"{1,9}\w{1,20} {1,9}\w{1,20} {1,9}(\S.*)", _is._hang),
    ("HANG", r"HANG ANALYSIS:", lambda reader: reader._dump("hang analysis")),
    ("anal", r"analysis initiated by (.{1,60})", lambda reader, by: setattr(reader.dump, "asked_by", by.strip())),
    ("SYST", r"SYSTEM STATE(?! DUMP)", lambda reader: reader._dump("system state")),
    ("END ", r"END OF SYSTEM STATE", lambda reader: setattr(reader, "cut_off", False)),
    ("PARS", r"PARSING IN CURSOR #(\d{1,20}) .{0,300}?sqlid='(\w{13})'", _is._parsing),
    ("PARS", r"PARSE #(\d{1,20}):c=\d{1,18},e=(\d{1,18}),", _is._parsed),
    ("WAIT", r"WAIT #(\d{1,20}): nam='([^']{1,64})' ela= {0,9}(\d{1,18})(.*)", _is._waited),
)  # fmt: skip


def caches_of(release: str | None) -> Mapping[int, str]:
    """The caches that an id stands for. From 11.2 on dc_users has 10, and the entries of its part 7 (Oracle Core, chapter 7)."""
    users = {7: "dc_users", 10: "dc_users"} if release and at_least(release, "11.2") else {}
    return {**CACHES, **users}


def _traced(
    event: str, p1: int | None, sql_id: str, waits: _Waits, parse: int, caches: Mapping[int, str]
) -> LoggedEvent:
    """The waits of one statement for one thing, in one line."""
    text, facts = traced(
        "traced",
        {
            "event": event,
            "seconds": waits.total / 1e6,
            "cache_id": p1,
            "sql_id": sql_id or None,
            "_many": f"{waits.many:,} wait{'s' * (waits.many > 1)}",
            "_cache": None if p1 is None else f"{caches[p1]} (cache id {p1})" if p1 in caches else f"cache id {p1}",
            "_total": f"{waits.total / 1e6:,.1f}",
            "_longest": f"{waits.longest / 1e6:,.1f}",
            "_statement": sql_id or "unknown",
            "_parse": f"{parse / 1e6:,.1f}" if parse and sql_id else None,
        },
    )
    return LoggedEvent(waits.at, "traced_wait", text, waits.line, facts)


def _by_time(event: LoggedEvent) -> tuple[datetime, int]:
    """By the clock on the wall; those without a moment come first, in their order."""
    return (event.at.replace(tzinfo=None), event.line) if event.at else (datetime.min, 0)  # noqa: DTZ901


def _known(**facts: Value) -> dict[str, Value]:
    return {name: value for name, value in facts.items() if value is not None}


def _timeout_words(facts: Row) -> str:
    request, held = HELD.get(facts.get("lock_request")), HELD.get(facts.get("held"))
    mode = f" in {request} mode" if request else "" if "sid" in facts else None
    return traced("timeout", {**facts, "_mode": mode, "_held": held})[0]


def _telling(dump: Dump) -> tuple[bool, bool, bool]:
    """How much a dump says: of waits for the row cache, and of who waits for whom."""
    waiting = dump.on(*ROW_CACHE_EVENTS)
    return bool(waiting), any(session.blockers for session in waiting), bool(dump.in_chains())


def _summary(dump: Dump) -> LoggedEvent:
    """A dump in one line: how many sessions wait behind whom, for what, for how long. What it counts wins over what it lists."""
    asked = dump.asked_by.lower()
    by = "" if not asked else " of Hang Manager" if "hang m" in asked or "dia0" in asked else f" asked for with {asked}"
    if not dump.waiting.total():
        return LoggedEvent(dump.at, "other", f"{dump.kind}{by}: no session waits for another one", dump.line, {})
    ((end, many),), every = dump.waiting.most_common(1), dump.waiting.total()
    waiting = [session for session in dump.sessions.values() if session.blockers]
    behind = [session for session in waiting if dump.ends[session.key] == end]
    events = Counter(session.event for session in behind if session.event)
    common = max(sorted(events), key=events.__getitem__, default=None)
    alike = (session.parameters[2] for session in behind if session.event == common and len(session.parameters) > 2)
    seconds = max((session.seconds for session in waiting if session.seconds is not None), default=None)
    facts: dict[str, Value] = {"sessions": every, "event": common, "p3": next(alike, None), "seconds": seconds}
    facts |= {"_kind": dump.kind, "_by": by, "_longest": None if seconds is None else spoken(seconds)}
    if circle := sum(session.cycle for session in behind):
        facts |= {"_waiting": _sessions(circle), "_circle": "for each other in a circle"}
        facts |= {"_behind": _more(many - circle), "_elsewhere": _more(every - many)}
    else:
        facts["_waiting"] = _sessions(every)
    if not circle and end is not None:
        last = dump.sessions.get(end) or TracedSession(*end)
        facts |= {"sid": end[1], "serial#": last.serial, "instance": end[0]}
        facts |= {"_of_them": f"{many:,}" if many < every else None}
        if last.waits is not None:
            facts |= {"_last": last.event or None, "_not": None if last.event else "not in a wait"}
            facts |= {"_idle": None if last.idle is None else spoken(last.idle)}
    text, kept = traced("dump", facts)
    return LoggedEvent(dump.at, "wait_chain", text, dump.line, kept)


def _sessions(many: int) -> str:
    return f"{many:,} session{'s' * (many != 1)} wait{'s' * (many == 1)}"


def _more(many: int) -> str | None:
    return f"{many:,} more wait{'s' * (many == 1)}" if many else None
