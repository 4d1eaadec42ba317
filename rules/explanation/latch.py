"""The first steps of the walk where child latches guard the row cache: hot child → cache → v$rowcache → miss location."""

from collectors.model import Missing, number
from rules.cache_map import look_up, why_not_inferred
from rules.context import MINIMUM_SLEEPS, Known, SignalContext
from rules.explanation.report import guessed_cache, no_child
from rules.formatting import count, counted, exact, over, part_of, percent, sentence, times
from rules.miss_locations import shape_of
from rules.model import Figure, Step
from rules.signals import SIGNALS, Subject


def latch_steps(context: SignalContext) -> list[Step | None]:
    """Hot child, cache, confirmation, miss location. None if there is nothing to say."""
    return [_hot_child(context), _cache(context), _confirmation(context), _miss_location(context)]


def _hot_child(context: SignalContext) -> Step:
    total = context.children_sleeps
    if total is None and context.printed:
        return no_child(context)
    if total is None:
        unknown = context.why_unknown("v$latch_children", "sleeps")
        return Step(step="hot child", statement=f"Cannot tell which child is hot: {unknown.why}. {unknown.way_out}")
    if context.hot_child is None:
        return Step(step="hot child", statement=f"No child of `row cache objects` slept {over(context.delta.basis)}.")
    if total < MINIMUM_SLEEPS:
        few = (
            f"All children of `row cache objects` together slept {counted(total, 'times')} {over(context.delta.basis)}"
        )
        slept = Figure(name="sleeps of all children", value=exact(total), unit="sleeps", of="v$latch_children")
        return Step(step="hot child", statement=f"{few}, too few to tell a hot one.", figures=(slept,))
    row = next(row for row in context.children if row.get("child#") == context.hot_child)
    sleeps = number(row.get("sleeps")) or 0.0
    share = sleeps / total
    latch = "" if row.get("latch#") is None else f" of latch# {row.get('latch#')}"
    return Step(
        step="hot child",
        statement=f"Child {context.hot_child}{latch} (row cache objects) has {percent(share)} of the "
        f"sleeps: {part_of(sleeps, total)}, {over(context.delta.basis)}.{_to_name_it(context)}",
        figures=(
            Figure(name="share of sleeps", value=share, unit="ratio", of="v$latch_children"),
            Figure(name="sleeps of the child", value=exact(sleeps), unit="sleeps", of="v$latch_children"),
            Figure(name="sleeps of all children", value=exact(total), unit="sleeps", of="v$latch_children"),
        ),
    )


def _to_name_it(context: SignalContext) -> str:
    """How to learn the cache of the child that a report names."""
    if not context.printed or context.hot is not None or context.hot_child is None:
        return ""
    return f" To name its cache, {look_up(context.hot_child)}."


def _cache(context: SignalContext) -> Step | None:
    if context.printed and not context.children:
        return guessed_cache(context)
    if context.hot_child is None:
        return None
    guarded, names = context.hot, context.delta.read("v$rowcache")
    if guarded is None:
        kqrst = context.why_unknown("x$kqrst")
        why = f"{kqrst.why}, and {why_not_inferred(context.delta)}" if context.latch.gets else kqrst.why
        unknown = f"Cannot tell which cache child {context.hot_child} guards: {why}."
        guess = guessed_cache(context) if context.printed else Step(step="cache", statement=kqrst.way_out)
        return Step(step="cache", statement=f"{unknown} {guess.statement}", figures=guess.figures)
    if doubt := context.hot_spot.doubt:
        says = f"{'x$kqrst says' if guarded.identity.name == 'READ' else 'its gets fit'} {guarded.name or 'some cache'}"
        return Step(
            step="cache", statement=f"Cannot tell which cache child {guarded.child} guards: {says}, but {doubt}."
        )
    parents = [cache for cache in guarded.caches if cache.type == "PARENT"]
    subordinates = [cache for cache in guarded.caches if cache.type != "PARENT"]
    named = " and ".join(f"cache# {parent.cache_id} {parent.parameter or '(name unknown)'}" for parent in parents)
    below = (
        "parent only" if not subordinates else f"with {len(subordinates)} subordinate" + "s" * (len(subordinates) > 1)
    )
    how = {"READ": "read from x$kqrst of this instance", "INFERRED": "inferred from its gets by the load model"}
    statement = f"Child {guarded.child} → {named}, {below} ({how[guarded.identity.name]})."
    if isinstance(names, Missing):
        statement += f" Cannot tell which cache that is by name: {names.why}. {names.way_out}"
    figures = [Figure(name="cache id", value=parent.cache_id, unit="", of="x$kqrst") for parent in parents]
    return Step(step="cache", statement=statement, figures=tuple(figures))


def _confirmation(context: SignalContext) -> Step | None:
    """The traffic of the hot child's caches in v$rowcache, or of the busiest cache if the child is unknown."""
    if context.hot_spot.doubt or (context.children and context.children_sleeps is None):
        return None  # the hot child or its cache is unknown, so there is nothing to confirm
    total = context.sum_of(context.delta.rows("v$rowcache"), "gets")
    if not total:
        unknown = context.why_unknown("v$rowcache", "gets")
        return Step(step="confirmation", statement=f"v$rowcache cannot confirm it: {unknown.why}. {unknown.way_out}")
    rows = context.hot.rows if context.hot else ()
    name = context.hot.name if context.hot else None
    if not rows or name is None:
        busiest = max(context.delta.rows("v$rowcache"), key=lambda row: (number(row.get("gets")) or 0.0, str(row)))
        rows, name = (busiest,), f"{busiest.get('parameter')}, the busiest cache,"
    gets = context.sum_of(rows, "gets")
    if gets is None:
        return Step(step="confirmation", statement=f"The gets of {name} are unknown.")
    figures = [
        Figure(name="share of dictionary gets", value=gets / total, unit="ratio", of="v$rowcache"),
        Figure(name="gets", value=exact(gets), unit="gets", of="v$rowcache"),
    ]
    statement = (
        f"{name} had {counted(gets, 'gets')} = {percent(gets / total)} of {count(total)} {over(context.delta.basis)}."
    )
    used = context.sum_of(rows, "usage")
    if used is not None:
        statement += f" It holds {counted(used, 'entries')}."
        figures.append(Figure(name="entries used", value=exact(used), unit="entries", of="v$rowcache"))
    index = SIGNALS["hold_anomaly_index"].read(context, Subject())
    if isinstance(index, Known):
        statement += f" A get of it sleeps {times(index.value)} as often as one of other caches ({index.derivation})."
        figures.append(
            Figure(name="hold anomaly index", value=index.value, unit="ratio", of="v$latch_children, v$rowcache")
        )
    return Step(step="confirmation", statement=statement, figures=tuple(figures))


def _miss_location(context: SignalContext) -> Step | None:
    shape = shape_of(context)
    if shape is None:
        unknown = context.why_unknown("v$latch_misses", "sleep_count")
        if isinstance(context.delta.read("v$latch_misses"), Missing):
            cure = f"{sentence(unknown.way_out)}." if context.printed else unknown.way_out
            return Step(step="miss location", statement=f"No miss locations: {unknown.why}. {cure}")
        return None
    leading = list(shape.sleeps.items())[:3]
    shares = " / ".join(f"{location} {percent(held / shape.total, 2)}" for location, held in leading)
    named = f"{shape.fingerprint}: {shape.meaning}" if shape.fingerprint else shape.meaning
    return Step(
        step="miss location",
        statement=f"Holders by location: {shares} of {count(shape.total)} sleeps ({named}). "
        "v$latch_misses does not separate children, so these are shares over the whole latch.",
        figures=tuple(
            Figure(name=location, value=held / shape.total, unit="ratio", of="v$latch_misses")
            for location, held in leading
        ),
    )
