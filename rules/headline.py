"""The one sentence of a Diagnosis: what is wrong, where, and what it costs."""

from collections.abc import Sequence

from collectors.model import Missing
from rules.model import Finding, Severity, Surface
from rules.scene import MINIMUM_SLEEPS, Scene
from rules.waiters import MINIMUM_WAITERS
from rules.words import over, percent, sentence


def headline(scene: Scene, findings: Sequence[Finding]) -> str:
    """One sentence for a list, an alert or a page title."""
    unexplained = _unexplained(scene, findings)
    if findings and not unexplained:
        top = findings[0]
        perhaps = ", perhaps" if top.identity == "candidate" else " on"
        where = f"{perhaps} {top.cache}" if top.cache else ""
        return f"{top.title}{where}; {_cost(scene, top.surface)}"
    if unexplained:
        return sentence(f"{_cost(scene)}, {_where(scene)}; {_why_unexplained(scene)}")
    return f"Nothing to do about the row cache; {_cost(scene)}"


def _where(scene: Scene) -> str:
    if scene.hot_child is not None:
        return f"most at child {scene.hot_child} ({scene.map.name(scene.hot_child)})"
    if scene.crowd is not None and scene.crowd.waiters:
        return f"most for {scene.crowd.caches().most_common(1)[0][0]}"
    return "where cannot be told"


def _unexplained(scene: Scene, findings: Sequence[Finding]) -> bool:
    """Whether waits that cost something, or sleeps whose cost is unknown, are left without a cause above info."""
    if scene.gate is None:
        slept = scene.sum_of(scene.children, "sleeps") or 0.0
        met = len(scene.crowd.waiters) if scene.crowd else 0
        return not findings and (slept >= MINIMUM_SLEEPS or met >= MINIMUM_WAITERS)
    return scene.gate is not Severity.INFO and all(one.severity is Severity.INFO for one in findings)


def _why_unexplained(scene: Scene) -> str:
    names = scene.delta.read("v$rowcache")
    if isinstance(names, Missing):
        return f"cannot tell which cache: {names.way_out}"
    return "no known cause explains it"


def _cost(scene: Scene, surface: Surface | None = None) -> str:
    """What the row cache costs; what the latch of the result cache costs, where that is what was found."""
    of_result_cache = surface == "result-cache"
    impact = scene.impact_of(["result-cache"]) if of_result_cache else scene.impact
    what = "result cache" if of_result_cache else "row cache"
    if impact is None:
        return "what it costs cannot be told from totals of unknown age"
    if impact.share_of_db_time is not None:
        return f"{what} waits cost {percent(impact.share_of_db_time)} of DB time {over(scene.delta.basis)}"
    if impact.waiting_sessions is not None:
        return f"{impact.waiting_sessions:.2f} sessions wait for the {what} on average {over(scene.delta.basis)}"
    return "what it costs cannot be told without v$system_event or v$latch"
