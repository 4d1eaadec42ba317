"""Severity, confidence and the order of findings, each separately."""

import pytest

from rules.cause import catalogue
from rules.judge import confidence, severity
from rules.model import Confidence, Finding, Identity, Severity
from rules.resolve import ranked
from tests.rules.contexts import TOTALS, context_of

READ, INFERRED, CANDIDATE = Identity.READ, Identity.INFERRED, Identity.CANDIDATE
HIGH, MEDIUM, LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW


@pytest.mark.parametrize(
    ("identity", "discriminating", "shape", "unknown", "confirmed", "map_fits", "level"),
    [
        (READ, 1, 1, 0, None, True, HIGH),
        (READ, 1, 0, 0, True, True, HIGH),
        (READ, 1, 0, 0, None, True, MEDIUM),
        (READ, 0, 1, 1, None, True, MEDIUM),
        (READ, 0, 0, 0, True, True, MEDIUM),
        (READ, 0, 0, 0, None, True, LOW),
        (READ, 1, 1, 0, None, False, MEDIUM),
        (READ, 1, 1, 0, False, True, MEDIUM),
        (INFERRED, 2, 1, 0, True, True, MEDIUM),
        (INFERRED, 1, 0, 0, False, True, LOW),
        (CANDIDATE, 2, 1, 0, True, True, LOW),
        (CANDIDATE, 0, 1, 3, False, True, LOW),
        (None, 2, 0, 0, None, True, HIGH),
        (None, 0, 0, 0, None, True, HIGH),
        (None, 1, 0, 1, None, True, MEDIUM),
        (None, 0, 0, 1, None, True, LOW),
        (None, 1, 0, 0, False, True, MEDIUM),
    ],
)
def test_confidence_follows_identity_proof_shape_and_confirmation(
    identity: Identity | None,
    discriminating: int,
    shape: int,
    unknown: int,
    confirmed: bool | None,
    map_fits: bool,
    level: Confidence,
) -> None:
    assert confidence(identity, discriminating, shape, unknown, confirmed, map_fits) is level


def test_severity_is_the_gate_within_the_cap() -> None:
    context = context_of()
    assert context.gate is Severity.WARNING
    assert severity(context, ("latch", "lock"), Severity.CRITICAL, LOW) is Severity.WARNING
    assert severity(context, ("latch", "lock"), Severity.INFO, HIGH) is Severity.INFO
    assert severity(context, ("lock",), Severity.CRITICAL, HIGH) is Severity.NOTICE


@pytest.mark.parametrize(("sure", "most"), [(LOW, "notice"), (MEDIUM, "warning"), (HIGH, "warning")])
def test_severity_from_shares_alone_is_at_most_a_warning(sure: Confidence, most: str) -> None:
    assert severity(context_of(basis=TOTALS), ("latch",), Severity.CRITICAL, sure) == most


def finding(cause: str, grade: Severity, sure: Confidence) -> Finding:
    about = catalogue()["undo-segments"]
    words = {name: getattr(about, name) for name in ("title", "explanation", "remedy", "risk", "expected_effect")}
    known = {"child": None, "cache": None, "caches": (), "identity": None, "location": None, "confirm": None}
    rest = {"surface": "latch", "evidence": (), "references": (), "false_positives": about.false_positives}
    return Finding.model_validate({"cause": cause, "severity": grade, "confidence": sure, **words, **known, **rest})


def test_ranked_puts_the_finding_to_act_on_first() -> None:
    findings = [
        finding("d", Severity.INFO, HIGH),
        finding("c", Severity.WARNING, LOW),
        finding("b", Severity.WARNING, HIGH),
        finding("a", Severity.WARNING, HIGH),
        finding("e", Severity.CRITICAL, LOW),
    ]
    assert [one.cause for one in ranked(findings)] == ["e", "a", "b", "c", "d"]
    assert ranked(reversed(findings)) == ranked(findings)
