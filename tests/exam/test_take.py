"""A diagnosis as an answer: what a stranger reads out of the JSON of the command line."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from exam import take
from exam.draw import Key
from exam.live import BEGIN, Clock

UNDO = {"cause": "undo-segments", "name": "Too many undo segments", "severity": "critical", "confidence": "low"}


def finding(**changed: Any) -> dict[str, Any]:
    fields = {"cache": None, "reliability": None, "do_now": "Act.", "check_first": None, "do_not": "Do not wait."}
    return {
        **UNDO,
        **fields,
        "remedy_steps": [{"do": "First.", "sql": None}, {"do": None, "sql": {"12.1": "select 1"}}],
        **changed,
    }


def diagnosis(state: str, *findings: dict[str, Any], cache: str | None = None) -> dict[str, Any]:
    return {"state": state, "findings": list(findings), "troubles": [{"cache": cache}]}


HARMLESS = finding(cause="benign-internal", name="Harmless misses of background work", severity="info")


def test_findings_are_the_causes_in_their_order() -> None:
    second = finding(cause="logon-storm", severity="notice", cache="dc_users")
    answer = take.answer("Q001", diagnosis("Critical", finding(), HARMLESS, second))
    assert answer["cause"] == ["undo-segments", "logon-storm", "benign-internal"] and answer["cache"] == "dc_users"
    assert answer["advice"][:4] == ["Act.", "Do not wait.", "First.", "select 1"] and len(answer["advice"]) == 8


@pytest.mark.parametrize(
    ("state", "findings", "cause", "confidence"),
    [
        ("Fine", [], ["nothing"], 0.9),
        ("Fine", [HARMLESS], ["nothing", "benign-internal"], 0.9),
        ("Elsewhere", [HARMLESS], ["elsewhere"], 0.9),
        ("Elsewhere", [finding(severity="info")], ["undo-segments", "elsewhere"], 0.5),
        ("Critical", [], ["cannot-tell"], 0.0),
        ("Critical", [HARMLESS], ["cannot-tell"], 0.0),
        ("Unknown", [], ["cannot-tell"], 0.0),
    ],
)
def test_diagnosis_without_a_cost_answers_by_its_state(
    state: str, findings: list[dict[str, Any]], cause: list[str], confidence: float
) -> None:
    answer = take.answer("Q001", diagnosis(state, *findings))
    assert (answer["cause"], answer["confidence"]) == (cause, confidence)


def test_cache_of_a_problem_is_named_without_a_cause() -> None:
    assert take.answer("Q001", diagnosis("Critical", cache="dc_props"))["cache"] == "dc_props"


def test_counts_of_earlier_findings_are_the_confidence() -> None:
    counted = finding(confidence="high", reliability={"right": 6, "true": 8, "of": 10})
    assert take.answer("Q001", diagnosis("Critical", counted))["confidence"] == 0.75
    assert take.answer("Q001", diagnosis("Critical", finding(confidence="high")))["confidence"] == 0.9


def test_missing_command_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(take, "which", lambda _: None)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(OSError, match=r"there is no latchscope on the PATH; `make install` installs it"):
        take._run("diagnose", "x")


def test_failing_command_is_named_with_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "latchscope: broken\n")
    monkeypatch.setattr("subprocess.run", lambda *_, **__: failed)
    with pytest.raises(OSError, match="latchscope diagnose ended with 1: latchscope: broken"):
        take._run("diagnose", "x")


def test_file_without_a_diagnosis_has_no_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = [{"database": "Q001", **diagnosis("Fine")}, {"database": "Q0031", **diagnosis("Fine")}]
    done = subprocess.CompletedProcess([], 2, json.dumps(said), "latchscope: Q002.txt is cut off\n")
    monkeypatch.setattr("subprocess.run", lambda *_, **__: done)
    keys = [Key(name, "awr-text", "healthy", f"{name}.txt", ("nothing",), "none") for name in ("Q001", "Q002", "Q003")]
    assert [one["question"] for one in take.answers(tmp_path, keys)] == ["Q001", "Q003"]


def test_live_database_is_captured_through_the_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(take, "CAPTURED", 1)
    key = Key("Q001", "live", "live", None, ("nothing",), "none", origin="healthy-19c")
    (file,) = take.live([key], tmp_path)
    captured = json.loads(file.read_text(encoding="utf-8"))
    assert captured["database"] == "Q001" and len(captured["snapshots"]) == 2
    assert captured["snapshots"][0]["views"]["v$rowcache"]["rows"]


def test_script_begins_to_run_with_the_first_question(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter((5.0, 5.0, 90.0, 97.0))
    monkeypatch.setattr("exam.live.monotonic", lambda: next(now))
    clock = Clock()
    assert (clock(), clock()) == (0.0, BEGIN)  # the script's own beginning, then the first question
    next(now)
    assert clock() == BEGIN + 92.0
