"""The one sentence of a Diagnosis: what is wrong, where, and what it costs."""

from collections.abc import Mapping, Sequence

from collectors.model import Missing
from rules.baseline import UsualRange, against_usual
from rules.context import IDLE_SESSIONS, MINIMUM_SLEEPS, NOTICEABLE_SHARE, SignalContext
from rules.formatting import over, percent, sentence, within
from rules.model import Confidence, Finding, Impact, Severity, Surface
from rules.waiters import MINIMUM_WAITERS

NEEDED = ("v$latch", "v$rowcache", "v$system_event", "v$sys_time_model")
"""The views without which a verdict on the row cache is not whole."""
TELLING = ("v$latch", "v$latch_children", "v$mutex_sleep", "v$rowcache", "v$system_event", "v$session")
"""The views of which one at least it takes to say anything."""


def headline(scene: SignalContext, findings: Sequence[Finding], usual: Mapping[str, UsualRange]) -> str:
    """One sentence for a list, an alert or a page title; says how many times the usual it costs where that is known."""
    told = _headline(scene, findings, usual)
    lacking = [view for view in NEEDED if isinstance(scene.delta.read(view), Missing)]
    return f"As far as the file goes: {told}" if scene.delta.cut_off and lacking and told[:6] != "Cannot" else told


def _headline(scene: SignalContext, findings: Sequence[Finding], usual: Mapping[str, UsualRange]) -> str:
    unexplained = _unexplained(scene, findings)
    if not findings and all(isinstance(scene.delta.read(view), Missing) for view in TELLING):
        why = "the file is cut off before them" if scene.delta.cut_off else "they could not be read"
        return f"Cannot tell: it takes latches, mutexes, dictionary caches or wait events, and {why}"
    if findings and not unexplained:
        top = findings[0]
        return f"{_named(top)}; {_cost(scene, usual, top.surface)}"
    if unexplained:
        return sentence(f"{_cost(scene, usual)}, {_where(scene)}; {_why_unexplained(scene)}")
    return f"Nothing to do about the row cache; {_cost(scene, usual)}"


def _named(top: Finding) -> str:
    """The cause and its cache, hedged where little speaks for them."""
    if top.confidence is Confidence.LOW:
        where = f" on {top.cache}" if top.cache else ""
        return f"Perhaps {within(top.title)}{where} (low confidence)"
    perhaps = ", perhaps" if top.identity == "candidate" else " on"
    return f"{top.title}{perhaps} {top.cache}" if top.cache else top.title


def _where(scene: SignalContext) -> str:
    if scene.hot_child is not None:
        return f"most at child {scene.hot_child} ({scene.map.name(scene.hot_child)})"
    if scene.crowd is not None and scene.crowd.waiters:
        return f"most for {scene.crowd.caches().most_common(1)[0][0]}"
    return "where cannot be told"


def _unexplained(scene: SignalContext, findings: Sequence[Finding]) -> bool:
    """Whether waits that cost something, or sleeps whose cost is unknown, are left without a cause above info."""
    if scene.gate is None:
        slept = scene.sum_of(scene.children, "sleeps") or 0.0
        met = len(scene.crowd.waiters) if scene.crowd else 0
        return not findings and (slept >= MINIMUM_SLEEPS or met >= MINIMUM_WAITERS)
    return scene.gate is not Severity.INFO and all(one.severity is Severity.INFO for one in findings)


def _why_unexplained(scene: SignalContext) -> str:
    names = scene.delta.read("v$rowcache")
    if isinstance(names, Missing):
        return f"cannot tell which cache: {names.way_out}"
    return "no known cause explains it"


def _cost(scene: SignalContext, usual: Mapping[str, UsualRange], surface: Surface | None = None) -> str:
    """What the row cache costs; what the latch of the result cache costs, where that is what was found."""
    of_result_cache = surface == "result-cache"
    impact = scene.impact_of(["result-cache"]) if of_result_cache else scene.impact
    what = "result cache" if of_result_cache else "row cache"
    if impact is None:
        return "what it costs cannot be told from totals of unknown age"
    if impact.share_of_db_time is not None:
        of = _of_db_time(scene, impact)
        told = f"{what} waits cost {percent(impact.share_of_db_time)} of {of} {over(scene.delta.basis)}"
        return told + _usually("row_cache_wait_share", impact.share_of_db_time, {} if of_result_cache else usual)
    if impact.waiting_sessions is not None:
        told = f"{impact.waiting_sessions:.2f} sessions wait for the {what} on average {over(scene.delta.basis)}"
        return told + _usually("row_cache_waiting_sessions", impact.waiting_sessions, {} if of_result_cache else usual)
    return "what it costs cannot be told without v$system_event or v$latch"


def _of_db_time(scene: SignalContext, impact: Impact) -> str:
    """DB time; of an instance that does next to nothing with its seconds, as a large share of them is not much."""
    idle = impact.waiting_sessions is not None and impact.waiting_sessions < IDLE_SESSIONS
    if not idle or (impact.share_of_db_time or 0.0) < NOTICEABLE_SHARE:
        return "DB time"
    return f"the {scene.seconds_of('DB time') or 0.0:,.1f} s of DB time of an idle instance"


def _usually(figure: str, value: float, usual: Mapping[str, UsualRange]) -> str:
    told = against_usual(value, usual.get(figure))
    return f", {told}" if told else ""
