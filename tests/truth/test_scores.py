"""The scoring of a diagnosis: planted answers get the right scores."""

import json
from pathlib import Path

import pytest

from bench import _truth_scores
from bench.truth import figures
from collectors.model import NotComparable
from rules.cause import catalogue
from rules.engine import cannot_tell
from rules.model import Confidence, Diagnosis, Finding, RuledOut, Severity, Surface
from tests.truth.generate import case
from tests.truth.plan import seeds, setting_of

pytestmark = pytest.mark.slow

UNKNOWN = cannot_tell(NotComparable("truth", None, "nothing is known", "look"))


def finding(cause: str, surface: Surface, cache: str | None, severity: Severity, sure: str = "low") -> Finding:
    """A finding with only the fields that are scored."""
    return Finding(
        cause=cause,
        name=cause,
        title=cause,
        surface=surface,
        severity=severity,
        confidence=Confidence(sure),
        child=None,
        cache=cache,
        caches=(),
        identity=None,
        location=None,
        explanation="planted",
        evidence=(),
        unknown=(),
        confirm=None,
        remedy="none",
        risk="none",
        expected_effect="none",
        false_positives="none",
        references=(),
    )


def planted(*findings: Finding, severity: Severity, ruled_out: tuple[str, ...] = ()) -> Diagnosis:
    """A diagnosis with these findings, and these causes ruled out."""
    gone = tuple(RuledOut(cause=cause, signal="planted", value=0.0, needs=">= 1") for cause in ruled_out)
    open_ones = tuple(one for one in UNKNOWN.undetermined if one.cause not in ruled_out)
    changes = {"findings": findings, "severity": severity, "ruled_out": gone, "undetermined": open_ones}
    return UNKNOWN.model_copy(update=changes)


def first(kind: str, cause: str = "") -> int:
    """The first seed of a kind."""
    return next(
        seed for seed in seeds() if setting_of(seed).kind == kind and (not cause or cause in setting_of(seed).causes)
    )


def scored(monkeypatch: pytest.MonkeyPatch, seed: int, diagnosis: Diagnosis) -> _truth_scores.Score:
    """The score of a planted diagnosis."""
    monkeypatch.setattr(_truth_scores, "told", lambda *_: diagnosis)
    return _truth_scores.score(seed)


def test_wrong_cause_surface_and_cache_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = first("single", "sequence-nocache")
    wrong = finding("undo-segments", "latch", "dc_rollback_segments", Severity.CRITICAL)
    late = finding("sequence-nocache", "lock", "dc_users", Severity.CRITICAL)
    score = scored(monkeypatch, seed, planted(wrong, late, severity=Severity.CRITICAL))
    assert not score.top and score.first == "undo-segments"
    assert score.false and score.elsewhere and score.untrue == ("undo-segments",)
    assert score.verdict == "right"  # it is among the findings; what is false beside it counts apart
    assert score.troubles[0].cache is False
    assert score.severity_error == 1  # the staged share is weak


@pytest.mark.parametrize(
    ("named", "ruled_out", "severity", "verdict"),
    [
        ("", False, Severity.INFO, "honest"),
        ("", False, Severity.WARNING, "honest"),
        ("", True, Severity.INFO, "silent"),
        ("", True, Severity.WARNING, "wrong"),
        ("result-cache-latch", False, Severity.WARNING, "kin"),
        ("undo-segments", False, Severity.WARNING, "wrong"),
        ("undo-segments", True, Severity.WARNING, "wrong"),
    ],
)
def test_what_is_not_found_is_kin_honest_silent_or_wrong(
    monkeypatch: pytest.MonkeyPatch, named: str, ruled_out: bool, severity: Severity, verdict: str
) -> None:
    seed, cause = first("single", "result-cache-force"), "result-cache-force"
    others = [finding(named, "result-cache", None, severity)] if named else []
    gone = (cause,) if ruled_out else ()
    score = scored(monkeypatch, seed, planted(*others, severity=severity, ruled_out=gone))
    assert score.verdict == verdict
    assert score.troubles[0].judged == ("ruled out" if ruled_out else "open")
    assert score.false == (named == "undo-segments")


def test_incident_on_a_healthy_instance_is_false_with_and_without_a_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = first("healthy")
    assert scored(monkeypatch, seed, planted(severity=Severity.INFO)).verdict == "right"
    unexplained = scored(monkeypatch, seed, planted(severity=Severity.WARNING))
    assert unexplained.verdict == "wrong" and unexplained.false and unexplained.false_alarm
    wrong = finding("undo-segments", "latch", "dc_rollback_segments", Severity.NOTICE)
    noticed = scored(monkeypatch, seed, planted(wrong, severity=Severity.NOTICE))
    assert noticed.verdict == "wrong" and noticed.false and not noticed.false_alarm


def test_unknown_world_lacks_the_true_cause_and_whatever_else_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[frozenset[str]] = []
    monkeypatch.setattr(_truth_scores, "diagnose", lambda _, causes: known.append(frozenset(causes or ())) or UNKNOWN)
    strong = next(seed for seed in seeds() if setting_of(seed).strength == "strong")
    weak = first("single")
    for seed in (weak, strong, first("pair")):
        assert (_truth_scores.score(seed).unknown_world is not None) == (seed == strong)
    special = next(
        seed
        for seed in seeds()
        if setting_of(seed).causes == ("dynamic-sampling",) and setting_of(seed).strength == "strong"
    )
    known.clear()
    _truth_scores.score(special)
    assert [set(catalogue()) - causes for causes in known if causes] == [{"dynamic-sampling", "histogram-hard-parse"}]


def test_scores_can_be_written_for_other_programs(tmp_path: Path) -> None:
    target = tmp_path / "scores.json"
    figures(["--first", "2", "--json", str(target)])
    written = json.loads(target.read_text(encoding="utf-8"))
    assert [one["seed"] for one in written] == [0, 1]
    assert {"verdict", "false", "held_back", "findings", "troubles", "unknown_world"} <= set(written[0])


def test_two_troubles_have_the_worse_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = first("pair", "sequence-nocache")
    one, other = (trouble.cause for trouble in case(seed).truth.troubles)
    found = finding(one, "latch", None, Severity.WARNING)
    assert scored(monkeypatch, seed, planted(found, severity=Severity.WARNING)).verdict == "honest"
    gone = planted(found, severity=Severity.WARNING, ruled_out=(other,))
    assert scored(monkeypatch, seed, gone).verdict == "wrong"


def test_finding_of_info_is_silence_for_a_cause_and_enough_for_a_look_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, cause, verdict in (("single", "logon-storm", "silent"), ("look-alike", "starved-host", "right")):
        harmless = finding(cause, "latch", None, Severity.INFO)
        assert scored(monkeypatch, first(kind, cause), planted(harmless, severity=Severity.INFO)).verdict == verdict


def test_hang_without_a_cause_of_its_own_must_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = first("hang", "row cache mutex")
    for severity, verdict in ((Severity.CRITICAL, "right"), (Severity.INFO, "silent")):
        assert scored(monkeypatch, seed, planted(severity=severity)).verdict == verdict
