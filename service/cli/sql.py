"""`latchscope sql …`: the bill of SQL, whole or one statement by its hash."""

import json
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated

import typer

from collectors.statement import HASH_LENGTH, Statement
from service.bill import statements
from service.cli.common import show
from service.cli.messages import fail
from service.render import bill

sql_cli = typer.Typer(
    no_args_is_help=True, help="The bill of SQL: every statement that latchscope can send to a database."
)


class ListFormat(StrEnum):
    """How the list is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def _hashes() -> list[str]:
    return [one.hash for one in statements()]


@sql_cli.command("list")
def list_statements(
    form: Annotated[ListFormat, typer.Option("--format", help="json has the texts too")] = ListFormat.TEXT,
) -> None:
    """Every statement: what it reads, why and when, how often, its row limit and its deadline."""
    if form is ListFormat.JSON:
        typer.echo(json.dumps(bill.as_objects(statements()), indent=2))
    elif form is ListFormat.MARKDOWN:
        typer.echo(bill.as_markdown(statements()))
    else:
        show(bill.as_text(statements()))


@sql_cli.command("show")
def show_statement(
    hash: Annotated[
        str,
        typer.Argument(
            metavar="HASH", help="hash of a statement or its first digits, or its SQL_ID", autocompletion=_hashes
        ),
    ],
) -> None:
    """One statement with its exact text, as v$sql has it."""
    show(bill.one_as_text(_named(hash.strip().lower())))


def _named(word: str) -> Statement:
    """The statement whose digest begins so, or that has this SQL_ID."""
    found = [one for one in statements() if word and (one.digest.startswith(word) or one.sql_id == word)]
    if len(found) == 1:
        return found[0]
    if found:
        fail(f"{len(found)} statements have a hash that begins with {word}: {', '.join(one.hash for one in found[:5])}")
    (nearest,) = get_close_matches(word[:HASH_LENGTH], _hashes(), n=1, cutoff=0.0)
    fail(f"no statement has the hash {word!r}; the nearest is {nearest}; `latchscope sql list` prints all of them")
    return None
