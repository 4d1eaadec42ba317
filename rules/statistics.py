"""Latch statistics over one Delta, per latch or child, by the formulas that Andrey Nikolaev published (2011).

Every function takes plain changes and gives None if the division has no meaning. Nothing is clamped: sleeps may
exceed misses and spin gets may exceed misses on real instances.
"""

from dataclasses import dataclass

from collectors.model import Row, number
from rules.formatting import part_of
from rules.model import Known, SignalValue, Unknown


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
    spin_inefficiency: float | None
    """k = kappa / (1 + kappa · rho); near 0 spinning is enough, near 1 it is useless."""
    utilisation: float | None
    """Share of time held, eta · rho, where eta corrects for a requester that cannot collide with itself."""
    hold_seconds: float | None
    """Average hold time: utilisation per get rate; needs an interval."""
    gets_per_second: float | None
    sleeping_sessions: float | None
    """Wait time per second of the interval, which is the average number of sessions asleep (Little)."""
    wait_seconds_per_sleep: float | None
    wait_seconds_per_get: float | None


def latch_statistics(row: Row, seconds: float | None, cpus: float | None = None) -> LatchStatistics:
    """Statistics of a row of v$latch or v$latch_children changes over `seconds` (None: totals, so no rates)."""
    gets, misses, sleeps = (number(row.get(name)) for name in ("gets", "misses", "sleeps"))
    spin_gets = number(row.get("spin_gets"))
    waited = number(row.get("wait_time"))
    wait = None if waited is None else waited / 1e6
    rho = ratio(misses, gets)
    kappa = ratio(sleeps, misses)
    sigma = ratio(spin_gets, misses)
    rate = ratio(gets, seconds)
    held = None if rho is None else rho * collision_correction(cpus)
    return LatchStatistics(
        gets=gets,
        misses=misses,
        sleeps=sleeps,
        miss_ratio=rho,
        sleep_ratio=kappa,
        spin_ratio=sigma,
        recurrent_sleep_ratio=None if kappa is None or sigma is None else ratio(kappa + sigma - 1, kappa),
        spin_inefficiency=None if kappa is None or rho is None else ratio(kappa, 1 + kappa * rho),
        utilisation=held,
        hold_seconds=ratio(held, rate),
        gets_per_second=rate,
        sleeping_sessions=ratio(wait, seconds),
        wait_seconds_per_sleep=ratio(wait, sleeps),
        wait_seconds_per_get=ratio(wait, gets),
    )


def ratio(part: float | None, whole: float | None) -> float | None:
    """part / whole. None if either is unknown or the whole is zero."""
    return None if part is None or not whole else part / whole


def collision_correction(cpus: float | None) -> float:
    """eta = N / (N − 1) for N processors; 1 when N is unknown or 1."""
    return cpus / (cpus - 1) if cpus and cpus > 1 else 1.0


def share(part: SignalValue, whole: SignalValue) -> SignalValue:
    """part / whole, or the first of the two that is unknown."""
    if isinstance(part, Unknown):
        return part
    if isinstance(whole, Unknown):
        return whole
    return Known(part.value / whole.value, part_of(part.value, whole.value), part.value, whole.value)
