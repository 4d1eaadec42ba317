"""`latchscope sql …`: the bill of SQL, whole or one statement by its hash."""

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated

import typer

from collectors.statement import HASH_LENGTH, Statement, StatementKind
from service.bill import statements
from service.cli.common import show
from service.cli.messages import fail
from service.render.parts import row

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
        typer.echo(json.dumps(as_objects(statements()), indent=2))
    elif form is ListFormat.MARKDOWN:
        typer.echo(as_markdown(statements()))
    else:
        show(as_text(statements()))


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
    show(one_as_text(_named(hash.strip().lower())))


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


KINDS: Mapping[StatementKind, str] = {
    "login": "the driver's own, within a login",
    "group": "polls: views read together",
    "poll": "polls: one view each",
    "burst": "samples of waiting sessions",
    "look": "looks at a hang",
    "holders": "profile of latch holders",
    "check": "kind of database",
    "confirm": "confirming queries of causes",
}
"""StatementKind → what it is, in the order of the list."""
HEADS = ("hash", "SQL_ID", "for", "releases", "reads", "why", "when", "how often", "rows at most", "deadline")


def as_text(listed: Sequence[Statement]) -> str:
    """Every statement in two lines, by kind."""
    lines = [f"latchscope can send these {len(listed)} statements and no other. `latchscope sql show HASH` prints one."]
    for kind, what in KINDS.items():
        of_kind = [one for one in listed if one.kind == kind]
        lines += ["", f"{what} ({len(of_kind)})"]
        for one in of_kind:
            lines.append(
                f"{one.hash}  {one.name}, {one.releases}; reads {_read(one)}; {_rows(one)}, {_deadline(one)} at most"
            )
            lines.append(f"{' ' * len(one.hash)}  why: {one.why}; when: {one.when}; how often: {one.how_often}")
    return "\n".join(lines)


def one_as_text(one: Statement) -> str:
    """A statement with all that is known of it, and its text."""
    facts = {
        "Hash": f"{one.hash} (SHA-256 of the text); SQL_ID {one.sql_id}",
        "For": f"{one.name} ({KINDS[one.kind]})",
        "Why": one.why,
        "When": one.when,
        "How often": one.how_often,
        "Releases": one.releases,
        "Reads": _read(one),
        "Binds": ", ".join(f":{name}" for name in one.binds) or "none",
        "Rows at most": _rows(one),
        "Deadline": _deadline(one),
    }
    return "\n".join((*(f"{name}: {fact}" for name, fact in facts.items()), "", one.text))


def as_objects(listed: Sequence[Statement]) -> list[dict[str, object]]:
    """Every statement for JSON. `rows_at_most` is null where the statement has no limit of its own."""
    return [
        {
            "hash": one.hash,
            "sql_id": one.sql_id,
            "kind": one.kind,
            "for": one.name,
            "releases": one.releases,
            "reads": one.reads,
            "binds": one.binds,
            "why": one.why,
            "when": one.when,
            "how_often": one.how_often,
            "rows_at_most": one.most_rows,
            "deadline_seconds": one.deadline_seconds,
            "text": one.text,
        }
        for one in listed
    ]


def as_markdown(listed: Sequence[Statement]) -> str:
    """A table for each kind, without the texts."""
    parts = []
    for kind, what in KINDS.items():
        rows = [row(_cells(one)) for one in listed if one.kind == kind]
        head = f"### {what[0].upper()}{what[1:]}"
        parts.append("\n".join((head, "", row(HEADS), "|" + "---|" * len(HEADS), *rows)))
    return "\n\n".join(parts)


def texts_as_markdown(listed: Sequence[Statement]) -> str:
    """The exact text of every statement under its hash."""
    return "\n\n".join(f"**`{one.hash}`** {row((one.name,)).strip('| ')}\n\n```sql\n{one.text}\n```" for one in listed)


def _cells(one: Statement) -> tuple[str, ...]:
    reads = ", ".join(f"`{view}`" for view in one.reads) or "nothing"
    return (
        f"`{one.hash}`",
        f"`{one.sql_id}`",
        one.name,
        one.releases,
        reads,
        one.why,
        one.when,
        one.how_often,
        "as the views have" if one.most_rows is None else str(one.most_rows),
        _deadline(one),
    )


def _read(one: Statement) -> str:
    return ", ".join(one.reads) or "nothing"


def _rows(one: Statement) -> str:
    if one.most_rows is None:
        return "as many rows as its views have" if one.reads else "no rows"
    return f"{one.most_rows} row{'s' * (one.most_rows > 1)}"


def _deadline(one: Statement) -> str:
    return f"{one.deadline_seconds:g} s"
