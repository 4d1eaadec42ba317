"""`latchscope sql …`: the bill of SQL, whole or one statement by its hash."""

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated

import typer

from collectors.statement import HASH_LENGTH, Statement, StatementKind
from service.bill import statements
from service.cli.common import Form, show
from service.cli.messages import Answer, fail
from service.escape import fenced, row

sql_cli = typer.Typer(no_args_is_help=True)


def _hashes() -> list[str]:
    return [statement.hash for statement in statements()]


@sql_cli.command("list")
def list_statements(
    format: Annotated[Form, typer.Option("--format", help="json and markdown have the texts too")] = "text",
) -> None:
    """Every statement: what it reads, why and when, how often, its row limit and its deadline."""
    if format == "json":
        typer.echo(json.dumps(as_objects(statements()), indent=2))
    elif format == "markdown":
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
) -> Answer:
    """One statement with its exact text, as v$sql has it."""
    one = _named(hash.strip().lower())
    return Answer(as_objects([one])[0], one_as_text(one))


def _named(word: str) -> Statement:
    """The statement whose digest begins so, or that has this SQL_ID."""
    matches = [
        statement
        for statement in statements()
        if word and (statement.digest.startswith(word) or statement.sql_id == word)
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        fail(
            f"{len(matches)} statements have a hash that begins with {word}: {', '.join(one.hash for one in matches[:5])}"
        )
    (nearest,) = get_close_matches(word[:HASH_LENGTH], _hashes(), n=1, cutoff=0.0)
    fail(f"no statement has the hash {word!r}; the nearest is {nearest}; `latchscope sql list` prints all of them")
    return None


# The bill as text, as JSON and as Markdown: what the commands print and the documents repeat.

KINDS: Mapping[StatementKind, str] = {
    "login": "the driver's own, within a login",
    "group": "polls: views read together",
    "poll": "polls: one view each",
    "burst": "samples of waiting sessions",
    "look": "who holds what sessions hang on",
    "changes": "what changed lately",
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
        of_kind = [statement for statement in listed if statement.kind == kind]
        lines += ["", f"{what} ({len(of_kind)})"]
        for statement in of_kind:
            reads, rows, deadline = _read(statement), _rows(statement), f"{statement.deadline_seconds:g} s"
            lines.append(
                f"{statement.hash}  {statement.name}, {statement.releases}; reads {reads}; {rows}, {deadline} at most"
            )
            lines.append(
                f"{' ' * len(statement.hash)}  why: {statement.why}; when: {statement.when}; how often: {statement.how_often}"
            )
    return "\n".join(lines)


def one_as_text(statement: Statement) -> str:
    """A statement with all that is known of it, and its text."""
    facts = {
        "Hash": f"{statement.hash} (SHA-256 of the text); SQL_ID {statement.sql_id}",
        "For": f"{statement.name} ({KINDS[statement.kind]})",
        "Why": statement.why,
        "When": statement.when,
        "How often": statement.how_often,
        "Releases": statement.releases,
        "Reads": _read(statement),
        "Binds": ", ".join(f":{name}" for name in statement.binds) or "none",
        "Rows at most": _rows(statement),
        "Deadline": f"{statement.deadline_seconds:g} s",
    }
    return "\n".join((*(f"{name}: {fact}" for name, fact in facts.items()), "", statement.text))


def as_objects(listed: Sequence[Statement]) -> list[dict[str, object]]:
    """Every statement for JSON. `rows_at_most` is null where the statement has no limit of its own."""
    return [
        {
            "hash": statement.hash,
            "sql_id": statement.sql_id,
            "kind": statement.kind,
            "for": statement.name,
            "releases": statement.releases,
            "reads": statement.reads,
            "binds": statement.binds,
            "why": statement.why,
            "when": statement.when,
            "how_often": statement.how_often,
            "rows_at_most": statement.most_rows,
            "deadline_seconds": statement.deadline_seconds,
            "text": statement.text,
        }
        for statement in listed
    ]


def as_markdown(listed: Sequence[Statement]) -> str:
    """A page: a table for each kind, then the exact texts under their hashes."""
    parts = [_PAGE]
    for kind, what in KINDS.items():
        rows = [row(_cells(statement)) for statement in listed if statement.kind == kind]
        head = f"### {what[0].upper()}{what[1:]}"
        parts.append("\n".join((head, "", row(HEADS), "|" + "---|" * len(HEADS), *rows)))
    parts.append("## The texts")
    for one in listed:
        parts.append(f"**`{one.hash}`** {row((one.name,)).strip('| ')}\n\n{fenced(one.text)}")
    return "\n\n".join(parts)


_PAGE = """# Every statement that latchscope can send

For the DBA or the security team who must allow latchscope on a database. `latchscope sql list --format markdown`
prints this page, and `latchscope sql show HASH` one statement; the first digits of the hash are enough. A session
compares each text with this list, byte for byte, before the driver sees it, and refuses any other. What changes from
one execution to the next is bound, never put into a text.

The hash is the beginning of the SHA-256 of the text, with its comment. The SQL_ID is what `v$sql` and AWR show. What
really ran:

```sql
select sql_id, executions, sql_text from v$sqlstats where sql_text like 'select /* latchscope%';
```

## The bill

The deadlines are the defaults of `oracle.statement_timeout`, for looks at blockers of
`defaults.blocker_look_timeout`, and for a login of `oracle.connect_timeout`. Where the rows are "as the views have",
the statement has no limit as a whole: it names its rows, as with a list of statistics, or reads a view of fixed size."""


def _cells(statement: Statement) -> tuple[str, ...]:
    reads = ", ".join(f"`{view}`" for view in statement.reads) or "nothing"
    return (
        f"`{statement.hash}`",
        f"`{statement.sql_id}`",
        statement.name,
        statement.releases,
        reads,
        statement.why,
        statement.when,
        statement.how_often,
        "as the views have" if statement.most_rows is None else str(statement.most_rows),
        f"{statement.deadline_seconds:g} s",
    )


def _read(statement: Statement) -> str:
    return ", ".join(statement.reads) or "nothing"


def _rows(statement: Statement) -> str:
    if statement.most_rows is None:
        return "as many rows as its views have" if statement.reads else "no rows"
    return f"{statement.most_rows} row{'s' * (statement.most_rows > 1)}"
