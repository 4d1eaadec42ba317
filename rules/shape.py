"""The shape of the miss locations: shares of the sleeps by the code that held the latch, and what such a shape means.

Parent gets pass through three locations each, so their presence means nothing; only the shares say something.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from collectors.model import ROW_CACHE_LATCH, number
from rules.scene import MINIMUM_SLEEPS, Scene

FIND_OBJ, REGET, DEQUEUE, SUBORDINATE = "kqrpre: find obj", "kqreqd: reget", "kqreqd", "kqrso"


@dataclass(frozen=True, slots=True)
class Shape:
    """Holder-side sleeps by location, most first, and the fingerprint they form (None on too few sleeps)."""

    total: float
    sleeps: Mapping[str, float]
    fingerprint: str | None
    meaning: str


def shape_of(scene: Scene) -> Shape | None:
    """The shape of the row cache latch's sleeps, or None when no location has any or v$latch_misses is missing."""
    sleeps = {
        str(row.get("location")): number(row.get("sleep_count")) or 0.0
        for row in scene.delta.rows("v$latch_misses")
        if row.get("parent_name") == ROW_CACHE_LATCH
    }
    total = sum(sleeps.values())
    if not total:
        return None
    ordered = dict(sorted(sleeps.items(), key=lambda item: (-item[1], item[0])))
    fingerprint, meaning = _fingerprint({place: held / total for place, held in ordered.items()}, total)
    return Shape(total, ordered, fingerprint, meaning)


def _fingerprint(shares: Mapping[str, float], total: float) -> tuple[str | None, str]:
    if total < MINIMUM_SLEEPS:
        return None, f"too few sleeps for a shape, at least {MINIMUM_SLEEPS} are needed"
    everyday = [shares.get(place, 0.0) for place in (FIND_OBJ, REGET, DEQUEUE)]
    if shares.get(FIND_OBJ, 0.0) >= 0.7:
        return "chain", "holders search for the entry: a long list is walked under the latch"
    if shares.get(SUBORDINATE, 0.0) >= 0.25:
        return "subordinate", "subordinate entries are searched, as for histograms and grants"
    if all(0.25 <= share <= 0.42 for share in everyday):
        return "volume", "the three latch gets of a parent get share the sleeps: sheer volume"
    if shares.get(REGET, 0.0) >= 0.35 and shares.get(FIND_OBJ, 0.0) <= 0.35:
        return "normal", "the ordinary mix of an ordinary load"
    return "mixed", "no single shape"
