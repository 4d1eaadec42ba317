"""The effect of a change on a calibrated latch: work, misses, sleeps, each with its interval. Or a refusal, or only bounds."""

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np

from rules.contention.calibration import LEAST_HOLD, LatchModel, full
from rules.contention.change import LoadChange, in_effect, loads_more
from rules.contention.draws import between, normal, uniform
from rules.contention.equilibrium import HoldDraws, Settled, settle, settle_both
from rules.contention.holds import HANDOFF, MOST_EXPONENT, MOST_HANDOFF
from rules.contention.queueing import Array, most_missed
from rules.contention.readings import NotPredictable
from rules.contention.sleeping import SleepModel, SleepRegime, sleeps_per_get

LOWER_WORK, UPPER_WORK = 0.93, 1.12
"""Bounds of the work factor of a saturated latch whose gets fall by g: from the first, to the second over g."""
SHORT_LOW, SHORT_HIGH = 0.65, 1.05
"""Range of work for more load if the hold is under a microsecond: −35 % to +5 %."""
LEAST_THINK_SPREAD = 0.015
"""Standard deviation of ln think from before a change to after it."""
FEEDBACK_ROUNDS, DAMPING, CLOSE = 30, 0.4, 3e-3
UNCHANGED = "nothing changes: these are the current figures, as counted"
AGAIN = 3.0
"""With more sleeps per miss, wake-ups in vain are no explanation."""
MOST_SLEEPS = 3.0
"""With more sleeps per get, the law of stalls does not apply."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with the interval that contains it 19 times in 20. Without a value only the interval is known."""

    value: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """A latch after a change."""

    work: Estimate
    """Work done per second, as a factor of now."""
    gets_per_second: Estimate
    miss_ratio: Estimate
    utilisation: Estimate
    """Per latch."""
    misses: Estimate
    """Misses per second, as a factor of now."""
    sleeps_per_second: Estimate | None
    """None if no figure of sleeps can be given."""
    hold: float | None
    """Seconds, handoff included. None if only bounds are known."""
    notes: tuple[str, ...]
    """What widened or weakened it, one sentence each."""


@lru_cache(256)
def predict(model: LatchModel, change: LoadChange) -> Prediction:
    """The effect of the change on the latch. NotPredictable if the model does not support it."""
    change = in_effect(model, change)
    if change == LoadChange():
        return _unchanged(model)
    if model.saturated:
        return _bounds(model, change)
    before, after = _before_and_after(model, change)
    work = (after.gets_per_second / before.gets_per_second) / change.gets
    rate, missed = after.gets_per_second, after.miss_ratio
    if model.anchored:
        rate = rate / before.gets_per_second * model.gets_per_second
        missed = np.minimum(missed / before.miss_ratio * model.miss_ratio, _most(model, change))
    misses = _estimate(after.gets_per_second * after.miss_ratio / (before.gets_per_second * before.miss_ratio))
    sleeps = _sleeps(model, change, after, float(rate[0]), misses.high)
    low, high = between(work)
    notes = [*_notes(model, sleeps), *_notes_of_change(model, change)]
    if model.hold.hold < LEAST_HOLD and loads_more(model, change):
        low, high = min(low, float(work[0]) * SHORT_LOW), max(high, float(work[0]) * SHORT_HIGH)
        notes.append(
            "the hold is under a microsecond, mostly handoff between cores: for more load work may be 35 % less or 5 % more"
        )
    return Prediction(
        Estimate(float(work[0]), low, high),
        _estimate(rate),
        _estimate(missed),
        _estimate(after.utilisation),
        misses,
        sleeps,
        float(after.hold[0]),
        tuple(notes),
    )


def _before_and_after(model: LatchModel, change: LoadChange) -> tuple[Settled, Settled]:
    """The latch now and after the change. Solved together if the change leaves latches and processes alone."""
    none = LoadChange()
    if model.sleep_cost or (change.processes, change.latches, change.hottest) != (None, None, None):
        return after_change(model, none), after_change(model, change)
    thinks, holds = (_calm(model, none), _calm(model, change)), (_hold(model, none), _hold(model, change))
    return settle_both(model.processes, thinks, holds, model.latches)


def _calm(model: LatchModel, change: LoadChange) -> Array:
    """Seconds between gets after the change, sleeps not counted."""
    speed = change.speed if change.speed is not None else model.speed
    apart = max(model.think_spread, LEAST_THINK_SPREAD) * normal(3) * (change != LoadChange())
    calm: Array = model.think * np.exp(apart - change.gets_spread * normal(8)) / (change.gets * speed)
    return calm


@lru_cache(64)
def after_change(model: LatchModel, change: LoadChange) -> Settled:
    """The latch after the change, the point first, then the draws. Nobody may write into these arrays, as others get them too."""
    hold, calm = _hold(model, change), _calm(model, change)
    processes, latches = change.processes or model.processes, change.latches or model.latches
    after = settle(processes, calm, hold, latches, change.hottest)
    if not model.sleep_cost or model.sleep is None:
        return after
    lost = _slept(model.sleep, after) * model.sleep_cost
    for _ in range(FEEDBACK_ROUNDS):  # sleeping costs time, which lowers the load, which lowers the sleeps
        after = settle(processes, calm + lost, hold, latches, change.hottest)
        apart = np.log(_slept(model.sleep, after) * model.sleep_cost / lost)
        lost = lost * np.exp(DAMPING * apart)
        if float(np.abs(apart).max()) < CLOSE:
            break
    return after


def _slept(sleep: SleepModel, state: Settled) -> Array:
    """Sleeps per get by stalls."""
    slept: Array = sleep.per_get * (state.miss_ratio / sleep.miss_ratio) ** sleep.power
    return np.minimum(slept, MOST_SLEEPS)


def _hold(model: LatchModel, change: LoadChange) -> HoldDraws:
    fit = model.hold
    speed = change.speed if change.speed is not None else model.speed
    exponent = np.clip(fit.exponent + fit.exponent_spread * normal(1), 0.0, MOST_EXPONENT)
    handoff: Array = uniform(2) * MOST_HANDOFF
    handoff[0] = HANDOFF
    if change.hold_seconds is not None:
        drawn = change.hold_seconds * np.exp(change.hold_spread * normal(9))
        measured = np.zeros_like(exponent)  # at its own load nothing gets longer
        return HoldDraws(drawn, model.gets_per_second * change.hold_seconds, measured, handoff)
    apart = fit.noise * sqrt(1 + 1 / fit.weight) * fit.tail * normal(0) * (change != LoadChange())
    drawn = fit.hold * np.exp(apart + change.hold_spread * normal(9)) * change.hold / (speed * (1 + model.variation))
    return HoldDraws(drawn, fit.utilisation, exponent, handoff)


def _most(model: LatchModel, change: LoadChange) -> float:
    return most_missed(change.processes or model.processes, change.latches or model.latches)


def _sleeps(model: LatchModel, change: LoadChange, after: Settled, rate: float, most_misses: float) -> Estimate | None:
    """Sleeps per second. None if processes wait for processors. Only a get that misses sleeps, so misses bound them.

    `most_misses` is the upper end of misses, as a factor of now.
    """
    if model.sleep is None or full(model.processes, model.processors):
        return None
    forecast = sleeps_per_get(model.sleep, change.processes or model.processes, after, change.latches or model.latches)
    most = most_misses * model.gets_per_second * model.miss_ratio * model.sleep.most_per_miss
    value, low, high = (min(ratio * rate, most) for ratio in (forecast.value, forecast.low, forecast.high))
    return Estimate(value, low, high) if forecast.point else Estimate(None, 0.0, high)


def _unchanged(model: LatchModel) -> Prediction:
    """The current figures, for a change of nothing. They were counted, so they have no interval."""
    state = after_change(model, LoadChange())
    return Prediction(
        _counted(1.0),
        _counted(model.gets_per_second),
        _counted(model.miss_ratio),
        _counted(float(state.utilisation[0])),
        _counted(1.0),
        _counted(model.sleeps_per_second),
        float(state.hold[0]),
        (UNCHANGED,),
    )


def _bounds(model: LatchModel, change: LoadChange) -> Prediction:
    """A saturated latch hides its think time: bounds of the work, no point."""
    lower, upper = 1.0, 1.0
    if change.latches is not None and change.latches != model.latches:
        if change.latches < model.latches:
            raise NotPredictable("the latch is saturated now: the effect of fewer latches is unknown")
        upper = change.latches / model.latches
    hold = change.hold if change.hold_seconds is None else change.hold_seconds / model.hold.hold
    if change.gets < 1 or hold < 1:
        lower, upper = LOWER_WORK, upper * UPPER_WORK / (change.gets * min(hold, 1.0))
    if upper <= 1.0 or loads_more(model, change):
        raise NotPredictable("the latch is saturated now: its counters say nothing about a greater load")
    most = _most(model, change)
    rate = model.gets_per_second * change.gets
    return Prediction(
        Estimate(None, lower, upper),
        Estimate(None, lower * rate, upper * rate),
        Estimate(None, 0.0, most),
        Estimate(None, 0.0, 1.0),
        Estimate(None, 0.0, upper * change.gets * most / model.miss_ratio),
        None,
        None,
        (
            "the latch is saturated: its counters no longer show how much work waits behind it, so there are only bounds",
        ),
    )


def _counted(value: float) -> Estimate:
    return Estimate(value, value, value)


def _estimate(values: Array) -> Estimate:
    return Estimate(float(values[0]), *between(values))


def _notes(model: LatchModel, sleeps: Estimate | None) -> list[str]:
    """What a reader must know about it."""
    notes = []
    if model.low_confidence:
        notes.append(f"low confidence: it is based on {model.rows} of the 3 intervals that a fit needs")
    if model.variation:
        notes.append(f"the load varied within the interval (CV² {model.variation:.2g}): the hold was corrected for it")
    if sleeps is None:
        notes.append(
            "no figure of sleeps: as many sessions are active as there are processors, and those also sleep for a processor"
        )
    elif sleeps.value is None:
        notes.append("too few sleeps now for more than a bound")
    elif model.sleep is not None and model.sleep.regime is SleepRegime.STALLS:
        notes.append("waiters sleep because holders stall: sleeps follow the miss ratio, with a wide interval")
    return notes


def _notes_of_change(model: LatchModel, change: LoadChange) -> list[str]:
    """What the change assumes besides the latch."""
    notes = []
    if (change.processes or 0) > model.processes:
        if model.processors is None:
            notes.append(
                "the number of processors is unknown (v$osstat was not read): sessions beyond it wait for a processor, "
                "and this holds only while there is one for each"
            )
        if change.speed is None:
            notes.append(
                "each session is assumed to run as fast as now: if more of them share caches, memory or the threads of "
                "a core, they run slower and do less work than this"
            )
    if model.sleep is not None and model.sleep.per_miss > 1:
        again = "a session that wakes and finds the latch held sleeps again"
        rare = ", which cannot come so often at this utilisation: doubt the figures of sleeps"
        much = model.sleep.per_miss > AGAIN
        notes.append(f"{model.sleep.per_miss:.3g} sleeps per miss were counted: {again}{rare if much else ''}")
    return notes
