"""The first steps of the walk if no child latch is hot: row cache mutexes, row cache lock, result cache latch."""

from collections import Counter

from collectors.model import (
    RESULT_CACHE_LATCH,
    ROW_CACHE_LATCH,
    ROW_CACHE_LOCK_EVENT,
    ROW_CACHE_MUTEX_EVENT,
    Missing,
    Row,
    number,
)
from rules.context import SignalContext
from rules.explanation.report import NOTHING_TO_EXPLAIN, quiet
from rules.formatting import count, over, percent, sentence
from rules.hangs import VIEW, hanging
from rules.misplaced import misplaced_sleeps
from rules.miss_locations import mutex_shape_of
from rules.model import Figure, Step

NEARLY_ALL = 0.9
"""From this share of the changes on, a cache is the likely one behind the lock."""
MANY_CONFLICTS = 0.01
"""From this share of the cluster lock requests on, conflicts are worth a sentence."""


def mutex_steps(context: SignalContext) -> list[Step | None]:
    """Hot location, cache, confirmation; and why the walk skips the latch of that name."""
    return [
        _mutex_location(context),
        _named_by_waiters(context, ROW_CACHE_MUTEX_EVENT),
        _busiest(context, "gets"),
        _ignored_latch(context),
    ]


def lock_steps(context: SignalContext) -> list[Step | None]:
    """The wait, the cache that its waiters name, and the caches that change."""
    return [
        _waited(context, ROW_CACHE_LOCK_EVENT),
        _named_by_waiters(context, ROW_CACHE_LOCK_EVENT),
        _busiest(context, "modifications"),
        _conflicts(context),
    ]


def result_cache_steps(context: SignalContext) -> list[Step | None]:
    """The latch of the result cache: its cost and its miss locations."""
    row = next((row for row in context.delta.rows("v$latch") if row.get("name") == RESULT_CACHE_LATCH), None)
    if row is None:
        return [Step(step="hot latch", statement=f"{RESULT_CACHE_LATCH} was not read.")]
    gets, sleeps = number(row.get("gets")) or 0.0, number(row.get("sleeps")) or 0.0
    waited = (number(row.get("wait_time")) or 0.0) / 1e6
    statement = (
        f"{RESULT_CACHE_LATCH}: {count(gets)} gets, {count(sleeps)} sleeps, {waited:,.1f} s waited {over(context.delta.basis)}. "
        "Its waits have no event of their own; they appear as latch free."
    )
    figures = (
        Figure(name="sleeps", value=int(sleeps), unit="sleeps", of="v$latch"),
        Figure(name="time waited", value=waited, unit="s", of="v$latch"),
    )
    return [Step(step="hot latch", statement=statement, figures=figures), _result_cache_location(context)]


def _mutex_location(context: SignalContext) -> Step:
    rows = context.delta.rows("v$mutex_sleep")
    total = context.sum_of(rows, "sleeps") if rows else 0.0
    reading = context.delta.read("v$mutex_sleep")
    if isinstance(reading, Missing) or total is None:
        unknown = context.why_unknown("v$mutex_sleep", "sleeps")
        return Step(
            step="hot location", statement=f"Cannot tell where sessions sleep: {unknown.why}. {unknown.way_out}"
        )
    if not total:
        return Step(
            step="hot location", statement=f"No session slept for a row cache mutex {over(context.delta.basis)}."
        )
    waited = (context.sum_of(rows, "wait_time") or 0.0) / 1e6
    leading = sorted(rows, key=lambda row: (-(number(row.get("sleeps")) or 0.0), str(row.get("location"))))[:3]
    shares = " / ".join(
        f"{row.get('location')} {percent((number(row.get('sleeps')) or 0.0) / total)}" for row in leading
    )
    shape = mutex_shape_of(context)
    statement = (
        ""
        if shape is None
        else f" ({shape.fingerprint}: {shape.meaning})"
        if shape.fingerprint
        else f" ({shape.meaning})"
    )
    return Step(
        step="hot location",
        statement=f"Row cache mutexes: {count(total)} sleeps and {waited:,.1f} s waited {over(context.delta.basis)}, "
        f"at {shares}{statement}.",
        figures=tuple(
            Figure(
                name=str(row.get("location")),
                value=(number(row.get("sleeps")) or 0.0) / total,
                unit="ratio",
                of="v$mutex_sleep",
            )
            for row in leading
        ),
    )


def _named_by_waiters(context: SignalContext, event: str) -> Step:
    waiters = context.crowd.of(event) if context.crowd else ()
    stuck = hanging(context.look.sessions) if context.look and not waiters else ()
    if met := [waiter.cache for waiter in stuck if waiter.event == event]:
        return _named_by_the_look(met)
    if not waiters and quiet(context):
        return Step(step="cache", statement=NOTHING_TO_EXPLAIN)
    if not waiters or context.crowd is None:
        unknown = context.why_unknown("v$session")
        why = unknown.why if context.crowd is None else f"no session waiting for {event} was met"
        cure = f" {sentence(unknown.way_out)}." if context.printed else ""
        likely = _changed_most(context) if event == ROW_CACHE_LOCK_EVENT else None
        first = f"Most likely {likely}, but not for certain" if likely else "Cannot tell for certain which cache"
        return Step(
            step="cache",
            statement=f"{first}: {why}. No view counts {event} by cache; only its waiters name one.{cure}",
        )
    ranked = context.crowd.caches(event).most_common(3)
    shares = ", ".join(f"{cache} {percent(times / len(waiters))}" for cache, times in ranked)
    return Step(
        step="cache",
        statement=f"Waiters name their cache in P1: {shares} of {len(waiters)} met in {context.crowd.looks} looks.",
        figures=tuple(
            Figure(name=cache, value=times / len(waiters), unit="ratio", of="v$session") for cache, times in ranked
        ),
    )


def _changed_most(context: SignalContext) -> str | None:
    """The cache with nearly all changes of entries, and its share. None if there is none."""
    changed = context.by_name("modifications")
    total = sum(changed.values())
    cache, most = next(iter(changed.items()), ("", 0.0))
    return (
        f"{cache}, which has {percent(most / total)} of the changes" if total and most >= NEARLY_ALL * total else None
    )


def _named_by_the_look(met: list[str]) -> Step:
    ranked = Counter(sorted(met)).most_common(3)
    shares = ", ".join(f"{cache} {percent(times / len(met))}" for cache, times in ranked)
    return Step(
        step="cache",
        statement=f"Waiters name their cache in P1: {shares} of {len(met)} that hang.",
        figures=tuple(Figure(name=cache, value=times / len(met), unit="ratio", of=VIEW) for cache, times in ranked),
    )


def _busiest(context: SignalContext, column: str) -> Step:
    """The caches with most of a column. For the mutex only gets, because only they take it."""
    rows = context.delta.rows("v$rowcache")
    total = context.sum_of(rows, column)
    if total is None:
        unknown = context.why_unknown("v$rowcache", column)
        return Step(step="confirmation", statement=f"v$rowcache cannot confirm it: {unknown.why}. {unknown.way_out}")
    if not total:
        return Step(step="confirmation", statement=f"v$rowcache counted no {column} {over(context.delta.basis)}.")
    by_name: dict[str, float] = {}
    for row in rows:
        by_name[str(row.get("parameter"))] = by_name.get(str(row.get("parameter")), 0.0) + (
            number(row.get(column)) or 0.0
        )
    leading = sorted(by_name.items(), key=lambda item: (-item[1], item[0]))[:3]
    busiest = ", ".join(f"{name} {percent(value / total)}" for name, value in leading)
    most = f"Most {column} in v$rowcache: {busiest} of {count(total)} {over(context.delta.basis)}."
    return Step(
        step="confirmation",
        statement=most + _fast(context, column),
        figures=tuple(Figure(name=name, value=value / total, unit="ratio", of="v$rowcache") for name, value in leading),
    )


def _fast(context: SignalContext, column: str) -> str:
    """What gets leave out."""
    fast = context.sum_of(context.delta.rows("v$rowcache"), "fastgets")
    return (
        f" {count(fast)} more look-ups took the fast way, which is counted apart." if column == "gets" and fast else ""
    )


def _ignored_latch(context: SignalContext) -> Step | None:
    latch = next((row for row in context.delta.rows("v$latch") if row.get("name") == ROW_CACHE_LATCH), None)
    if latch is None or misplaced_sleeps(context.delta, context.mechanism):
        return None  # a latch that sleeps has a note of its own
    gets = count(number(latch.get("gets")) or 0.0)
    return Step(
        step="not the latch",
        statement=f"Of the latch row cache objects only the name is left ({gets} gets {over(context.delta.basis)}): from 12.2 on "
        "mutexes guard the row cache, so its counters are ignored, and zeros in them show nothing.",
    )


def _waited(context: SignalContext, event: str) -> Step:
    row: Row | None = next((row for row in context.delta.rows("v$system_event") if row.get("event") == event), None)
    if row is None:
        unknown = context.why_unknown("v$system_event", "time_waited_micro")
        return Step(
            step="hot wait", statement=f"Cannot tell how long {event} was waited for: {unknown.why}. {unknown.way_out}"
        )
    waits, waited = number(row.get("total_waits")) or 0.0, (number(row.get("time_waited_micro")) or 0.0) / 1e6
    average = f", {waited / waits * 1000:,.1f} ms each" if waits else ""
    return Step(
        step="hot wait",
        statement=f"{event}: {count(waits)} waits{_of_sessions(row)} and {waited:,.1f} s {over(context.delta.basis)}{average}.",
        figures=(
            Figure(name="waits", value=int(waits), unit="waits", of="v$system_event"),
            Figure(name="time waited", value=waited, unit="s", of="v$system_event"),
        ),
    )


def _of_sessions(row: Row) -> str:
    """How many of the waits are those of foreground sessions, if not all are."""
    own = number(row.get("total_waits_fg"))
    return (
        ""
        if own in (None, number(row.get("total_waits")))
        else f", {count(own or 0.0)} of them in foreground sessions,"
    )


def _conflicts(context: SignalContext) -> Step | None:
    """In a cluster up to 12.1: the cache whose entries the instances take from each other."""
    rows = [row for row in context.delta.rows("v$rowcache") if number(row.get("dlm_requests"))]
    if not rows:
        return None
    worst = max(rows, key=lambda row: (number(row.get("dlm_conflicts")) or 0.0, str(row.get("parameter"))))
    conflicts, requests = number(worst.get("dlm_conflicts")) or 0.0, number(worst.get("dlm_requests")) or 1.0
    if conflicts < MANY_CONFLICTS * requests:
        return None  # it has nothing to do with the waits
    return Step(
        step="cluster",
        statement=f"Between instances, {worst.get('parameter')} had {count(conflicts)} conflicts on {count(requests)} "
        f"cluster lock requests ({percent(conflicts / requests)}) {over(context.delta.basis)}.",
        figures=(Figure(name="conflicts per request", value=conflicts / requests, unit="ratio", of="v$rowcache"),),
    )


def _result_cache_location(context: SignalContext) -> Step | None:
    rows = [row for row in context.delta.rows("v$latch_misses") if row.get("parent_name") == RESULT_CACHE_LATCH]
    total = context.sum_of(rows, "sleep_count") if rows else None
    if not total:
        return None
    leading = sorted(rows, key=lambda row: (-(number(row.get("sleep_count")) or 0.0), str(row.get("location"))))[:3]
    shares = " / ".join(
        f"{row.get('location')} {percent((number(row.get('sleep_count')) or 0.0) / total)}" for row in leading
    )
    return Step(step="miss location", statement=f"Holders by location: {shares} of {count(total)} sleeps.")
