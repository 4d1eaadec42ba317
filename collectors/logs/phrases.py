"""What a line of an alert log says: the marks that lines of interest carry, and what each of them means, in our words.

A mark is a byte string that is searched for in whole blocks, so a line without one is never decoded.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from collectors.model import EventKind, Value

DDL_MARK = b"DDL"
"""Stands for the words with which a logged DDL statement begins, at the begin of a line."""


@dataclass(slots=True)
class Said:
    """What a line says. `facts` as in `LoggedEvent`."""

    kind: EventKind
    text: str
    facts: dict[str, Value] = field(default_factory=dict)


# It begins at the begin of a name alone: tried at each letter, a line of 4,096 letters without a blank took hours.
_TRACE = re.compile(r"(?<![^\s\"'<>()\[\]/\\])([^\s\"'<>()\[\]/\\]+\.trc)\b", re.IGNORECASE)
_NUMBERS = {
    "pid": re.compile(r"\bpid\s?=\s?(\d+)"),
    "ospid": re.compile(r"\b(?:ospid|OS id|OS PID|osid)\s?[:=]?\s?'?(\d+)", re.IGNORECASE),
    "sid": re.compile(r"\b(?:sid|session id)\s?[:=]?\s?(\d+)", re.IGNORECASE),
    "serial#": re.compile(r"\bser(?:ial)? ?#\s?[:=]?\s?(\d+)", re.IGNORECASE),
    "instance": re.compile(r"\binst(?:ance)?\s?[:=]?\s(\d+)", re.IGNORECASE),
    "hang_id": re.compile(r"\bID\s?=?\s?(\d+)"),
    "count": re.compile(r"\bcount=(\d+)"),
    "seconds": re.compile(r"\b(\d+) sec(?:ond)?s?\b"),
}
_ORA = re.compile(r"\bORA-0*(\d{1,5})\b")
_ARGUMENT = re.compile(r"(?:arguments: ?|core dump ?)\[([\w:$ .+-]{1,60})\]")
_POOL = re.compile(r"unable to allocate (\d+) bytes of shared memory \(\"([\w ]{1,30})\"")
_OF = re.compile(
    r"unable to extend (temp segment|[a-z ]{1,30}?) (?:\S+ )?(?:partition \S+ )?by \d+ in .{0,40}?tablespace"
)
_SET = re.compile(
    r"ALTER SYSTEM (?:SET|RESET) \"?([\w$]+)\"?(?:\s*=\s*(['\"]?)([\w.%-]{1,30})\2(?=[\s;,]|$))?", re.IGNORECASE
)
_SECRET = re.compile(r"pass|wallet|secret|key|credential|token", re.IGNORECASE)
_DDL = (
    r"^(?:diag_adl:)?((?:create|alter|drop|truncate)\s+(?:or\s+replace\s+)?(?:(?:non)?editionable\s+)?"
    r"(?:(?:global|private)\s+temporary\s+|unique\s+|bitmap\s+|public\s+|force\s+)*"
    r"(?:materialized\s+view|table|index|view|sequence|user|role|procedure|function|package|trigger|type|synonym|cluster|"
    r"profile))\b"
)

OTHERS: Mapping[int, str] = {
    1555: "a query needed undo that is overwritten",
    3113: "a connection ended",
    3135: "a connection was lost",
    3136: "a login took too long",
    4030: "a process found no memory of its own",
    12012: "a job failed",
    12751: "a background action took more time than it may",
    29771: "a process blocks others for long",
}
"""What other errors say. Any other one has its number only."""


def trace_in(line: str) -> str | None:
    """Base name of the first trace file that a line names."""
    found = _TRACE.search(line)
    return found[1] if found else None


def numbers_in(line: str, *names: str) -> dict[str, Value]:
    """Those of the named numbers that a line has."""
    found = ((name, _NUMBERS[name].search(line)) for name in names)
    return {name: int(match[1]) for name, match in found if match and len(match[1]) < 19}


def _waited(line: str) -> Said:
    facts = numbers_in(line, "pid")
    who = f"process number {facts['pid']}" if facts else "a process"
    if "ROW CACHE" in line:
        return Said("row_cache_timeout", f"{who} waited too long for a row cache enqueue lock", facts)
    if "LIBRARY" in line:
        return Said("library_cache_timeout", f"{who} waited too long for the library cache", facts)
    return Said("enqueue_timeout", f"{who} waited too long for a lock", facts)


def _error(line: str) -> Said | None:
    codes = [int(code) for code in _ORA.findall(line)]
    code = next((code for code in codes if code in _KNOWN), codes[0] if codes else 0)
    # "ORA-20 errors will NOT be written to the alert log for the next minute" says nothing new.
    if not code or "errors will NOT be written" in line:
        return None
    words = f"ORA-{code:05}: {OTHERS[code]}" if code in OTHERS else f"ORA-{code:05}"
    said = _KNOWN[code](line) if code in _KNOWN else Said("other", words)
    said.facts = {"error": f"ORA-{code:05}", **said.facts}
    if trace := trace_in(line):
        said.facts["trace_file"] = trace
    return said


def _shared_pool(line: str) -> Said:
    found = _POOL.search(line)
    if found:
        size, pool = int(found[1]), found[2]
        return Said("shared_pool", f"no piece of {size:,} bytes was free in the {pool} (ORA-04031)", {"bytes": size})
    return Said("shared_pool", "no piece of memory was free (ORA-04031)")


def _internal(line: str) -> Said:
    code = "ORA-00600" if "600" in line.split(":")[0] else "ORA-07445"
    found = _ARGUMENT.search(line)
    # ORA-07445 names the function and an offset that differs from build to build.
    argument = found[1].split("()")[0].split("+")[0].strip() if found else ""
    if not argument:
        return Said("internal_error", f"internal error {code}")
    where = {
        "kqr": " of the row cache",
        "kgl": " of the library cache",
        "kks": " of cursors",
        "kgh": " of the shared pool",
    }
    return Said(
        "internal_error",
        f"internal error {code}{where.get(argument[:3].lower(), '')}, {argument}",
        {"argument": argument},
    )


def _hang(line: str) -> Said | None:
    lower = line.lower()
    if ("hang" not in lower and "terminat" not in lower) or "hang analysis" in lower:
        return None  # such as: DIA0 started with pid=8
    facts = numbers_in(line, "hang_id", "sid", "serial#", "ospid", "instance")
    which = f"hang {facts['hang_id']}" if "hang_id" in facts else "a hang"
    who = (
        f" session {facts['sid']}" + (f",{facts['serial#']}" if "serial#" in facts else "")
        if "sid" in facts
        else " a session"
    )
    if "instance termination" in lower or "instance eviction" in lower:
        return Said("hang", f"Oracle would end an instance to resolve {which}", facts)
    if "successfully terminated" in lower or "successfully resolved" in lower:
        return Said("hang", f"Oracle ended{who} to resolve {which}", facts)
    if "terminat" in lower:
        return Said("hang", f"Oracle ends{who} to resolve {which}", facts)
    if "resolution reason" in lower:
        return Said("hang", "Oracle resolved a hang by itself")
    if "critical database process" in lower:
        return Said("hang", f"a process that Oracle needs is the root of {which}", facts)
    return Said("hang", f"Oracle found {which}", facts)


def _possible_hangs(line: str) -> Said:
    facts = numbers_in(line, "hang_id")
    upto = f", up to number {facts['hang_id']}" if facts else ""
    return Said("hang", f"Oracle found hangs{upto} (ORA-32701)", facts)


def _enqueue(line: str) -> Said:
    found = re.search(r"enqueue:? \[(\w\w)\]", line)
    facts = numbers_in(line, "seconds", "ospid", "instance")
    seconds = f" for more than {facts['seconds']} s" if "seconds" in facts else ""
    return Said(
        "enqueue_timeout",
        f"enqueue {found[1] if found else 'of the control file'} was held{seconds} (ORA-00494)",
        facts,
    )


def _killed(line: str) -> Said:
    facts: dict[str, Value] = {"ospid": found["pid"]} if (found := numbers_in(line, "pid")) else {}
    who = f"operating system process {facts['ospid']}" if facts else "a process"
    return Said("enqueue_timeout", f"Oracle ends {who}, which held an enqueue too long", facts)


def _space(code: str) -> Callable[[str], Said]:
    def said(line: str) -> Said:
        found = _OF.search(line)
        return Said("space", f"no space to extend {found[1] if found else 'a segment'} ({code})")

    return said


def _plain(kind: EventKind, text: str) -> Callable[[str], Said]:
    return lambda line: Said(kind, text)


_KNOWN: Mapping[int, Callable[[str], Said]] = {
    18: _plain("processes", "no session is left (ORA-00018)"),
    20: _plain("processes", "no process is left (ORA-00020)"),
    51: _plain("enqueue_timeout", "the wait for a resource ran out of time (ORA-00051)"),
    60: _plain("deadlock", "two sessions waited for each other, and one was stopped (ORA-00060)"),
    494: _enqueue,
    600: _internal,
    1652: _space("ORA-01652"),
    1653: _space("ORA-01653"),
    1654: _space("ORA-01654"),
    4020: _plain("library_cache_timeout", "a cycle of waits for a lock on an object (ORA-04020)"),
    4021: _plain("library_cache_timeout", "the wait for a lock on an object ran out of time (ORA-04021)"),
    4031: _shared_pool,
    7445: _internal,
    30036: _plain("space", "no space to extend undo (ORA-30036)"),
    32701: _possible_hangs,
}


def _parse_errors(line: str) -> Said:
    found = re.search(r"SQL hash=(0x[0-9a-fA-F]{1,16})", line)
    text = "a statement fails to parse again and again" + (f", SQL hash {found[1]}" if found else "")
    return Said("parse_errors", text, numbers_in(line, "count"))


def _undo(line: str) -> Said | None:
    number = re.search(r"ndo Tablespace (\d+)", line)
    which = f"undo tablespace {number[1]}" if number else "an undo tablespace"
    if "Pending Switch-Out" in line:
        return Said("undo_switch", f"{which} is being replaced; its transactions end first")
    if "switched out" in line:
        return Said("undo_switch", f"{which} was replaced")
    return Said("undo_switch", f"{which} is in use") if "nlined" in line else None


def _stop(line: str) -> Said:
    facts = numbers_in(line, "ospid")
    how = re.search(r"\((normal|immediate|transactional|abort)\)", line)
    if "shutdown complete" in line:
        return Said("instance_stop", "the instance is down")
    if "hutting down" in line:
        return Said("instance_stop", f"the instance is shut down{f' ({how[1]})' if how else ''}", facts)
    by = re.match(r"(?:Instance terminated by (\w+)|(\w{3,5}) \(ospid)", line)
    who = (by[1] or by[2]) if by else None
    return Said("instance_stop", f"the instance was ended{f' by {who}' if who else ''}", facts)


def _parameter(line: str) -> Said | None:
    found = _SET.search(line)
    if not found:
        return None
    name, value = found[1].lower(), found[3]
    shown = "" if not value or _SECRET.search(name) else f" to {value}"
    return Said("parameter", f"parameter {name} was set{shown}", {"parameter": name})


def _named(kind: EventKind, pattern: str, words: str, fact: str = "") -> Callable[[str], Said | None]:
    """A reader of lines that match a pattern. `words` has its first group, and so has the `fact`."""
    compiled = re.compile(pattern, re.IGNORECASE)

    def said(line: str) -> Said | None:
        found = compiled.search(line)
        if not found:
            return None
        return Said(
            kind, words.format(" ".join((found[1] or "unknown").split()).lower()), {fact: found[1]} if fact else {}
        )

    return said


MARKS: Mapping[bytes, Callable[[str], Said | None]] = {
    b"WAITED TOO LONG": _waited,
    b"ORA-": _error,
    b"too many parse errors": _parse_errors,
    b"DIA0 ": _hang,
    b"Hang Resolution": _hang,
    b"Killing enqueue blocker": _killed,
    b"acquire latch": _plain("latch_timeout", "a process could not get a latch in time"),
    b"Services Deadlock detected": _plain(
        "deadlock", "sessions of a cluster waited for each other (a global deadlock)"
    ),
    b"ndo Tablespace ": _undo,
    b"Resize operation completed": _named("resize", r"file# ?(\d+)", "data file {} was resized"),
    b"Starting ORACLE instance": _named("instance_start", r"instance ?(?:\((\w+)\))?", "the instance starts ({})"),
    b"hutting down ": lambda line: _stop(line) if "nstance" in line else None,
    b"nstance shutdown complete": _stop,
    b"nstance terminated by": _stop,
    b"terminating the instance": _stop,
    b"Patch Id:": _named("patch", r"Patch Id: ?(\d{1,12})", "patch {} is installed", "patch"),
    b"ALTER SYSTEM ": _parameter,
    b"Completed: ": _named(
        "ddl",
        r"Completed: ((?:create|alter|drop) (?:(?:bigfile|smallfile|undo|temporary) )*tablespace)\b",
        "{} was completed",
    ),
    DDL_MARK: _named("ddl", _DDL, "DDL: {}"),
}
"""Each mark, and the reader of its lines. Where a line has several marks, the first of this table decides."""
