"""The shape of the miss locations: shares of the sleeps by code location, and the meaning of such a shape.

A parent get passes through three locations, so their presence means nothing; only the shares do. A latch shows
who held it and who waited. A mutex shows only where sessions slept, in a function whose number changes with the release.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from collectors.model import ROW_CACHE_LATCH, Row, Value, number
from rules.context import MINIMUM_SLEEPS, SignalContext
from rules.formatting import function_of
from rules.model import Evidence, Finding

FIND_OBJ, REGET, DEQUEUE, SUBORDINATE = "kqrpre: find obj", "kqreqd: reget", "kqreqd", "kqrso"
SUBORDINATE_FUNCTIONS = ("kqrso", "kqrsfd", "kqrsrd", "kqrssc")
CHANGING_FUNCTIONS = ("kqrpup", "kqrcmt", "kqrpfl")
CLUSTER_FUNCTIONS = ("kqrigt", "kqrGetClusterLock")
EVERYDAY_FUNCTIONS = ("kqrpre", "kqreqd", "kqrget")
"""Where look-ups by key sleep, whatever makes them."""

Shares = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LocationShape:
    """Sleeps by location, most first, and the fingerprint they form (None with too few sleeps)."""

    total: float
    sleeps: Shares
    fingerprint: str | None
    meaning: str


def shape_of(context: SignalContext) -> LocationShape | None:
    """The shape of the row cache latch's sleeps. None if no location has any or v$latch_misses is missing."""
    rows = [row for row in context.delta.rows("v$latch_misses") if row.get("parent_name") == ROW_CACHE_LATCH]
    held, waited = (_sleeps(rows, str, column) for column in ("sleep_count", "wtr_slp_count"))
    return _shaped(held, lambda shares: _latch_fingerprint(shares, _shares(waited)))


def mutex_shape_of(context: SignalContext) -> LocationShape | None:
    """The shape of the row cache mutex sleeps by function. None if no session slept or v$mutex_sleep is missing."""
    rows = context.delta.rows("v$mutex_sleep")
    return _shaped(_sleeps(rows, lambda location: function_of(str(location)), "sleeps"), _mutex_fingerprint)


def merely_fits(finding: Finding, sign: Evidence) -> bool:
    """Whether a sign is the usual place of mutex sleeps: elsewhere it would speak against the cause, there it points to none."""
    return sign.signal == "share_of_mutex_sleeps" and finding.location in EVERYDAY_FUNCTIONS


def _sleeps(rows: Iterable[Row], named: Callable[[Value], str], column: str) -> Shares:
    sleeps: dict[str, float] = defaultdict(float)
    for row in rows:
        sleeps[named(row.get("location"))] += number(row.get(column)) or 0.0
    return sleeps


def _shares(sleeps: Shares) -> Shares:
    """Shares of the whole; empty when there is nothing to share."""
    total = sum(sleeps.values())
    return {location: slept / total for location, slept in sleeps.items()} if total else {}


def _shaped(sleeps: Shares, fingerprint: Callable[[Shares], tuple[str, str]]) -> LocationShape | None:
    total = sum(sleeps.values())
    if not total:
        return None
    ordered = dict(sorted(sleeps.items(), key=lambda item: (-item[1], item[0])))
    if total < MINIMUM_SLEEPS:
        return LocationShape(total, ordered, None, f"too few sleeps for a shape, at least {MINIMUM_SLEEPS} are needed")
    return LocationShape(total, ordered, *fingerprint(_shares(ordered)))


def _of(shares: Shares, functions: Iterable[str]) -> float:
    return sum(share for location, share in shares.items() if location.startswith(tuple(functions)))


def _everyday(shares: Shares) -> list[float]:
    """Shares of the three latch gets of a parent get."""
    return [shares.get(location, 0.0) for location in (FIND_OBJ, REGET, DEQUEUE)]


def _even(shares: Shares) -> bool:
    return all(0.25 <= share <= 0.42 for share in _everyday(shares))


def _latch_fingerprint(held: Shares, waited: Shares) -> tuple[str, str]:
    find, reget, _ = _everyday(held)
    if _of(held, CLUSTER_FUNCTIONS) >= 0.5:
        return "cluster", "holders wait for other instances: entries are taken from instance to instance"
    if find >= 0.7:
        return "chain", "holders search for the entry: a long list is walked under the latch"
    if held.get(SUBORDINATE, 0.0) >= 0.25 and (not waited or waited.get(SUBORDINATE, 0.0) >= 0.25):
        return "subordinate", "subordinate entries are searched, as for histograms and grants"
    if _of(held, CHANGING_FUNCTIONS) >= 0.05:
        return "modification", "entries are changed, committed or flushed, as by DDL, sequences and undo segments"
    if _even(held) and (not waited or _even(waited)):
        return "volume", "the three latch gets of a parent get share the sleeps: sheer volume"
    if 0.4 <= find <= 0.65 and reget >= 0.3 and waited.get(FIND_OBJ, 0.0) >= 0.85:
        return "overload", "as on a host that could not keep up: look at the host and at parsing first"
    if reget >= 0.35 and find <= 0.35:
        return "normal", "the ordinary mix of an ordinary load"
    return "mixed", "no single shape"


def _mutex_fingerprint(slept: Shares) -> tuple[str, str]:
    if _of(slept, CLUSTER_FUNCTIONS) >= 0.5:
        return "cluster", "sessions sleep for entries that other instances have"
    if _of(slept, SUBORDINATE_FUNCTIONS) >= 0.25:
        return "subordinate", "subordinate entries are searched, as for histograms and grants"
    if _of(slept, CHANGING_FUNCTIONS) >= 0.05:
        return "modification", "entries are changed, committed or flushed, as by DDL, sequences and undo segments"
    if _of(slept, EVERYDAY_FUNCTIONS) >= 0.75:
        return (
            "normal",
            "look-ups by key, the usual place, which points to no cause among those that look up",
        )
    return "mixed", "no single shape"
