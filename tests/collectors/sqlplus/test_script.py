"""The SQL*Plus script: what its text may contain, and what the stand-in for SQL*Plus sends to each release."""

import re
from dataclasses import replace
from functools import cache

import pytest
import sqlglot
from sqlglot import exp

import collectors.sqlplus.script as module
from collectors.demo.scenarios import scenarios
from collectors.model import Collector, ColumnKind
from collectors.registry import BadCollector, collectors
from collectors.release import as_sent
from collectors.sqlplus.script import ScriptQuery, sqlplus_script
from rules.cause import catalogue
from tests.collectors.shipped_sql import LICENSED, RELEASES, VERSIONS, mistakes
from tests.collectors.sqlplus.sqlplus_standin import LONGEST_LINE, SqlPlus, parsed, with_binds

QUESTIONS = tuple(
    ScriptQuery((cause.id,), tuple(cause.confirm.variants().items()), cause.releases.since, cause.releases.until)
    for cause in catalogue().values()
    if cause.confirm
)


@cache
def sent(release: str) -> tuple[str, ...]:
    """Every SELECT of the script with all confirming queries, as a release receives it."""
    one = replace(scenarios()["undo-storm"], release=VERSIONS[release][-1])
    run = SqlPlus(one, 60.0)
    run.run(sqlplus_script(10, 2, QUESTIONS))
    return tuple(with_binds(text) for text in run.sent)


def code(text: str) -> str:
    """The script without its comments."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("--"))


@pytest.mark.parametrize("release", RELEASES)
def test_statements_fit_the_release_they_are_sent_to(release: str) -> None:
    assert len(sent(release)) > 30 + len(QUESTIONS)
    for text in sent(release):
        assert mistakes(text.replace(":ls_wait", "null"), release, polled=False) == [], text


def test_statements_without_confirmations_read_the_views_of_collectors_only() -> None:
    run = SqlPlus(scenarios()["users-mutex"], 30.0)
    run.run(sqlplus_script())
    ours = {
        "sys_context",
        "waiting_sessions",
        "row_cache_blockers",
        "library_cache_sessions",
        "library_cache_waiters",
        "chain_sessions",
        "v$parameter",
    }
    beside = {"latchscope_kqrst", "x_$kqrst", "dual", "v$rowcache_parent", "v$system_parameter"}
    allowed = {*(view for view, one in collectors().items() if not one.optional), *beside} - ours
    tables = {t.name.lower() for text in run.sent for t in parsed(text).find_all(exp.Table)}
    assert tables == allowed - {"v$latch_children"}, "mutexes guard this one"


@pytest.mark.parametrize("release", RELEASES)
def test_latch_children_are_not_searched_for_where_mutexes_guard(release: str) -> None:
    tables = {
        t.name.lower() for text in sent(release) if "confirm" not in text for t in parsed(text).find_all(exp.Table)
    }
    assert ("v$latch_children" in tables) == (release in ("11.2", "12.1"))


@pytest.mark.parametrize("floor", ["11.2", "12.1", "18"])
def test_statement_text_is_the_one_for_the_release(floor: str) -> None:
    """The stand-in compares each statement with that of a live poll."""
    instance = next(text for text in sent(floor) if "latchscope v$instance */" in text)
    assert ("version_full" in instance) == (floor == "18")
    rowcache = next(text for text in sent(floor) if "latchscope v$rowcache */" in text)
    assert ("fastgets" in rowcache) == (floor != "11.2")


def test_script_needs_no_licence() -> None:
    text = code(sqlplus_script(30, 30, QUESTIONS)).lower()
    assert not re.search(r"active_session_history|dba_hist|dba_addm|workload|sql_monitor|gv\$|x\$ash|awr", text)
    tables = {table.name.lower() for one in sent("11.2") for table in parsed(one).find_all(exp.Table)}
    assert not [table for table in tables if LICENSED.match(table)]


def test_script_holds_only_selects_blocks_and_commands_that_show() -> None:
    """Everything else is a command: the test above parses each SELECT, and the test below names each block."""
    text = re.sub(r"^(begin|declare|select)$.*?^/$", "", code(sqlplus_script(30, 30, QUESTIONS)), flags=re.M | re.S)
    text = re.sub(r"^select .*?^/$", "", text, flags=re.M | re.S)
    words = {line.split()[0] for line in text.splitlines() if line.strip()}
    assert words == {"whenever", "set", "column", "define", "spool", "prompt", "variable", "print", "/"}
    assert code(sqlplus_script(leave=True)).endswith("\nexit")


def test_blocks_only_sleep_open_a_look_or_name_the_session() -> None:
    text = code(sqlplus_script())
    blocks = re.findall(r"^(?:begin|declare)$.*?^/$", text, re.M | re.S)
    assert len(blocks) == 5
    calls = set(re.findall(r"\b(?:sys\.)?(dbms_\w+\.\w+)", text))
    own = {"dbms_application_info.set_module", "dbms_application_info.read_module"}
    assert calls == {*own, "dbms_session.sleep", "dbms_lock.sleep"}
    assert re.findall(r"(:ls_part) := '(.)'", text) == [(":ls_part", "1"), (":ls_part", "2")]
    assert re.findall(r"execute immediate (.+)", text) == ["how using 0;", ":ls_wait using 1;"]


def test_lines_are_never_misread_by_sqlplus() -> None:
    text = sqlplus_script(30, 30, QUESTIONS)
    defined = set(re.findall(r"^define (\w+) = ", text, re.M))
    for line in text.splitlines():
        assert line.isascii() and len(line) < LONGEST_LINE - 100, line
        assert not line.endswith("-"), "a hyphen at the end continues the line"
        assert set(re.findall(r"&(\w*)", line)) <= defined, line
        assert not re.match(r"\s*[@#!]", line), line
    for block in re.findall(r"^select ls_line from \($.*?^\)", text, re.M | re.S):
        assert ";" not in block and "\n\n" not in block


def test_switches_are_all_used_and_defined() -> None:
    text = sqlplus_script()
    defined = set(re.findall(r"^define (ls_(?:from|below)\w+) = ", text, re.M))
    assert defined == set(re.findall(r"&(ls_(?:from|below)\w+)", text))
    assert defined == set(re.findall(r"end as (ls_\w+),", text))


@pytest.mark.parametrize("collector", collectors().values())
def test_records_hold_the_columns_of_the_statement(collector: Collector) -> None:
    for text in collector.statements.values() if not collector.optional else ():
        names = [
            one.alias_or_name.lower() for one in sqlglot.parse_one(text, read="oracle").assert_is(exp.Query).selects
        ]
        section = module._Section("1", collector.view, collector.statements)
        assert sorted(module._columns(section, as_sent(text))) == sorted(names)


def test_counter_views_are_read_twice_and_the_rest_once() -> None:
    opened = re.findall(r"\{ls\|(1|2|once|sys|old)\|([^|]+)\|open", sqlplus_script())
    read = {view: one for view, one in collectors().items() if not one.optional}
    twice = {view for view, one in read.items() if any(c.kind is ColumnKind.COUNTER for c in one.columns)}
    for part in "12":
        views = [view for of, view in opened if of == part]
        assert set(views) == {*twice, "v$instance"} and len(views) == len(set(views))
        assert (views[0], views[-1]) == ("v$instance", "v$latch_children")
    once = {view for part, view in opened if part == "once"}
    optional = {view for view, one in collectors().items() if one.optional}
    assert once == set(collectors()) - twice - {"v$instance", "v$session"} - optional
    assert [view for part, view in opened if part == "sys"] == ["x$kqrst"]
    assert [view for part, view in opened if part == "old"] == ["x$kqrst"]
    parts = ["sys" if part == "old" else part for part, _ in opened]
    assert parts == sorted(parts), "both snapshots come before what is read once"


def test_bind_without_an_answer_is_reported_when_the_script_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BINDS", {})
    with pytest.raises(BadCollector, match="latch binds 'latch'"):
        sqlplus_script()


@pytest.mark.parametrize(
    ("packages", "waits"), [(("dbms_session", "dbms_lock"), 10), (("dbms_lock",), 10), (("dbms_session",), 10), ((), 0)]
)
def test_script_waits_by_whatever_the_release_has(packages: tuple[str, ...], waits: int) -> None:
    run = SqlPlus(scenarios()["undo-storm"], 60.0, packages=packages)
    text = run.run(sqlplus_script(20, 10))
    assert (len(run.waits), sum(run.waits)) == (waits, 20 if waits else 0)
    assert ("none}" in text) == (not packages)
    if packages:
        assert f"sys.{packages[0]}.sleep" in text


def test_script_without_looks_sleeps_once() -> None:
    run = SqlPlus(scenarios()["undo-storm"], 60.0)
    text = run.run(sqlplus_script(25, 0))
    assert run.waits == [25]
    assert "look" not in text


def test_spool_file_is_named_for_instance_and_time() -> None:
    run = SqlPlus(scenarios()["undo-storm"], 60.0)
    run.run(sqlplus_script(10, 1))
    assert run.file == "latchscope_undo_storm_20260302_090100.txt"


def test_confirming_query_has_the_text_of_the_release() -> None:
    texts = (("11.2", "select count(*) from dba_mviews"), ("12.1", "select count(*) from cdb_mviews"))
    asked = (
        ScriptQuery(("a",), texts),
        ScriptQuery(("b",), texts, "12.2", "18"),
        ScriptQuery(("c",), texts, None, "11.2"),
    )
    found = {}
    for release in RELEASES:
        run = SqlPlus(replace(scenarios()["undo-storm"], release=VERSIONS[release][-1]), 60.0)
        run.run(sqlplus_script(10, 0, asked))
        found[release] = [
            ("dba" if "dba_mviews" in text else "cdb") + text.partition("{ls|confirm|")[2][0]
            for text in run.sent
            if "_mviews" in text
        ]
    both = ["cdba", "cdbb"]
    assert found == {
        "11.2": ["dbaa", "dbac"],
        "12.1": ["cdba"],
        "12.2": both,
        "18": both,
        "19": ["cdba"],
        "21": ["cdba"],
        "23": ["cdba"],
    }


def test_confirming_queries_come_last_and_only_on_demand() -> None:
    assert "confirm" not in sqlplus_script()
    text = sqlplus_script(30, 30, QUESTIONS)
    assert text.index("{ls|confirm|") > text.rindex("{ls|sys|")
    assert len(re.findall(r"\{ls\|confirm\|[^|]+\|open", text)) == len(QUESTIONS)


def test_second_snapshot_sends_no_new_statement_to_parse() -> None:
    run = SqlPlus(scenarios()["undo-storm"], 60.0)
    run.run(sqlplus_script(10, 0))
    for view in ("v$latch", "v$rowcache", "v$latch_children", "v$instance"):
        texts = [text for text in run.sent if f"latchscope {view} */" in text]
        assert len(texts) == 2 and len(set(texts)) == 1, view


def test_unwritable_directory_ends_the_script_before_it_reads() -> None:
    run = SqlPlus(scenarios()["undo-storm"], 60.0, unwritable=True)
    assert run.run(sqlplus_script(10, 1)).strip() == ""
    assert not [text for text in run.sent if "latchscope v$" in text] and run.waits == []
    assert run.screen[-1].startswith("SP2-0606") and "cd to a directory that you can write to" in run.screen[-2]


def test_last_line_claims_no_file_where_a_program_went_on_without_one() -> None:
    run = SqlPlus(scenarios()["undo-storm"], 60.0, unwritable=True, minds=False)
    run.run(sqlplus_script(10, 1))
    assert run.screen[-2].startswith("latchscope: read to the end. Unless an error above says")
    assert not [line for line in run.screen if "done" in line]


def test_head_counts_the_statements_that_are_sent() -> None:
    run = SqlPlus(scenarios()["undo-storm"], 60.0)
    text = sqlplus_script(10, 4, QUESTIONS[:3])
    run.run(text)
    told = re.search(r"What it costs  (\d+) SELECTs", text)
    assert told is not None and int(told[1]) == len(run.sent) - 3
    told = re.search(r"(\d+) of them are different texts: each is hard parsed once, as SYS", text)
    assert told and int(told[1]) == len({re.sub(r"\|look\d|\|[12]\|", "", one) for one in run.sent})


def test_session_gets_its_module_back() -> None:
    run = SqlPlus(scenarios()["undo-storm"], 60.0)
    run.module = "nightly"
    run.run(sqlplus_script(10, 1))
    assert run.module == "nightly"
