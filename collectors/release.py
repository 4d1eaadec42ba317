"""Oracle release numbers: how to compare them, how to choose the statement for one, and what guards its row cache."""

from collections.abc import Collection, Mapping
from functools import cache, lru_cache
from inspect import cleandoc
from typing import Literal

from collectors.model import ROW_CACHE_MUTEX_EVENT, Missing, Reading, Row, Rows, Value, text

OLDEST = "11.2"


@lru_cache(maxsize=1024)
def parts(release: str) -> tuple[int, ...]:
    """'11.2.0.4.0' → (11, 2, 0, 4, 0). Trailing words and the 'g', 'c', 'ai' of marketing names are ignored."""
    numbers = []
    for piece in release.strip().partition(" ")[0].split("."):
        digits = "".join(ch for ch in piece if ch.isdecimal())
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)


def at_least(release: str, floor: str) -> bool:
    """Whether `release` is `floor` or newer, compared as far as `floor` goes."""
    return parts(release) >= parts(floor)


@cache
def as_sent(statement: str) -> str:
    """A statement as the database receives it and a DBA finds it in v$sql: without the indentation of our source."""
    return cleandoc(statement)


def text_for(statements: Mapping[str, str], release: str | None) -> str | None:
    """The text for the nearest release at or below `release`. None if every text is for a newer one.

    An unknown release gets the oldest text: every newer release can answer it too.
    """
    floor = floor_for(statements, release)
    return None if floor is None else as_sent(statements[floor])


def floor_for(floors: Collection[str], release: str | None) -> str | None:
    """The nearest of some releases at or below `release`, the oldest for an unknown one. None if every one is newer."""
    wanted = parts(release or min(floors, key=parts))
    return max((floor for floor in floors if parts(floor) <= wanted), key=parts, default=None)


# What guards the row cache of an instance: child latches, or mutexes from 12.2 on.

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
