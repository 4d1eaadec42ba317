"""Where a latch settles: load and hold depend on each other, so both are found together."""

from dataclasses import dataclass

import numpy as np

from rules.contention.queueing import Array, latch_state

ROUNDS = 60
CLOSE = 1e-5


@dataclass(frozen=True, slots=True)
class HoldDraws:
    """Parameters of the hold, one element per draw."""

    hold: Array
    utilisation: float
    exponent: Array
    handoff: Array


@dataclass(frozen=True, slots=True)
class Settled:
    """Latches in equilibrium, one element per draw."""

    gets_per_second: Array
    miss_ratio: Array
    utilisation: Array
    """Per latch; of the most wanted one where they differ."""
    hold: Array
    """Seconds, handoff included."""
    think: Array


def settle(processes: int, think: Array, hold: HoldDraws, latches: int = 1, hottest: float | None = None) -> Settled:
    """Gets and misses of N processes that think this long between gets. All times in seconds."""
    share = 1 / latches if hottest is None else hottest
    seconds = hold.hold.copy()
    for _ in range(ROUNDS):
        state = latch_state(processes, seconds / think, latches, hottest)
        used = state.held * share
        wanted = hold.hold * (used / hold.utilisation) ** hold.exponent * (1 + hold.handoff * state.miss_ratio)
        apart = np.log(wanted / seconds)
        seconds = seconds * np.exp(0.7 * apart)
        if float(np.abs(apart).max()) < CLOSE:
            break
    state = latch_state(processes, seconds / think, latches, hottest)
    return Settled(state.held / seconds, state.miss_ratio, state.held * share, seconds, think)
