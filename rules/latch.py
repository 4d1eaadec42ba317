"""Latch statistics over one Delta, per latch or child, by the formulas that Andrey Nikolaev published (2011).

Every function takes plain changes and gives None if the division has no meaning. Nothing is clamped: sleeps may exceed misses
and spin gets may exceed misses on real instances.
"""

from dataclasses import dataclass

from collectors.model import ROW_CACHE_LATCH, Delta, Row, number
from collectors.release import Mechanism
from rules.formatting import count, percent
from rules.model import Impact, Severity
from rules.samples import LATCH_EVENT
from rules.waits import severity_of


@dataclass(frozen=True, slots=True)
class LatchStatistics:
    """Derived figures of one latch or child. Ratios are 0..1 unless said, times in the unit of their name."""

    gets: float | None
    misses: float | None
    sleeps: float | None
    miss_ratio: float | None
    """rho: misses per get; estimates utilisation."""
    sleep_ratio: float | None
    """kappa: sleeps per miss; 0 all spin, 1 all sleep, above 1 repeated sleeps."""
    spin_ratio: float | None
    """sigma: spin gets per miss."""
    recurrent_sleep_ratio: float | None
    """Share of the sleeps that repeat an earlier one: (kappa + sigma − 1) / kappa."""
    utilisation: float | None
    """Share of time held, eta · rho, where eta corrects for a requester that cannot collide with itself."""
    hold_seconds: float | None
    """Average hold time: utilisation per get rate; needs an interval."""
    gets_per_second: float | None
    wait_seconds_per_sleep: float | None


def latch_statistics(row: Row, seconds: float | None, cpus: float | None = None) -> LatchStatistics:
    """Statistics of a row of v$latch or v$latch_children changes over `seconds` (None: totals, so no rates)."""
    gets, misses, sleeps = (number(row.get(name)) for name in ("gets", "misses", "sleeps"))
    spin_gets = number(row.get("spin_gets"))
    waited = number(row.get("wait_time"))
    rho, kappa, sigma = ratio(misses, gets), ratio(sleeps, misses), ratio(spin_gets, misses)
    rate = ratio(gets, seconds)
    # eta = N / (N − 1): a requester cannot collide with itself.
    held = None if rho is None else rho * (cpus / (cpus - 1) if cpus and cpus > 1 else 1.0)
    return LatchStatistics(
        gets=gets,
        misses=misses,
        sleeps=sleeps,
        miss_ratio=rho,
        sleep_ratio=kappa,
        spin_ratio=sigma,
        recurrent_sleep_ratio=None if kappa is None or sigma is None else ratio(kappa + sigma - 1, kappa),
        utilisation=held,
        hold_seconds=ratio(held, rate),
        gets_per_second=rate,
        wait_seconds_per_sleep=ratio(None if waited is None else waited / 1e6, sleeps),
    )


def ratio(part: float | None, whole: float | None) -> float | None:
    """part / whole. None if either is unknown or the whole is zero."""
    return None if part is None or not whole else part / whole


# Latch figures on a release with mutexes: waits that should not exist, counters without meaning.


def misplaced_latch_wait(delta: Delta, mechanism: Mechanism | None, waited: float | None) -> Impact | None:
    """The cost of latch waits where mutexes guard the row cache. None if they cost nothing, as they should.

    `waited`: seconds of those that ended.
    """
    if mechanism != "mutex":
        return None
    micro = delta.cell("v$sys_time_model", "stat_name", "DB time", "value")
    share = ratio(waited, None if micro is None or delta.inside_pdb else micro / 1e6)
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


def takes(cost: Impact) -> str:
    """What waits cost, to follow their name: takes 12 % of DB time, keeps 0.40 sessions waiting."""
    if cost.share_of_db_time is None:
        return f"keeps {cost.waiting_sessions or 0.0:.2f} sessions waiting"
    return f"takes {percent(cost.share_of_db_time)} of DB time"


def misplaced_notes(delta: Delta, mechanism: Mechanism | None, waited: float | None) -> tuple[str, ...]:
    """The note on such figures, given once."""
    cost = misplaced_latch_wait(delta, mechanism, waited)
    if cost is not None:
        return (
            f"{LATCH_EVENT} {takes(cost)}, which should not be: from 12.2 on mutexes guard the row cache; "
            f"latchscope judges it as it is, so check that release {delta.release or 'unknown'} is right",
        )
    sleeps = misplaced_sleeps(delta, mechanism)
    if not sleeps:
        return ()
    return (
        f"{count(sleeps)} sleeps on the latch {ROW_CACHE_LATCH} are ignored: from 12.2 on mutexes guard the row cache and "
        "of the latch only the name is left",
    )
