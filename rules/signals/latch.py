"""Signals of the row cache latch: whose sleeps they are, where holders are caught, how sleepers fare."""

from collections.abc import Mapping
from statistics import median

from collectors.model import ROW_CACHE_LATCH, Missing, Row, number
from rules.cache_map import why_not_inferred
from rules.context import MINIMUM_CACHE_GETS, MINIMUM_SLEEPS, Known, SignalContext, SignalValue, Unknown
from rules.formatting import count, part_of
from rules.signals import Subject, enough_sleeps, share, signal
from rules.signals.caches import all_dictionary_gets

PARENT_GET = ("kqrpre: find obj", "kqreqd: reget", "kqreqd")


def _total_sleeps(scene: SignalContext) -> SignalValue:
    """Sleeps of all children, or Unknown: not readable, or fewer than a share can be made of."""
    sleeps = scene.sum_of(scene.children, "sleeps")
    if sleeps is None:
        return scene.why_unknown("v$latch_children", "sleeps")
    return enough_sleeps(scene, sleeps, "v$latch_children")


@signal(unit="ratio", of="v$latch_children", surface="latch")
def share_of_sleeps(scene: SignalContext, subject: Subject) -> SignalValue:
    """Share of all row cache latch sleeps that fell on the children guarding the cause's caches."""
    total = _total_sleeps(scene)
    if isinstance(total, Unknown):
        return total
    if scene.hot is None:
        return _unmapped(scene)
    if isinstance(scene.delta.read("v$rowcache"), Missing):
        return scene.why_unknown("v$rowcache")
    own = set(scene.map.guarding(subject.caches))
    sleeps = sum(number(row.get("sleeps")) or 0.0 for row in scene.children if row.get("child#") in own)
    return share(Known(sleeps), total)


def _unmapped(scene: SignalContext) -> Unknown:
    missing = scene.why_unknown("x$kqrst")
    why = f"which cache child {scene.hot_child} guards is unknown: {missing.why}"
    if scene.sum_of(scene.children, "gets") is None:
        return Unknown("x$kqrst", f"{why}, and no child gets to infer it from", missing.way_out)
    return Unknown("x$kqrst", f"{why}, and {why_not_inferred(scene.delta)}", missing.way_out)


@signal(unit="ratio", of="v$latch_children", surface="latch")
def hottest_child_share_of_sleeps(scene: SignalContext, subject: Subject) -> SignalValue:
    """Share of all row cache latch sleeps that fell on one child: near 1 concentrated, below 0.5 diffuse."""
    total = _total_sleeps(scene)
    hottest = max((number(row.get("sleeps")) or 0.0 for row in scene.children), default=0.0)
    return share(Known(hottest), total)


@signal(unit="ratio", of="v$latch_misses", surface="latch")
def share_of_holders(scene: SignalContext, subject: Subject) -> SignalValue:
    """Share of row cache latch sleeps whose holder was at the location; over all children, for the view knows none."""
    rows = [row for row in scene.delta.rows("v$latch_misses") if row.get("parent_name") == ROW_CACHE_LATCH]
    total = scene.sum_of(rows, "sleep_count")
    if total is None:
        if not rows and not isinstance(scene.delta.read("v$latch_misses"), Missing):
            return enough_sleeps(scene, 0.0, "v$latch_misses")
        return scene.why_unknown("v$latch_misses", "sleep_count")
    here = sum(number(row.get("sleep_count")) or 0.0 for row in rows if row.get("location") == subject.location)
    return share(Known(here), enough_sleeps(scene, total, "v$latch_misses"))


@signal(unit="ratio", of="v$latch_children, v$rowcache", surface="latch")
def hold_anomaly_index(scene: SignalContext, subject: Subject) -> SignalValue:
    """Sleeps per dictionary get of the hot child, over the median of the other children with ≥ 1 % of the gets.

    Volume alone raises it to about the ratio of the get rates; hundreds mean that the latch is held for longer.
    """
    total = _total_sleeps(scene)
    if isinstance(total, Unknown):
        return total
    return _unmapped(scene) if scene.hot is None else hold_anomaly(scene, scene.hot.child)


def hold_anomaly(scene: SignalContext, child: int) -> SignalValue:
    """The hold anomaly index as if the given child were the hot one."""
    all_gets = all_dictionary_gets(scene)
    if isinstance(all_gets, Unknown):
        return all_gets
    hot, others = sleeps_and_gets(scene, child, all_gets.value)
    if hot is None or not hot[1]:
        return scene.why_unknown("v$rowcache", "gets")
    if not others:
        return Unknown("v$rowcache", "no other child has 1 % of the dictionary gets to compare with", scene.busier)
    # A child without a single sleep counts as one sleep, so the index is a lower bound then.
    usual = median(max(sleeps, 1.0) / gets for sleeps, gets in others.values())
    names = ", ".join(sorted(scene.map.name(child) for child in others))
    return Known(hot[0] / hot[1] / usual, f"those of {names} ({hot[0] / hot[1]:.3g} against {usual:.3g})")


def sleeps_and_gets(
    scene: SignalContext, hottest: int, all_gets: float
) -> tuple[tuple[float, float] | None, Mapping[int, tuple[float, float]]]:
    """Sleeps and dictionary gets of one child, and of every other child with at least 1 % of the gets."""
    pairs: dict[int, tuple[float, float]] = {}
    for row in scene.children:
        guarded = scene.map.children.get(int(number(row.get("child#")) or 0))
        gets = scene.sum_of(guarded.rows, "gets") if guarded else None
        if guarded and gets:
            pairs[guarded.child] = (number(row.get("sleeps")) or 0.0, gets)
    hot = pairs.pop(hottest, None)
    return hot, {child: pair for child, pair in pairs.items() if pair[1] >= 0.01 * all_gets}


def misses_per_get(scene: SignalContext, latch: Row) -> SignalValue:
    """Misses per get of a row of v$latch."""
    gets, misses = number(latch.get("gets")), number(latch.get("misses"))
    if gets is None or misses is None:
        return scene.why_unknown("v$latch", "misses")
    if gets < MINIMUM_CACHE_GETS:
        why = f"too few events: {count(gets)} latch gets, at least {count(MINIMUM_CACHE_GETS)} are needed"
        return Unknown("v$latch", why, scene.busier)
    return Known(misses / gets, part_of(misses, gets))


def sleeps_of_a_miss(scene: SignalContext, latch: Row) -> SignalValue:
    """Sleeps per miss of a row of v$latch."""
    sleeps, misses = number(latch.get("sleeps")), number(latch.get("misses"))
    if sleeps is None or misses is None:
        return scene.why_unknown("v$latch", "sleeps")
    if misses < MINIMUM_SLEEPS:
        why = f"too few events: {count(misses)} misses, at least {MINIMUM_SLEEPS} are needed"
        return Unknown("v$latch", why, scene.busier)
    return Known(sleeps / misses, part_of(sleeps, misses))


def time_of_a_sleep(scene: SignalContext, latch: Row) -> SignalValue:
    """Milliseconds per sleep of a row of v$latch."""
    waited, sleeps = number(latch.get("wait_time")), number(latch.get("sleeps"))
    if waited is None or sleeps is None:
        return scene.why_unknown("v$latch", "wait_time")
    enough = enough_sleeps(scene, sleeps, "v$latch")
    if isinstance(enough, Unknown):
        return enough
    return Known(waited / 1000 / sleeps, f"{waited / 1e6:,.1f} s in {count(sleeps)} sleeps")


@signal(unit="sleeps", of="v$latch", surface="latch")
def row_cache_sleeps(scene: SignalContext, subject: Subject) -> SignalValue:
    """Sleeps on the row cache latch."""
    sleeps = scene.latch.sleeps
    return scene.why_unknown("v$latch", "sleeps") if sleeps is None else Known(sleeps)


@signal(unit="ratio", of="v$latch", surface="latch")
def miss_ratio(scene: SignalContext, subject: Subject) -> SignalValue:
    """Misses per get of the row cache latch: how often it was busy at the first try."""
    return misses_per_get(scene, scene.latch_row)


@signal(unit="sleeps per miss", of="v$latch", surface="latch")
def sleeps_per_miss(scene: SignalContext, subject: Subject) -> SignalValue:
    """Sleeps per miss of the row cache latch: 0 means that spinning was always enough."""
    return sleeps_of_a_miss(scene, scene.latch_row)


@signal(unit="ms", of="v$latch", surface="latch")
def average_sleep(scene: SignalContext, subject: Subject) -> SignalValue:
    """Average time of one sleep on the row cache latch; far above 10 ms the host, not the latch, makes sessions wait."""
    return time_of_a_sleep(scene, scene.latch_row)


@signal(unit="ratio", of="v$latch", surface="latch")
def recurrent_sleep_ratio(scene: SignalContext, subject: Subject) -> SignalValue:
    """Share of sleeps that repeat an earlier one of the same get; above 0.3 the holder itself did not run."""
    repeated = scene.latch.recurrent_sleep_ratio
    if repeated is None:
        return scene.why_unknown("v$latch", "spin_gets")
    enough = enough_sleeps(scene, scene.latch.sleeps or 0.0, "v$latch")
    return enough if isinstance(enough, Unknown) else Known(repeated)


@signal(unit="ratio", of="v$latch_misses", surface="latch")
def evenness_of_holders(scene: SignalContext, subject: Subject) -> SignalValue:
    """Least share of the sleeps among the three locations of a parent get; near a third, sheer volume fills the latch."""
    each = [share_of_holders(scene, Subject(location=place)) for place in PARENT_GET]
    known = [one for one in each if isinstance(one, Known)]
    return min(known, key=lambda one: one.value) if len(known) == len(each) else each[0]


@signal(unit="ratio", of="v$latch_misses", surface="latch")
def share_of_changing_holders(scene: SignalContext, subject: Subject) -> SignalValue:
    """Share of the sleeps whose holder was changing, committing or flushing an entry (kqrpup, kqrcmt, kqrpfl)."""
    places = sorted(
        str(row.get("location"))
        for row in scene.delta.rows("v$latch_misses")
        if str(row.get("location")).startswith(("kqrpup", "kqrcmt", "kqrpfl"))
    )
    each = [share_of_holders(scene, Subject(location=place)) for place in places or ("kqrpup",)]
    known = [one for one in each if isinstance(one, Known)]
    if len(known) < len(each):
        return next(one for one in each if isinstance(one, Unknown))
    return Known(sum(one.value for one in known), "; ".join(one.derivation for one in known))
