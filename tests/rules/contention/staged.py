"""Staged instances of tests/truth with the remedy of their cause applied:

the prediction and the outcome. The outcome comes from the generator's own closed queue, solved for the new hold and think
time. It uses no code of the product.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from random import Random

import numpy as np

from collectors.delta import between
from collectors.model import Delta
from rules.cause import catalogue
from rules.engine import diagnose
from rules.remedy import PredictedEffect, RemedyEffect
from tests.truth.generate import Case, case
from tests.truth.instance import Instance
from tests.truth.plan import seeds, setting_of
from tests.truth.queueing import LatchLoad, states

ORDINARY = (8e-8, 5e-7)
"""Holds of a child in order, in seconds, as the generator draws them."""


@dataclass(frozen=True)
class Remedied:
    """A staged instance before and after."""

    seed: int
    cause: str
    told: PredictedEffect
    miss_ratio: float
    sleeps_per_second: float


def staged(held_back: bool = False) -> Iterator[int]:
    """Seeds with one trouble whose cause has a remedy effect: the even ones, or the held-out ones."""
    known = {name for name, cause in catalogue().items() if cause.remedy_effect is not None}
    for seed in seeds():
        setting = setting_of(seed)
        if seed % 2 == held_back and setting.kind == "single" and set(setting.causes) <= known:
            yield seed


@cache
def remedied(seed: int) -> Remedied | None:
    """The instance of a seed, its prediction and its future.

    None if no child latch is in trouble, or it is not found.
    """
    generated = case(seed)
    it = generated.outcome.instance
    if it.release.guard != "latch" or not it.hot:
        return None
    told = _told(generated)
    if told is None or told.child is None:
        return None
    effect = catalogue()[told.cause].remedy_effect
    loads = [load for child, load in it.hot if child == told.child]
    if effect is None or len(loads) != 1:
        return None
    gets, misses, sleeps = _after(it, loads[0], effect, Random(seed))
    outcome = generated.outcome  # other work on the same child goes on as before
    more_gets = max(outcome.child_gets[told.child] / it.seconds - loads[0].gets, 0.0)
    more_misses = max(outcome.child_misses[told.child] / it.seconds - loads[0].misses, 0.0)
    gets, misses = gets + more_gets, misses + more_misses
    return Remedied(seed, told.cause, told, misses / gets, sleeps)


def _told(generated: Case) -> PredictedEffect | None:
    delta = between(generated.begin, generated.end)
    return diagnose(delta).prediction if isinstance(delta, Delta) else None


def _after(it: Instance, load: LatchLoad, effect: RemedyEffect, dice: Random) -> tuple[float, float, float]:
    """Gets, misses and sleeps per second after the remedy. Every factor in its range is equally likely."""
    processes, ratio = _queue(load)
    gets = float(np.exp(dice.uniform(*np.log(effect.gets))))
    if effect.hold == "ordinary":
        hold = float(np.exp(dice.uniform(*np.log(ORDINARY))))
    else:
        hold = load.hold * float(np.exp(dice.uniform(*np.log(effect.hold))))
    think = load.hold / ratio / gets
    rate = float(1 - states(processes, hold / think)[0]) / hold
    met = states(processes - 1, hold / think)
    waiting = np.arange(1, processes) * hold
    slept = float((met[1:] * np.exp(-it.host.spin / waiting)).sum()) * (1 + it.host.recurrent)
    return rate, rate * float(1 - met[0]), rate * slept


def _queue(load: LatchLoad) -> tuple[int, float]:
    """The population and the ratio of hold to think that give a load: its utilisation, and the nearest misses. At the same
    utilisation a larger population misses more, so the nearest is one of two neighbours.
    """
    used, missed = load.gets * load.hold, load.misses / load.gets
    populations = range(2, 400)
    above = bisect_left(populations, missed, key=lambda processes: _missed(processes, _ratio(processes, used)))
    near = populations[max(above - 1, 0) : above + 1]
    return min(
        ((processes, _ratio(processes, used)) for processes in near), key=lambda pair: abs(_missed(*pair) - missed)
    )


def _missed(processes: int, ratio: float) -> float:
    """The share of gets that find a holder: an arriving process sees the queue without itself."""
    return float(1 - states(processes - 1, ratio)[0])


def _ratio(processes: int, used: float) -> float:
    low, high = np.log(1e-9), np.log(1e6)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - states(processes, float(np.exp(middle)))[0] < used else (low, middle)
    return float(np.exp(low))


def judged(chosen: Iterable[int]) -> list[tuple[Remedied, bool, float]]:
    """Predictions with an interval: whether the outcome is inside, and the ratio of its high end to its low end."""
    found = []
    for seed in chosen:
        one = remedied(seed)
        if one is None or one.told.refused or one.told.figures[0].value is None:
            continue
        missed = one.told.figures[0]
        found.append((one, missed.low <= one.miss_ratio <= missed.high, missed.high / missed.low))
    return found
