"""The walk a DBA makes, in words: what is hot → cache → v$rowcache → location → who → cause → query → remedy → references."""

from collections.abc import Sequence

from rules.context import SignalContext
from rules.explanation.latch import latch_steps
from rules.explanation.report import as_printed
from rules.explanation.waits import lock_steps, mutex_steps, result_cache_steps
from rules.formatting import number as spelled
from rules.formatting import percent
from rules.model import Figure, Finding, Step, WaiterGroup
from rules.signals import SIGNALS

FIRST_STEPS = {"latch": latch_steps, "mutex": mutex_steps, "lock": lock_steps, "result-cache": result_cache_steps}
MOST_GROUPS = 20


def steps(scene: SignalContext, findings: Sequence[Finding]) -> tuple[Step, ...]:
    """The steps as far as they can be gone; the later ones belong to the first finding."""
    surface = findings[0].surface if findings else scene.costliest(scene.surfaces)
    told = [*FIRST_STEPS[surface](scene), as_printed(scene), _who(scene)]
    if findings:
        told += _remedy_steps(findings[0], scene)
    return tuple(step for step in told if step is not None)


def groups(scene: SignalContext) -> tuple[WaiterGroup, ...]:
    """Sampled waiters by what they have in common, most first."""
    crowd = scene.crowd
    if crowd is None or not crowd.waiters:
        return ()
    return tuple(
        WaiterGroup(
            event=one.event,
            cache=one.cache,
            sessions=times / crowd.looks,
            share=times / len(crowd.waiters),
            sql_id=one.sql_id or None,
            module=one.module or None,
            program=one.program or None,
            container=one.container or None,
            blocker=one.blocker or None,
        )
        for one, times in crowd.groups()[:MOST_GROUPS]
    )


def _who(scene: SignalContext) -> Step | None:
    told = groups(scene)
    if not told or scene.crowd is None:
        return None
    first = "; ".join(f"{percent(one.share)} {_identified(one)}" for one in told[:3])
    looks = scene.crowd.looks
    return Step(
        step="who",
        statement=f"Of {len(scene.crowd.waiters)} waiters met in {looks} looks at v$session: {first}.",
        figures=tuple(
            Figure(name=f"waiting for {one.cache}", value=one.sessions, unit="sessions on average", of="v$session")
            for one in told[:3]
        ),
    )


def _identified(one: WaiterGroup) -> str:
    parts = [f"for {one.cache} ({one.event})"]
    parts += [f"{name} {value}" for name, value in (("SQL", one.sql_id), ("module", one.module)) if value]
    parts += [f"program {one.program}"] if one.program and one.program != one.module else []
    parts += [f"blocked by session {one.blocker}"] if one.blocker else []
    return ", ".join(parts)


def _remedy_steps(top: Finding, scene: SignalContext) -> list[Step]:
    sure = {"high": "High", "medium": "Medium", "low": "Low"}[top.confidence]
    open_points = f" Not known: {'; '.join(top.unknown)}." if top.unknown else ""
    by_cost = "" if scene.gate_of((top.surface,)) is None else " by what the waits cost"
    told = [
        Step(
            step="cause",
            statement=f"{top.title} ({top.cause}), severity {top.severity}{by_cost}. {top.explanation} "
            f"{sure} confidence.{open_points}",
            figures=tuple(
                Figure(name=one.signal, value=one.value, unit=one.unit, of=SIGNALS[one.signal].of)
                for one in top.evidence
            ),
        )
    ]
    if top.confirm:
        result = f"; the record has {spelled(top.confirm.result)}" if top.confirm.result is not None else ""
        told.append(Step(step="confirming query", statement=f"{top.confirm.sql}{result}. {top.confirm.reading}"))
    told.append(Step(step="remedy", statement=f"{top.remedy} Risk: {top.risk} Expected effect: {top.expected_effect}"))
    if top.references:
        told.append(Step(step="references", statement="; ".join(_cited(one.title, one.url) for one in top.references)))
    return told


def _cited(title: str, url: str | None) -> str:
    return f"{title} ({url})" if url else title
