"""Where sessions wait, and what the holder does meanwhile: child latch, mutex location, miss location."""

from collections.abc import Iterable, Mapping

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LATCH, number
from rules.chain import ChainLink, bars_of
from rules.context import SignalContext
from rules.explanation.report import TO_NAME_IT
from rules.formatting import function_of, part_of, sentence
from rules.miss_locations import mutex_shape_of, shape_of
from rules.model import Finding, Surface

NEARLY_ALL, MOST = 0.9, 0.5
WHOLE_LATCH = "v$latch_misses does not separate children, so these are shares over the whole latch."
EVERY_LOOKUP = "Every look-up by key passes here. The place shows that look-ups sleep, not which cause makes them."
LOCATIONS_SQL = (
    "select location, sleep_count\n  from v$latch_misses where parent_name = '{}'\n order by sleep_count desc"
)


def place_link(context: SignalContext, surface: Surface) -> ChainLink | None:
    """The child latch with most of the sleeps, or the place where sessions sleep for a mutex."""
    if surface == "latch":
        return _child_link(context)
    if surface == "mutex":
        return _mutex_link(context)
    return None


def _child_link(context: SignalContext) -> ChainLink | None:
    child, total = context.hot_child, context.children_sleeps
    if child is None or not total:
        return _unknown_child(context)
    sleeps = context.delta.by_number("v$latch_children", "child#", "sleeps")
    share = sleeps.get(child, 0.0) / total
    return ChainLink(
        kind="place",
        verb=f"{_how_many(share)} on",
        name=f"child latch {child}",
        code=False,
        value=share,
        unit="ratio",
        of="sleeps",
        numerator=sleeps.get(child, 0.0),
        denominator=total,
        counted="sleeps",
        bars=bars_of({f"child {number}": slept for number, slept in sleeps.items()}, total, (f"child {child}",)),
        measured=f"Child {child} has {part_of(sleeps.get(child, 0.0), total)} sleeps.",
        views=("v$latch_children",),
        sql="select child#, gets, misses, sleeps\n  from v$latch_children where name = 'row cache objects'\n"
        " order by sleeps desc",
    )


def _unknown_child(context: SignalContext) -> ChainLink | None:
    """The link for an unknown child. None if no child slept."""
    if context.children and context.children_sleeps is not None:
        return None
    why, way_out = "a report prints the latch as a whole", TO_NAME_IT
    if not context.printed:
        unknown = context.why_unknown("v$latch_children", "sleeps")
        why, way_out = unknown.why, unknown.way_out
    return ChainLink(
        kind="place",
        verb="on",
        name="an unknown child latch",
        code=False,
        value=None,
        unit="ratio",
        of="sleeps",
        measured=f"The hot child latch is unknown: {why}.",
        views=("v$latch_children",),
        certain=False,
        unknown=f"which child latch: {why}",
        way_out=way_out,
    )


def _mutex_link(context: SignalContext) -> ChainLink | None:
    shape = mutex_shape_of(context)
    if shape is None:
        return None
    rows = context.delta.rows("v$mutex_sleep")
    places = summed((str(row.get("location")), number(row.get("sleeps")) or 0.0) for row in rows)
    place, slept = next(iter(places.items()))
    everyday = shape.fingerprint in (None, "normal")
    return ChainLink(
        kind="place",
        verb="while looking up, in" if function_of(place) in ("kqrpre", "kqrget") else "in",
        name=place,
        code=True,
        value=slept / shape.total,
        unit="ratio",
        of="sleeps",
        numerator=slept,
        denominator=shape.total,
        counted="sleeps",
        bars=bars_of(places, shape.total, (place,)),
        measured=f"{part_of(slept, shape.total)} sleeps are here. {sentence(shape.meaning)}.",
        views=("v$mutex_sleep",),
        caveat=EVERY_LOOKUP if everyday else None,
        sql=None
        if context.printed
        else "select location, sleeps, wait_time / 1e6 seconds\n  from v$mutex_sleep where mutex_type = 'Row Cache'\n"
        " order by sleeps desc",
    )


def holder_link(context: SignalContext, surface: Surface, top: Finding | None) -> ChainLink | None:
    """What the holder of a latch does while others sleep. Mutexes show only where sessions sleep, which the place has already."""
    if surface not in ("latch", "result-cache"):
        return None
    latch = ROW_CACHE_LATCH if surface == "latch" else RESULT_CACHE_LATCH
    rows = [row for row in context.delta.rows("v$latch_misses") if row.get("parent_name") == latch]
    places = summed((str(row.get("location")), number(row.get("sleep_count")) or 0.0) for row in rows)
    total = sum(places.values())
    if not total:
        return None
    shape = shape_of(context) if surface == "latch" else None
    place, slept = next(iter(places.items()))
    signal = "share_of_holders" if surface == "latch" else "share_of_result_cache_holders"
    sign = top.sign(signal) if top else None
    return ChainLink(
        kind="holder",
        verb="held while searching, in" if shape and shape.fingerprint == "chain" else "held most often in",
        name=place,
        code=True,
        value=slept / total,
        unit="ratio",
        of="holders",
        numerator=slept,
        denominator=total,
        counted="sleeps",
        usual=sign.usual if sign else None,
        bound=sign.bound if sign else None,
        bars=bars_of(places, total, (place,)),
        measured=f"{part_of(slept, total)} sleeps in v$latch_misses had a holder here."
        + (f" {sentence(shape.meaning)}." if shape else ""),
        views=("v$latch_misses",),
        caveat=WHOLE_LATCH if surface == "latch" else None,
        sql=None if context.printed else LOCATIONS_SQL.format(latch),
    )


def summed(pairs: Iterable[tuple[str, float]]) -> Mapping[str, float]:
    """Values by name, the largest first."""
    sums: dict[str, float] = {}
    for name, value in pairs:
        sums[name] = sums.get(name, 0.0) + value
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))


def _how_many(share: float) -> str:
    return "nearly all" if share >= NEARLY_ALL else "mostly" if share >= MOST else "most often"
