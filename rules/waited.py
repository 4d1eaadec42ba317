"""Seconds of the waits that ended, as v$system_event counts them."""

from collectors.model import Delta, Missing, Row, number


def finished_seconds(delta: Delta, event: str) -> float | None:
    """Seconds that foreground sessions waited for an event in waits that ended, for DB time is made of theirs alone.

    Where a row does not tell them apart it counts as it is; an event nobody waited for gives zero; None without the view.
    """
    if isinstance(delta.read("v$system_event"), Missing):
        return None
    micro = [_session_micro(row) for row in delta.rows("v$system_event") if row.get("event") == event]
    known = [time for time in micro if time is not None]
    return sum(known) / 1e6 if len(known) == len(micro) else None


def _session_micro(row: Row) -> float | None:
    """Microseconds that foreground sessions waited; of a row that does not tell them apart, all of them."""
    own = number(row.get("time_waited_micro_fg"))
    return number(row.get("time_waited_micro")) if own is None else own
