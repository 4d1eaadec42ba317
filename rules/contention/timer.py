"""Waiters that sleep on a timer: what a finer timer is worth.

A waiter whose spin fails sleeps for the timer's grain and tries again; nothing wakes it when the latch is freed. The chain counts
the processes awake. A sleeper wakes at rate 1/E and, if the latch is busy, sleeps again with chance 1 − σ (σ is spin gets per
miss). Of the processes awake, gets that miss put one to sleep with the same chance. E_new = wait/sleep − g_old + g_new.

The holder of a standard exclusive latch has posted its waiters since 9.2. Such a latch sleeps on no timer, so nothing changes.
"""

from dataclasses import dataclass

import numpy as np

from rules.contention.least_squares import fit_positive
from rules.contention.queueing import Array
from rules.contention.readings import LatchCounts

MOST_BUSY = 0.98


@dataclass(frozen=True, slots=True)
class TimedLatch:
    """A latch whose waiters sleep on a timer."""

    processes: int
    hold: float
    think: float
    spun_out: float
    """σ: share of misses that spinning resolves."""
    sleep: float
    """E: seconds of one sleep."""
    granularity: float
    """g: the timer's grain in seconds at which E was counted."""

    def work(self, granularity: float | None = None) -> float:
        """Gets per second with this grain of the timer, or the current one."""
        return self._settled(granularity)[0]

    def miss_ratio(self, granularity: float | None = None) -> float:
        """Misses per get with this grain."""
        return self._settled(granularity)[1]

    def _settled(self, granularity: float | None) -> tuple[float, float]:
        sleep = self.sleep if granularity is None else self.sleep - self.granularity + granularity
        return timed_latch(self.processes, self.hold, self.think, self.spun_out, sleep)


def timed_latch(processes: int, hold: float, think: float, spun_out: float, sleep: float) -> tuple[float, float]:
    """Gets per second, and misses per get. Further tries of a process that woke belong to the same get. Times in seconds."""
    held, missed = _awake(processes, hold / think)
    gets = held / hold
    falls_asleep = gets * missed * (1 - spun_out)
    stays_awake = 1 - held * (1 - spun_out)
    asleep = processes - np.arange(processes + 1)
    wakes = asleep / sleep * stays_awake
    weights = np.concatenate(([0.0], np.cumsum(np.log(wakes[:-1]) - np.log(np.maximum(falls_asleep[1:], 1e-300)))))
    chances = np.exp(weights - weights.max())
    chances /= chances.sum()
    rate = float((chances * gets).sum())
    return rate, float((chances * gets * missed).sum()) / rate


def _awake(processes: int, ratio: float) -> tuple[Array, Array]:
    """Utilisation and miss ratio with 0…N processes awake."""
    held, missed, queue = np.zeros(processes + 1), np.zeros(processes + 1), 0.0
    for awake in range(1, processes + 1):
        residence = 1.0 + queue
        held[awake] = awake / (1.0 / ratio + residence)
        missed[awake] = held[awake - 1]
        queue = held[awake] * residence
    return held, missed


def fit_timed(row: LatchCounts, granularity: float) -> TimedLatch:
    """The chain behind a row. ValueError if its sleeps do not show how busy the latch is.

    Few processes are awake at once, so misses say little about the hold. Repeated sleeps show it: misses − spin gets are first
    sleeps. The rest, a share U·(1 − σ), are of processes that woke to a busy latch. The think time follows from the gets.
    """
    if not row.sleeps or not row.misses or row.spin_gets is None:
        raise ValueError("a timer needs sleeps, misses and spin gets of an interval")
    spun_out = row.spin_gets / row.misses
    repeated = 1 - (row.misses - row.spin_gets) / row.sleeps
    if not (repeated > 0 and spun_out < 1):
        raise ValueError(
            "no waiter slept twice, so these sleeps do not end on a timer: a posted latch gains nothing from a finer one"
        )
    busy = min(repeated / (1 - spun_out), MOST_BUSY)
    hold = busy / row.gets_per_second

    if row.wait_per_sleep < granularity:
        raise ValueError(
            f"these sleeps last {row.wait_per_sleep * 1e3:.3g} ms in the mean, which is less than a grain of "
            f"{granularity * 1e3:.3g} ms: they do not end on such a timer"
        )

    def residuals(values: Array) -> Array:
        rate, _ = timed_latch(row.population, hold, float(values[0]), spun_out, row.wait_per_sleep)
        return np.array([np.log(rate / row.gets_per_second)])

    think, _ = fit_positive(residuals, (max(1 / row.gets_per_second - hold, hold / 10),))
    return TimedLatch(row.population, hold, float(think[0]), spun_out, row.wait_per_sleep, granularity)
