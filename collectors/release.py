"""What guards the row cache of an instance: child latches, or mutexes from 12.2 on."""

from collections.abc import Collection, Mapping
from typing import Literal

from collectors.model import ROW_CACHE_MUTEX_EVENT, Missing, Reading, Row, Rows, Value, text
from collectors.release import at_least

Mechanism = Literal["latch", "mutex"]


def mechanism_of(events: Collection[Value], release: str | None) -> Mechanism | None:
    """From the names in v$event_name, else from the release. None if neither is known."""
    if ROW_CACHE_MUTEX_EVENT in events:
        return "mutex"
    if events:
        return "latch"
    if release is None:
        return None
    return "mutex" if at_least(release, "12.2") else "latch"


def mechanism_in(readings: Mapping[str, Reading]) -> Mechanism | None:
    """From what a poll has read so far."""
    instance = next(iter(_rows(readings, "v$instance")), {})
    return mechanism_of({row.get("name") for row in _rows(readings, "v$event_name")}, text(instance.get("version")))


def without_latch(view: str) -> Missing:
    """The reading of a view that is empty where mutexes guard the row cache."""
    why = f"{view} is not asked: mutexes guard the row cache of this instance, not child latches"
    return Missing(view, "not_asked", why, "nothing to do on this release")


def without_map(readings: Mapping[str, Reading]) -> Missing | None:
    """The reading of x$kqrst where it is refused and nobody misses it: no child latch guards a cache."""
    if mechanism_in(readings) != "mutex":
        return None
    why = "x$kqrst is not needed: mutexes guard the row cache of this instance, so there is no child latch to name"
    return Missing("x$kqrst", "not_asked", why, "nothing to do on this release")


def _rows(readings: Mapping[str, Reading], view: str) -> tuple[Row, ...]:
    reading = readings.get(view)
    return reading.rows if isinstance(reading, Rows) else ()
