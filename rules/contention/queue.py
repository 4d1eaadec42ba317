"""The closed latch as a queue: N processes that think, then take one of P latches and hold it.

One latch is the machine repairman (Palm 1947; Kleinrock, Queueing Systems I, 3.8): the chance of n processes at the latch is
p_n ∝ N!/(N−n)!·(S/Z)^n. Several latches are a closed product-form network, solved by mean value analysis (Reiser and
Lavenberg, JACM 27, 1980). By the arrival theorem (Sevcik and Mitrani 1981) a request sees the queue of N − 1 processes, so
the share of gets that miss is the utilisation with N − 1.

Unless said otherwise times are seconds, and `ratio` is hold over think, S/Z.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEAST_RATIO, MOST_RATIO = 1e-9, 1e6
"""The search for a load stays within these bounds of hold / think."""
HALVINGS = 60
CELLS = 1_000_000
"""Of the matrices that are solved at once: 8 MB, however many processes there are."""


@dataclass(frozen=True, slots=True)
class LatchTimes:
    """What the counters of an interval say about a latch: seconds a process holds it, and seconds it thinks between gets."""

    hold: float
    think: float


@dataclass(frozen=True, slots=True)
class LatchState:
    """A latch in equilibrium, one element per requested ratio."""

    held: Array
    """Latches held on average; the utilisation if there is one latch. Gets per second times hold."""
    miss_ratio: Array
    """Share of gets that find their latch held."""
    queue: Array
    """Processes at the latches on average, holders included."""


def state_chances(processes: int, ratios: Array) -> Array:
    """Chance of 0…N processes at one latch, by the closed form; a row per ratio."""
    steps = np.log(processes - np.arange(processes)) + np.log(ratios)[:, None]
    weights = np.concatenate((np.zeros((len(ratios), 1)), np.cumsum(steps, axis=1)), axis=1)
    raised = np.exp(weights - weights.max(axis=1, keepdims=True))
    chances: Array = raised / raised.sum(axis=1, keepdims=True)
    return chances


def latch_state(processes: int, ratio: float | Array, latches: int | Array = 1) -> LatchState:
    """Equilibrium of P latches, all wanted equally, by exact mean value analysis, for every ratio (and every P) at once."""
    think = 1.0 / np.atleast_1d(np.asarray(ratio, dtype=np.float64))
    queue, residence, held, before = np.zeros((4, *think.shape))
    for population in range(1, processes + 1):
        held, before = before, held
        np.add(queue, 1.0, out=residence)
        np.add(think, residence, out=held)
        np.divide(population, held, out=held)
        np.multiply(held, residence, out=queue)
        queue /= latches  # of one of them
    return LatchState(held, before / latches, queue * latches)


def ratio_for(processes: int, miss_ratio: float) -> float:
    """The ratio of hold to think at which this share of gets misses. The share must lie between 0 and 1."""
    low, high = log(LEAST_RATIO), log(MOST_RATIO)
    for _ in range(6):  # one row of trial values at a time, each within the step that has the answer
        trial = np.linspace(low, high, 65)
        missed = latch_state(processes, np.exp(trial)).miss_ratio
        above = int(np.searchsorted(missed, miss_ratio))
        low, high = float(trial[max(above - 1, 0)]), float(trial[min(max(above, 1), 64)])
    return float(np.exp((low + high) / 2))


@lru_cache(256)
def invert(processes: int, gets_per_second: float, miss_ratio: float) -> LatchTimes:
    """Hold and think time with which N processes get this often and miss this share. Hold includes the handoff."""
    ratio = ratio_for(processes, miss_ratio)
    hold = float(latch_state(processes, ratio).held[0]) / gets_per_second
    return LatchTimes(hold, hold / ratio)


def mean_wait(processes: int, ratio: float) -> float:
    """Mean wait per get at one latch, in holds: Q/X − S."""
    state = latch_state(processes, ratio)
    return float(state.queue[0] / state.held[0] - 1.0)


@dataclass(frozen=True, slots=True)
class WaitDecay:
    """How the waits of gets that miss decrease with time (in holds): a sum of decays, one per eigenvalue; a row per ratio."""

    rates: Array
    start: Array
    end: Array
    missed: Array
    """Chance that a get misses, the start value of the sum."""

    def beyond(self, budgets: Array) -> Array:
        """Chance of a longer wait than the budget of each ratio."""
        still = self.start * np.exp(self.rates * budgets[:, None]) * self.end
        chances: Array = np.clip(still.sum(axis=1) / self.missed, 0.0, 1.0)
        return chances


def wait_decay(processes: int, ratios: Array) -> WaitDecay:
    """The waits of gets that miss, for two processes or more. The next holder is drawn at random.

    A tagged waiter among j others: one more joins at rate (N − 2 − j)·ratio, the holder leaves at rate 1 and the tagged
    waiter follows with chance 1/(j + 1). The chain is reversible, so its symmetric form is solved by eigenvalues, of all
    ratios at once.
    """
    others = np.arange(processes - 1, dtype=np.float64)
    joins = (processes - 2 - others) * ratios[:, None]
    leaves, chosen = others / (others + 1.0), 1.0 / (others + 1.0)
    met = state_chances(processes - 1, ratios)[:, 1:]
    matrices = np.zeros((len(ratios), processes - 1, processes - 1))
    here, above = np.arange(processes - 1), np.arange(processes - 2)
    matrices[:, here, here] = -(joins + leaves + chosen)
    matrices[:, above + 1, above] = np.sqrt(joins[:, :-1] * leaves[1:])  # eigh reads the lower triangle
    values, vectors = np.linalg.eigh(matrices)
    start, end = np.sqrt(met / (others + 1.0)), np.sqrt(met * (others + 1.0))
    seen = np.einsum("ri,rij->rj", start, vectors), np.einsum("ri,rij->rj", end, vectors)
    return WaitDecay(values, *seen, met.sum(axis=1))


def waits_beyond(processes: int, ratios: Array, budgets: Array) -> Array:
    """Chance, at each ratio, that a get that misses waits longer than its budget (in holds)."""
    if processes < 2:
        return np.zeros_like(budgets)
    some = max(CELLS // processes**2, 1)
    parts = [slice(first, first + some) for first in range(0, len(ratios), some)]
    return np.concatenate([wait_decay(processes, ratios[part]).beyond(budgets[part]) for part in parts])


def wait_beyond(processes: int, ratio: float, budget: float) -> float:
    """`waits_beyond` at one ratio."""
    return float(waits_beyond(processes, np.array([ratio]), np.array([budget]))[0])


def budget_for(processes: int, ratio: float, beyond: float) -> float:
    """The wait, in holds, that a share `beyond` of the misses exceeds; the inverse of `wait_beyond`."""
    low, high = log(1e-6), log(1e9)
    decay = wait_decay(processes, np.array([ratio])) if processes > 1 else None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        longer = 0.0 if decay is None else decay.beyond(np.exp([middle]))[0]
        low, high = (middle, high) if longer > beyond else (low, middle)
    return float(np.exp((low + high) / 2))


# The equilibrium of a latch: load and hold depend on each other, so the two are solved together.
#
# Arrays have one element per draw. Several loads that are solved at once have one row each.

EQUILIBRIUM_ROUNDS = 60
SETTLED = 1e-5


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
    hold: Array
    """Seconds, handoff included."""
    think: Array


def settle(processes: int, think: Array, hold: HoldDraws) -> Settled:
    """Gets and misses of N processes with this think time between gets. All times in seconds.

    Two loads that are solved together take half the time of one after the other, and settle as each does by itself.
    """
    seconds = hold.hold.copy()
    moving = np.ones((*seconds.shape[:-1], 1), dtype=bool)
    for _ in range(EQUILIBRIUM_ROUNDS):
        state = latch_state(processes, seconds / think)
        wanted = hold.hold * (state.held / hold.utilisation) ** hold.exponent * (1 + hold.handoff * state.miss_ratio)
        apart = np.log(wanted / seconds)
        seconds = seconds * np.where(moving, np.exp(0.7 * apart), 1.0)
        moving &= np.abs(apart).max(axis=-1, keepdims=True) >= SETTLED  # a load that has settled does not change
        if not moving.any():
            break
    state = latch_state(processes, seconds / think)
    return Settled(state.held / seconds, state.miss_ratio, state.held, seconds, think)


def stacked(holds: Sequence[HoldDraws]) -> HoldDraws:
    """The parameters of several loads, a row each."""
    hold, exponent, handoff = (
        np.stack([getattr(each, name) for each in holds]) for name in ("hold", "exponent", "handoff")
    )
    return HoldDraws(hold, np.array([[each.utilisation] for each in holds]), exponent, handoff)


def unstacked(found: Settled) -> list[Settled]:
    """Each load by itself."""
    rows = (found.gets_per_second, found.miss_ratio, found.utilisation, found.hold, found.think)
    return [Settled(*row) for row in zip(*rows, strict=True)]


# Least squares for a handful of positive parameters, by Levenberg and Marquardt (SIAM J. Appl. Math. 11, 1963).

STEP = 1e-5
LONGEST_STEP = 1.0
MOST_ROUNDS = 300
SMALL_GAIN = 1e-9
"""A step that reduces the squared error by less than this share gains nothing."""
NOTHING_LEFT = 1e-20


def fit_positive(residuals: Callable[[Array], Array], start: Sequence[float]) -> tuple[Array, Array]:
    """Parameters with the least sum of squared residuals, and their residuals. Searches in logarithms."""
    place = np.log(np.asarray(start, dtype=np.float64))
    left = residuals(np.exp(place))
    damping = 1e-2
    for _ in range(MOST_ROUNDS):
        slopes = _slopes(residuals, place, left)
        square = slopes.T @ slopes
        ridge = damping * np.diag(np.diag(square) + 1e-9)
        step = np.clip(np.linalg.solve(square + ridge, -slopes.T @ left), -LONGEST_STEP, LONGEST_STEP)
        there = residuals(np.exp(place + step))
        gain = float(left @ left - there @ there)
        if gain > 0:
            place, left, damping = place + step, there, max(damping / 3, 1e-12)
        else:
            damping *= 4
        if 0 < gain < SMALL_GAIN * float(left @ left) + NOTHING_LEFT or damping > 1e9:
            break
    return np.exp(place), left


def _slopes(residuals: Callable[[Array], Array], place: Array, left: Array) -> Array:
    columns = []
    for index in range(len(place)):
        moved = place.copy()
        moved[index] += STEP
        columns.append((residuals(np.exp(moved)) - left) / STEP)
    return np.array(columns).T


# Tables of partitions × batch: a structure split into PN latches, AN items moved per get.
#
# Each of N workers thinks Z = A + B/AN per unit of work (B is what a refill costs besides the latch) and needs D
# seconds of latch
# per unit, spread over PN latches. So the throughput is that of a closed network with demands D/PN. A get holds s0 +
# s1·AN, which
# makes D = s + c/AN per unit. If a larger batch costs more per item than it saves, D = c/AN + e·AN; with both, all
# three terms.

LEAST_CELLS = 4
MOST_WORTH = 0.9
"""Another term is kept only if it reduces the squared error by this share."""


@dataclass(frozen=True, slots=True)
class TableCell:
    """One measured setting."""

    partitions: int
    batch: int
    throughput: float
    """Units of work per second."""


@dataclass(frozen=True, slots=True)
class DemandTerms:
    """Seconds per unit of work. An absent term is 0."""

    think: float
    """A."""
    think_per_batch: float
    """B."""
    per_item: float
    """s."""
    per_batch: float
    """c."""
    growing: float
    """e."""

    def think_seconds(self, batch: int) -> float:
        """Z = A + B/AN."""
        return self.think + self.think_per_batch / batch

    def latch_seconds(self, batch: int) -> float:
        """D = s + c/AN + e·AN."""
        return self.per_item + self.per_batch / batch + self.growing * batch


@dataclass(frozen=True, slots=True)
class PartitionFit:
    """Terms that explain a table, and how well."""

    terms: DemandTerms
    processes: int
    error: float
    """Root mean square of ln(predicted/measured) over the fitted cells, per degree of freedom; 0 where cells equal terms."""
    cells: int
    most_batch: int
    """Largest batch measured. There is no prediction beyond it."""
    form: str
    """The terms of D in words: `s + c/AN`, `c/AN + e·AN` or `s + c/AN + e·AN`."""

    def throughput(self, partitions: int, batch: int) -> float:
        """Units of work per second. ValueError for a batch larger than any measured."""
        if batch > self.most_batch:
            raise ValueError(
                f"batch {batch} is beyond {self.most_batch}, the largest that was measured: measure it instead"
            )
        return table_throughput(self.terms, self.processes, partitions, batch)


def table_throughput(terms: DemandTerms, processes: int, partitions: int, batch: int) -> float:
    """Units of work per second of a closed network with these terms."""
    demand = terms.latch_seconds(batch)
    state = latch_state(processes, demand / terms.think_seconds(batch), partitions)
    return float(state.held[0]) / demand


FORMS: Mapping[str, tuple[bool, bool]] = {
    "s + c/AN": (True, False),
    "c/AN + e·AN": (False, True),
    "s + c/AN + e·AN": (True, True),
}
"""Form of D → whether it has the terms s and e."""


def fit_partitions(cells: Sequence[TableCell], processes: int) -> PartitionFit:
    """The terms of a table, in the form that the data choose. ValueError with fewer than LEAST_CELLS cells.

    Four cells fit both two-term forms equally. Then s + c/AN is used, unless it makes the part per item longer than the part
    per batch: the fixed part of a critical section is the longer one, so a cost that grows with the batch explains it better.
    """
    if len(cells) < LEAST_CELLS:
        raise ValueError(
            f"{len(cells)} cells cannot tell four terms: measure at least {LEAST_CELLS}, two batches × two partitions"
        )
    if len({cell.batch for cell in cells}) < 2 or len({cell.partitions for cell in cells}) < 2:
        raise ValueError("the table varies only one of partitions and batch: measure at least two of each")
    plain, grown = _fit(cells, processes, "s + c/AN"), _fit(cells, processes, "c/AN + e·AN")
    if len(cells) == LEAST_CELLS:
        return grown if plain.terms.per_item > plain.terms.per_batch else plain
    best = min((plain, grown), key=lambda fit: fit.error)
    if len(cells) > LEAST_CELLS + 1:
        full = _fit(cells, processes, "s + c/AN + e·AN")
        best = min((best, full), key=lambda fit: fit.error)
    return plain if plain.error * MOST_WORTH <= best.error else best


def _fit(cells: Sequence[TableCell], processes: int, form: str) -> PartitionFit:
    with_item, with_growth = FORMS[form]
    partitions = np.array([float(cell.partitions) for cell in cells])
    measured = np.log([cell.throughput for cell in cells])

    def terms(values: Array) -> DemandTerms:
        think, refill, fixed, *rest = (float(value) for value in values)
        return DemandTerms(think, refill, rest.pop(0) if with_item else 0.0, fixed, rest.pop(0) if with_growth else 0.0)

    def residuals(values: Array) -> Array:
        own = terms(values)
        demand = np.array([own.latch_seconds(cell.batch) for cell in cells])
        think = np.array([own.think_seconds(cell.batch) for cell in cells])
        apart: Array = np.log(latch_state(processes, demand / think, partitions).held / demand) - measured
        return apart

    best = max(cells, key=lambda cell: cell.throughput).throughput
    worst = min(cells, key=lambda cell: cell.throughput).throughput
    start = [processes / best, processes / best, 1 / worst]
    start += [0.3 / best] * with_item + [0.03 / best] * with_growth
    values, left = fit_positive(residuals, start)
    freedom = len(cells) - len(start)
    error = sqrt(float(left @ left) / freedom) if freedom > 0 else 0.0
    return PartitionFit(terms(values), processes, error, len(cells), max(cell.batch for cell in cells), form)
