"""Latch figures on a release with mutexes: waits that should not exist, counters without meaning."""

from collectors.model import ROW_CACHE_LATCH, Delta, Row, number
from collectors.release import Mechanism
from rules.containers import inside_pdb
from rules.formatting import count, percent
from rules.impact import severity_of
from rules.model import Impact, Severity
from rules.statistics import ratio
from rules.waited import LATCH_EVENT, finished_seconds


def misplaced_latch_wait(delta: Delta, mechanism: Mechanism | None) -> Impact | None:
    """The cost of latch waits where mutexes guard the row cache. None if they cost nothing, as they should."""
    if mechanism != "mutex":
        return None
    waited = finished_seconds(delta, LATCH_EVENT)
    micro = delta.cell("v$sys_time_model", "stat_name", "DB time", "value")
    share = ratio(waited, None if micro is None or inside_pdb(delta) else micro / 1e6)
    cost = Impact(share_of_db_time=share, waiting_sessions=ratio(waited, delta.basis.seconds))
    return None if severity_of(cost) in (None, Severity.INFO) else cost


def misplaced_sleeps(delta: Delta, mechanism: Mechanism | None) -> float:
    """Sleeps of the latch or its children where mutexes guard the row cache: the larger number of the two views."""
    if mechanism != "mutex":
        return 0.0
    whole = [row for row in delta.rows("v$latch") if row.get("name") == ROW_CACHE_LATCH]
    return max(_sleeps(whole), _sleeps(delta.rows("v$latch_children")))


def _sleeps(rows: tuple[Row, ...] | list[Row]) -> float:
    return sum(number(row.get("sleeps")) or 0.0 for row in rows)


def misplaced_notes(delta: Delta, mechanism: Mechanism | None) -> tuple[str, ...]:
    """The note on such figures, given once."""
    cost = misplaced_latch_wait(delta, mechanism)
    if cost is not None:
        share, sessions = cost.share_of_db_time, cost.waiting_sessions or 0.0
        takes = f"keeps {sessions:.2f} sessions waiting" if share is None else f"takes {percent(share)} of DB time"
        return (
            f"{LATCH_EVENT} {takes}, which should not be: from 12.2 on mutexes guard the row cache; "
            f"latchscope judges it as it is, so check that release {delta.release or 'unknown'} is right",
        )
    sleeps = misplaced_sleeps(delta, mechanism)
    if not sleeps:
        return ()
    return (
        f"{count(sleeps)} sleeps on the latch {ROW_CACHE_LATCH} are ignored: from 12.2 on mutexes guard the row cache and "
        "of the latch only the name is left",
    )
