"""Figures that cannot be right, reported before any judgement: they contradict each other or the clock."""

from collectors.model import ROW_CACHE_LOCK_EVENT, ROW_CACHE_MUTEX_EVENT, Delta, Row, number
from rules.formatting import count

CLOCK_SLACK = 120.0
"""Begin and end may differ from the elapsed time by this many seconds. Reports print both to the minute."""
MOVED_CLOCK = 3600.0
"""A clock that was moved an hour forward or back between begin and end, as twice a year."""
OWN_PROCESSES = 10.0
"""Background processes that may wait too, if their waits are not counted separately. DB time excludes them."""
TOLERANCE = 2.0
"""Times DB time. It lags behind the waits of open calls, and the two are read at different moments."""
ROW_CACHE_EVENTS = ("latch: row cache objects", ROW_CACHE_MUTEX_EVENT, ROW_CACHE_LOCK_EVENT)


def contradictions(delta: Delta) -> tuple[str, ...]:
    """The contradictions, each as words to follow a colon. Empty if the figures agree."""
    return tuple(filter(None, (_fallen_db_time(delta), _more_waits_than_time(delta), _other_elapsed(delta))))


def db_time_is_sound(delta: Delta) -> bool:
    """Whether shares of DB time make sense."""
    return _fallen_db_time(delta) is None and _more_waits_than_time(delta) is None


def _fallen_db_time(delta: Delta) -> str | None:
    for oddity in delta.oddities:
        if oddity.view == "v$sys_time_model" and "DB time" in oddity.key and oddity.what in ("fell", "negative"):
            was = number(oddity.before)
            fell = "" if was is None else f" from {was / 1e6:,.1f} s"
            return f"DB time fell{fell} to {(number(oddity.after) or 0.0) / 1e6:,.1f} s, and it can only grow"
    return None


def _more_waits_than_time(delta: Delta) -> str | None:
    """Short waits of sessions are part of DB time. A long one counts whole when it ends, including time before the interval."""
    db_micro, seconds = delta.cell("v$sys_time_model", "stat_name", "DB time", "value"), delta.basis.seconds
    if db_micro is None or not seconds or delta.basis.kind != "interval":
        return None
    rows = [
        row for row in delta.rows("v$system_event") if row.get("event") in ROW_CACHE_EVENTS and _short(row, seconds)
    ]
    apart = all("time_waited_micro_fg" in row for row in rows)
    waited = sum(number(row.get("time_waited_micro_fg" if apart else "time_waited_micro")) or 0.0 for row in rows) / 1e6
    possible = TOLERANCE * db_micro / 1e6 + (1.0 if apart else OWN_PROCESSES) * seconds
    if waited <= possible:
        return None
    return f"sessions waited {count(waited)} s for the row cache in {count(db_micro / 1e6)} s of DB time, which includes waits"


def _short(row: Row, seconds: float) -> bool:
    """Whether the waits of an event are so short that nearly all of each falls into the interval."""
    waits, micro = number(row.get("total_waits")), number(row.get("time_waited_micro"))
    return bool(waits) and micro is not None and micro / 1e6 / (waits or 1.0) < seconds / 10


def _other_elapsed(delta: Delta) -> str | None:
    begin, end, seconds = delta.basis.begin, delta.basis.end, delta.basis.seconds
    if begin is None or end is None or seconds is None or delta.source != "report":
        return None
    apart = (end - begin).total_seconds()
    off = abs(apart - seconds)
    if off <= max(CLOCK_SLACK, 0.01 * seconds) or abs(off - MOVED_CLOCK) <= CLOCK_SLACK:
        return None
    return f"begin and end are {apart / 60:,.1f} min apart, and elapsed are {seconds / 60:,.1f} min"
