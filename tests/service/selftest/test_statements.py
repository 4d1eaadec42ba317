"""The list of what the selftest sends: each statement has its undo, touches our own names only, and is no part of the bill."""

import re

import pytest
import sqlglot
from sqlglot import exp
from typer.testing import CliRunner

from rules.cause import catalogue
from service.bill import texts
from service.cli.main import cli
from service.selftest.statements import (
    LOADS,
    PREFIX,
    READ_AS_MONITOR,
    READ_AS_WRITER,
    Change,
    changes,
    drop,
    objects,
)

CHANGES = sorted(changes(), key=lambda change: change.text)
NOT_PARSED = re.compile(
    r"(create|alter|drop) (profile|user|trigger) .*|grant create session to \w+|"
    r"create table \w+ .* partition by range .*|alter table \w+ \w+ partition .*"
)
"""Statements for which sqlglot has no grammar of Oracle's."""
NAMED = re.compile(
    r"\b(?:table|from|sequence|trigger|user|profile|to|on|session to|select on)\s+(?!schema\b|dual\b|select\b)(\w+)"
)


def parsed(change: Change) -> exp.Expr:
    tree = sqlglot.parse_one(change.filled(7, "Aa1_x"), read="oracle")
    assert tree is not None
    return tree


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.text[:60])
def test_statement_names_only_what_is_ours(change: Change) -> None:
    for text in (change.filled(7, "Aa1_x"), change.undo):
        if text.startswith("-- nothing"):
            continue
        assert PREFIX in text
        named = set(NAMED.findall(text))
        assert all(name.startswith(PREFIX) for name in named), named
    if not NOT_PARSED.fullmatch(change.filled(7, "Aa1_x")):
        tables = {table.name for table in parsed(change).find_all(exp.Table)} - {"dual"}
        assert all(name.startswith(PREFIX) for name in tables), tables


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.text[:60])
def test_statement_is_sql(change: Change) -> None:
    kinds = exp.Select | exp.Create | exp.Alter | exp.Grant | exp.Revoke
    if not NOT_PARSED.fullmatch(change.filled(7, "Aa1_x")):
        assert isinstance(parsed(change), kinds)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.text[:60])
def test_undo_is_there_and_what_it_undoes_is_made(change: Change) -> None:
    """A statement that only reads says so. Every other names a statement, which drops or takes back what this one made."""
    if change.undo.startswith("-- nothing"):
        assert change.text.startswith(("select", "revoke", "alter table")), change.text
        return
    undo = change.undo.removeprefix("-- ")
    assert re.match(r"(drop|revoke|alter table \w+ drop partition) ", undo)
    made = re.findall(rf"{PREFIX}\w+", undo)[0]
    assert made in {one.name for one in objects()} and made in change.text


def test_every_object_has_the_prefix_and_its_own_drop() -> None:
    assert len(objects()) == len({one.name for one in objects()}) == 8
    for one in objects():
        assert one.name.startswith(PREFIX) and one.change.undo.startswith(f"drop {one.kind.lower()} {one.name}")


@pytest.mark.parametrize(
    "name", ["SCOTT", 'LATCHSCOPE_SELFTEST_X"', "LATCHSCOPE_SELFTEST_X; drop", "latchscope_selftest_x"]
)
def test_nothing_else_can_be_dropped(name: str) -> None:
    with pytest.raises(ValueError, match="no name of the selftest"):
        drop("TABLE", name)


def test_a_password_cannot_end_its_quotes() -> None:
    with pytest.raises(ValueError, match="letters, digits"):
        CHANGES[0].filled(password='x" account unlock')


def test_no_session_of_the_service_accepts_what_the_selftest_sends() -> None:
    sent = {change.text for change in changes()} | READ_AS_WRITER | READ_AS_MONITOR
    assert not sent & texts()


@pytest.mark.parametrize("sql", sorted(READ_AS_WRITER | READ_AS_MONITOR))
def test_safety_checks_only_read(sql: str) -> None:
    tree = sqlglot.parse_one(sql, read="oracle")
    assert isinstance(tree, exp.Query) and "for update" not in sql


def test_loads_expect_causes_that_there_are() -> None:
    assert len(LOADS) == 7
    for load in LOADS:
        assert load.causes and set(load.causes) <= catalogue().keys()


def test_dry_run_prints_every_statement_with_its_undo_and_needs_nothing() -> None:
    told = CliRunner().invoke(cli, ["selftest", "--dry-run"])
    assert told.exit_code == 0
    lines = told.stdout.splitlines()
    for change in changes():
        place = next(at for at, line in enumerate(lines) if line.rstrip(";") == change.text.rstrip(";"))
        assert lines[place + 1] == f"--   undo: {change.undo.removeprefix('-- ')}"
    for sql in READ_AS_WRITER | READ_AS_MONITOR:
        assert f"{sql};" in lines
    statements = [place for place, line in enumerate(lines) if line and not line.startswith("--")]
    undone = [place for place in statements if lines[place + 1 : place + 2] and "undo: " in lines[place + 1]]
    assert len(statements) - len(undone) == 4, "only the safety checks have no undo"


def test_dry_run_of_one_load() -> None:
    told = CliRunner().invoke(cli, ["selftest", "--dry-run", "--only", "sequence"])
    assert told.exit_code == 0 and "NUMBERS nocache" in told.stdout and "PARTED" not in told.stdout
    told = CliRunner().invoke(cli, ["selftest", "--dry-run", "--only", "sequnce"])
    assert told.exit_code == 2 and "there is no load sequnce; there are sequence, failed-logons" in told.stderr
