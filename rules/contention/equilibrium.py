"""The equilibrium of a latch: load and hold depend on each other, so the two are solved together.

Arrays have one element per draw. Several loads that are solved at once have one row each.
"""

from dataclasses import dataclass

import numpy as np

from rules.contention.queueing import Array, latch_state

ROUNDS = 60
CLOSE = 1e-5


@dataclass(frozen=True, slots=True)
class HoldDraws:
    """Parameters of the hold. The utilisation is one number per load."""

    hold: Array
    utilisation: float | Array
    exponent: Array
    handoff: Array


@dataclass(frozen=True, slots=True)
class Settled:
    """Latches in equilibrium."""

    gets_per_second: Array
    miss_ratio: Array
    utilisation: Array
    """Per latch; of the most wanted one if they differ."""
    hold: Array
    """Seconds, handoff included."""
    think: Array


def settle(processes: int, think: Array, hold: HoldDraws, latches: int = 1, hottest: float | None = None) -> Settled:
    """Gets and misses of N processes with this think time between gets. All times in seconds."""
    share = 1 / latches if hottest is None else hottest
    seconds = hold.hold.copy()
    moving = np.ones((*seconds.shape[:-1], 1), dtype=bool)
    for _ in range(ROUNDS):
        state = latch_state(processes, seconds / think, latches, hottest)
        used = state.held * share
        wanted = hold.hold * (used / hold.utilisation) ** hold.exponent * (1 + hold.handoff * state.miss_ratio)
        apart = np.log(wanted / seconds)
        seconds = seconds * np.where(moving, np.exp(0.7 * apart), 1.0)
        moving &= np.abs(apart).max(axis=-1, keepdims=True) >= CLOSE  # a load that has settled does not change
        if not moving.any():
            break
    state = latch_state(processes, seconds / think, latches, hottest)
    return Settled(state.held / seconds, state.miss_ratio, state.held * share, seconds, think)


def settle_both(
    processes: int, thinks: tuple[Array, Array], holds: tuple[HoldDraws, HoldDraws], latches: int = 1
) -> tuple[Settled, Settled]:
    """Two loads of the same latches and processes, each as by `settle`, in half the time."""
    drawn = (np.stack([getattr(hold, name) for hold in holds]) for name in ("hold", "exponent", "handoff"))
    seconds, exponent, handoff = drawn
    reference = np.array([[hold.utilisation] for hold in holds])
    found = settle(processes, np.stack(thinks), HoldDraws(seconds, reference, exponent, handoff), latches)
    first, second = (
        Settled(found.gets_per_second[i], found.miss_ratio[i], found.utilisation[i], found.hold[i], found.think[i])
        for i in (0, 1)
    )
    return first, second
