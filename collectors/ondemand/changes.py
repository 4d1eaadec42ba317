"""What changed lately: DDL, statistics, jobs, windows, opened containers, patches. Once an hour and when a problem begins.

It reads the dictionary, so it never runs while sessions hang, and each statement has a row limit and the deadline of a poll's
statements. What a user may not read stays unknown: each view is an optional grant.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache

from collectors.errors import Cancelled, StatementError, ViewRefused
from collectors.grants import ANYBODY, grant
from collectors.model import Missing, Reading, Rows
from collectors.poll import Connection
from collectors.registry import collectors
from collectors.release import text_for

OFF = "defaults.look_for_changes is off"
WAIT, KEPT = "wait for the next reading", "see the timeline of changes"


@cache
def views() -> tuple[str, ...]:
    """The views that a reading of changes asks for, in the order of reading."""
    return tuple(view for view, collector in collectors().items() if collector.for_changes)


def read_changes(connection: Connection, release: str | None) -> Mapping[str, Reading]:
    """Read each view once. Raises SessionError. After the first that hits its deadline, the others wait for the next reading."""
    found: dict[str, Reading] = {}
    for view in views():
        statement = text_for(collectors()[view].statements, release)
        if statement is None:
            found[view] = Missing(view, "not_asked", f"{view} needs a newer release", "nothing to do on this release")
            continue
        try:
            found[view] = Rows(view, connection.query(statement, {}).as_rows())
        except ViewRefused as error:
            opening = grant(collectors()[view], ANYBODY, release=release)
            found[view] = Missing(view, "refused", f"{view}: {error}", opening)
        except Cancelled as error:
            why = f"{view}: the statement hit its deadline and was ended: {error}"
            return {
                **_not_read(f"not read, because {view} hit its deadline"),
                **found,
                view: Missing(view, "failed", why, "latchscope reads it again within an hour"),
            }
        except StatementError as error:
            found[view] = Missing(view, "failed", f"{view}: {error}", "see the error; the polls go on")
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
