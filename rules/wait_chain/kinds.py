"""What a session is: a foreground session, a parallel slave, a job, or a background process, and why to leave those alone."""

import re

from collectors.model import Row, text
from rules.chain_tree import SessionKind

PROCESS = re.compile(r"\(([A-Z][A-Z0-9]{2,4})\)\s*$")
SLAVE = re.compile(r"P[A-Z0-9]{3}")
JOB = re.compile(r"J[A-Z0-9]{3}")
NOT_TO_KILL = (
    (
        re.compile(r"LCK\d|LM[A-Z0-9]{1,2}"),
        "the instance ends with it; it carries the locks of the cluster as a messenger; the holder is a session behind it, "
        "mostly on another instance",
    ),
    (
        re.compile(r"SMON"),
        "the instance ends with it, and the transaction it rolls back starts over after a restart and holds the same locks again",
    ),
    (
        re.compile(r"MMON|MMNL|M\d{3}"),
        "Oracle restarts it, and the wait with it; if it keeps a lock for minutes, ask Oracle Support",
    ),
)
"""Background processes by name, and why to leave each alone; see docs/emergency.md. Any other may end the instance."""


def process(program: str | None) -> str:
    """The name of a background process: LCK0 of `oracle@db1 (LCK0)`."""
    return process_name(program) or "a background process"


def process_name(program: str | None) -> str | None:
    """The name of a process that Oracle starts, from the program of its session. None for a client."""
    found = PROCESS.search(program or "")
    return found[1] if found else None


def left_alone(name: str) -> str:
    """Why a background process of that name is never killed."""
    return next((why for pattern, why in NOT_TO_KILL if pattern.fullmatch(name)), "the instance may end with it")


def kind_of(row: Row, *, slave: bool = False) -> SessionKind | None:
    """The kind of a session. None if it is unknown. `slave`: v$px_session has a coordinator for it.

    A session of type USER in a process that Oracle starts, and that is neither slave nor job, is of no kind that may be ended.
    """
    of = text(row.get("type"))
    if of == "BACKGROUND":
        return "background"
    program = text(row.get("program"))
    if of != "USER" or program is None:
        return None
    name = process_name(program)
    if slave or (name and SLAVE.fullmatch(name)):
        return "parallel slave"
    if name and JOB.fullmatch(name):
        return "job"
    return None if name else "foreground"
