"""How sure findings are: one label a kind of evidence, in the order of the kinds, and true where no rule was tuned."""

import pytest

from bench._truth_scores import scores
from bench._truth_tables import interval
from rules.grade import KINDS, counted_in_words, measured
from rules.model import Confidence, Reliability
from tests.truth.plan import seeds

FLOORS = {Confidence.HIGH: 0.95, Confidence.MEDIUM: 0.80, Confidence.LOW: 0.50}
"""From which share of findings that were true on a label may be given."""


def test_every_kind_of_evidence_was_counted_and_earns_its_label() -> None:
    assert list(measured()) == list(KINDS)
    for kind, (label, _) in KINDS.items():
        counted = measured()[kind]
        assert counted.of >= 15 and counted.true / counted.of >= FLOORS[label], kind
    assert measured()[list(KINDS)[-1]].right / measured()[list(KINDS)[-1]].of >= FLOORS[Confidence.HIGH]


def test_words_say_how_often_it_was_right_beside_the_right_one_and_another_cause() -> None:
    kind = list(KINDS)[-1]
    told = Reliability(evidence=kind, counted=kind, right=486, true=486, of=507)
    assert counted_in_words(told) == "right in 486 of 507 such cases, generated; another cause in 21"
    beside = told.model_copy(update={"right": 40})
    assert counted_in_words(beside) == "true in 486 of 507 such cases, generated; another cause in 21"


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
