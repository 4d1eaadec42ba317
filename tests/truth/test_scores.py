"""The scoring of a diagnosis: planted answers get the right scores."""

import pytest

from bench import _truth_scores
from bench.truth import figures
from collectors.model import NotComparable
from rules.engine import cannot_tell
from rules.model import Confidence, Diagnosis, Finding, RuledOut, Severity, Surface
from tests.truth.generate import case
from tests.truth.plan import seeds, setting_of

UNKNOWN = cannot_tell(NotComparable("truth", None, "nothing is known", "look"))


def finding(cause: str, surface: Surface, cache: str | None, severity: Severity) -> Finding:
    """A finding with only the fields that are scored."""
    return Finding(
        cause=cause,
        name=cause,
        title=cause,
        surface=surface,
        severity=severity,
        confidence=Confidence.LOW,
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
    monkeypatch.setattr(_truth_scores, "diagnosed", lambda _: diagnosis)
    return _truth_scores.score(seed)


def test_right_answer_is_right_in_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = first("single", "sequence-nocache")
    severity = Severity(max(case(seed).truth.severities()))
    score = scored(
        monkeypatch, seed, planted(finding("sequence-nocache", "lock", "dc_sequences", severity), severity=severity)
    )
    assert score.top and score.true_on_top and not score.false and score.severity_error == 0
    assert [(one.verdict, one.cache) for one in score.troubles] == [("found", True)]


def test_wrong_cause_surface_and_cache_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = first("single", "sequence-nocache")
    wrong = finding("undo-segments", "latch", "dc_rollback_segments", Severity.CRITICAL)
    late = finding("sequence-nocache", "lock", "dc_users", Severity.CRITICAL)
    score = scored(monkeypatch, seed, planted(wrong, late, severity=Severity.CRITICAL))
    assert not score.top and score.first == "undo-segments"
    assert score.false == score.elsewhere == ("undo-segments",)
    assert [(one.verdict, one.cache) for one in score.troubles] == [("found", False)]
    assert score.severity_error == 1  # the staged share is weak


def test_what_is_not_found_is_open_or_ruled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = first("single", "sequence-nocache")
    score = scored(monkeypatch, seed, planted(severity=Severity.INFO))
    assert (score.troubles[0].verdict, score.first) == ("cannot tell", _truth_scores.NOTHING)
    score = scored(monkeypatch, seed, planted(severity=Severity.INFO, ruled_out=("sequence-nocache",)))
    assert (score.troubles[0].verdict, score.troubles[0].why) == ("ruled out", "planted")
    assert score.severity_error < 0


def test_incident_on_a_healthy_instance_is_false_with_and_without_a_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = first("healthy")
    assert not scored(monkeypatch, seed, planted(severity=Severity.INFO)).unexplained
    assert scored(monkeypatch, seed, planted(severity=Severity.WARNING)).unexplained
    wrong = finding("undo-segments", "latch", "dc_rollback_segments", Severity.WARNING)
    assert scored(monkeypatch, seed, planted(wrong, severity=Severity.WARNING)).false == ("undo-segments",)


def test_unknown_cause_or_seed_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in ((["--only", "no-such-cause"], "no mechanism"), (["--show", "999999"], "no seed")):
        with pytest.raises(SystemExit):
            figures(arguments)
        assert said in capsys.readouterr().err
