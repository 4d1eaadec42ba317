"""What the loads send: each statement has its undo, touches our own names only, and is no part of the list."""

import re

import pytest
import sqlglot
from sqlglot import exp

from rules.cause import catalogue
from service.sql_list import texts
from tests.live.load.__main__ import main
from tests.live.load.statements import (
    LOADS,
    PREFIX,
    READ_AS_MONITOR,
    READ_AS_WRITER,
    STATEMENTS,
    drop,
    objects,
    undo,
)

pytestmark = pytest.mark.slow

NOT_PARSED = re.compile(
    r"(create|alter|drop) (profile|user|trigger) .*|grant create session to \w+|"
    r"create table \w+ .* partition by range .*|alter table \w+ \w+ partition .*"
)
"""Statements for which sqlglot has no grammar of Oracle's."""
NAMED = re.compile(
    r"\b(?:table|from|sequence|trigger|user|profile|to|on|session to|select on)\s+(?!schema\b|dual\b|select\b)(\w+)"
)
READS = READ_AS_WRITER | READ_AS_MONITOR


@pytest.mark.parametrize("text", sorted(STATEMENTS), ids=lambda text: text[:60])
def test_statement_names_only_what_is_ours_and_its_undo_drops_that(text: str) -> None:
    sent = text.format(number=7, password="Aa1_x")
    assert PREFIX in sent and all(name.startswith(PREFIX) for name in NAMED.findall(sent))
    if not NOT_PARSED.fullmatch(sent):
        tree = sqlglot.parse_one(sent, read="oracle")
        assert isinstance(tree, exp.Select | exp.Create | exp.Alter | exp.Grant | exp.Revoke)
        assert all(name.startswith(PREFIX) for name in {table.name for table in tree.find_all(exp.Table)} - {"dual"})
    if not undo(text):
        assert text.startswith("select count(*) from ")
        return
    (dropped,) = re.findall(rf"{PREFIX}\w+", undo(text))
    assert undo(text) == drop(objects()[dropped], dropped) and dropped in text
    assert any(
        re.match(rf"create \w+ {dropped}\b", made) for load in LOADS if text in load.statements for made in load.makes
    )


def test_every_object_has_the_prefix() -> None:
    assert len(objects()) == 8 and all(name.startswith(PREFIX) for name in objects())


@pytest.mark.parametrize("name", ["SCOTT", f'{PREFIX}X"', f"{PREFIX}X; drop", f"{PREFIX}X\n", PREFIX.lower() + "x"])
def test_nothing_else_can_be_dropped(name: str) -> None:
    with pytest.raises(ValueError, match="no name of a load"):
        drop("TABLE", name)


def test_no_session_of_the_service_accepts_what_a_load_sends() -> None:
    assert not (STATEMENTS | READS) & texts()


@pytest.mark.parametrize("sql", sorted(READS))
def test_safety_checks_only_read(sql: str) -> None:
    assert isinstance(sqlglot.parse_one(sql, read="oracle"), exp.Query) and "for update" not in sql


def test_loads_expect_causes_that_there_are() -> None:
    assert len(LOADS) == 7
    assert all(load.causes and set(load.causes) <= catalogue().keys() for load in LOADS)


def test_dry_run_prints_every_statement_with_its_undo_and_needs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for text in STATEMENTS:
        place = lines.index(f"{text.rstrip(';')};")
        assert lines[place + 1] == f"--   undo: {undo(text) or 'nothing, it only reads'}"
    sent = {line for line in lines if line and not line.startswith("--")}
    assert len(sent) == len(STATEMENTS | READS) and {f"{sql};" for sql in READS} <= sent
    assert main(["--dry-run", "--only", "sequence"]) == 0
    told = capsys.readouterr().out
    assert "NUMBERS nocache" in told and "PARTED" not in told
    with pytest.raises(SystemExit, match="2"):
        main(["--dry-run", "--only", "sequnce"])
