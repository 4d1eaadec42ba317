"""The record of measures: rows are kept, what is missing has its reason, and a line joins only what can be compared."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench import record as bench
from bench.record import GROUPS, Row
from docs import record as drawn

FAST = Row(
    "aaaaaaaa",
    "2026-03-01T12:00",
    "2026-03-09T12:00",
    "one, 2 cores",
    60.0,
    {"healthy_ms": 4.0, "edition": 3, "truth": {"single, weak": {"n": 4, "right": 3}}, "tests": 10},
)
LATER = replace(FAST, commit="bbbbbbbb", committed="2026-03-02T12:00", loop_ms=63.0)
SLOW = replace(LATER, loop_ms=90.0)


def names(rows: list[Row], name: str) -> list[list[str]]:
    """The commits that each line of a figure joins."""
    panel = next(panel for panel in drawn.PANELS if name in panel.lines.values())
    return [[row.commit for row in run] for run in drawn.joined_rows(rows, name, panel.joined)]


def test_row_is_kept_once_for_a_commit_and_a_machine_in_the_order_of_commits(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    for row in (LATER, FAST, replace(FAST, machine="another"), replace(FAST, loop_ms=61.0)):
        bench.keep(row, path)
    assert [(row.commit, row.machine, row.loop_ms) for row in bench.rows(path)] == [
        ("aaaaaaaa", "another", 60.0),
        ("aaaaaaaa", "one, 2 cores", 61.0),
        ("bbbbbbbb", "one, 2 cores", 63.0),
    ]


def test_line_that_is_no_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    bench.keep(FAST, path)
    path.write_text(path.read_text("utf-8") + '{"commit": "c"}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"record\.jsonl, line 2 is no row of the record: .*; delete the line"):
        bench.rows(path)


def test_figure_that_cannot_be_measured_is_missing_with_its_reason_and_without_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "GROUPS", {name: GROUPS[name] for name in ("lines", "published")})
    for folder in ("collectors", "rules", "service"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("ONE = 1\nTWO = 2\n", encoding="utf-8")
    row = bench._measured(tmp_path, "c", "2026-03-01T12:00")
    assert row.figures == {"lines": 6, "published": None}
    assert row.missing == {"published": "ModuleNotFoundError: No module named 'rules.engine'"}
    said = bench._reason(f"x\nImportError: no name in 'a' ({tmp_path}/a.py), none in 'b' (/elsewhere/b.py)\n", tmp_path)
    assert said == "ImportError: no name in 'a' (a.py), none in 'b'"


def test_tiny_row_is_refused_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.figures(["--tiny"])
    assert "add --here" in capsys.readouterr().err


def test_line_joins_times_only_of_one_machine_that_was_as_fast() -> None:
    both = [["aaaaaaaa", "bbbbbbbb"]]
    assert names([FAST, LATER], "healthy_ms") == both
    assert names([FAST, SLOW], "healthy_ms") == []
    assert names([FAST, SLOW], "tests") == both, "a count is the same on every machine"
    assert names([FAST, replace(LATER, machine="another")], "healthy_ms") == []


def test_line_joins_truth_only_of_one_edition() -> None:
    assert names([FAST, SLOW], "single, weak") == [["aaaaaaaa", "bbbbbbbb"]]
    assert names([FAST, replace(LATER, figures={**LATER.figures, "edition": 4})], "single, weak") == []


def test_missing_figure_is_no_point_and_breaks_the_line() -> None:
    gap = replace(LATER, figures={**LATER.figures, "tests": None}, missing={"tests": "pytest says: no"})
    last = replace(FAST, commit="cccccccc", committed="2026-03-03T12:00")
    assert names([FAST, gap, last], "tests") == []
    picture = drawn.picture([FAST, gap, last])
    assert "aaaaaaa, tests: 10" in picture and "ccccccc, tests: 10" in picture and "bbbbbbb, tests" not in picture
    assert dict(zip(drawn.TABLE, next(drawn.cells([gap]))[3:], strict=True))["tests"] == ""
    assert "- `bbbbbbb`, tests: `pytest says: no`" in drawn.gaps([FAST, gap, last])


def test_truth_is_drawn_as_the_share_that_is_right() -> None:
    assert drawn.figure(FAST, "single, weak") == 75.0
    assert drawn.figure(FAST, "single, strong") is None


def test_record_of_the_project_has_every_figure_or_its_reason() -> None:
    rows = bench.rows()
    assert len({row.commit for row in rows}) >= 3 and rows[0].commit.startswith("5f5b712")
    for row in rows:
        assert list(row.figures) == [figure for group in GROUPS.values() for figure in group.figures]
        assert set(row.missing) == {name for name, value in row.figures.items() if value is None}
        assert all(row.missing.values()) and row.loop_ms > 0
    assert all(json.loads(line) for line in bench.KEPT.read_text("utf-8").splitlines())
