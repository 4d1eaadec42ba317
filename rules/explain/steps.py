"""The first steps of the walk if no child latch is hot: row cache mutexes, row cache lock, result cache latch."""

from collections import Counter
from collections.abc import Iterable, Sequence

from collectors.model import (
    LONG_WINDOW,
    RESULT_CACHE_LATCH,
    ROW_CACHE_LATCH,
    ROW_CACHE_LOCK_EVENT,
    ROW_CACHE_MUTEX_EVENT,
    Missing,
    Row,
    long_window,
    number,
)
from rules.blockers import blockers_of
from rules.cache_map import look_up, why_not_inferred
from rules.context import (
    LOOKUPS,
    MINIMUM_SLEEPS,
    REMEMBER,
    SURFACE_EVENTS,
    Known,
    SignalContext,
    misplaced_notes,
    misplaced_sleeps,
    pdb_note,
)
from rules.explain.blockers import blocker_steps, long_waits
from rules.explain.headline import confirming_step, focused, hang_step, others, speaks_against
from rules.explain.report import NOTHING_TO_EXPLAIN, as_printed, guessed_cache, no_child, quiet
from rules.formatting import count, counted, exact, over, part_of, percent, sentence, times
from rules.miss_locations import mutex_shape_of, shape_of
from rules.model import Figure, Finding, Step, WaiterGroup, WaiterTotal, WaiterTotals
from rules.signals import SIGNALS, Subject
from rules.waits import WAITING_SESSIONS, SampledWaiters, hanging

# The first steps of the walk where child latches guard the row cache: hot child → cache → v$rowcache → miss location.


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
        statement=f"Waiters name their cache in P1: {shares} of {len(waiters)} met in {context.crowd.looks} samples.",
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
        figures=tuple(
            Figure(name=cache, value=times / len(met), unit="ratio", of=WAITING_SESSIONS) for cache, times in ranked
        ),
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


# The walk of a DBA in words: what is hot → cache → v$rowcache → location → who → cause → query → remedy → references.

FIRST_STEPS = {"latch": latch_steps, "mutex": mutex_steps, "lock": lock_steps, "result-cache": result_cache_steps}
MOST_GROUPS = 20
LARGEST_WAIT = "largest wait"
LARGE = 0.05
"""From this share of DB time on, a wait for something else gets a sentence."""


def steps(context: SignalContext, findings: Sequence[Finding]) -> tuple[Step, ...]:
    """The steps as far as they lead. The later ones belong to the first finding."""
    surface = findings[0].surface if findings else context.costliest(context.surfaces)
    chain = [
        hang_step(context),
        *blocker_steps(blockers_of(context), context.look.sessions if context.look else ()),
        *FIRST_STEPS[surface](context),
        as_printed(context),
        _who(context),
        _largest_wait(context),
    ]
    if findings:
        chain += _remedy_steps(findings[0], context)
    for trouble in others(context, findings):
        chain += FIRST_STEPS[trouble.surface](focused(context, trouble))
        explains = next((finding for finding in findings if finding.cause in trouble.causes), None)
        chain += _remedy_steps(explains, context) if explains else []
    return tuple(step for step in chain if step is not None)


def groups(context: SignalContext) -> tuple[WaiterGroup, ...]:
    """Sampled waiters by what they have in common, most first."""
    crowd = context.crowd
    if crowd is None or not crowd.waiters:
        return ()
    return tuple(
        WaiterGroup(
            event=group.event,
            cache=group.cache,
            sessions=times / crowd.looks,
            share=times / len(crowd.waiters),
            sql_id=group.sql_id or None,
            module=group.module or None,
            program=group.program or None,
            container=group.container or None,
            blocker=group.blocker or None,
        )
        for group, times in crowd.groups()[:MOST_GROUPS]
    )


def _largest_wait(context: SignalContext) -> Step | None:
    """The wait with most of DB time, if it is not one of the row cache. Only some events are read."""
    db_time = context.seconds_of("DB time")
    events = {str(row.get("event")) for row in context.delta.rows("v$system_event")}
    waits = [(seconds, event) for event in sorted(events) if (seconds := context.waited_seconds((event,)))]
    if not waits or not db_time:
        return None
    seconds, event = max(waits)
    share = seconds / db_time
    if event in SURFACE_EVENTS.values() or not LARGE <= share <= 1:
        return None
    return Step(
        step=LARGEST_WAIT,
        statement=f"Of the waits that are read the largest is {event}, {percent(share)} of DB time.",
        figures=(Figure(name=event, value=share, unit="ratio", of="v$system_event"),),
    )


def _who(context: SignalContext) -> Step | None:
    waiting = groups(context)
    if not waiting or context.crowd is None:
        return None
    first = "; ".join(f"{percent(group.share)} {_identified(group)}" for group in waiting[:3])
    looks = context.crowd.looks
    return Step(
        step="who",
        statement=f"Of {len(context.crowd.waiters)} waiters met in {looks} samples of v$session: {first}.",
        figures=tuple(
            Figure(name=f"waiting for {group.cache}", value=group.sessions, unit="sessions on average", of="v$session")
            for group in waiting[:3]
        ),
    )


def _identified(waiter_group: WaiterGroup) -> str:
    parts = [f"for {waiter_group.cache} ({waiter_group.event})"]
    parts += [
        f"{name} {value}" for name, value in (("SQL", waiter_group.sql_id), ("module", waiter_group.module)) if value
    ]
    parts += (
        [f"program {waiter_group.program}"]
        if waiter_group.program and waiter_group.program != waiter_group.module
        else []
    )
    parts += [f"blocked by session {waiter_group.blocker}"] if waiter_group.blocker else []
    return ", ".join(parts)


def _remedy_steps(top: Finding, context: SignalContext) -> list[Step]:
    sure = {"high": "High", "medium": "Medium", "low": "Low"}[top.confidence]
    open_points = f" Not known: {'; '.join(top.unknown)}." if top.unknown else ""
    by_cost = "" if context.gate_of((top.surface,)) is None else " by what the waits cost"
    evidence = [
        Step(
            step="cause",
            statement=f"{top.name} ({top.cause}), severity {top.severity}{by_cost}. {top.explanation} "
            f"{sure} confidence.{open_points}",
            figures=tuple(
                Figure(name=evidence.signal, value=evidence.value, unit=evidence.unit, of=SIGNALS[evidence.signal].of)
                for evidence in top.evidence
            ),
        )
    ]
    if top.confirm:
        evidence.append(confirming_step(top.confirm))
    against = speaks_against(top)
    waits = f"Not yet, for {against}. If it is proven after all: " if against else ""
    remedy = f"{waits}{top.remedy} Risk: {top.risk} Expected effect: {top.expected_effect}"
    evidence.append(Step(step="remedy", statement=remedy))
    if top.references:
        evidence.append(
            Step(
                step="references",
                statement="; ".join(_cited(reference.title, reference.url) for reference in top.references),
            )
        )
    return evidence


def _cited(title: str, url: str | None) -> str:
    return f"{title} ({url})" if url else title


# Who waits, as totals: by statement and by module, of all waiters in all looks.

MOST = 10


def waiter_totals(context: SignalContext) -> WaiterTotals | None:
    """The totals. None without samples."""
    crowd = context.crowd
    if crowd is None:
        return None
    return WaiterTotals(
        looks=crowd.looks,
        waiters=len(crowd.waiters),
        by_sql_id=_totals(crowd, (waiter.sql_id for waiter in crowd.waiters)),
        by_module=_totals(crowd, (waiter.module for waiter in crowd.waiters)),
    )


def _totals(crowd: SampledWaiters, names: Iterable[str]) -> tuple[WaiterTotal, ...]:
    counted = sorted(Counter(names).items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        WaiterTotal(name=name or None, waiters=times, share=times / len(crowd.waiters), sessions=times / crowd.looks)
        for name, times in counted[:MOST]
    )


# The notes on a Delta beside its verdicts: assumptions, omitted counters, views that gave nothing.

MINIMUM_MISSES = 100
"""Views are read without a lock, so a few more misses than gets are not a contradiction."""


def notes(context: SignalContext) -> tuple[str, ...]:
    """Notes of the source, assumptions, disagreements of the map, impossible figures, omitted counters, refusals."""
    readings = sorted(context.delta.readings.items())
    assumed = [
        f"assumed: {note}" for _, reading in readings if not isinstance(reading, Missing) for note in reading.notes
    ]
    refused = [
        f"{reading.why}; {reading.way_out}"
        for _, reading in readings
        if isinstance(reading, Missing) and reading.kind in ("refused", "failed")
    ]
    source = [REMEMBER] if context.printed else []
    doubts = [str(disagreement) for disagreement in context.map.disagreements]
    # A view with repeated rows is missing for that reason, so its note is among the refusals.
    odd = sorted(str(oddity) for oddity in context.delta.oddities if oddity.what != "repeated")
    misplaced = misplaced_notes(context.delta, context.mechanism)
    own = (*source, *context.delta.notes, *pdb_note(context.delta), *_window(context), *misplaced)
    return (*own, *assumed, *doubts, *implausible(context), *long_waits(context), *odd, *refused)


def _window(context: SignalContext) -> tuple[str, ...]:
    """That an average over hours hides short storms. The reader of a report says so itself."""
    seconds = context.delta.basis.seconds or 0.0
    return () if context.printed or seconds <= LONG_WINDOW else (long_window(seconds),)


def implausible(context: SignalContext) -> tuple[str, ...]:
    """Sentences about dictionary caches with more misses than look-ups, in the order of their names."""
    sentences = []
    for row in context.rowcache:
        lookups, misses = number(row.get(LOOKUPS, row.get("gets"))), number(row.get("getmisses"))
        if lookups is not None and misses is not None and misses > max(lookups, MINIMUM_MISSES):
            words = "gets" if number(row.get("fastgets")) is None else "look-ups"
            sentences.append(
                f"v$rowcache {row.get('parameter')} has {count(misses)} misses on {count(lookups)} {words}, which is impossible: "
                "do not rely on either number"
            )
    return tuple(sorted(sentences))
