"""Hand-made answers with scores that were worked out by hand, and what wrong input gets."""

import json
from typing import Any

import pytest

from exam.draw import Key
from exam.score import MEASURES, Share, calibration, judged, marked, read, share, verdicts, wilson

KEYS = [
    Key(
        id="Q001",
        kind="capture",
        part="one cause",
        file="Q001.json",
        causes=("undo-segments",),
        incident="row cache",
        relatives=("undo-segment-floor",),
        caches=("dc_rollback_segments",),
        wait="latch",
        forbidden=("restart", "kill-background", "grow-shared-pool"),
    ),
    Key("Q002", "awr-html", "one cause", "Q002.html", ("logon-storm",), "row cache", (), ("dc_users",), "mutex", ("restart",)),
    Key("Q003", "awr-text", "look-alike", "Q003.txt", ("starved-host",), "elsewhere", ("elsewhere",)),
    Key("Q004", "statspack", "healthy", "Q004.txt", ("nothing",), "none", ("elsewhere",), forbidden=("grow-shared-pool",)),
    Key("Q005", "capture", "hang", "Q005.json", ("row-cache-lock-hang",), "row cache", (), (), "lock", (), 12),
    Key("Q006", "awr-html", "published", "Q006.html", ("cannot-tell",), "row cache", (), (), "latch", ()),
]  # fmt: skip


def said(question: str, cause: Any = "nothing", confidence: Any = 0.5, **more: Any) -> dict[str, Any]:
    return {"question": question, "cause": cause, "confidence": confidence, **more}


ANSWERS = [
    said("Q001", "Too many undo segments", 0.9, cache="DC_ROLLBACK_SEGMENTS", advice=["Do not restart the instance."]),
    said("Q002", ["sequence-nocache", "a logon storm"], 0.6, cache="dc_sequences", advice=["Restart the database."]),
    said("Q003", "hard parsing", 0.3),
    said("Q004", "Shared pool too small", 0.8, advice=["Increase the shared pool."]),
    said("Q005", "Cannot tell", 0.0, advice=["alter system kill session '12,5'"]),
    said("Q006", "cannot tell", 0.0),
]
"""Right; second right and harmful; wrong but away from the row cache; false and harmful; honest but harmful; right."""
BY_HAND = {
    "first cause": (2, 5),
    "first cause or a relative": (2, 5),
    "any cause": (3, 5),
    "cache": (1, 2),
    "cannot tell": (1, 4),
    "wrong cause": (2, 5),
    "false incident": (1, 2),
    "harmful advice": (3, 6),
    "no answer": (0, 6),
}


def test_measures_are_those_worked_out_by_hand() -> None:
    sheet = marked("by hand", json.dumps(ANSWERS), KEYS)
    assert sheet.remarks == ()
    assert {name: share(sheet.outcomes, name) for name in MEASURES} == {n: Share(*told) for n, told in BY_HAND.items()}
    assert [one.verdict for one in sheet.outcomes] == ["right", "wrong", "wrong", "wrong", "cannot tell", "right"]
    assert verdicts(sheet.outcomes) == {"right": 2, "wrong": 3, "cannot tell": 1}


def test_one_object_a_line_is_read_as_the_array() -> None:
    lines = "\n".join(json.dumps(one) for one in ANSWERS)
    assert marked("by hand", lines, KEYS) == marked("by hand", json.dumps(ANSWERS), KEYS)


def test_calibration_by_hand() -> None:
    """(0.9 - 1)² + 0.6² + 0.3² + 0.8² over four: both answers that cannot tell are left out."""
    found = calibration(marked("by hand", json.dumps(ANSWERS), KEYS).outcomes)
    assert found.answers == 4 and found.brier == pytest.approx((0.01 + 0.36 + 0.09 + 0.64) / 4)
    assert [(round(mean, 3), hits, of) for _, _, mean, hits, of in found.bins] == [
        (0.3, 0, 1),
        (0.6, 0, 1),
        (0.85, 1, 2),
    ]
    assert calibration([]).brier is None


@pytest.mark.parametrize(
    ("cause", "verdict"),
    [
        ("undo-segments", "right"),
        ("_rollback_segment_count is very high", "relative"),
        ("nothing to do", "missed"),
        ("not the row cache", "missed"),
        ("unknown", "cannot tell"),
        ("vpd", "wrong"),
        (["vpd", "undo-segments"], "wrong"),
    ],
)
def test_verdict_follows_the_first_cause(cause: Any, verdict: str) -> None:
    answers, _ = read(json.dumps([said("Q001", cause)]), {"Q001"})
    assert judged(KEYS[0], answers["Q001"]).verdict == verdict


def test_cause_outside_the_row_cache_is_wrong_and_no_false_incident() -> None:
    for cause, false in (("starved host", False), ("library cache contention", False), ("vpd", True), ("zzz", True)):
        outcome = judged(KEYS[3], read(json.dumps([said("Q004", cause)]), {"Q004"})[0]["Q004"])
        assert (outcome.verdict, outcome.false_incident) == ("wrong", false), cause


def test_wilson_by_hand() -> None:
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)
    assert str(Share(5, 10)) == "50% (24%–76%), 5 of 10" and str(Share(0, 0)) == "–"


WRONG: list[tuple[Any, str]] = [
    (said("Q999"), 'answer 1: there is no question "Q999"; the index of the questions names them'),
    ({"cause": "x", "confidence": 1}, "answer 1: there is no question null; the index of the questions names them"),
    ([], "answer 1: [] is no JSON object; it counts as no answer"),
    ({"question": "Q001", "cause": "vpd"}, 'Q001: "confidence" is missing: the probability that the cause is right, from 0 to 1'),
    (said("Q001", confidence=1.5), 'Q001: "confidence" must be a number from 0 to 1, not 1.5'),
    (said("Q001", confidence=True), 'Q001: "confidence" must be a number from 0 to 1, not true'),
    (said("Q001", confidence="high"), 'Q001: "confidence" must be a number from 0 to 1, not "high"'),
    (said("Q001", cause=[]), 'Q001: "cause" must be a text, or a list of texts with the likeliest first'),
    (said("Q001", cause=["vpd", 3]), 'Q001: "cause" must be a text, or a list of texts with the likeliest first'),
    (said("Q001", cache=3), 'Q001: "cache" must be the name of a cache or null, not 3'),
    (said("Q001", advice="restart"), 'Q001: "advice" must be a list of texts'),
]  # fmt: skip


@pytest.mark.parametrize(("given", "line"), WRONG, ids=[line for _, line in WRONG])
def test_wrong_answer_is_one_line_and_no_answer(given: Any, line: str) -> None:
    sheet = marked("wrong", json.dumps([given]), KEYS[:1])
    assert len(sheet.remarks) == 1 and sheet.remarks[0].startswith(line) and "\n" not in sheet.remarks[0]
    assert sheet.outcomes[0].verdict == "no answer" and share(sheet.outcomes, "no answer") == Share(1, 1)


@pytest.mark.parametrize("text", ['[{"question": "Q001"', "[NaN]", "[" * 100_000])
def test_file_that_is_no_json_is_one_line(text: str) -> None:
    sheet = marked("broken", text, KEYS)
    assert len(sheet.remarks) == 1 and sheet.remarks[0].startswith("the file is not JSON (")
    assert {one.verdict for one in sheet.outcomes} == {"no answer"}


def test_broken_line_costs_only_itself() -> None:
    sheet = marked("lines", f"{json.dumps(ANSWERS[0])}\nnonsense\n\n{json.dumps(ANSWERS[5])}\n", KEYS)
    assert sheet.remarks == ("line 2: not JSON (Expecting value at line 1 column 1); it counts as no answer",)
    assert [one.verdict for one in sheet.outcomes] == ["right", *["no answer"] * 4, "right"]


def test_two_answers_to_a_question_are_none() -> None:
    sheet = marked("twice", json.dumps([ANSWERS[0]] * 3), KEYS[:1])
    assert sheet.remarks == ("Q001: answered more than once; give one answer, so it counts as no answer",)
    assert sheet.outcomes[0].verdict == "no answer"


def test_words_without_a_synonym_are_a_wrong_cause_and_a_line() -> None:
    sheet = marked("strange", json.dumps([said("Q001", "gremlins")]), KEYS[:1])
    assert sheet.remarks == ('Q001: no synonym for "gremlins"; it counts as a wrong cause (exam/synonyms.yaml)',)
    assert sheet.outcomes[0].verdict == "wrong"
