"""A change of a latch's load, and how far a model of counters reaches."""

from dataclasses import dataclass, replace
from math import inf

from rules.contention.calibration import LatchModel
from rules.contention.readings import NotPredictable

FARTHEST = 5.0
"""Beyond this factor of the observed gets or processes there is no prediction."""
OF_A_REMEDY = (
    "The prediction beside a remedy may go further, because it takes the hold that was measured on the other children"
)
SLACK = 1 + 1e-9
"""Tolerance, so that five eighths over an eighth is not more than five."""
FARTHEST_SPLIT = 16
"""Beyond this factor of the latches there is no prediction. The emulator tested splits up to it."""


@dataclass(frozen=True, slots=True)
class LoadChange:
    """The change. Any field left alone stays as it is."""

    gets: float = 1.0
    """Gets per unit of work, as a factor: 0.2 after a fall of 80 %."""
    hold: float = 1.0
    """Hold time as a factor."""
    hold_seconds: float | None = None
    """Hold time itself, if it is known from elsewhere. Then `hold` is left alone."""
    latches: int | None = None
    processes: int | None = None
    speed: float | None = None
    """h(N) at the new number of processes."""
    hottest: float | None = None
    """Share of gets of the most wanted latch after a split; even without it."""
    gets_spread: float = 0.0
    """Standard deviation of ln gets, if the factor is a guess."""
    hold_spread: float = 0.0
    """The same for the hold."""


def in_effect(model: LatchModel, change: LoadChange) -> LoadChange:
    """The change without anything that is so already; `LoadChange()` if nothing is left. NotPredictable beyond the limits."""
    _within_reach(model, change)
    return replace(
        change,
        latches=None if change.latches == model.latches else change.latches,
        processes=None if change.processes == model.processes else change.processes,
        speed=None if change.speed == model.speed else change.speed,
        hottest=None if change.hottest == 1 / (change.latches or model.latches) else change.hottest,
    )


def loads_more(model: LatchModel, change: LoadChange) -> bool:
    """Whether the change increases the load of the latch."""
    return (
        change.gets > 1
        or change.hold > 1
        or (change.processes or 0) > model.processes
        or (change.latches or inf) < model.latches
    )


def _within_reach(model: LatchModel, change: LoadChange) -> None:
    """NotPredictable if the change is beyond what a model of counters can predict."""
    if min(change.gets, change.hold) <= 0:
        raise NotPredictable("gets and hold are factors above 0")
    known = "" if change.hold >= 1 / FARTHEST else f". {OF_A_REMEDY}"
    for what, factor in (("hold", change.hold), (_load_in_words(change), change.gets * change.hold)):
        if not 1 / FARTHEST <= factor * SLACK <= FARTHEST * SLACK**2:
            raise NotPredictable(
                f"{what} × {factor:g} is beyond ×{FARTHEST:g} of what was observed: "
                f"change it in steps and measure between{known}"
            )
    latches = change.latches or model.latches
    if not model.latches / FARTHEST_SPLIT <= latches <= model.latches * FARTHEST_SPLIT:
        raise NotPredictable(
            f"{latches} latches in place of {model.latches} are beyond ×{FARTHEST_SPLIT}, the most that was tested: "
            "split in steps and measure between"
        )
    _enough_processors(model, change.processes or model.processes)


def _load_in_words(change: LoadChange) -> str:
    """The load is gets times hold. The queue depends on nothing else of either."""
    return "gets" if change.hold == 1 else "the load (gets by hold)"


def _enough_processors(model: LatchModel, processes: int) -> None:
    if processes < 2:
        raise NotPredictable("one session alone has no collisions: there is nothing to predict")
    if processes > FARTHEST * model.processes:
        raise NotPredictable(
            f"{processes} processes are more than ×{FARTHEST:g} of the {model.processes} observed: "
            "add them in steps and measure between"
        )
    if processes > model.processes and model.processors is not None and processes > model.processors:
        raise NotPredictable(
            f"{processes} processes are more than the {model.processors} processors: "
            "the rest wait for a processor, which this model does not cover"
        )
