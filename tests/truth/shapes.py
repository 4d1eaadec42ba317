"""Where sleeps are charged:

the places that held the latch and those that waited, by the kind of trouble. A look-up of a parent takes the latch three
times (find obj, kqreqd, reget), one of a subordinate once (kqrso).
"""

from dataclasses import dataclass

from tests.truth.dice import Dice

FIND, DEQUEUE, REGET, SUBORDINATE = "kqrpre: find obj", "kqreqd", "kqreqd: reget", "kqrso"
UPDATE, COMMIT, INIT, FREE = "kqrpup", "kqrcmt: while loop", "kqrpre: init complete", "kqrfrpo"


@dataclass(frozen=True, slots=True)
class Shape:
    """Weights by location of v$latch_misses, and by function of v$mutex_sleep."""

    holders: dict[str, float]
    waiters: dict[str, float]
    mutex: dict[str, float]


def normal(dice: Dice) -> Shape:
    """The picture in reports of ordinary systems: the reget holds, the search waits."""
    return Shape(
        {
            REGET: dice.between(0.5, 0.88),
            FIND: dice.between(0.08, 0.3),
            DEQUEUE: dice.between(0.02, 0.1),
            SUBORDINATE: 0.03,
        },
        {
            FIND: dice.between(0.6, 0.95),
            DEQUEUE: dice.between(0.02, 0.2),
            REGET: dice.between(0.02, 0.2),
            SUBORDINATE: 0.02,
        },
        _look_ups(dice),
    )


def volume(dice: Dice) -> Shape:
    """Sheer numbers: each of the three is charged equally often."""
    return Shape(
        {FIND: dice.about(0.40, 0.12), REGET: dice.about(0.3, 0.1), DEQUEUE: dice.about(0.3, 0.1), INIT: 1e-5},
        {FIND: dice.about(0.35, 0.1), REGET: dice.about(0.33, 0.06), DEQUEUE: dice.about(0.33, 0.06), INIT: 1e-5},
        _look_ups(dice),
    )


def long_search(dice: Dice) -> Shape:
    """Sessions walk a long list under the latch: the holder is searching."""
    found = dice.between(0.72, 0.93)
    rest = 1.0 - found
    return Shape(
        {FIND: found, REGET: rest * 0.7, DEQUEUE: rest * 0.3, UPDATE: 1e-6},
        {FIND: dice.about(0.42, 0.2), REGET: dice.about(0.3, 0.1), DEQUEUE: dice.about(0.28, 0.1)},
        _look_ups(dice),
    )


def subordinates(dice: Dice) -> Shape:
    """Look-ups of subordinate entries: histograms, grants."""
    sub = dice.between(0.3, 0.75)
    rest = 1.0 - sub
    return Shape(
        {SUBORDINATE: sub, REGET: rest * 0.55, FIND: rest * 0.35, DEQUEUE: rest * 0.1},
        {SUBORDINATE: sub * dice.between(0.7, 1.1), FIND: rest * 0.8, DEQUEUE: rest * 0.1, REGET: rest * 0.1},
        {"kqrsfd": sub, "kqrpre": rest * 0.7, "kqrssc": 0.1, "kqreqd": rest * 0.2},
    )


def changes(dice: Dice) -> Shape:
    """Changed entries: updates and commits of dirty entries beside the look-ups."""
    return Shape(
        {REGET: 0.45, FIND: 0.25, DEQUEUE: 0.1, UPDATE: dice.between(0.06, 0.2), COMMIT: dice.between(0.05, 0.2)},
        {FIND: 0.55, REGET: 0.15, DEQUEUE: 0.12, UPDATE: dice.between(0.03, 0.15), COMMIT: 0.02},
        {"kqrpre": 0.5, "kqreqd": 0.15, "kqrpup": dice.between(0.1, 0.3), "kqrcmt": dice.between(0.05, 0.15)},
    )


def reloads(dice: Dice) -> Shape:
    """Evicted entries that load again."""
    return Shape(
        {REGET: 0.42, FIND: 0.3, DEQUEUE: 0.08, INIT: dice.between(0.03, 0.12), FREE: dice.between(0.03, 0.12)},
        {FIND: 0.75, REGET: 0.08, DEQUEUE: 0.1, INIT: dice.between(0.02, 0.08)},
        {"kqrpre": 0.6, "kqrCreateUsingSecondaryKey": 0.1, "kqreqd": 0.2, "kqrsfd": 0.1},
    )


def _look_ups(dice: Dice) -> dict[str, float]:
    return {
        "kqrpre": dice.between(0.5, 0.9),
        "kqreqd": dice.between(0.05, 0.35),
        "kqrGetClusterLock": dice.between(0.005, 0.08),
        "kqrsfd": dice.between(0.002, 0.05),
    }
