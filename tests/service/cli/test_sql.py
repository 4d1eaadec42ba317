"""`latchscope sql`: the whole bill in three forms, and one statement by its hash, by the start of it, or by its SQL_ID."""

import json
from hashlib import sha256

import pytest
from typer.testing import CliRunner

from service.cli.main import cli
from service.cli.scripts import KINDS
from service.sql_list import statements, texts


def told(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(cli, ["sql", *words])
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.stderr


def test_list_has_every_statement_once_with_what_a_dba_asks() -> None:
    listed = told("list")
    for one in statements():
        assert listed.count(f"\n{one.hash}  ") == 1
        for fact in (one.name, one.releases, one.why, one.when, one.how_often, *one.reads):
            assert fact in listed, one.name
    assert listed.startswith(f"latchscope can send these {len(statements())} statements") and all(
        f"\n{what} (" in listed for what in KINDS.values()
    )


def test_json_has_the_texts_whose_hashes_it_names() -> None:
    listed = json.loads(told("list", "--format", "json"))
    assert {one["text"] for one in listed if one["kind"] != "login"} == texts()
    for one in listed:
        assert sha256(one["text"].encode()).hexdigest().startswith(one["hash"])
    limits = {one["for"]: one["rows_at_most"] for one in listed}
    assert limits["waiting_sessions"] == 200 and limits["v$rowcache"] is None


def test_markdown_is_a_page_with_a_table_for_each_kind_and_every_text() -> None:
    listed = told("list", "--format", "markdown")
    tables, _, shown = listed.partition("\n## The texts\n")
    assert tables.startswith("# ") and tables.count("\n### ") == len(KINDS)
    assert all(tables.count(f"\n| {one.hash} | {one.sql_id} | ") == 1 for one in statements())
    for one in statements():
        assert one.text in shown.partition(f"**`{one.hash}`** ")[2].split("```")[1], one.name


def test_show_takes_a_hash_its_start_the_whole_digest_or_the_sql_id() -> None:
    for one in statements()[::8]:
        shown = told("show", one.hash)
        assert shown.endswith(f"\n\n{one.text}\n") and one.sql_id in shown and one.why in shown
    assert shown == told("show", one.hash[:10]) == told("show", one.digest.upper()) == told("show", one.sql_id)


@pytest.mark.parametrize("wrong", [0, 5, 11])
def test_unknown_hash_names_the_nearest(wrong: int) -> None:
    one = statements()[3]
    hash = one.hash[:wrong] + ("0" if one.hash[wrong] != "0" else "1") + one.hash[wrong + 1 :]
    said = f"no statement has the hash {hash!r}; the nearest is {one.hash}; `latchscope sql list` prints all of them"
    assert told("show", hash, code=2) == f"latchscope: {said}\n"


def test_ambiguous_start_of_a_hash_names_those_that_begin_so() -> None:
    first = statements()[0].hash[0]
    assert f"statements have a hash that begins with {first}: {statements()[0].hash}, " in told("show", first, code=2)


@pytest.mark.parametrize("word", ["", "select * from v$latch", "\x1b[31m", "zzzz"])
def test_word_that_is_no_hash_is_one_clear_line(word: str) -> None:
    said = told("show", word, code=2)
    assert said.startswith("latchscope: no statement has the hash ") and said.count("\n") == 1 and "\x1b" not in said
