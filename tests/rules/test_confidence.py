"""Confidence: the label of a share, its fallbacks and caps, and that the labels hold where no rule was tuned."""

from dataclasses import replace

import pytest

from bench._truth_scores import scores
from bench._truth_tables import interval
from rules.confidence import FEWEST, EvidenceKind, confidence_of, counted_in_words, measured, reliability_of
from rules.model import Confidence, Reliability
from tests.truth.plan import seeds

NAMED = EvidenceKind("named", "direct", "alone", "whole")
HIGH, MEDIUM, LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW


def counted(kind: EvidenceKind, right: int, true: int, of: int = 100) -> Confidence | None:
    return confidence_of(Reliability(evidence=str(kind), counted=str(kind), right=right, true=true, of=of))


@pytest.mark.parametrize(("right", "label"), [(95, HIGH), (94, MEDIUM), (80, MEDIUM), (79, LOW), (50, LOW), (49, None)])
def test_label_is_the_share_of_right_findings(right: int, label: Confidence | None) -> None:
    assert counted(NAMED, right, right) is label


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        (EvidenceKind("not named", "direct", "alone", "whole"), MEDIUM),
        (EvidenceKind("inferred", "direct", "alone", "whole"), MEDIUM),
        (EvidenceKind("named", "direct", "alone", "against"), MEDIUM),
        (EvidenceKind("named", "direct", "open", "whole"), MEDIUM),
        (EvidenceKind("named", "none", "alone", "whole"), LOW),
        (EvidenceKind("none", "none", "alone", "whole"), HIGH),
    ],
)
def test_a_cause_that_nobody_knows_would_look_the_same_so_the_label_has_a_limit(
    kind: EvidenceKind, most: Confidence
) -> None:
    assert counted(kind, 100, 100) is most


def test_general_cause_that_is_true_beside_its_special_one_is_low_and_not_dropped() -> None:
    special = EvidenceKind("named", "direct", "special", "whole")
    assert counted(special, 3, 97) is LOW
    assert counted(special, 3, 30) is None
    assert counted(NAMED, 0, 0, of=0) is LOW, "what was never counted earns nothing"


def test_kind_that_was_met_too_seldom_takes_a_coarser_one_with_the_same_rivals() -> None:
    for kind in map(EvidenceKind.of, measured()):
        used = reliability_of(kind)
        coarse = [str(wider) for wider in kind.coarser()]
        if kind.sight == "partial":
            coarse += map(str, replace(kind, sight="whole").coarser())
        assert used.of == 0 or (used.of >= FEWEST and used.counted in coarse), kind
        assert kind.rival in used.counted or kind.rival == "open", "an opponent is never averaged away"


def test_words_say_how_often_it_was_another_cause() -> None:
    told = Reliability(evidence=str(NAMED), counted=str(NAMED), right=486, true=490, of=507)
    assert counted_in_words(told) == "right in 486 of 507 such cases, generated; another cause in 17"
    beside = told.model_copy(update={"evidence": str(EvidenceKind("named", "direct", "special", "whole"))})
    assert counted_in_words(beside) == "true in 490 of 507 such cases, generated; another cause in 17"


@pytest.mark.soak
def test_labels_hold_on_the_half_that_nobody_tuned() -> None:
    """high: 95 % or more strictly right, of 200 findings or more; medium 80 % or more, and less than high."""
    found: dict[str, list[bool]] = {}
    for one in scores(seed for seed in seeds() if seed % 2):
        for finding in one.findings:
            found.setdefault(finding.confidence, []).append(finding.staged)
    shares = {label: sum(each) / len(each) for label, each in found.items()}
    assert len(found["high"]) >= 200
    assert shares["high"] >= 0.95
    assert 0.80 <= shares["medium"] < shares["high"]
    assert shares["low"] < shares["medium"]
    assert interval(sum(found["high"]), len(found["high"]))[0] > interval(sum(found["low"]), len(found["low"]))[1]


def test_unknown_figure_makes_no_finding_surer() -> None:
    kinds = [kind for kind in map(EvidenceKind.of, measured()) if kind.sight == "partial"]
    assert kinds
    for kind in kinds:
        partial, whole = reliability_of(kind), reliability_of(replace(kind, sight="whole"))
        if partial.of and whole.of:
            assert partial.right / partial.of <= whole.right / whole.of, kind
