"""How sure a finding is: how often findings on the same kind of evidence were right, measured on generated instances.

`python -m bench truth --calibrate` counts them on the tuned half and writes `confidence.yaml`; a test holds the labels on the
other half. The generated truth contains only causes of the catalogue, so "another cause" is always a rival: what is missing to
the whole is its share.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

import yaml

from rules.model import Confidence, Reliability

HOME = Path(__file__).parent / "confidence.yaml"
FEWEST = 30
"""A kind of evidence met less often takes the figures of a coarser one."""
LEVELS = ((0.95, Confidence.HIGH), (0.80, Confidence.MEDIUM), (0.50, Confidence.LOW))
"""From which share of right findings on. Below the last a cause is possible, not found."""
ANY: Literal["any"] = "any"
CacheKind = Literal["named", "inferred", "not named", "none"]
SignKind = Literal["none", "surface", "ratio", "direct"]
RivalKind = Literal["alone", "open", "special", "rival"]
SightKind = Literal["whole", "partial", "against"]


@dataclass(frozen=True, slots=True)
class EvidenceKind:
    """What a finding rests on, and what else was found."""

    cache: CacheKind | Literal["any"]
    """Whether sleeps or waiters name the cause's cache, by the map or one inferred from the gets; none: it has no cache."""
    sign: SignKind | Literal["any"]
    """The best sign that holds: of the cause itself, as a ratio to other work, or of the whole latch, mutex or event."""
    rival: RivalKind | Literal["any"]
    """Whether another finding is about the same waits. special: a special case of the cause is found too; open: it may be."""
    sight: SightKind | Literal["any"]
    """Whether something is not known; against: a ratio to other work speaks against it."""

    def __str__(self) -> str:
        return f"cache {self.cache}, sign {self.sign}, {self.rival}, sight {self.sight}"

    @classmethod
    def of(cls, words: str) -> "EvidenceKind":
        """The kind that these words are of."""
        cache, sign, rival, sight = (part.split(" ", 1)[-1] for part in words.split(", "))
        return cls(cache, sign, rival, sight)  # type: ignore[arg-type]

    @property
    def its_cache_alone(self) -> bool:
        """Whether nothing but the cache speaks for the cause."""
        return self.sign == "none" and self.cache != "none"

    def coarser(self) -> Iterator["EvidenceKind"]:
        """Itself, then whatever the cache, then whatever the sign, then whatever was seen. What else was found always counts."""
        yield self
        yield replace(self, cache=ANY)
        yield replace(self, cache=ANY, sign=ANY)
        yield replace(self, cache=ANY, sign=ANY, sight=ANY)
        if self.rival == "open":
            yield EvidenceKind(ANY, ANY, "special", ANY)


@cache
def measured() -> Mapping[str, tuple[int, int, int]]:
    """Kind of evidence → how many findings were right, right or true as well, of how many."""
    lines = yaml.safe_load(HOME.read_text(encoding="utf-8"))
    return {line["evidence"]: (line["right"], line["also"], line["of"]) for line in lines}


def reliability_of(kind: EvidenceKind) -> Reliability:
    """How often such findings were right: of this kind, or of the next coarser one with enough cases.

    An unknown figure makes no finding surer: if those that saw everything were right less often, theirs counts.
    """
    counted = _counted(kind)
    if kind.sight != "partial":
        return counted
    whole = _counted(replace(kind, sight="whole")).model_copy(update={"evidence": str(kind)})
    return min((one for one in (counted, whole) if one.of), key=lambda one: one.right / one.of, default=counted)


def _counted(kind: EvidenceKind) -> Reliability:
    known = measured()
    for wider in kind.coarser():
        right, true, of = known.get(str(wider), (0, 0, 0))
        if of >= FEWEST:
            return Reliability(evidence=str(kind), counted=str(wider), right=right, true=true, of=of)
    return Reliability(evidence=str(kind), counted=str(kind), right=0, true=0, of=0)


def confidence_of(reliability: Reliability) -> Confidence | None:
    """The label of a share. None where fewer than half were right or true as well; low where none was counted."""
    if not reliability.of:
        return Confidence.LOW
    kind = EvidenceKind.of(reliability.evidence)
    level = _label(_share(reliability, kind), _most(kind)[0])
    return level or (None if _only_true(kind) else _label(reliability.true / reliability.of, Confidence.LOW))


def capped(reliability: Reliability) -> str:
    """Why the label is lower than the share of such findings that were right would have it; empty if it is not."""
    if not reliability.of:
        return ""
    kind = EvidenceKind.of(reliability.evidence)
    most, why = _most(kind)
    level = _label(_share(reliability, kind), Confidence.HIGH)
    return f"{most} at most, because {why}" if level is not None and level.at_most(most) is not level else ""


def _most(kind: EvidenceKind) -> tuple[Confidence, str]:
    """The highest label that such evidence can have, and why.

    Generated instances have no cause that the catalogue lacks. Only the cache and the conditions tell such a one apart.
    """
    if kind.its_cache_alone:
        return Confidence.LOW, "only the cache speaks for it, as for every cause of that cache"
    if kind.rival == "open":
        return Confidence.MEDIUM, "a special case of it is not ruled out"
    if kind.cache in ("not named", "inferred"):
        return Confidence.MEDIUM, "no figure names the cache"
    if kind.sight == "against":
        return Confidence.MEDIUM, "a ratio to other work speaks against it"
    return Confidence.HIGH, ""


def _only_true(kind: EvidenceKind) -> bool:
    """Whether all that counts is that it is true: the special case, or another cause of the cache, may be the right one."""
    return kind.its_cache_alone or kind.rival == "open"


def _share(reliability: Reliability, kind: EvidenceKind) -> float:
    return (reliability.true if _only_true(kind) else reliability.right) / reliability.of


def _label(share: float, most: Confidence) -> Confidence | None:
    level = next((level for floor, level in LEVELS if share >= floor), None)
    return None if level is None else level.at_most(most)


def counted_in_words(reliability: Reliability) -> str:
    """How often such findings were right, or true beside a special case, and how often it was another cause."""
    if not reliability.of:
        return "how often such a finding is right was not counted"
    beside = EvidenceKind.of(reliability.evidence).rival in ("open", "special")
    word, many = ("true", reliability.true) if beside else ("right", reliability.right)
    other = f"another cause in {reliability.of - reliability.true:,}"
    words = [f"{word} in {many:,} of {reliability.of:,} such cases, generated", other, capped(reliability)]
    return "; ".join(filter(None, words))
