"""What an interval counted of a latch, as the model takes it, and how it is read from a Delta.

Sessions are the average active ones, DB time per second. Mutexes have no counterpart: v$mutex_sleep counts sleeps and their
time but no gets and no misses, so their hold, utilisation and load are unknown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

from collectors.model import Missing, Row, number
from rules.context import SignalContext

ENOUGH = 10
"""From this many misses on, a child's hold is more than chance."""
MUTEXES = (
    "mutexes guard the row cache here: v$mutex_sleep counts their sleeps and the time slept, but no gets and no misses, "
    "so hold, load and the work behind them are unknown; compare before and after a change instead"
)
SPREAD, SPREAD_WORTH = 0.22, 2.0
"""Prior scatter of ln hold between healthy children, and how many children it counts for."""


class NotPredictable(Exception):
    """No prediction is possible. The message says in one sentence what is missing or why."""


@dataclass(frozen=True, slots=True)
class LatchCounts:
    """Changes of the counters of `latches` identical latches over one interval. One child latch is one latch."""

    processes: float
    """Sessions that use the latch at once, on average."""
    seconds: float
    gets: float
    misses: float
    sleeps: float = 0.0
    spin_gets: float | None = None
    wait_seconds: float = 0.0
    """Time spent asleep. Full spins before a sleep are not included."""
    latches: int = 1
    speed: float = 1.0
    """h(N): speed of one process at N processes without contention, as a share of its speed alone."""
    works: float | None = None
    """Units of application work done. Without it a get is a unit of work."""

    @property
    def population(self) -> int:
        """Processes as a whole number of customers of the queue."""
        return max(round(self.processes), 1)

    @property
    def gets_per_second(self) -> float:
        """λ."""
        return self.gets / self.seconds

    @property
    def miss_ratio(self) -> float:
        """p: misses per get; 0 without gets."""
        return self.misses / self.gets if self.gets else 0.0

    @property
    def sleep_ratio(self) -> float:
        """k: sleeps per miss; 0 without misses."""
        return self.sleeps / self.misses if self.misses else 0.0

    @property
    def sleeps_per_get(self) -> float:
        """Sleeps per get; 0 without gets."""
        return self.sleeps / self.gets if self.gets else 0.0

    @property
    def wait_per_sleep(self) -> float:
        """Seconds of one sleep; 0 without sleeps."""
        return self.wait_seconds / self.sleeps if self.sleeps else 0.0


def child_named(context: SignalContext, cache: str | None) -> int:
    """The child that guards a cache, or the one with the most sleeps. NotPredictable if there is none."""
    if context.mechanism == "mutex":  # if a release still lists latch rows, sessions do not wait for them
        raise NotPredictable(MUTEXES)
    if not context.children:
        raise NotPredictable(_no_children(context))
    if cache is None:
        untold = [row.get("child#") for row in context.children if number(row.get("sleeps")) is None]
        if untold:
            raise NotPredictable(
                f"the child with the most sleeps is unknown, because the sleeps of child {untold[0]} are missing: "
                "name a cache (`--cache`), or take another interval"
            )
        busiest = max(
            context.children, key=lambda row: (number(row.get("sleeps")) or 0.0, number(row.get("misses")) or 0.0)
        )
        return int(busiest["child#"])  # type: ignore[arg-type]
    guarding = context.map.guarding((cache,))
    if not guarding:
        known = sorted({guarded.name for guarded in context.map.children.values() if guarded.name})
        raise NotPredictable(f"no child latch is known to guard {cache}; the caches are: {', '.join(known) or 'none'}")
    misses = {row.get("child#"): number(row.get("misses")) or 0.0 for row in context.children}
    return max(guarding, key=lambda child: (misses.get(child, 0.0), -child))


def _no_children(context: SignalContext) -> str:
    if context.delta.source == "report":
        return (
            "a report prints the latch as a whole, not its children: take a capture with `latchscope script` or "
            "`latchscope capture` while the load lasts"
        )
    reading = context.delta.read("v$latch_children")
    if isinstance(reading, Missing):
        return f"v$latch_children was not read ({reading.why}): {reading.way_out}"
    return "v$latch_children has no row of this latch in this interval: take another capture while the load lasts"


def counts_of(context: SignalContext, child: int) -> LatchCounts:
    """What an interval counted on a child. NotPredictable if figures are missing or do not cover an interval."""
    basis = context.delta.basis
    if basis.kind != "interval" or not basis.seconds:
        raise NotPredictable(
            "these are totals since the instance start, whose load changed all the time: take an interval"
        )
    row = next((row for row in context.children if row.get("child#") == child), None)
    if row is None:
        raise NotPredictable(f"there is no child {child}")
    gets, misses, sleeps = (number(row.get(name)) for name in ("gets", "misses", "sleeps"))
    if gets is None or misses is None or sleeps is None:
        raise NotPredictable(f"gets, misses or sleeps of child {child} are not known in this interval")
    return LatchCounts(
        active_sessions(context),
        basis.seconds,
        gets,
        misses,
        sleeps,
        number(row.get("spin_gets")),
        (number(row.get("wait_time")) or 0.0) / 1e6,
    )


def active_sessions(context: SignalContext) -> float:
    """Average active sessions: DB time per second. NotPredictable if it is unknown."""
    if context.inside_pdb:
        raise NotPredictable("inside a PDB only its own sessions are known, and the row cache is that of the whole CDB")
    db_time = context.seconds_of("DB time")
    if db_time is None or not context.delta.basis.seconds:
        raise NotPredictable("DB time is missing, so the number of active sessions is unknown: grant v$sys_time_model")
    return db_time / context.delta.basis.seconds


def processors(context: SignalContext) -> int | None:
    """Processors of the host, from v$osstat."""
    return None if context.cpus is None else round(context.cpus)


def ordinary_hold(context: SignalContext, child: int) -> tuple[float, float]:
    """Seconds per hold of the other children, and the scatter of its logarithm. NotPredictable if there is none.

    At light load p = λ·S·(N − 1)/N, so S is the sum of misses over the sum of gets·λ, of children that few gets wait for.
    """
    seconds, sessions = context.delta.basis.seconds or 0.0, max(active_sessions(context), 1.1)
    others = [pair for row in context.children if row.get("child#") != child and (pair := _light(row, seconds))]
    misses = sum(missed for _, missed in others)
    if misses < ENOUGH:
        raise NotPredictable(
            "the other children had hardly any misses, so the ordinary hold is unknown: take a longer interval"
        )
    crowd = sessions / (sessions - 1)
    hold = misses / sum(gets * gets / seconds for gets, _ in others) * crowd
    return hold, _scatter(others, seconds, hold / crowd)


def _light(row: Row, seconds: float) -> tuple[float, float] | None:
    """Gets and misses of a healthy child."""
    gets, misses = number(row.get("gets")), number(row.get("misses"))
    if not gets or misses is None or not seconds or misses > 0.05 * gets:
        return None
    return gets, misses


def _scatter(others: Sequence[tuple[float, float]], seconds: float, hold: float) -> float:
    """Standard deviation of ln hold between children, without the noise of counting.

    Children count by their gets: one that is rarely used is held longer, because its lines are cold, so it is unlike a hot one.
    """
    telling = [
        (gets, missed, log(missed / gets / (gets / seconds) / hold)) for gets, missed in others if missed >= ENOUGH
    ]
    if not telling:
        return SPREAD
    weight = sum(gets for gets, _, _ in telling)
    over = sum(gets / weight * max(apart * apart - 1 / missed, 0.0) for gets, missed, apart in telling)
    worth = weight * weight / sum(gets * gets for gets, _, _ in telling) - 1
    return sqrt((SPREAD_WORTH * SPREAD**2 + worth * over) / (SPREAD_WORTH + worth))


def middle(least: float, most: float) -> tuple[float, float]:
    """The middle of a range of factors and its scatter, in logarithms. Every factor in the range is equally likely."""
    return exp((log(least) + log(most)) / 2), log(most / least) / sqrt(12)
