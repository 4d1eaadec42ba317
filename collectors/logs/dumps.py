"""Dumps of who waits for whom, read by one grammar: hang analyses of every release, system states, and tables of Hang Manager.

A line of a dump says something of one session: who it is, what it waits for, whom it waits behind. `PROCESSES` and `ANALYSES`
hold how such lines look, `DumpReader` puts what they say into a `Dump`, which gives it as rows of the looks that a hang has.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from collectors.model import ROW_CACHE_LOCK_EVENT, Missing, Reading, Row, Rows

MOST_SESSIONS = 20_000
"""Sessions of one dump that are kept. No instance has more; a damaged file may seem to."""
MOST_LOCKS = 100_000
MOST_DEEP = 200
"""Sessions of one chain in angle brackets, and blockers of one session."""
LONGEST = 16 * 1024
"""Characters of a line of a dump that are looked at."""
ROW_CACHE_EVENTS = ("latch: row cache objects", "row cache mutex", ROW_CACHE_LOCK_EVENT)
LIBRARY_CACHE_EVENTS = ("library cache lock", "library cache pin")
MODES: Mapping[str, int] = {"N": 0, "S": 3, "X": 5}
"""Modes of a row cache lock as a trace writes them → as v$rowcache_parent numbers them."""
LARGEST = 2**64 - 1
SessionKey = tuple[int | None, int]
"""Number of the instance, None if the dump does not say, and SID."""


def whole(digits: str | None, base: int = 10) -> int | None:
    """A whole number. None for anything else, such as `(nil)`, and for one that no view could hold."""
    try:
        value = int(digits, base) if digits and digits.isascii() and len(digits) < 20 else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value <= LARGEST // (2 if base == 10 else 1) else None


_DURATION = re.compile(r"(?<!\d)(\d{1,9}(?:\.\d{1,9})?) ?(day|hour|hr|min|sec)")
_SECONDS = {"day": 86400.0, "hour": 3600.0, "hr": 3600.0, "min": 60.0, "sec": 1.0}


def duration(text: str) -> float | None:
    """Seconds of `28 min 36 sec` or `2.004491 sec`. None without any."""
    parts = _DURATION.findall(text)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts) if parts else None


_BACKGROUND = re.compile(r"\(([A-Z][A-Z0-9]{2,4})\)$")
_STARTED_FOR_USERS = re.compile(r"[JP][A-Z0-9]{3}|SHAD|TNS|[SD]\d{3}|N\d{3}|L\d{3}")
"""Processes that Oracle starts to work for a session of a user: jobs, parallel slaves, servers."""


def kind_of_process(program: str | None) -> str | None:
    """USER or BACKGROUND by the image of a process: `oracle@host (LCK0)`. None without one."""
    if not program:
        return None
    name = _BACKGROUND.search(program)
    return "BACKGROUND" if name and not _STARTED_FOR_USERS.fullmatch(name[1]) else "USER"


_VALUES: Mapping[str, Callable[[str], object]] = {
    **dict.fromkeys(("serial", "pid", "blocking"), whole), **dict.fromkeys(("seconds", "idle"), duration)
}  # fmt: skip


# What a dump says: sessions, and who waits for whom.


@dataclass(slots=True)
class TracedSession:
    """What a dump says of one session. None where it does not say."""

    instance: int | None
    sid: int
    serial: int | None = None
    ospid: str | None = None
    pid: int | None = None
    type: str | None = None
    """USER or BACKGROUND."""
    program: str | None = None
    username: str | None = None
    module: str | None = None
    sql_id: str | None = None
    waits: bool | None = None
    event: str | None = None
    """What it waits for. Only with `waits`."""
    parameters: list[int | None] = field(default_factory=list)
    """P1 to P3 of the wait, as far as they were read."""
    seconds: float | None = None
    """How long it has waited."""
    idle: float | None = None
    """How long ago its last wait ended, of one that is not in a wait."""
    blockers: dict[SessionKey, None] = field(default_factory=dict)
    """Sessions that it waits for directly, by what the dump says."""
    final: SessionKey | None = None
    """The session at the end of its chain, by what the dump says."""
    free: bool = False
    """Whether the dump says that it waits for no session."""
    cycle: bool = False
    """Whether it is one of those that wait for each other in a circle. One behind the circle is not."""
    analysed: bool = False
    """Whether a hang analysis names it."""
    blocking: int | None = None
    """How many sessions wait behind it, as the dump says; it may list fewer. At the end of a chain, at least those listed."""

    @property
    def key(self) -> SessionKey:
        return (self.instance, self.sid)

    def learn(self, **facts: str | None) -> None:
        """Facts as a line says them. What it does not say stays."""
        for name, text in facts.items():
            if text and name in self.__slots__ and (value := _VALUES.get(name, str.strip)(text)) not in (None, ""):
                setattr(self, name, value)

    def begin_wait(self, event: str | None) -> None:
        """A wait of that name, or none."""
        self.waits, self.event = event is not None, event
        self.parameters, self.seconds = [], None

    def wait_for(self, blocker: SessionKey) -> None:
        """It waits for that session directly."""
        if blocker != self.key and len(self.blockers) < MOST_DEEP:
            self.blockers[blocker], self.free = None, False

    def merged(self, other: "TracedSession") -> "TracedSession":
        """With what a dump says of the same session in another place."""
        for name in _OF_ITSELF.split():
            if getattr(self, name) is None:
                setattr(self, name, getattr(other, name))
        self.blockers |= other.blockers
        self.analysed |= other.analysed
        self.free = not self.blockers and (self.free or other.free)
        return self


_OF_ITSELF = "serial ospid pid type program username module sql_id seconds final blocking"


@dataclass(slots=True)
class Dump:
    """One dump: a hang analysis, a system state, or what a trace file has beside them. Its sizes are bounded."""

    kind: str
    line: int
    at: datetime | None = None
    sessions: dict[SessionKey, TracedSession] = field(default_factory=dict)
    addresses: dict[int, TracedSession] = field(default_factory=dict)
    """Address of a session → the session."""
    behind: list[tuple[TracedSession, str, int]] = field(default_factory=list)
    """A session, and the address of the one that it waits for, or the pid of the process that may hold its latch."""
    locks: list[tuple[int, int, TracedSession | None, int, int]] = field(default_factory=list)
    """Locks on the row cache: addresses of entry and session, the session being dumped, modes held and asked for."""
    entries: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Address of an entry of the row cache → id and name of its cache."""
    ends: dict[SessionKey, SessionKey | None] = field(default_factory=dict)
    """Session → the end of its chain; for a circle one of those in it; None where the chain forks."""
    waiting: Counter[SessionKey | None] = field(default_factory=Counter)
    """End of a chain → how many wait behind it, or in the circle and behind it: those listed, or more if the dump counts more."""
    asked_by: str = ""
    """Who asked for a hang analysis, as it says."""
    left_out: int = 0
    """Sessions and locks beyond the bounds."""

    def session(self, instance: int | None, sid: int | None) -> TracedSession | None:
        """The session, made if it is new. None without a SID, or beyond the bound."""
        if sid is None:
            return None
        found = self.sessions.get((instance, sid))
        if found is None:
            if len(self.sessions) >= MOST_SESSIONS:
                self.left_out += 1
                return None
            found = self.sessions[instance, sid] = TracedSession(instance, sid)
        return found

    # From addresses to sessions, once the dump is complete

    def settle(self, own: int | None) -> None:
        """Replace addresses by sessions. `own`: number of the instance whose processes the dump shows, if known."""

        def placed(key: SessionKey) -> SessionKey:
            """Sessions without an instance are of the one that wrote the dump."""
            return (own, key[1]) if key[0] is None else key

        earlier, self.sessions = self.sessions, {}
        for key, session in earlier.items():
            session.instance = placed(key)[0]
            session.blockers = dict.fromkeys(map(placed, session.blockers))
            session.final = session.final and placed(session.final)
            known = self.sessions.get(placed(key), session)
            first, second = (known, session) if known.waits is not None else (session, known)
            self.sessions[placed(key)] = first.merged(second)
        processes = {session.pid: session for session in self.sessions.values() if session.pid is not None}
        for waiter, what, number in self.behind:
            if blocker := (self.addresses if what == "address" else processes).get(number):
                self.sessions[waiter.key].wait_for(blocker.key)
        for held, asked in self.by_entry().values():
            for key in asked:
                if len(held) < 3 and len(others := [holder for holder in held if holder != key]) == 1:
                    self.sessions[key].wait_for(others[0])
        self._follow()

    def _follow(self) -> None:
        """The end of every chain. Each session is walked over once, however long the chains are."""
        self.ends = {}
        for start in self.sessions:
            way: dict[SessionKey, int] = {}
            key = start
            while key not in self.ends:
                session = self.sessions.get(key)
                if session is None or not session.blockers:
                    self.ends[key] = key
                elif key in way:
                    circle = [*way][way[key] :]
                    self.ends |= dict.fromkeys(circle, min(circle, key=str))
                    for member in circle:
                        self.sessions[member].cycle = True
                elif len(session.blockers) > 1:
                    self.ends[key] = session.final
                else:
                    way[key] = len(way)
                    key = next(iter(session.blockers))
            for each in way:
                self.ends.setdefault(each, self.sessions[each].final or self.ends[key])
        self.waiting = Counter(self.ends[key] for key, session in self.sessions.items() if session.blockers)
        last = {key: session for key, session in self.sessions.items() if session.cycle or self.ends[key] == key}
        for key, session in last.items():
            counted = (session.blocking or 0) + session.cycle
            self.waiting[self.ends[key]] = max(self.waiting[self.ends[key]], counted)
        for key, session in self.sessions.items():
            end = self.ends[key]
            if key in last:
                session.blocking = self.waiting[end] - session.cycle or session.blocking
            elif session.blockers and end and not (end in last and last[end].cycle):
                session.final = session.final or end

    def by_entry(self) -> Mapping[int, tuple[dict[SessionKey, int], dict[SessionKey, int]]]:
        """Entry → who holds it and who asks for it, each with the mode. Only entries that somebody asks for."""
        found: dict[int, tuple[dict[SessionKey, int], dict[SessionKey, int]]] = defaultdict(lambda: ({}, {}))
        for entry, address, inside, *modes in self.locks:
            # The session of a lock: by its address, else the one that was being dumped.
            session = self.addresses.get(address) or inside
            for mode, keys in zip(modes, found[entry], strict=True):
                if mode and session:
                    keys[session.key] = max(mode, keys.get(session.key, 0))
        return {entry: both for entry, both in found.items() if both[1]}

    # As rows of our views

    def on(self, *events: str) -> list[TracedSession]:
        """The sessions that wait for one of these."""
        return [session for session in self.sessions.values() if session.event in events]

    def in_chains(self) -> list[TracedSession]:
        """The sessions that wait for another one or that others wait for."""
        named = {key for session in self.sessions.values() for key in (*session.blockers, session.final)}
        named |= {key for held, _ in self.by_entry().values() for key in held}
        return [session for session in self.sessions.values() if session.key in named or session.blockers]

    def readings(self, caches: Mapping[int, str]) -> dict[str, Reading]:
        """Rows of the looks of a hang. A look that this kind of dump cannot have is left out. `caches`: names by id.

        Rows of waiting_sessions have the number of the instance beside the columns of that view: a hang analysis may show the
        sessions of a whole cluster.
        """
        waiting, library = self.on(*ROW_CACHE_EVENTS), self.on(*LIBRARY_CACHE_EVENTS)
        names = {**caches, **dict(self.entries.values())}
        read: dict[str, Sequence[Row]] = {
            "waiting_sessions": [_waiting(each, len(waiting), names) for each in waiting],
            "chain_sessions": [*map(_in_chain, self.in_chains())],
            "library_cache_sessions": [_waiting(each, len(library), {}) for each in library],
            "row_cache_blockers": [*self._holders()],
        }
        looks: dict[str, Reading] = {view: Rows(view, tuple(rows)) for view, rows in read.items()}
        if not read["row_cache_blockers"] and self.kind != "system state":
            looks["row_cache_blockers"] = Missing(
                "row_cache_blockers",
                "unread",
                "the trace file does not show who holds entries of the row cache",
                "a system state of level 258 shows it (docs/emergency.md, part 5)",
            )
        return looks

    def _holders(self) -> Iterator[Row]:
        for entry, (held, asked) in self.by_entry().items():
            cache_id, cache = self.entries.get(entry, (None, None))
            for key, mode in held.items():
                lock = {"lock_mode": mode, "lock_request": max(asked.values()), "waiters": len(asked.keys() - {key})}
                yield {"cache#": cache_id, "cache_name": cache, "key": None, **lock, **_in_chain(self.sessions[key])}


def _in_chain(session: TracedSession) -> Row:
    """A row as chain_sessions has it, with how many sessions the dump counts behind it."""
    counted = {} if session.blocking is None else {"blocking": session.blocking}
    state = None if session.waits is None else "WAITING" if session.waits else "WAITED KNOWN TIME"
    return {"instance": session.instance, "sid": session.sid, **_about(session), "state": state, **counted}


def _waiting(session: TracedSession, met: int, names: Mapping[int, str]) -> Row:
    """A row as waiting_sessions has it, with the instance, and the name of the cache if the wait says which it is."""
    row = {"sid": session.sid, **_about(session), "met": met}
    row |= {} if session.instance is None else {"instance": session.instance}
    cache_id = row["p1"]
    if session.event != ROW_CACHE_EVENTS[0] and isinstance(cache_id, int) and cache_id in names:
        row["cache_name"] = names[cache_id]
    return row


def _about(session: TracedSession) -> dict[str, int | float | str | None]:
    """What all the looks have of a session. Who blocks it is left out if the dump does not say: it may be that nobody does."""
    p1, p2, p3 = (*session.parameters, None, None, None)[:3]
    raw = None if p1 is None else f"{p1:016X}"
    row = {name: getattr(session, name) for name in ("type", "program", "username", "module", "sql_id", "event")}
    row |= {"serial#": session.serial, "p1": p1, "p1raw": raw, "p2": p2, "p3": p3}
    row |= {} if session.seconds is None else {"wait_time_micro": session.seconds * 1e6}
    ahead = [*session.blockers] if len(session.blockers) == 1 else [(None, None)] if session.free else []
    for name, keys in (("blocking", ahead), ("final_blocking", [session.final] if session.final else [])):
        for instance, sid in keys:
            row |= {f"{name}_instance": instance, f"{name}_session": sid}
    return row


# How lines begin, what is in them, and what takes it.

Reads = Callable[..., None]


Grammar = Mapping[str, Sequence[tuple[re.Pattern[str], Reads]]]
"""Kinds of lines by their first four characters, or by the first one alone for digits and brackets."""


def grammar(*kinds: tuple[str, str, Reads]) -> Grammar:
    """Of lines that begin so, look so, and are taken by a method, which gets the groups of the pattern."""
    found: dict[str, list[tuple[re.Pattern[str], Reads]]] = defaultdict(list)
    for begins, pattern, reads in kinds:
        for begin in begins.split("|"):
            found[begin].append((re.compile(pattern), reads))
    return found


def take(kinds: Grammar, reader: Any, line: str) -> bool:
    """Give what is in a line to the first kind that it is of. False if it is of none."""
    first = line[:1]
    for pattern, reads in kinds.get("0" if first.isdigit() else first if first in "[<" else line[:4], ()):
        if found := pattern.match(line):
            named = found.groupdict()
            reads(reader, *(() if named else found.groups()), **named)
            return True
    return False


_OLD_SESSION = re.compile(r"<(\d{1,9}/[^<>]{3,90})>")
_PARAMETERS = re.compile(r"=(?:0x)?([0-9a-fA-F]{1,16}|\(nil\))(?=,|$| )")
_TOTAL = re.compile(r"(?:total|exc)=([^,]{0,60})")
_MODE = re.compile(r"\b(mode|request)=([NSX])\b")
_NAMED = re.compile(r"blocked by '?instance: (\d{1,9}), os id: [\w.]{1,30}, session id: (\d{1,9})")
_HEX = r"(?:0x)?([0-9a-fA-F]{1,16})"
_SESSION_TYPE = {0x11: "BACKGROUND", 1: "USER"}
"""By the bits 0x13 of the flags of a session: 0x11 a background process, 1 a user, 2 a recursive session."""
ENTRY = rf"row cache parent object: address={_HEX} (?:cid|type)=(\d{{1,4}})\(([\w $#/&.-]{{1,64}})\)"


class DumpReader:
    """Reads the lines of dumps into a `Dump`. Lines come stripped of blanks."""

    def __init__(self, dump: Dump) -> None:
        self.dump = dump
        self._session: TracedSession | None = None
        """The session that the lines are about."""
        self._known: dict[str, str | None] = {}
        """What was said of it, or of its process, before its SID."""
        self._section = ""
        """What the lines say of it: session, wait, parameters of a wait, history, direct or final blockers."""
        self._waiter: TracedSession | None = None
        """The session of a chain that waits for the next one."""
        self._first: SessionKey | None = None
        self._addresses: list[int] = []
        """Of the state object that is being read, if it is one of a session."""
        self._holder: int | None = None
        """The process that may hold the latch; 0 until it is named."""
        self._fields: list[str] = []
        self._listed: list[SessionKey] = []
        """A list in angle brackets: its fields, and its sessions so far."""
        self._closed = False
        self._counted: str | None = None
        """How many wait for the one session of the list."""
        self._nodes: dict[str, SessionKey] = {}
        self._adjacent: list[tuple[TracedSession, list[str]]] = []

    def line(self, line: str) -> None:
        """One line, without the blanks around it."""
        line = line[:LONGEST]
        if take(PROCESSES, self, line):
            return
        if self._section == "parameters":
            self._section = "wait"
            if self._session is not None and "=" in line:
                self._session.parameters = [whole(each, 16) for each in _PARAMETERS.findall(line)[:3]]
        elif self.dump.kind != "system state":
            take(ANALYSES, self, line)

    def end(self) -> None:
        """The end of the dump: from here on it is known which session each number of a node is."""
        self._end_of_list()
        for session, numbers in self._adjacent:
            for number in numbers:
                if number in self._nodes:
                    session.wait_for(self._nodes[number])

    def _who(self, sid: str | None, cnode: str | None = None, **facts: str | None) -> TracedSession | None:
        """The session of that SID. Only analyses have a `cnode`, which counts from 0 in a single instance, as no view does."""
        session = self.dump.session(whole(cnode) or None, whole(sid))
        if session is not None:
            session.analysed |= cnode is not None
            session.learn(**facts)
        return session

    def _begin(self, **facts: str | None) -> None:
        """What follows is of another session or process."""
        self._session, self._known, self._section, self._addresses, self._holder = None, facts, "", [], None

    def _learn(self, **facts: str | None) -> None:
        if self._session is None:
            self._known |= {name: text for name, text in facts.items() if text and not self._known.get(name)}
        elif self._section != "history":
            self._session.learn(**facts)

    def _identify(self, sid: str | None, serial: str | None = None, flags: str = "") -> None:
        known = dict(self._known)
        image = known.pop("image", None)
        self._session = session = self._who(sid, **{**known, "serial": serial or known.get("serial")})
        self._section = "session"
        if session is None:
            return
        if session.analysed or kind_of_process(image) == "BACKGROUND":
            session.program = image or session.program if session.analysed else session.program or image
        if session.analysed:
            session.type = session.type or kind_of_process(session.program)
            self._first = self._first or session.key
        if self._waiter is not None and session.analysed:
            self._waiter.wait_for(session.key)
            self._waiter = None
        if len(self.dump.addresses) < MOST_LOCKS:
            self.dump.addresses |= dict.fromkeys(self._addresses, session)
        if self._holder:
            self.dump.behind.append((session, "process", self._holder))
        if "flags: (" in flags or "flag: (" in flags:
            self._flags(flags.partition("(")[2].partition(")")[0])

    # What a session waits for, and for whom

    def _waits(self, event: str | None = None, place: str | None = None, rest: str | None = None) -> None:
        """A wait, in an analysis or, with a rest, in the dump of a process; there only the first of the stack is of now."""
        session = self._session
        if session is None or (rest is not None and (place not in (None, "0") or self._section == "history")):
            return
        session.begin_wait(event)
        if rest is None:
            session.free, self._section = True, "wait"
            return
        self._section = "parameters"
        address = whole(rest.partition("blocking sess=")[2].partition(" ")[0], 16)
        if address:
            self.dump.behind.append((session, "address", address))
        seconds = rest.partition("seconds since wait started=")[2].partition(" ")[0]
        session.seconds = None if whole(seconds) is None else float(seconds)

    def _no_wait(self) -> None:
        if self._session is not None and self._section in ("session", "wait") and self._session.waits is None:
            self._session.begin_wait(None)

    def _wait_times(self, text: str) -> None:
        if self._session is not None and self._section == "wait" and self._session.seconds is None:
            times = [seconds for part in _TOTAL.findall(text) if (seconds := duration(part)) is not None]
            self._session.seconds = max(times, default=None)

    def _parameter(self, place: str, value: str) -> None:
        if self._session is not None and self._section == "wait":
            given = [*self._session.parameters, None, None, None][:3]
            given[int(place) - 1] = whole(value, 16)
            self._session.parameters = given

    def _ahead(self, words: str) -> None:
        session = self._session
        if session is None:
            return
        session.free = False
        if found := _NAMED.search(words):
            blocker = self.dump.session(whole(found[1]), whole(found[2]))
        else:
            at_start = "the start of the chain" in words and self._first is not None
            blocker = self.dump.sessions.get(self._first) if at_start and self._first else None
            self._waiter = None if at_start else session
        if blocker is not None:
            session.wait_for(blocker.key)

    def _goes_on(self, section: str) -> None:
        self._section = "direct" if "direct" in section else "final" if "final" in section else "history"

    def _blocker(self, instance: str, sid: str, serial: str) -> None:
        if self._session is None or self._section not in ("direct", "final"):
            return
        if (blocker := self.dump.session(whole(instance), whole(sid))) is not None:
            blocker.learn(serial=None if blocker.serial else serial)
            if self._section == "direct":
                self._session.wait_for(blocker.key)
            else:
                self._session.final = blocker.key

    # Lists in angle brackets: the blocker first, each session after it waits for the one before

    def _chain(self, kind: str | None, counted: str | None, fields: str | None, rest: str | None) -> None:
        self._end_of_list()
        self._session = self._waiter = self._first = None
        self._fields, self._closed, self._counted = (fields or "").split("/"), kind == "Cycle", counted
        self._list(rest or "")

    def _list(self, line: str) -> None:
        names = {"sess_srno": "serial"}
        for found in _OLD_SESSION.finditer(line):
            parts = found[1].split("/", max(len(self._fields), 2) - 1)
            cells = dict(zip((names.get(each, each) for each in self._fields), parts, strict=False))
            kept = {name: cells.get(name) for name in ("sid", "cnode", "serial", "ospid")}
            session = self._who(**kept, blocking=self._counted) if len(self._listed) < MOST_DEEP else None
            if session is None:
                continue
            if event := cells.get("wait_event", ""):
                session.begin_wait(None if event.lower() in ("no wait", "not in wait") else event[:64])
            if self._listed:
                session.wait_for(self._listed[-1])
            elif not session.blockers:
                session.free = not self._closed
            self._listed.append(session.key)

    def _end_of_list(self) -> None:
        """The end of a list. The first session of a cycle waits for the last one."""
        if self._closed and len(self._listed) > 1:
            self.dump.sessions[self._listed[0]].wait_for(self._listed[-1])
        self._listed, self._closed = [], False

    # Nodes, each with those that it waits for, and the tables of Hang Manager

    def _node(self, number: str, state: str, time: str | None, adjacent: str | None, **facts: str | None) -> None:
        # A single node waits for nobody, and nobody waits for it.
        session = None if state.startswith("SINGLE") or len(self._nodes) >= MOST_SESSIONS else self._who(**facts)
        if session is None:
            return
        if time and session.seconds is None and session.waits is not False:
            session.seconds = (whole(time) or 0) / 1000
        self._nodes[number] = session.key
        self._adjacent.append((session, (adjacent or "").split(",")))

    def hang(self, cnode: str, sid: str, total: str) -> None:
        """A hang: its root session, and how many sessions hang in all. The rows of its sessions follow."""
        self._waiter = None
        if (session := self._who(sid, cnode)) is not None:
            session.blocking = max(session.blocking or 0, whole(total) or 0)

    def _row(self, process: str, event: str, **facts: str | None) -> None:
        """A session of a hang. It waits for the one in the next row."""
        session = self._who(**facts)
        if session is None:
            return
        image = f"({process})" if process != "FG" else ""
        session.type, session.program = kind_of_process(image) or "USER", session.program or image or None
        session.begin_wait(None if event.startswith("not in wait") else event.strip())
        session.free = True
        if self._waiter is not None:
            self._waiter.wait_for(session.key)
        self._waiter = session

    # Dumps of processes

    def _process(self, pid: str, name: str | None) -> None:
        self._begin(pid=pid, image=name and f"({name})")

    def _object(self, kind: str, address: str, type_: str) -> None:
        """A state object: 4 is a session. Others wait for its address; SOC: has another one of the same object."""
        self._section = "wait" if self._section == "parameters" else self._section
        of_session = self._addresses if kind == "SOC" else type_.strip() in ("4", "session")
        kept = self._addresses if kind == "SOC" else []
        self._addresses = [*kept, int(address, 16)] if of_session else []

    def _flags(self, flags: str) -> None:
        if self._session is not None and self._section == "session":
            self._session.type = self._session.type or _SESSION_TYPE.get((whole(flags, 16) or 0) & 0x13)

    def _summary(self, sid: str, name: str, event: str | None, **facts: str | None) -> None:
        """A process in the summary before the dumps of a system state."""
        if (session := self._who(sid, **facts)) is not None:
            background = kind_of_process(f"({name})") == "BACKGROUND"
            session.program = session.program or (f"({name})" if background else None)
            if event:
                session.begin_wait(event)

    def _entry(self, address: str, cache_id: str, cache: str) -> None:
        if len(self.dump.entries) < MOST_LOCKS:
            self.dump.entries[int(address, 16)] = (int(cache_id), cache)

    def _lock(self, of: str, entry: str, rest: str) -> None:
        modes = {word: MODES[mode] for word, mode in _MODE.findall(rest)}
        if len(self.dump.locks) >= MOST_LOCKS:
            self.dump.left_out += 1
            return
        held, asked = modes.get("mode", 0), modes.get("request", 0)
        self.dump.locks.append((int(entry, 16), int(of, 16), self._session, held, asked))

    def _latch(self, pid: str | None = None) -> None:
        """A wait for a latch of the row cache, or who may hold the latch that was named before."""
        if pid is None or self._holder is not None:
            self._holder = whole(pid or "0")


_is = DumpReader
PROCESSES = grammar(
    ("PROC", r"PROCESS (\d{1,9}):(?: ([A-Z][A-Z0-9]{2,4})\b)?", _is._process),
    ("OSD ", r"OSD pid info: (?:Unix process pid|Windows thread id): {0,9}(?P<ospid>\w{1,20}),.{0,40}?"
     r"image: {0,9}(?P<image>.{0,64})", _is._learn),
    ("SO: |SOC:", rf"(SOC?): {_HEX}, type: ([\w ]{{1,30}})", _is._object),
    ("(ses", r"\(session\)(?: sid: (\d{1,9}))?(?: ser: (\d{1,9}))?( .*|$)", _is._identify),
    ("flag", r"flags?: \((?:0x)?([0-9a-fA-F]{1,8})\)", _is._flags),
    ("user|oct:", r".{0,90}?user(?:#/name)?: \d{1,9}/(?P<username>[\w$#]{1,90})", _is._learn),
    ("prog|mach", r".{0,90}?\bprogram: (?P<program>.{1,64})", _is._learn),
    ("appl", r"application name: (?P<module>.{0,64}?), hash value", _is._learn),
    ("wait", r"waiting for {1,2}(?:\(efd=\d{1,9}\) )?[0-9a-fx]{4,18} (?:Child |Parent )?row cache objects\b", _is._latch),
    ("poss", r"possible holder pid = (\d{1,9})", _is._latch),
    ("wait|0", r"(?:(?P<place>\d{1,9}): )?waiting for '(?P<event>[^']{1,64})'(?P<rest>.*)", _is._waits),
    ("wait", r"wait times:(.*)", _is._wait_times),
    ("0", r"(?P<pid>\d{1,9}): (?P<name>\S{1,16}) ospid (?P<ospid>\S{1,24}) sid (?P<sid>\d{1,9}) ser (?P<serial>\d{1,9})"
     r"(?:, waiting for '(?P<event>[^']{1,64})')?", _is._summary),
    ("last|Not ", r"last wait for |Not in wait", _is._no_wait),
    ("last", r"last wait: (?P<idle>.{1,60}) ago", _is._learn),
    ("Ther", r"There are (?P<blocking>\d{1,6}) sessions blocked by this session", _is._learn),
    ("Sess|Samp|Dump|wait", r"((?:Dumping )?Session Wait History|Sampled Session History|wait history|"
     r"Dumping .{0,20}(?:waiter|direct blocker|final blocker))", _is._goes_on),
    ("inst", r"inst: (\d{1,9}), sid: (\d{1,9}), ser: (\d{1,9})", _is._blocker),
    ("row ", ENTRY, _is._entry),
    ("row ", rf"row cache enqueue: count=\d{{1,9}} session={_HEX} object={_HEX},? ?(.*)", _is._lock),
)  # fmt: skip
"""Lines of dumps of processes, alone or in a system state. Most lines of a system state are of no kind."""
ANALYSES = grammar(
    ("Chai|Cycl|Foun", r"(?:(Chain|Cycle) \d{1,9} ?:|Found (\d{1,6}) objects waiting for)"
     r"(?: {0,2}<([\w/]{1,90})>(?: {0,2}: {0,2}(.*))?|$)", _is._chain),
    ("<|-- <", r"(.*)", _is._list),
    ("Orac|=> O|-> O", r"(?:[=-]> )?Oracle session identified by:", _is._begin),
    ("inst", r"instance: (?P<cnode>\d{1,4})\b", _is._learn),
    ("os i", r"os id: (?P<ospid>[^,]{1,24})", _is._learn),
    ("proc", r"process id: (?P<pid>\d{1,9})(?:, {0,9}(?P<image>[^,]{1,64}))?", _is._learn),
    ("sess", r"session id: (\d{1,9})", _is._identify),
    ("sess", r"session serial #: (?P<serial>\d{1,9})", _is._learn),
    ("modu", r"module name: \d{1,9} {0,9}\((?P<module>.{0,64})\)$", _is._learn),
    ("is w|whic", r"(?:which )?is waiting for '([^']{1,64})'", _is._waits),
    ("is n|whic", r"(?:which )?is not in (?:a )?wait", _is._waits),
    ("p1: |p2: |p3: ", r"p([123]): '[^']{0,64}'=(?:0x)?([0-9a-fA-F]{1,16})", _is._parameter),
    ("time", r"time in wait:(?P<seconds>.*)", _is._learn),
    ("bloc", r"blocking: {0,9}(?P<blocking>\d{1,6}) session", _is._learn),
    ("curr", r"current sql_id: {0,9}(?:\d{1,10} {0,9})?\(?(?P<sql_id>[0-9a-z]{13})\b", _is._learn),
    ("and |whic|bloc", r"((?:and |which )?(?:(?:is|may be) )?blocked by.*)", _is._ahead),
    ("[", r"\[(?P<number>\d{1,9})\]/(?P<cnode>\d{1,9})/(?P<sid>\d{1,9})/(?P<serial>\d{1,9})/(?:0x)?[0-9a-fA-F]{1,16}/"
     r"(?P<ospid>[\w.]{0,30})/(?P<state>[A-Z_]{1,30})/(?:\(0x[0-9a-f]{1,16}\)/\{(?P<time>\d{1,18})\}/?)?"
     r"(?:[^\[]{0,30}\[(?P<adjacent>[\d,]{0,999}))?", _is._node),
    ("0", r"(?P<cnode>\d{1,4}) {1,9}(?P<sid>\d{1,9}) {1,9}(?P<serial>\d{1,9}) {1,9}(?P<ospid>[\d_]{1,24}) {1,9}"
     r"(?P<process>[A-Z0-9]{2,5}) {1,9}(?P<event>\S.{0,63})", _is._row),
    ("inst", r"inst# SessId", _is._begin),
)  # fmt: skip
"""Lines of hang analyses: chains with braces of 11.2 and later, lists in angle brackets before, nodes, tables of Hang Manager."""
