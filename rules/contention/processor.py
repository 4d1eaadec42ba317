"""Small closed formulas: hold from processor counters, the hidden cost of spins, and the gain of a finer timer."""

from math import expm1

from rules.contention.holds import times_of
from rules.contention.queueing import mean_wait
from rules.contention.readings import LatchCounts


def hold_seconds(instructions: float, cycles_per_instruction: float, clock_hz: float) -> float:
    """Seconds that this many instructions take, S = instructions·CPI/f. Only valid if the holder's own code was counted."""
    return instructions * cycles_per_instruction / clock_hz


def hold_factor(cycles_per_instruction_before: float, cycles_per_instruction_after: float) -> float:
    """The effect of a change of CPI on a hold of the same instructions."""
    return cycles_per_instruction_after / cycles_per_instruction_before


def hidden_spin_seconds(row: LatchCounts, wait_per_miss: float, budget: float) -> float:
    """Processor seconds spent spinning in an interval, which wait_time does not include.

    A miss that was spun out spun `wait_per_miss` seconds; each sleep was preceded by a full spin of `budget` seconds.
    """
    spun = row.spin_gets if row.spin_gets is not None else max(row.misses - row.sleeps, 0.0)
    return spun * min(wait_per_miss, budget) + row.sleeps * budget


def hidden_spin_share(row: LatchCounts, budgets: tuple[float, ...]) -> tuple[float, ...]:
    """The same per second of the interval, for each of these spins before a sleep. The wait is that of the closed queue."""
    times = times_of(row)
    wait = mean_wait(row.population, times.hold / times.think) * times.hold / row.miss_ratio
    return tuple(hidden_spin_seconds(row, wait, budget) / row.seconds for budget in budgets)


def timed_poll_seconds(granularity: float, need: float) -> float:
    """Seconds until a poller notices an event after `need` seconds on average, if it looks every g: E = g/(1 − exp(−g/m))."""
    return granularity / -expm1(-granularity / need)
