"""Hang analyses in trace files: the chains with braces of 11.2 and later, the lists in angle brackets before, and the nodes."""

import re

from collectors.logs.sessions import Dump, SessionKey, TracedSession, decimal, hexadecimal

MOST_NODES = 20_000
MOST_DEEP = 200
"""Sessions of one chain in angle brackets."""

_DURATION = re.compile(r"(\d{1,12}(?:\.\d{1,9})?) ?(day|hour|hr|min|sec)")
_SECONDS = {"day": 86400.0, "hour": 3600.0, "hr": 3600.0, "min": 60.0, "sec": 1.0}
_IDENTITY = re.compile(r"(instance|os id|process id|session id|session serial #|module name): *(.*)")
_PROCESS = re.compile(r"(\d+)(?:, *([^,]+))?")
_PARAMETER = re.compile(r"p([123]): '[^']*'=(0x[0-9a-fA-F]{1,16}|\d{1,20})")
_WAITING = re.compile(r"(?:which )?is (?:waiting for '([^']{1,64})'|not in (?:a )?wait)")
_BLOCKING = re.compile(r"blocking: *(\d{1,6}) session")
_NAMED = re.compile(r"(?:and is|which is)? ?blocked by '?instance: (\d+), os id: ([\w.]+), session id: (\d+)")
_SQL_ID = re.compile(r"current sql_id: *(?:\d+ *)?\(?([0-9a-z]{13})\b")
_MODULE = re.compile(r"\d+ *\((.*)\)$")
_CHAIN = re.compile(r"Chain (\d+):\s*$")
_OLD_CHAIN = re.compile(r"Chain (\d+) : *<([\w/]+)> *: *(.*)")
_OLD_CYCLE = re.compile(r"Cycle (\d+) : *<([\w/]+)> *: *(.*)")
_OLD_SESSION = re.compile(r"<(\d+/[^<>]{3,200})>")
_NODE = re.compile(
    r"\[(\d+)\]/(\d+)/(\d+)/(\d+)/(?:0x)?[0-9a-fA-F]+/([\w.]*)/([A-Z_]+)/(?:\(0x[0-9a-f]+\)/\{(\d+)\}/?)?(.*)"
)
_ROW = re.compile(r"(\d{1,4}) +(\d{1,9}) +(\d{1,9}) +([\d_]+) +([A-Z0-9]{2,5}) +(\S.*)")
_ADJACENT = re.compile(r"\[([\d,]*)\]")
SINGLE = "SINGLE_NODE"
"""The state of a node that waits for nobody and for which nobody waits."""


def duration(text: str) -> float | None:
    """Seconds of `28 min 36 sec` or `2.004491 sec`. None without any."""
    parts = _DURATION.findall(text)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts) if parts else None


class HangAnalysis:
    """Reads the lines of hang analyses into a dump. Lines come stripped of blanks; True if a line was of use."""

    def __init__(self, dump: Dump) -> None:
        self.dump = dump
        self._identity: dict[str, str] | None = None
        """What the braces after "Oracle session identified by" have said, while they are open."""
        self._session: TracedSession | None = None
        self._waiter: TracedSession | None = None
        """The session that is blocked by the next one."""
        self._first: SessionKey | None = None
        self._history = False
        """Within the history of waits, whose parameters are those of other waits."""
        self._fields: tuple[str, ...] = ()
        self._old: list[SessionKey] = []
        self._closed = False
        self._table = False
        """Within the table of a hang that Hang Manager found: each session waits for the one in the next row."""
        self._row: TracedSession | None = None
        self._nodes: dict[int, SessionKey] = {}
        self._adjacent: list[tuple[SessionKey, list[int]]] = []

    # Chains with braces

    def line(self, line: str) -> None:
        """One line, without the blanks around it."""
        if self._identity is not None:
            self._identify(line)
        elif line.endswith("Oracle session identified by:"):
            self._identity = {}
            self._history = False
        elif line.startswith(("<", "-- <")):
            self._listed(line)
        elif line.startswith(("Chain ", "Cycle ")):
            self._begin(line)
        elif line.startswith("["):
            self._node(line)
        elif line.startswith("inst# ") and "SessId" in line:
            self._row = None
            self._table = True
        elif self._table:
            self._table_row(line)
        elif self._session is not None:
            self._wait(line)

    def _begin(self, line: str) -> None:
        self._session = None
        if _CHAIN.match(line):
            self.dump.chains += 1
            self._waiter = self._first = None
            return
        for pattern, closed in ((_OLD_CHAIN, False), (_OLD_CYCLE, True)):
            if found := pattern.match(line):
                self.dump.chains += 1
                self._close()
                self._fields, self._closed = tuple(found[2].split("/")), closed
                self._listed(found[3])

    def _identify(self, line: str) -> None:
        assert self._identity is not None
        if line.startswith("}"):
            self._identified(self._identity)
            self._identity = None
        elif found := _IDENTITY.match(line):
            self._identity[found[1]] = found[2].strip()
        elif line and not line.startswith("{") and len(self._identity) > 20:
            self._identity = None

    def _identified(self, said: dict[str, str]) -> None:
        instance = decimal(said.get("instance", "").split(" ")[0])
        session = self.dump.session(instance, decimal(said.get("session id", "").split(" ")[0]))
        self._session = session
        if session is None:
            return
        session.analysed = True
        serial = decimal(said.get("session serial #", "").split(" ")[0])
        session.serial = serial if serial is not None else session.serial
        session.ospid = said.get("os id", "").split(",")[0] or session.ospid
        if found := _PROCESS.match(said.get("process id", "")):
            session.pid = decimal(found[1])
            session.program = (found[2] or "").strip() or session.program
            session.type = session.type or kind_of_process(session.program)
        if module := _MODULE.match(said.get("module name", "")):
            session.module = module[1][:64] or session.module
        if self._first is None:
            self._first = session.key
        if self._waiter is not None:
            self._waiter.wait_for(session.key)
            self._waiter = None

    def _wait(self, line: str) -> None:
        session = self._session
        assert session is not None
        if found := _WAITING.match(line):
            session.begin_wait(found[1])
            session.free = True
            self._history = False
        elif line.startswith("wait history"):
            self._history = True
        elif self._history:
            self._ahead(session, line)
        elif found := _PARAMETER.match(line):
            place, value = int(found[1]), hexadecimal(found[2])
            given = [*session.parameters, None, None, None][:3]
            given[place - 1] = value
            session.parameters = tuple(given)
        elif line.startswith("time in wait:"):
            session.seconds = duration(line)
        elif found := _BLOCKING.match(line):
            session.blocking = decimal(found[1])
        elif found := _SQL_ID.match(line):
            session.sql_id = found[1]
        else:
            self._ahead(session, line)

    def _ahead(self, session: TracedSession, line: str) -> None:
        """Whom the session waits for."""
        if "blocked by" not in line:
            return
        if found := _NAMED.search(line):
            blocker = self.dump.session(decimal(found[1]), decimal(found[3]))
            if blocker is not None:
                session.wait_for(blocker.key)
        elif "the start of the chain" in line and self._first is not None:
            session.wait_for(self._first)
            for key in self._round(self._first):
                self.dump.sessions[key].cycle = True
        elif line.startswith(("and is blocked by", "and may be blocked by")):
            self._waiter = session
        session.free = False

    def _round(self, start: SessionKey) -> list[SessionKey]:
        """The sessions of a chain that closes."""
        seen: list[SessionKey] = []
        key: SessionKey | None = start
        while key is not None and key not in seen and len(seen) < MOST_DEEP:
            seen.append(key)
            known = self.dump.sessions.get(key)
            key = next(iter(known.blockers), None) if known else None
        return seen

    # Lists in angle brackets: the blocker first, each session after it waits for the one before

    def _listed(self, line: str) -> None:
        for found in _OLD_SESSION.finditer(line):
            parts = found[1].split("/", max(len(self._fields), 2) - 1)
            said = dict(zip(self._fields, parts, strict=False))
            sid = decimal(said.get("sid", ""))
            if sid is None or len(self._old) >= MOST_DEEP:
                continue
            # cnode counts from 0 in a single instance; no view numbers an instance so.
            instance = decimal(said.get("cnode", "")) or None
            session = self.dump.session(instance, sid)
            if session is None:
                continue
            session.analysed = True
            session.serial = decimal(said.get("sess_srno", "")) or session.serial
            session.ospid = said.get("ospid") or session.ospid
            event = said.get("wait_event", "")
            if event:
                session.begin_wait(None if event.lower() in ("no wait", "not in wait") else event[:64])
            if self._old:
                session.wait_for(self._old[-1])
                session.free = False
            elif not session.blockers:
                session.free = not self._closed
            self._old.append(session.key)

    def _close(self) -> None:
        """The end of a list. The first session of a cycle waits for the last one."""
        if self._closed and len(self._old) > 1:
            first = self.dump.sessions[self._old[0]]
            first.wait_for(self._old[-1])
            for key in self._old:
                self.dump.sessions[key].cycle, self.dump.sessions[key].free = True, False
        self._old, self._closed = [], False

    # The table of Hang Manager

    def _table_row(self, line: str) -> None:
        if line.startswith("-----"):
            return
        found = _ROW.match(line)
        if found is None:
            self._table = False
            return
        instance, sid, serial, ospid, process, event = found.groups()
        session = self.dump.session(decimal(instance), decimal(sid))
        if session is None:
            return
        session.analysed, session.free = True, True
        session.serial, session.ospid = decimal(serial), ospid
        session.type = "USER" if process == "FG" or _STARTED_FOR_USERS.fullmatch(process) else "BACKGROUND"
        session.program = session.program or (None if process == "FG" else f"({process})")
        session.begin_wait(None if event.startswith("not in wait") else event[:64].strip())
        if self._row is not None:
            self._row.wait_for(session.key)
            self._row.free = False
        self._row = session

    # The nodes: every session with those that it waits for

    def _node(self, line: str) -> None:
        found = _NODE.match(line)
        if found is None or len(self._nodes) >= MOST_NODES:
            return
        node, cnode, sid, serial, ospid, state, milliseconds, rest = found.groups()
        if state.startswith(SINGLE):
            return
        session = self.dump.session(decimal(cnode) or None, decimal(sid))
        number = decimal(node)
        if session is None or number is None:
            return
        session.analysed = True
        session.serial = decimal(serial) if session.serial is None else session.serial
        session.ospid = session.ospid or ospid
        if milliseconds and session.seconds is None and session.waits is not False:
            session.seconds = (decimal(milliseconds) or 0) / 1000
        self._nodes[number] = session.key
        if adjacent := _ADJACENT.search(rest):
            ahead = [each for part in adjacent[1].split(",") if (each := decimal(part)) is not None]
            self._adjacent.append((session.key, ahead[:MOST_DEEP]))

    def end(self) -> None:
        """The end of the analysis: from here on it is known which session each number of a node is."""
        self._close()
        for key, ahead in self._adjacent:
            for number in ahead:
                if number in self._nodes and (session := self.dump.sessions.get(key)):
                    session.wait_for(self._nodes[number])
                    session.free = False


_BACKGROUND = re.compile(r"\(([A-Z][A-Z0-9]{2,4})\)$")
_STARTED_FOR_USERS = re.compile(r"[JP][A-Z0-9]{3}|SHAD|TNS|[SD]\d{3}|N\d{3}|L\d{3}")
"""Processes that Oracle starts to work for a session of a user: jobs, parallel slaves, servers."""


def kind_of_process(program: str | None) -> str | None:
    """USER or BACKGROUND by the image of a process: `oracle@host (LCK0)`. None without one."""
    if not program:
        return None
    name = _BACKGROUND.search(program)
    return "BACKGROUND" if name and not _STARTED_FOR_USERS.fullmatch(name[1]) else "USER"
