"""From counted intervals to a model of one latch, or the reason why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from rules.contention.holds import HoldModel, fit_hold, log_mean, times_of
from rules.contention.queueing import most_missed
from rules.contention.readings import LatchCounts, NotPredictable
from rules.contention.sleeping import SleepModel, SleepRegime, fit_sleeps, spin_budget

LEAST_MISSES = 200
"""Total misses below which chance dominates."""
LEAST_ROWS = 3
"""From this many intervals on, a model has more than low confidence."""
SATURATED = 0.93
"""Above this share of the most possible misses, counters no longer show the think time."""
LEAST_HOLD = 1e-6
"""Seconds. A shorter hold is mostly handoff, so predictions for more load get wider."""


@dataclass(frozen=True, slots=True)
class LatchModel:
    """One latch, or several alike, with its calibration."""

    processes: int
    latches: int
    think: float
    """Seconds between gets of one process now, at full processor speed, without sleeps."""
    think_spread: float
    """Standard deviation of ln think."""
    hold: HoldModel
    sleep: SleepModel | None
    """None if processes wait for processors: they sleep for that too, so the law of sleeps does not hold."""
    speed: float
    """h(N) now."""
    sleep_cost: float
    """Seconds that a sleep costs besides the queue: spins before it and the sleep, if holders stall; else 0."""
    miss_ratio: float
    """Now."""
    gets_per_second: float
    saturation: float
    """Now: share of the most possible misses."""
    rows: int
    anchored: bool
    """Whether one interval gave the figures of now. Otherwise the model gives them."""
    variation: float = 0.0
    """CV² of the load inside the interval. 0 if sub-intervals are modelled one by one."""
    processors: int | None = None
    sleeps_per_second: float = 0.0
    """Now."""

    @property
    def saturated(self) -> bool:
        """Whether the counters give only bounds."""
        return self.saturation > SATURATED

    @property
    def low_confidence(self) -> bool:
        """Whether it is based on fewer intervals than a fit needs."""
        return self.rows < LEAST_ROWS


def calibrate(
    rows: Sequence[LatchCounts],
    now: LatchCounts | None = None,
    budget: float | None = None,
    variation: float = 0.0,
    processors: int | None = None,
) -> LatchModel:
    """A model from intervals of one latch. NotPredictable if they do not support one.

    `now` is the interval that a change starts from. Without it all rows count as one load. `budget` is the spin before a sleep in
    seconds, `variation` CV² of the load within long intervals. `processors` limits the processes.
    """
    if not rows:
        raise NotPredictable("no interval of this latch was counted")
    kept = [capped(row, processors) for row in rows]
    _told(kept)
    usable = [row for row in kept if not 0 < SATURATED < saturation(row)] or kept
    base = capped(now, processors) if now is not None else None
    state = base or _pooled(usable)
    crowded = processors is not None and any(row.processes >= processors for row in (*rows, *([now] if now else ())))
    sleep = None
    if not crowded or not full(state.population, processors):
        sleep = fit_sleeps(usable, spin_budget() if budget is None else budget)
    hold = fit_hold(usable)
    cost = 0.0 if crowded or sleep is None else _sleep_cost(usable, sleep)
    thinks = [_think(row, cost) for row in ([base] if base is not None else usable)]
    weights = [row.miss_ratio for row in ([base] if base is not None else usable)]
    return LatchModel(
        state.population,
        state.latches,
        log_mean(thinks, weights),
        _think_spread(thinks),
        hold,
        sleep,
        state.speed,
        cost,
        state.miss_ratio,
        state.gets_per_second,
        saturation(state),
        len(rows),
        base is not None or len(rows) == 1,
        variation,
        processors,
        state.sleeps / state.seconds,
    )


def capped(row: LatchCounts, processors: int | None) -> LatchCounts:
    """More processes than processors cannot collide at once: the others wait for a processor, not for the latch."""
    if processors is not None and row.processes > processors:
        return replace(row, processes=float(processors))
    return row


def full(processes: int, processors: int | None) -> bool:
    """Whether processes use all processors, so that any more would wait for one."""
    return processors is not None and processes >= processors


def saturation(row: LatchCounts) -> float:
    """The miss ratio as a share of the most that N processes and P latches can have."""
    return row.miss_ratio / most_missed(row.population, row.latches)


def _told(rows: Sequence[LatchCounts]) -> None:
    """NotPredictable if the counters say too little."""
    if any(row.population < 2 for row in rows):
        raise NotPredictable("fewer than two sessions use the latch on average: there are no collisions to model")
    if any(row.gets <= 0 or row.seconds <= 0 or row.misses <= 0 for row in rows):
        raise NotPredictable("an interval has no gets, no misses or no length: leave it out")
    if any(row.misses > row.gets for row in rows):
        raise NotPredictable("an interval counts more misses than gets: its counters do not belong together")
    misses = sum(row.misses for row in rows)
    if misses < LEAST_MISSES:
        raise NotPredictable(f"{misses:.0f} misses are too few (at least {LEAST_MISSES}): take a longer interval")
    if len({row.latches for row in rows}) > 1:
        raise NotPredictable("the intervals count different numbers of latches: model each number by itself")


def _think(row: LatchCounts, cost: float) -> float:
    """Seconds of think at full speed, without what sleeps cost besides the queue."""
    apparent = times_of(row).think
    return max(apparent - row.sleeps_per_get * cost, 0.05 * apparent) * row.speed


def _think_spread(thinks: Sequence[float]) -> float:
    """Scatter of the mean of ln think; 2 % for one interval."""
    return float(np.std(np.log(thinks), ddof=1)) / sqrt(len(thinks)) if len(thinks) > 1 else 0.02


def _sleep_cost(rows: Sequence[LatchCounts], sleep: SleepModel) -> float:
    """τ + wait_time/sleeps if holders stall. Exhausted spins are waits of the queue, which the model includes."""
    sleeps = sum(row.sleeps for row in rows)
    if sleep.regime is SleepRegime.SPINS or not sleep.point:
        return 0.0
    return sleep.budget + sum(row.wait_seconds for row in rows) / sleeps


def _pooled(rows: Sequence[LatchCounts]) -> LatchCounts:
    """All rows as one interval."""
    return LatchCounts(
        float(np.average([row.processes for row in rows], weights=[row.seconds for row in rows])),
        sum(row.seconds for row in rows),
        sum(row.gets for row in rows),
        sum(row.misses for row in rows),
        sum(row.sleeps for row in rows),
        wait_seconds=sum(row.wait_seconds for row in rows),
        latches=rows[0].latches,
        speed=float(np.average([row.speed for row in rows], weights=[row.seconds for row in rows])),
    )
