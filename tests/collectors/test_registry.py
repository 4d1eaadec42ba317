"""Scanning finds collectors, checks them and puts them in order. A wrong one fails loudly."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from collectors import views
from collectors.model import Collector, Column, ColumnKind
from collectors.registry import BadCollector, check, collectors, marker, view_of

LATCH = collectors()["v$latch"]


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to scan beside collectors/views, with the registry's memory cleared before and after."""
    monkeypatch.setattr(views, "__path__", [*views.__path__, str(tmp_path)])
    collectors.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    collectors.cache_clear()


def module(folder: Path, name: str, changes: str, copies: int = 1) -> None:
    body = "from dataclasses import replace\nfrom collectors.views import latch\n"
    body += "".join(f"C{place} = replace(latch.LATCH, {changes})\n" for place in range(copies))
    (folder / f"{name}.py").write_text(body, encoding="utf-8")


def test_modules_of_views_are_collectors_named_as_their_view() -> None:
    (home,) = views.__path__
    modules = {path.stem for path in Path(home).glob("*.py")} - {"__init__"}
    assert {view.removeprefix("v$").removeprefix("x$") for view in collectors()} == modules


def test_added_module_is_found(planted: Path) -> None:
    module(planted, "planted_good", "view='v$planted', statements={'11.2': '/* latchscope v$planted */'}")
    assert "v$planted" in collectors()


@pytest.mark.parametrize(
    ("name", "changes", "copies", "line"),
    [
        ("planted_twice", "", 1, r"planted_twice declares v\$latch a second time; keep one"),
        ("planted_many", "", 2, r"planted_many holds 2 collectors; each module of views holds exactly one"),
        ("planted_none", "", 0, r"planted_none holds 0 collectors"),
        (
            "planted_after",
            "view='v$p', statements={'11.2': '/* latchscope v$p */'}, after=('v$nowhere',)",
            1,
            r"v\$p comes after v\$nowhere, which no module collects",
        ),
        (
            "planted_circle",
            "view='v$p', statements={'11.2': '/* latchscope v$p */'}, after=('v$p',)",
            1,
            r"collectors wait for each other: v\$p → v\$p",
        ),
        ("planted_unmarked", "view='v$p'", 1, r"v\$p for 11.2 lacks the comment /\* latchscope v\$p \*/"),
    ],
)
def test_wrong_module_raises_bad_collector_in_one_line(
    planted: Path, name: str, changes: str, copies: int, line: str
) -> None:
    module(planted, name, changes, copies)
    with pytest.raises(BadCollector, match=line) as caught:
        collectors()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (replace(LATCH, columns=(*LATCH.columns, LATCH.columns[0])), "declares column latch# twice"),
        (replace(LATCH, columns=(Column("gets", ColumnKind.COUNTER, "count", ""),)), "has no key column"),
        (replace(LATCH, statements={}), "has no statement"),
        (replace(LATCH, every_seconds=60.0), "is carried over and has a counter"),
        (replace(LATCH, once=True), "is carried over and has a counter"),
        (replace(LATCH, statements={"newest": "/* latchscope v$latch */"}), "'newest', which is not a release"),
        (replace(LATCH, statements={"11.2": "select 1 from dual"}), "lacks the comment /* latchscope v$latch */"),
    ],
)
def test_declaration_that_cannot_work_is_refused(wrong: Collector, line: str) -> None:
    check(LATCH)
    with pytest.raises(BadCollector) as caught:
        check(wrong)
    assert line in str(caught.value)


def test_collectors_come_after_those_they_need() -> None:
    order = list(collectors())
    for view, collector in collectors().items():
        assert all(order.index(needed) < order.index(view) for needed in collector.after)
    assert order[0] == "v$instance"


def test_statements_each_belong_to_one_view() -> None:
    texts = [text for one in collectors().values() for text in one.statements.values()]
    assert len(set(texts)) == len(texts)
    assert view_of("select * from dual") is None


def test_marker_is_a_comment_with_the_view() -> None:
    assert marker("v$latch") == "/* latchscope v$latch */"


def test_module_without_a_collector_is_refused(planted: Path) -> None:
    assert isinstance(views, ModuleType)
    (planted / "planted_words.py").write_text('LATCH = "v$latch"\n', encoding="utf-8")
    with pytest.raises(BadCollector, match="planted_words holds 0 collectors"):
        collectors()
