"""Dumps of processes in trace files, alone or as a system state: sessions, their waits, and their locks on the row cache."""

import re

from collectors.logs.hanganalyze import duration, kind_of_process
from collectors.logs.sessions import (
    MODES,
    MOST_LOCKS,
    Dump,
    RowCacheLock,
    SessionKey,
    TracedSession,
    decimal,
    hexadecimal,
)

_PROCESS = re.compile(r"PROCESS (\d+):(?: ([A-Z][A-Z0-9]{2,4})\b)?")
_ADDRESS = re.compile(r"SOC?: (?:0x)?([0-9a-fA-F]{1,16}), type: ([\w ]+)")
_SESSION = re.compile(r"\(session\)(?: sid: (\d+))?(?: ser: (\d+))?(?: |$)")
_FLAGS = re.compile(r"flags?: \((?:0x)?([0-9a-fA-F]{1,8})\)")
_USER = re.compile(r"user(?:#/name)?: \d+/([\w$#]{1,128})")
_IMAGE = re.compile(r"(?:Unix process pid|Windows thread id): *(\w+),.*?image: *(.*)")
_PROGRAM = re.compile(r"\bprogram: (.*)")
_MODULE = re.compile(r"application name: (.*?), hash value")
_WAITING = re.compile(r"(?:(\d+): )?waiting for '([^']{1,64})'(.*)")
_SUMMARY = re.compile(r"(\d+): (\S+) ospid (\S+) sid (\d+) ser (\d+)(?:, waiting for '([^']{1,64})')?")
_BLOCKING = re.compile(r"blocking sess=(?:0x)?([0-9a-fA-F]{1,16})")
_STARTED = re.compile(r"seconds since wait started=(\d{1,9})")
_PARAMETERS = re.compile(r"=(?:0x)?([0-9a-fA-F]{1,16}|\(nil\))(?=,|$| )")
_TOTAL = re.compile(r"(?:total|exc)=([^,]*)")
_INSTANCE = re.compile(r"inst: (\d+), sid: (\d+), ser: (\d+)")
_LATCH = re.compile(r"waiting for +(?:\(efd=\d+\) )?(?:0x)?([0-9a-f]{4,16}) (?:Child |Parent )?row cache objects\b")
_HOLDER = re.compile(r"possible holder pid = (\d+)")
_ENQUEUE = re.compile(
    r"row cache enqueue: count=\d+ session=(?:0x)?([0-9a-fA-F]+) object=(?:0x)?([0-9a-fA-F]+),? *(.*)"
)
_MODE = re.compile(r"\b(mode|request)=([NSX])\b")
ENTRY = re.compile(
    r"row cache parent object: address=(?:0x)?([0-9a-fA-F]+) (?:cid|type)=(\d{1,4})\(([\w $#/&.-]{1,64})\)"
)
SESSION_TYPES = ("4", "session")
RECURSIVE = 0x13
"""The bits of the flags of a session that tell its type: 0x11 a background process, 1 a user, 2 a recursive session."""


class ProcessDumps:
    """Reads the lines of process dumps into a dump. Lines come stripped of blanks."""

    def __init__(self, dump: Dump) -> None:
        self.dump = dump
        self._pid: int | None = None
        self._name: str | None = None
        """Of a background process."""
        self._ospid: str | None = None
        self._image: str | None = None
        self._addresses: list[int] = []
        """Addresses of the state object that is being read, if it is one of a session."""
        self._session: TracedSession | None = None
        self._waiting = False
        """Within the present wait of the session, whose parameters follow."""
        self._section = ""
        self._latch: int | None = None
        self._holder: int | None = None
        self.first: tuple[SessionKey, int | None] | None = None

    def line(self, line: str) -> None:
        """One line, without the blanks around it."""
        handler = _HANDLERS.get(line[:4])
        if handler is not None:
            handler(self, line)
        elif self._waiting:
            self._parameter_line(line)
        elif line[:1].isdigit():
            self._numbered(line)

    def _process(self, line: str) -> None:
        found = _PROCESS.match(line)
        if found is None:
            return
        self._pid, self._name = decimal(found[1]), found[2]
        self._ospid = self._image = self._session = self._latch = self._holder = None
        self._waiting, self._section, self._addresses = False, "", []

    def _object(self, line: str) -> None:
        self._waiting = False
        found = _ADDRESS.match(line)
        if found is None:
            return
        address = int(found[1], 16)
        kind = found[2].strip()
        if line.startswith("SOC"):
            if self._addresses:
                self._addresses.append(address)
        else:
            self._addresses = [address] if kind in SESSION_TYPES else []

    def _identity(self, line: str) -> None:
        found = _SESSION.match(line)
        if found is None:
            return
        self._session = session = self.dump.session(None, decimal(found[1]))
        self._section, self._waiting = "session", False
        if session is None:
            return
        session.serial = decimal(found[2]) if found[2] else session.serial
        session.pid, session.ospid = self._pid, self._ospid or session.ospid
        image = f"({self._name})" if self._name else self._image
        session.program = session.program or (image if kind_of_process(image) == "BACKGROUND" else None)
        for address in self._addresses:
            if len(self.dump.addresses) < MOST_LOCKS:
                self.dump.addresses[address] = session.key
        self._flags(line)
        if self._holder is not None:
            self.dump.blocking_processes.append((session.key, self._holder))

    def _flags(self, line: str) -> None:
        if self._session is None or self._section != "session" or self._session.type is not None:
            return
        if found := _FLAGS.search(line):
            bits = int(found[1], 16) & RECURSIVE
            self._session.type = {0x11: "BACKGROUND", 1: "USER"}.get(bits)

    def _user(self, line: str) -> None:
        if self._session is not None and self._section == "session" and (found := _USER.search(line)):
            self._session.username = found[1]

    def _image_line(self, line: str) -> None:
        if found := _IMAGE.match(line):
            self._ospid, self._image = found[1], found[2].strip()[:64]

    def _program(self, line: str) -> None:
        if self._session is not None and (found := _PROGRAM.search(line)):
            self._session.program = found[1].strip()[:64] or self._session.program

    def _module(self, line: str) -> None:
        if self._session is not None and (found := _MODULE.match(line)):
            self._session.module = found[1].strip()[:64] or None

    def _wait(self, line: str) -> None:
        if latch := _LATCH.match(line):
            self._latch = int(latch[1], 16)
            return
        found = _WAITING.match(line)
        session = self._session
        if found is None or session is None or found[1] not in (None, "0") or self._section == "history":
            return
        session.begin_wait(found[2])
        self._waiting, self._section = True, "wait"
        rest = found[3]
        if (blocking := _BLOCKING.search(rest)) and (address := hexadecimal(blocking[1])):
            self.dump.blocking_addresses.append((session.key, address))
        if started := _STARTED.search(rest):
            session.seconds = float(started[1])

    def _numbered(self, line: str) -> None:
        """A wait of the stack of waits, or a process of the summary before the dumps."""
        if found := _SUMMARY.match(line):
            pid, name, ospid, sid, serial, event = found.groups()
            session = self.dump.session(None, decimal(sid))
            if session is not None:
                session.pid, session.ospid, session.serial = decimal(pid), ospid, decimal(serial)
                session.program = session.program or (
                    f"({name})" if kind_of_process(f"({name})") == "BACKGROUND" else None
                )
                if event:
                    session.begin_wait(event)
        else:
            self._wait(line)

    def _parameter_line(self, line: str) -> None:
        self._waiting = False
        if self._session is not None and "=" in line:
            values = [hexadecimal(value) for value in _PARAMETERS.findall(line)]
            self._session.parameters = tuple(values[:3])

    def _wait_times(self, line: str) -> None:
        session = self._session
        if session is not None and self._section == "wait" and session.seconds is None:
            times = [seconds for part in _TOTAL.findall(line) if (seconds := duration(part)) is not None]
            session.seconds = max(times, default=None)

    def _no_wait(self, line: str) -> None:
        if self._session is not None and self._section in ("session", "wait", "") and self._session.waits is None:
            self._session.begin_wait(None)
            self._section = "wait"

    def _history(self, _: str) -> None:
        self._section, self._waiting = "history", False

    def _blockers(self, line: str) -> None:
        if "direct blocker" in line:
            self._section = "direct"
        elif "final blocker" in line:
            self._section = "final"
        elif "waiter" in line or "Session Wait History" in line:
            self._section = "history"

    def _blocker(self, line: str) -> None:
        found = _INSTANCE.match(line)
        session = self._session
        if found is None or session is None or self._section not in ("direct", "final"):
            return
        blocker = self.dump.session(decimal(found[1]), decimal(found[2]))
        if blocker is None:
            return
        blocker.serial = decimal(found[3]) if blocker.serial is None else blocker.serial
        if self._section == "direct":
            session.wait_for(blocker.key)
        else:
            session.final = blocker.key

    def _row_cache(self, line: str) -> None:
        if found := ENTRY.match(line):
            self.dump.name_entry(hexadecimal(found[1]), decimal(found[2]), found[3])
            return
        found = _ENQUEUE.match(line)
        entry = hexadecimal(found[2]) if found else None
        if found is None or entry is None:
            return
        modes = {word: MODES[mode] for word, mode in _MODE.findall(found[3])}
        inside = None if self._session is None else self._session.key
        self.dump.add_lock(
            RowCacheLock(entry, hexadecimal(found[1]), inside, modes.get("mode", 0), modes.get("request", 0))
        )

    def _possible(self, line: str) -> None:
        if self._latch is not None and (found := _HOLDER.match(line)):
            self._holder = decimal(found[1])


_HANDLERS = {
    "PROC": ProcessDumps._process,
    "SO: ": ProcessDumps._object,
    "SOC:": ProcessDumps._object,
    "(ses": ProcessDumps._identity,
    "flag": ProcessDumps._flags,
    "user": ProcessDumps._user,
    "oct:": ProcessDumps._user,
    "OSD ": ProcessDumps._image_line,
    "prog": ProcessDumps._program,
    "mach": ProcessDumps._program,
    "appl": ProcessDumps._module,
    "wait": lambda self, line: (
        self._wait_times(line)
        if line.startswith("wait times:")
        else self._wait(line)
        if line.startswith("waiting for")
        else None
    ),
    "last": lambda self, line: self._no_wait(line) if line.startswith("last wait for") else None,
    "Not ": lambda self, line: self._no_wait(line) if line.startswith("Not in wait") else None,
    "Sess": lambda self, line: self._history(line) if "ait History" in line else None,
    "Samp": lambda self, line: self._history(line) if "Session History" in line else None,
    "Dump": lambda self, line: self._history(line) if "ait History" in line else self._blockers(line),
    "inst": ProcessDumps._blocker,
    "row ": ProcessDumps._row_cache,
    "poss": ProcessDumps._possible,
}
"""The first four characters of a line → what reads it. Most lines of a system state have no reader."""
