"""The command: the seed of a history, what is recorded, the report, and what wrong use gets."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from exam import __main__ as exam
from exam import report
from exam.draw import Key, write
from exam.score import marked, share
from tests.paths import ROOT

KEYS = [
    Key(
        id="Q001",
        kind="awr-text",
        part="one cause",
        file="Q001.txt",
        causes=("undo-segments",),
        incident="row cache",
        caches=("dc_rollback_segments",),
        wait="latch",
        forbidden=("restart",),
        origin="generator, instance 1",
    ),
    Key(
        id="Q002",
        kind="capture",
        part="healthy",
        file="Q002.json",
        causes=("nothing",),
        incident="none",
        relatives=("elsewhere",),
        forbidden=("restart",),
        origin="generator, instance 2",
    ),
]
GOOD = json.dumps([{"question": key.id, "cause": key.causes[0], "confidence": 0.9} for key in KEYS])
BAD = json.dumps([{"question": "Q001", "cause": "vpd", "confidence": 0.8, "advice": ["Restart the instance."]}])


def git(home: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *arguments], cwd=home, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A repository with a commit on rules, then one on the results, then one on something else."""
    home = tmp_path / "tree"
    for name in ("rules/a.yaml", "exam/results.jsonl", "docs/page.md"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x\n", encoding="utf-8")
        if name.startswith("rules"):
            git(home, "init", "--quiet", ".")
        git(home, "add", "--all")
        git(home, "commit", "--quiet", "--message", name)
    return home


def test_seed_is_of_the_last_commit_on_what_is_frozen(history: Path) -> None:
    frozen = exam.frozen_commit(history)
    assert git(history, "log", "-1", "--format=%s", frozen) == "rules/a.yaml"
    for name in exam.FROZEN:
        (history / name).mkdir(parents=True, exist_ok=True)
        (history / name / "b.py").write_text("x\n", encoding="utf-8")
        git(history, "add", "--all")
        git(history, "commit", "--quiet", "--message", name)
        assert exam.frozen_commit(history) == git(history, "rev-parse", "HEAD"), name


def test_shallow_clone_cannot_tell_the_commit(history: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{history}", "short")
    with pytest.raises(exam.ExamError, match="this clone is shallow"):
        exam.frozen_commit(tmp_path / "short")


def test_folder_without_history_says_what_to_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(exam.ExamError, match="give --commit HASH or --seed HEX"):
        exam.frozen_commit(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write("ab", None, tmp_path, [])
    (tmp_path / "key.json").write_text(
        json.dumps({"seed": "ab", "commit": None, "questions": [vars_of(key) for key in KEYS]}), encoding="utf-8"
    )
    for name, text in (("good.json", GOOD), ("bad.json", BAD)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def vars_of(key: Key) -> dict[str, Any]:
    return {name: getattr(key, name) for name in Key.__slots__}


def test_score_prints_and_writes_both_reports(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(folder / name) for name in ("good.json", "bad.json")]
    assert exam.main(["score", *files, "--folder", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "| first cause | 100% (21%–100%), 1 of 1 | 0% (0%–79%), 0 of 1 |" in said
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "| bad | Q001 | restart | restart the instance |" in text and "Questions without" not in text
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "<td>restart the instance</td>" in page and "<script" not in page


def test_report_lists_the_questions_that_the_first_tool_fails(folder: Path) -> None:
    assert exam.main(["score", str(folder / "bad.json"), "--folder", str(folder)]) == 0
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert (
        "| AWR report, text | one cause | Q001 | undo-segments | wrong | vpd-policy-check | generator, instance 1 |"
        in text
    )
    assert "| capture of the views | healthy | Q002 | nothing | no answer | – | generator, instance 2 |" in text


def test_page_escapes_what_answers_say() -> None:
    sheet = marked("<b>", json.dumps([{"question": "Q001", "cause": "<script>x</script>", "confidence": 0.1}]), KEYS)
    page = report.html("Results", report.tables("ab", None, [sheet]))
    assert "<script" not in page and "<b>" not in page and "&lt;script&gt;" in page


MISTAKES = [
    (["score", "missing.json"], "missing.json cannot be read"),
    (["take", "--folder", "empty"], "empty has no key.json; draw an exam first: python -m exam draw --folder empty"),
    (["draw", "--seed", "xyz"], "'xyz' is no seed; give 1 to 128 hex digits, or leave --seed out"),
    (["--record", "--seed", "ab"], "--record keeps the draw of the frozen commit alone"),
]


@pytest.mark.parametrize(("words", "line"), MISTAKES, ids=[line for _, line in MISTAKES])
def test_mistake_is_one_line(
    words: list[str], line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    home = ["--folder", "."] if words[0] == "score" else []
    assert exam.main([*words, *home]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"exam: {line}") and said.count("\n") == 1


# The record


def record(commit: str = "c" * 40) -> dict[str, Any]:
    sheets = [marked(name, text, KEYS) for name, text in ((report.OURS, GOOD), ("bad", BAD))]
    return report.recorded("ab", commit, "2026-11-28", sheets)


def test_record_has_the_counts_of_the_sheets(tmp_path: Path) -> None:
    kept, page = tmp_path / "results.jsonl", tmp_path / "exam.md"
    page.write_text(
        "# A\n\n<!-- results of the exam -->\n\nold\n\n<!-- end of the results -->\n\nafter\n", encoding="utf-8"
    )
    exam.keep([record(), record("d" * 40)], kept, page)
    assert [one["commit"][0] for one in exam.results(kept)] == ["c", "d"]
    counts = exam.results(kept)[0]["tools"]["bad"]
    assert counts["measures"]["harmful advice"] == [1, 2] and counts["kinds"]["AWR report, text"] == [0, 1]
    assert counts["failed"] == {"AWR report, text": {"wrong": 1}, "capture of the views": {"no answer": 1}}
    text = page.read_text(encoding="utf-8")
    assert "old" not in text and text.endswith("<!-- end of the results -->\n\nafter\n")
    assert text.index("### Draw of dddddddd") < text.index("### Draw of cccccccc")
    harm = share(marked("bad", BAD, KEYS).outcomes, "harmful advice")
    assert f"| harmful advice | 0% (0%–66%), 0 of 2 | {harm} |" in text


def test_first_draw_of_a_commit_is_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(exam, "results", lambda: [record()])
    monkeypatch.setattr(exam, "_clean", lambda: "c" * 40)
    assert exam.main(["--record", "--folder", str(tmp_path)]) == 2
    assert "the draw of cccccccc is recorded; only the first counts" in capsys.readouterr().err


def test_page_shows_what_is_recorded() -> None:
    text = (ROOT / "docs" / "exam.md").read_text(encoding="utf-8")
    assert exam.BLOCK.search(text) and exam.with_results(text, exam.results()) == text


def test_whole_exam_of_a_few_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw, take through the command line, rivals, score: every question of a small draw has an answer of ours."""
    assert exam.main(["--seed", "ab", "--first", "4", "--folder", str(tmp_path)]) == 0
    answers = json.loads((tmp_path / "answers" / "latchscope.json").read_text(encoding="utf-8"))
    assert [one["question"] for one in answers] == ["Q001", "Q002", "Q003", "Q004"]
    assert all(one["cause"] and 0 <= one["confidence"] <= 1 for one in answers)
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| measure | latchscope | largest wait | busiest cache | hit ratio |" in text and "\n## Remarks" not in text
