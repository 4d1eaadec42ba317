"""How bad and how sure a finding is: its severity by what its own waits cost, its confidence by the evidence it rests on.

Eight kinds of evidence, the first that fits. `python -m bench truth --calibrate` counts on the tuned half of the generated
instances how often findings on each were right, and writes `confidence.yaml`; a test holds the labels on the other half.
Generated instances have no cause that the catalogue lacks, so some labels are lower than the share: only the cache and the
conditions tell an unknown cause apart.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import yaml

from rules.cause import hedged
from rules.confirmation import confirmed
from rules.finding import finding
from rules.judge import Hypothesis, OpenCause, Verdict
from rules.model import Confidence, Finding, Reliability, Severity
from rules.rivals import akin, same_waits, why_doubted

HOME = Path(__file__).parent / "confidence.yaml"
COSTS = {"mutex_share_of_db_time", "lock_share_of_db_time"}
"""What the waits of a whole surface cost, whatever made them."""
RivalKind = Literal["alone", "open", "special", "rival"]
"""Another finding is about the same waits; or a special case of this one is found, or may be."""


@dataclass(frozen=True, slots=True)
class _Graded:
    """What the kinds of evidence ask of a finding."""

    one: Hypothesis
    own: Finding
    rivals: RivalKind

    @property
    def map_fits(self) -> bool:
        """Whether the map of children does not contradict the hot child, where the cache is known by it."""
        context = self.one.context
        return self.own.identity == "sampled" or all(
            each.child != context.hot_child for each in context.map.disagreements
        )

    @property
    def of_the_whole(self) -> bool:
        """Whether all that tells the cause apart is of the whole surface: a shape, an event, or what its waits cost."""
        return self.one.sign == "surface" or (bool(self.one.signs) and self.one.signs <= COSTS)

    @property
    def partly_seen(self) -> bool:
        """Whether something that might speak against it was not captured, or few events count as a figure."""
        asked = (each for each in self.one.outcomes if each.condition.role != "supporting")
        unknown = any(each.why_unknown or getattr(each.reading, "few", False) for each in asked)
        return bool(self.one.gaps) or unknown or self.one.context.printed


KINDS: Mapping[str, tuple[Confidence, Callable[[_Graded], bool]]] = {
    "only the cache speaks for it": (Confidence.LOW, lambda of: of.one.sign == "none" and bool(of.own.cache)),
    "another finding explains the same waits": (Confidence.LOW, lambda of: of.rivals in ("rival", "special")),
    "no cache, and a sign of the whole latch, mutex or event": (
        Confidence.LOW,
        lambda of: of.of_the_whole and not of.own.cache,
    ),
    "a special case of it is not ruled out": (Confidence.MEDIUM, lambda of: of.rivals == "open"),
    "no figure names the cache": (
        Confidence.MEDIUM,
        lambda of: bool(of.own.cache) and (not of.one.named or of.own.identity == "inferred"),
    ),
    "a ratio, a supporting figure or the map speaks against it": (
        Confidence.MEDIUM,
        lambda of: not of.map_fits or any(each.result in ("fails", "diluted") for each in of.one.outcomes),
    ),
    "something was not captured, and its best sign is a ratio": (
        Confidence.MEDIUM,
        lambda of: of.partly_seen and of.one.sign == "ratio",
    ),
    "a sign of its own, and nothing else": (Confidence.HIGH, lambda of: True),
}
"""Kind of evidence → its label, and whether a finding rests on it; the first that fits."""


def grade(one: Hypothesis, beside: Sequence[Verdict]) -> Finding:
    """The finding of a hypothesis that is ahead, with its severity and confidence. `beside`: all verdicts, itself too."""
    own, cause, context = finding(one), one.cause, one.context
    graded = _Graded(one, own, _rivals(one, beside))
    kind, (sure, _) = next((kind, row) for kind, row in KINDS.items() if row[1](graded))
    # The confirming query asks for the cause itself. What was counted is views, of which a report prints a part.
    agrees = confirmed(cause, context.delta)
    sure = sure.moved({True: int(one.named), False: -1, None: 0}[agrees] - context.printed)
    # What was not captured might refute it; a trace has no counter; what other troubles leave is less than the whole.
    if one.gaps or context.delta.source == "trace" or (context.found and cause.id not in context.whole):
        sure = sure.at_most(Confidence.MEDIUM)
    unsure = context.gate_of((own.surface,)) is None and sure is Confidence.LOW
    return own.model_copy(
        update={
            "title": hedged(own.title, cause.hedge_after, sure, agrees is False),
            "severity": own.severity.at_most(Severity.NOTICE) if unsure else own.severity,
            "confidence": sure,
            "reliability": measured()[kind],
            "unknown": tuple(dict.fromkeys((*own.unknown, *map(why_doubted, one.doubts)))),
        }
    )


def _rivals(one: Hypothesis, beside: Sequence[Verdict]) -> RivalKind:
    """What else was found of the same waits. One that drags the row cache is no rival: what it does not explain has proof."""
    if not one.costs:
        return "alone"
    found = [other for other in beside if isinstance(other, Hypothesis) and other is not one]
    if any(
        other.costs and same_waits(other, one) and not (akin(other.cause, one.cause) or other.cause.drags)
        for other in found
        if not one.cause.drags
    ):
        return "rival"
    special = set(one.cause.shares)
    if special & {other.cause.id for other in found}:
        return "special"
    return "open" if special & {other.cause for other in beside if isinstance(other, OpenCause)} else "alone"


# How often findings on each kind of evidence were right.


@cache
def measured() -> Mapping[str, Reliability]:
    """Kind of evidence → how many findings on it were right, and right or true as well, of how many."""
    counted = yaml.safe_load(HOME.read_text(encoding="utf-8"))
    return {
        row["evidence"]: Reliability(
            evidence=row["evidence"], counted=row["evidence"], right=row["right"], true=row["also"], of=row["of"]
        )
        for row in counted
    }


def counted_in_words(reliability: Reliability) -> str:
    """How often such findings were right, or true beside a special case, and how often it was another cause."""
    if not reliability.of:
        return "how often such a finding is right was not counted"
    # Beside a special case a general cause is seldom the staged one, and true all the same.
    word, many = (
        ("right", reliability.right) if 2 * reliability.right >= reliability.true else ("true", reliability.true)
    )
    other = reliability.of - reliability.true
    return f"{word} in {many:,} of {reliability.of:,} such cases, generated; another cause in {other:,}"
