"""The walk of a DBA in words: what is hot → cache → v$rowcache → location → who → cause → query → remedy → references."""

from collections.abc import Sequence

from rules.blockers import blockers_of
from rules.context import SURFACE_EVENTS, SignalContext
from rules.explanation.blockers import blocker_steps
from rules.explanation.confirmation import confirming_step, speaks_against
from rules.explanation.hangs import hang_step
from rules.explanation.latch import latch_steps
from rules.explanation.report import as_printed
from rules.explanation.several import focused, others
from rules.explanation.waits import lock_steps, mutex_steps, result_cache_steps
from rules.formatting import percent
from rules.model import Figure, Finding, Step, WaiterGroup
from rules.signals import SIGNALS

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
        statement=f"Of {len(context.crowd.waiters)} waiters met in {looks} looks at v$session: {first}.",
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
