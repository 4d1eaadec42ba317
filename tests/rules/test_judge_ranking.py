"""Severity, confidence and the order of findings, each separately."""

from rules.cause import catalogue
from rules.judge import severity
from rules.model import Confidence, Finding, Severity
from rules.resolve import ranked
from tests.rules.contexts import TOTALS, context_of

HIGH, MEDIUM, LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW


def test_severity_is_the_gate_within_the_cap() -> None:
    context = context_of()
    assert context.gate is Severity.WARNING
    assert severity(context, ("latch", "lock"), Severity.CRITICAL) is Severity.WARNING
    assert severity(context, ("latch", "lock"), Severity.INFO) is Severity.INFO
    assert severity(context, ("lock",), Severity.CRITICAL) is Severity.NOTICE


def test_severity_from_shares_alone_is_at_most_a_warning() -> None:
    assert severity(context_of(basis=TOTALS), ("latch",), Severity.CRITICAL) is Severity.WARNING


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
