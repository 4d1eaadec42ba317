"""Scanning finds collectors, checks them and puts them in order. A wrong one fails loudly."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from collectors import views
from collectors.model import Collector, Column, ColumnKind, Value
from collectors.poll import parted
from collectors.registry import (
    BadCollector,
    GroupText,
    check,
    collectors,
    group_text_of,
    groups,
    marker,
    parsed,
    view_of,
    views_of,
)
from collectors.release import at_least, text_for
from tests.collectors.shipped_sql import RELEASES

TEXTS = {f"{name} {floor}": text for name, group in groups().items() for floor, text in group.texts.items()}


def lines(sql: str) -> str:
    """A statement without its indentation."""
    return "\n".join(line.strip() for line in sql.splitlines())


@pytest.mark.parametrize("name", TEXTS)
def test_group_holds_the_statement_of_each_view_for_its_release(name: str) -> None:
    text, release = TEXTS[name], name.split()[1]
    for view in text.views:
        own = text_for(collectors()[view].statements, release)
        assert own is not None and lines(own) in lines(text.sql), f"{view} has changed; run make docs"
        assert marker(view) in text.sql
        given = sqlglot.parse_one(own, read="oracle").assert_is(exp.Query).selects
        assert {column for column, _ in text.views[view]} == {one.alias_or_name.lower() for one in given}


@pytest.mark.parametrize("name", TEXTS)
def test_every_part_has_a_cell_for_every_column_and_texts_apart_from_numbers(name: str) -> None:
    text = TEXTS[name]
    united = sqlglot.parse_one(text.sql, read="oracle")
    heads = [one for one in united.find_all(exp.Select) if isinstance(one.selects[0].unalias(), exp.Literal)]
    assert len(heads) == len(text.views) and {len(head.selects) for head in heads} == {len(text.columns)}
    numbers = {"latch#", "child#", "cache#", "con_id", "sid", "serial#", "gets", "value", "level_now", "sleeps", "p1"}
    for view, columns in text.views.items():
        for column, place in columns:
            assert text.columns[place][0] == ("n" if column in numbers else text.columns[place][0]), (view, column)
        kinds = [text.columns[place][0] for _, place in columns]
        assert kinds == sorted(kinds, reverse=True), view


@pytest.mark.parametrize("group", groups())
def test_group_is_there_for_every_release_we_poll(group: str) -> None:
    since = "12.1" if "v$con_system_event" in groups()[group].views else "11.2"
    texts = {release: groups()[group].text(f"{release}.0.0") for release in RELEASES if at_least(release, since)}
    assert all(texts.values()) and groups()[group].text("10.2.0.4.0") is None
    columns = {
        release: {view: dict(text.views[view]) for view in text.views} for release, text in texts.items() if text
    }
    of_containers = {view for view, found in columns["12.1"].items() if {"con_id", "fastgets"} & found.keys()}
    older = columns.get("11.2", {})
    assert of_containers and not any({"con_id", "fastgets"} & older.get(view, {}).keys() for view in of_containers)


def test_no_view_of_its_own_waits_for_one_of_a_group() -> None:
    grouped = {view for group in groups().values() for view in group.views}
    for collector in collectors().values():
        assert not (grouped & set(collector.after)), f"{collector.view} would be asked before what it needs"
    assert not any(collectors()[view].once for view in grouped)


def test_what_is_due_once_a_minute_is_asked_with_all_that_every_poll_asks() -> None:
    """So that it costs no round trip of its own."""
    every_poll, sometimes = groups()["counters"].views, groups()["counters_and_levels"].views
    assert every_poll < sometimes and not any(collectors()[view].every_seconds for view in every_poll)
    assert {collectors()[view].every_seconds for view in sometimes - every_poll} == {60.0}
    assert sometimes - every_poll == {"v$undostat", "v$sgastat", "v$sga_resize_ops"}


ROWS: Mapping[str, list[dict[str, Value]]] = {
    "v$latch_children": [
        {"latch#": 270, "child#": child, "addr": f"0{child}", "gets": 5, "misses": 4, "sleeps": 3, "immediate_gets": 2}
        | {"immediate_misses": 1, "spin_gets": 0, "wait_time": None}
        for child in (1, 2)
    ],
    "waiting_sessions": [],
    "library_cache_sessions": [],
}


def test_answer_parts_into_the_rows_of_each_view() -> None:
    text = groups()["waits"].text("11.2.0.4.0")
    assert text is not None
    united = text.united(ROWS)
    assert {len(row) for row in united} == {len(text.columns)}
    told = parted(text, united) or {}
    assert {view: cells.named() for view, cells in told.items()} == {view: tuple(rows) for view, rows in ROWS.items()}
    assert "con_id" not in dict(text.views["waiting_sessions"]), (
        "a column that the release does not have is absent, not null"
    )


def test_views_of_knows_our_statements_by_their_text() -> None:
    text = groups()["waits"].text("19.0.0.0.0")
    assert isinstance(text, GroupText) and group_text_of(text.sql) is text
    assert views_of(text.sql) == {"v$latch_children", "waiting_sessions", "library_cache_sessions"}
    assert views_of(text_for(collectors()["v$latch"].statements, "19") or "") == {"v$latch"}
    assert views_of("select 1 from dual") == frozenset() and group_text_of("select 1 from dual") is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("'v$rowcache'", "'v$rowcash'"), "v$rowcash"),
        (("dlm_conflicts", "0, dlm_conflicts"), "v$rowcache"),
        (("of_view, t1", "view, t1"), "no group"),
    ],
)
def test_file_that_is_no_group_is_refused(wrong: tuple[str, str], said: str) -> None:
    text = groups()["counters"].text("19")
    assert text is not None
    parsed(text.sql, "counters.sql")
    before, after = wrong
    broken = re.sub(rf"(select[^()]*?){re.escape(before)}", rf"\g<1>{after}", text.sql, count=1, flags=re.DOTALL)
    assert broken != text.sql
    with pytest.raises(BadCollector, match=re.escape(said)):
        parsed(broken, "counters.sql")


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


def test_modules_of_views_are_collectors_named_as_their_view_and_an_added_one_is_found(planted: Path) -> None:
    module(planted, "planted", "view='v$planted', statements={'11.2': '/* latchscope v$planted */'}")
    modules = {path.stem for home in views.__path__ for path in Path(home).glob("*.py")} - {"__init__"}
    assert "planted" in modules
    assert {view.removeprefix("g").removeprefix("v$").removeprefix("x$") for view in collectors()} == modules


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
