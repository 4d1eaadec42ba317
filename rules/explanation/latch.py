"""The first steps of the walk where child latches guard the row cache: hot child → cache → v$rowcache → miss location."""

from collectors.model import Missing, number
from rules.cache_map import why_not_inferred
from rules.context import MINIMUM_SLEEPS, Known, SignalContext
from rules.explanation.report import guessed_cache, no_child
from rules.formatting import count, counted, exact, over, part_of, percent, times
from rules.miss_locations import shape_of
from rules.model import Figure, Step
from rules.signals import SIGNALS, Subject


def latch_steps(scene: SignalContext) -> list[Step | None]:
    """Hot child, cache, confirmation, miss location; None where there is nothing to say."""
    return [_hot_child(scene), _cache(scene), _confirmation(scene), _miss_location(scene)]


def _hot_child(scene: SignalContext) -> Step:
    total = scene.sum_of(scene.children, "sleeps")
    if total is None and scene.printed:
        return no_child(scene)
    if total is None:
        unknown = scene.why_unknown("v$latch_children", "sleeps")
        return Step(step="hot child", statement=f"Cannot tell which child is hot: {unknown.why}. {unknown.way_out}")
    if scene.hot_child is None:
        return Step(step="hot child", statement=f"No child of `row cache objects` slept {over(scene.delta.basis)}.")
    row = next(row for row in scene.children if row.get("child#") == scene.hot_child)
    sleeps = number(row.get("sleeps")) or 0.0
    share = sleeps / total
    latch = "" if row.get("latch#") is None else f" of latch# {row.get('latch#')}"
    few = "" if total >= MINIMUM_SLEEPS else f" Fewer than {MINIMUM_SLEEPS} sleeps mean nothing."
    return Step(
        step="hot child",
        statement=f"Child {scene.hot_child}{latch} (row cache objects) has {percent(share)} of the "
        f"sleeps: {part_of(sleeps, total)}, {over(scene.delta.basis)}.{few}",
        figures=(
            Figure(name="share of sleeps", value=share, unit="ratio", of="v$latch_children"),
            Figure(name="sleeps of the child", value=exact(sleeps), unit="sleeps", of="v$latch_children"),
            Figure(name="sleeps of all children", value=exact(total), unit="sleeps", of="v$latch_children"),
        ),
    )


def _cache(scene: SignalContext) -> Step | None:
    if scene.printed and not scene.children:
        return guessed_cache(scene)
    if scene.hot_child is None:
        return None
    guarded, names = scene.hot, scene.delta.read("v$rowcache")
    if guarded is None:
        kqrst = scene.why_unknown("x$kqrst")
        why = f"{kqrst.why}, and {why_not_inferred(scene.delta)}" if scene.latch.gets else kqrst.why
        told = f"Cannot tell which cache child {scene.hot_child} guards: {why}."
        guess = guessed_cache(scene) if scene.printed else Step(step="cache", statement=kqrst.way_out)
        return Step(step="cache", statement=f"{told} {guess.statement}", figures=guess.figures)
    parents = [one for one in guarded.caches if one.type == "PARENT"]
    subordinates = [one for one in guarded.caches if one.type != "PARENT"]
    told = " and ".join(f"cache# {one.cache_id} {one.parameter or '(name unknown)'}" for one in parents)
    below = (
        "parent only" if not subordinates else f"with {len(subordinates)} subordinate" + "s" * (len(subordinates) > 1)
    )
    how = {"READ": "read from x$kqrst of this instance", "INFERRED": "inferred from its gets by the load model"}
    statement = f"Child {guarded.child} → {told}, {below} ({how[guarded.identity.name]})."
    if isinstance(names, Missing):
        statement += f" Cannot tell which cache that is by name: {names.why}. {names.way_out}"
    figures = [Figure(name="cache id", value=one.cache_id, unit="", of="x$kqrst") for one in parents]
    return Step(step="cache", statement=statement + _check_of_map(scene), figures=tuple(figures))


def _check_of_map(scene: SignalContext) -> str:
    doubts = [str(one) for one in scene.map.disagreements if one.child == scene.hot_child]
    return f" But {doubts[0]}." if doubts else ""


def _confirmation(scene: SignalContext) -> Step | None:
    """The traffic of the hot child's caches in v$rowcache, or of the busiest cache when the child is not known."""
    total = scene.sum_of(scene.delta.rows("v$rowcache"), "gets")
    if not total:
        unknown = scene.why_unknown("v$rowcache", "gets")
        return Step(step="confirmation", statement=f"v$rowcache cannot confirm it: {unknown.why}. {unknown.way_out}")
    rows = scene.hot.rows if scene.hot else ()
    name = scene.hot.name if scene.hot else None
    if not rows or name is None:
        busiest = max(scene.delta.rows("v$rowcache"), key=lambda row: (number(row.get("gets")) or 0.0, str(row)))
        rows, name = (busiest,), f"{busiest.get('parameter')}, the busiest cache,"
    gets = scene.sum_of(rows, "gets")
    if gets is None:
        return Step(step="confirmation", statement=f"The gets of {name} cannot be told.")
    figures = [
        Figure(name="share of dictionary gets", value=gets / total, unit="ratio", of="v$rowcache"),
        Figure(name="gets", value=exact(gets), unit="gets", of="v$rowcache"),
    ]
    statement = (
        f"{name} had {counted(gets, 'gets')} = {percent(gets / total)} of {count(total)} {over(scene.delta.basis)}."
    )
    used = scene.sum_of(rows, "usage")
    if used is not None:
        statement += f" It holds {counted(used, 'entries')}."
        figures.append(Figure(name="entries used", value=exact(used), unit="entries", of="v$rowcache"))
    index = SIGNALS["hold_anomaly_index"].read(scene, Subject())
    if isinstance(index, Known):
        statement += f" Sleeps per get are {times(index.value)} {index.derivation}."
        figures.append(
            Figure(name="hold anomaly index", value=index.value, unit="ratio", of="v$latch_children, v$rowcache")
        )
    return Step(step="confirmation", statement=statement, figures=tuple(figures))


def _miss_location(scene: SignalContext) -> Step | None:
    shape = shape_of(scene)
    if shape is None:
        unknown = scene.why_unknown("v$latch_misses", "sleep_count")
        if isinstance(scene.delta.read("v$latch_misses"), Missing):
            return Step(step="miss location", statement=f"No miss locations: {unknown.why}. {unknown.way_out}")
        return None
    leading = list(shape.sleeps.items())[:3]
    shares = " / ".join(f"{place} {percent(held / shape.total, 2)}" for place, held in leading)
    named = f"{shape.fingerprint}: {shape.meaning}" if shape.fingerprint else shape.meaning
    return Step(
        step="miss location",
        statement=f"Holders by location: {shares} of {count(shape.total)} sleeps ({named}). "
        "v$latch_misses knows no children, so these are shares over the whole latch.",
        figures=tuple(
            Figure(name=place, value=held / shape.total, unit="ratio", of="v$latch_misses") for place, held in leading
        ),
    )
