"""verified(): whether a change ended a trouble: sleeps fell beyond noise, and the work went on."""

from collections.abc import Sequence
from typing import Literal

from rules.cause import Cause
from rules.comparison.compare import WORK
from rules.comparison.model import ChangeVerification, Comparison, FigureChange, NotVerified
from rules.context import MINIMUM_SLEEPS
from rules.formatting import count, percent, rough, whole_percent
from rules.model import Surface

WORK_GOES_ON = 0.5
"""At least this share of the work before must still be done after."""
EXPECTED = 20.0
"""At the rate before, at least this many sleeps must be due after. Otherwise their absence means nothing."""
SLEEPS: dict[Surface, Sequence[str]] = {
    "latch": ("child_sleeps", "latch_sleeps"),
    "mutex": ("mutex_sleeps",),
    "lock": ("lock_waits",),
    "result-cache": ("result_cache_sleeps",),
}
"""What to check on each surface, the closest to the cache first."""
ASKING = {"dc_rollback_segments": "transactions", "dc_profiles": "logons"}
"""The work that uses a cache, where it is not any statement."""


def verified(comparison: Comparison | None, cause: Cause) -> ChangeVerification | NotVerified:
    """Whether a trouble of the cause ended because of a change mark; `comparison` is around that mark."""

    def open_because(
        reason: Literal["no data after", "too few events", "the load went too", "sleeps did not fall"], because: str
    ) -> NotVerified:
        return NotVerified(cause=cause.id, reason=reason, because=because)

    sleeps = None if comparison is None else _sleeps(comparison, cause)
    if comparison is None or sleeps is None or sleeps.counted_after is None:
        return open_because("no data after", f"how the sleeps changed is unknown{_unknown(comparison, sleeps)}")
    if not sleeps.counted_before or sleeps.counted_before < MINIMUM_SLEEPS:
        slept = "unknown" if sleeps.counted_before is None else count(sleeps.counted_before)
        return open_because("too few events", f"{slept} {sleeps.title} before, at least {MINIMUM_SLEEPS} are needed")
    gone = _load_that_went(comparison, cause)
    if gone is not None:
        return open_because("the load went too", gone)
    if sleeps.before is None or sleeps.after is None:
        return open_because("no data after", f"there are no sleeps per piece of work: {sleeps.why}")
    if (sleeps.due_after or 0.0) < EXPECTED:
        due = f"only {rough(sleeps.due_after or 0.0)} {sleeps.title} were due after"
        return open_because("too few events", f"{due}; wait until more work is done")
    if sleeps.verdict != "changed" or sleeps.direction != "fell":
        return open_because("sleeps did not fall", sleeps.sentence)
    return ChangeVerification(
        cause=cause.id, because=f"{sleeps.sentence} {_work_words(comparison, cause)}", change=sleeps
    )


def _unknown(comparison: Comparison | None, sleeps: FigureChange | None) -> str:
    if comparison is not None and not comparison.comparable:
        return ": latches guard the row cache on one side and mutexes on the other"
    return f": {sleeps.why}" if sleeps is not None and sleeps.why else ": nothing was read after the change"


def _sleeps(comparison: Comparison, cause: Cause) -> FigureChange | None:
    """The sleeps of the cause on the surface where it slept most before; those of its own child if it is known."""
    changes = [_of_surface(comparison, cause, surface) for surface in cause.surfaces]
    known = [change for change in changes if change is not None]
    return max(known, key=lambda change: change.counted_before or 0.0, default=None)


def _of_surface(comparison: Comparison, cause: Cause, surface: Surface) -> FigureChange | None:
    for name in SLEEPS[surface]:
        change = comparison.find(name)
        own = change is not None and (change.of is None or bool(set(change.of.split("+")) & set(cause.caches)))
        if change is not None and own and change.verdict != "cannot tell":
            return change
    return comparison.find(SLEEPS[surface][-1])


def _asked(cause: Cause) -> list[str]:
    """The kinds of work that must have gone on for this cause."""
    return list(dict.fromkeys(ASKING[name] for name in cause.caches if name in ASKING))


def _load(comparison: Comparison, cause: Cause) -> list[tuple[str, float, float]]:
    """Work per second before and after: what uses the cause's caches, and the first general measure that both sides have."""
    before, after = comparison.before.work, comparison.after.work
    general = [name for name in WORK if before.get(name) and name in after][:1]
    names = dict.fromkeys([*(name for name in _asked(cause) if before.get(name) and name in after), *general])
    return [(name, before[name], after[name]) for name in names]


def _load_that_went(comparison: Comparison, cause: Cause) -> str | None:
    load = _load(comparison, cause)
    if not load:
        return "the amount of work is not known on both sides"
    for name, before, after in load:
        if after < WORK_GOES_ON * before:
            words = name.replace("_", " ")
            return f"{words} fell from {rough(before)} to {rough(after)} per second, to {percent(after / before)}"
    return None


def _work_words(comparison: Comparison, cause: Cause) -> str:
    words = [
        f"{name.replace('_', ' ')} at {whole_percent(after / before)}"
        for name, before, after in _load(comparison, cause)
    ]
    return f"The work went on: {' and '.join(words)} of before."
