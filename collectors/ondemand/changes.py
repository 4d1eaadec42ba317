"""What changed lately: DDL, statistics, jobs, windows, opened containers, patches. Once an hour and when a problem begins.

It reads the dictionary, so it never runs while sessions hang, and each statement has a row limit and the deadline of a poll's
statements. In the root a cdb_ view parses in every open container, on the dictionary that may be in contention: none is asked
while the row cache is waited for, nor with many open containers. What a user may not read stays unknown: each view is an
optional grant.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache

from collectors.errors import Cancelled
from collectors.model import Missing, Reading, Rows, Snapshot, number
from collectors.ondemand.check import asked, read
from collectors.poll import Connection
from collectors.registry import collectors
from collectors.release import text_for

OFF = "defaults.look_for_changes is off"
MOST_OPEN = 10
WAITED = "not read before a poll finds that nobody waits for the row cache"
MANY = f"not read from a root with more than {MOST_OPEN} open containers; latchscope in a container reads its own"
UNCOUNTED = "not read, because nobody knows how many containers are open; that needs v$containers"
WAIT, KEPT = "wait for the next reading", "see the timeline of changes"


@cache
def views() -> tuple[str, ...]:
    """The views that a reading of changes asks for, in the order of reading: v$ first, which parse in no container."""
    found = (view for view, collector in collectors().items() if collector.for_changes)
    return tuple(sorted(found, key=lambda view: not view.startswith("v$")))


def why_none_in_containers(snapshot: Snapshot, containers: Reading | None, *, waited: bool) -> str | None:
    """Why no cdb_ view is to be asked now. None if it may be. `containers`: as v$containers was read last."""
    if not any(number(row.get("con_id")) == 1 for row in snapshot.rows("sys_context")):
        return None
    if waited:
        return WAITED
    if not isinstance(containers, Rows):
        return UNCOUNTED
    pdbs = [row for row in containers.rows if (number(row.get("con_id")) or 0) > 2]
    return MANY if sum(row.get("open_mode") != "MOUNTED" for row in pdbs) > MOST_OPEN else None


def read_changes(connection: Connection, release: str | None, why_not: str | None = None) -> Mapping[str, Reading]:
    """Read each view once, no cdb_ view where there is a reason against. Raises SessionError. After the first that hits its
    deadline, the others wait for the next reading."""
    found: dict[str, Reading] = {}
    for view in views():
        if why_not and "from cdb_" in (text_for(collectors()[view].statements, release) or ""):
            found[view] = _not_read(why_not)[view]
            continue
        try:
            found[view] = asked(connection, view, release)
        except Cancelled as error:
            why = f"{view}: the statement hit its deadline and was ended: {error}"
            return {
                **_not_read(f"not read, because {view} hit its deadline"),
                **found,
                view: Missing(view, "failed", why, "latchscope reads it again within an hour"),
            }
    return found


def kept(found: Mapping[str, Reading], at: datetime | None) -> Mapping[str, Missing]:
    """What later polls say of a reading. Its rows are in the timeline, so no poll carries them."""
    moment = f" at {at:%H:%M:%S} UTC" if at else ""
    after: dict[str, Missing] = {}
    for view, reading in found.items():
        if isinstance(reading, Missing):
            after[view] = reading
            continue
        many = f"{len(reading.rows)} row{'s' * (len(reading.rows) != 1)}"
        after[view] = Missing(view, "not_asked", f"{collectors()[view].about}: read{moment}, {many}", KEPT)
    return after


def gaps(readings: Mapping[str, Reading]) -> tuple[str, ...]:
    """What the timeline does not know, a line for each source: refused, failed, or not read yet."""
    lines = []
    for view in views():
        reading = readings.get(view)
        about = collectors()[view].about
        if reading is None:
            lines.append(f"{about}: not captured")
        elif isinstance(reading, Missing) and reading.kind == "refused":
            lines.append(f"{about}: not readable: {reading.way_out.rstrip(';')}")
        elif isinstance(reading, Missing) and (reading.kind != "not_asked" or reading.way_out == WAIT):
            lines.append(reading.why)
    return tuple(lines)


def not_read(*, enabled: bool = True) -> Mapping[str, Missing]:
    """The readings of a poll before the first reading of changes."""
    return _not_read("not read yet" if enabled else OFF)


@cache
def _not_read(why: str) -> Mapping[str, Missing]:
    return {view: Missing(view, "not_asked", f"{collectors()[view].about}: {why}", WAIT) for view in views()}


# What is read once an hour beside them: the installed patches, and the names of the containers. Both change a few times a year.

PATCHES, CONTAINERS, USERS = "dba_registry_sqlpatch", "v$containers", "all_users"
RARE = (PATCHES, CONTAINERS, USERS)
RARE_SECONDS = 3600.0


def read_rarely(connection: Connection, release: str | None) -> Mapping[str, Reading]:
    """Each of these views, or why it is unknown. Raises SessionError."""
    return {view: read(connection, view, release, later="latchscope reads it again after an hour") for view in RARE}


@cache
def rare_not_read() -> Mapping[str, Reading]:
    """The readings of a poll before the first of these."""
    way_out = "wait: it is read once an hour, while nobody hangs"
    return {view: Missing(view, "not_asked", f"{view} was not read yet", way_out) for view in RARE}
