"""What SQL a DBA may want from latchscope: the SQL*Plus script, the grants of its user, and the list of all it can send."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated

import typer

from collectors.grants import confirming_script, grants_script, has_row_cache_latch, release_named
from collectors.ondemand.sampling import LONGEST_BURST
from collectors.sqlplus.script import ScriptQuery, sqlplus_script
from collectors.statement import HASH_LENGTH, Statement, StatementKind
from rules.cause import Cause, catalogue, views_asked
from service.cli.common import KIND_HELP, Form, chosen_kind, show
from service.cli.messages import Answer, fail
from service.escape import fenced, row
from service.sql_list import statements

# `latchscope grants`: the least-privilege script for a user.


def grants(
    user: Annotated[
        str,
        typer.Option(help="Oracle user for latchscope (prefixed with C## for cdb and standby)"),
    ] = "LATCHSCOPE",
    kind: Annotated[str, typer.Option("--for", metavar="KIND", help=KIND_HELP)] = "cdb",
    confirm: Annotated[
        bool, typer.Option("--confirm", help="also grant what the confirming queries of causes read")
    ] = False,
) -> None:
    """Print the whole least-privilege script for a user."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_$#]{0,127}", user):
        fail(f"{user!r} is not an Oracle user name; name the user that latchscope logs in as, such as LATCHSCOPE")
    chosen = chosen_kind(kind)
    script = grants_script(user, chosen, latch=has_row_cache_latch(kind), release=release_named(kind))
    typer.echo(script, nl=False)
    if confirm:
        causes = catalogue().values()
        before, since = (views_asked(causes, containers=which) for which in (False, True))
        typer.echo(confirming_script(user, chosen, before, since, release_named(kind)), nl=False)


def script(
    seconds: Annotated[int | None, typer.Option(min=10, max=600, help="between snapshots: 30, with --hang 10")] = None,
    samples: Annotated[
        int, typer.Option(min=0, max=LONGEST_BURST, help="samples of waiting sessions in between, at most one a second")
    ] = 30,
    confirm: Annotated[
        str,
        typer.Option(
            metavar="all|ID,ID",
            help="also run the confirming queries of these causes once; they can run long on a sick instance",
        ),
    ] = "",
    leave: Annotated[bool, typer.Option("--exit", help="end SQL*Plus when the script is done")] = False,
    hang: Annotated[bool, typer.Option("--hang", help="the short one: who holds what the others wait for")] = False,
) -> None:
    """Print a read-only SQL*Plus script for a sick instance. Diagnose the one file that it spools."""
    try:
        asked = list(questions(_chosen(confirm, catalogue())))
    except ValueError as wrong:
        fail(str(wrong))
    typer.echo(sqlplus_script(seconds, samples, asked, leave=leave, hang=hang), nl=False)


def _chosen(ids: str, causes: Mapping[str, Cause]) -> list[Cause]:
    """The causes whose confirming queries the script runs. Raises ValueError, one line, for a wrong id."""
    if ids == "all":
        return list(causes.values())
    wanted = dict.fromkeys(part.strip() for part in ids.split(",") if part.strip())
    for cause in wanted:
        if cause not in causes:
            raise ValueError(f"--confirm: there is no cause {cause!r}; `latchscope causes list` names them")
        if causes[cause].confirm is None:
            raise ValueError(f"--confirm: {cause} has no confirming query; leave it out")
    return [causes[cause] for cause in wanted]


def questions(causes: Iterable[Cause]) -> Iterator[ScriptQuery]:
    """The confirming queries of causes. Each runs once for all causes that share it and its releases."""
    shared: dict[tuple[tuple[tuple[str | None, str], ...], str | None, str | None], list[str]] = {}
    for cause in causes:
        if cause.confirm:
            texts = tuple(cause.confirm.variants().items())
            shared.setdefault((texts, cause.releases.since, cause.releases.until), []).append(cause.id)
    for (texts, since, until), ids in shared.items():
        yield ScriptQuery(tuple(ids), texts, since, until)


# `latchscope sql …`: the list of SQL, whole or one statement by its hash.

sql_cli = typer.Typer(no_args_is_help=True)


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
        show(list_as_text(statements()))


@sql_cli.command("show")
def show_statement(
    hash: Annotated[
        str,
        typer.Argument(metavar="HASH", help="hash of a statement or its first digits, or its SQL_ID"),
    ],
) -> Answer:
    """One statement with its exact text, as v$sql has it."""
    one = _named(hash.strip().lower())
    return Answer(as_objects([one])[0], one_as_text(one))


def _named(word: str) -> Statement:
    """The statement whose digest begins so, or that has this SQL_ID."""
    matches = [one for one in statements() if word and (one.digest.startswith(word) or one.sql_id == word)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        fail(
            f"{len(matches)} statements have a hash that begins with {word}: {', '.join(one.hash for one in matches[:5])}"
        )
    (nearest,) = get_close_matches(word[:HASH_LENGTH], [one.hash for one in statements()], n=1, cutoff=0.0)
    fail(f"no statement has the hash {word!r}; the nearest is {nearest}; `latchscope sql list` prints all of them")
    return None


# The list as text, as JSON and as Markdown: what the commands print and the documents repeat.

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
FACTS: Mapping[str, Callable[[Statement], str]] = {
    "Hash": lambda one: one.hash,
    "SQL_ID": lambda one: one.sql_id,
    "For": lambda one: one.name,
    "Releases": lambda one: one.releases,
    "Reads": lambda one: ", ".join(one.reads) or "nothing",
    "Binds": lambda one: ", ".join(f":{name}" for name in one.binds) or "none",
    "Why": lambda one: one.why,
    "When": lambda one: one.when,
    "How often": lambda one: one.how_often,
    "Rows at most": lambda one: "as its views have" if one.most_rows is None and one.reads else str(one.most_rows or 0),
    "Deadline": lambda one: f"{one.deadline_seconds:g} s",
}
"""All that is known of a statement, beside its text."""


def list_as_text(listed: Sequence[Statement]) -> str:
    """Every statement in two lines, by kind."""
    lines = [f"latchscope can send these {len(listed)} statements and no other. `latchscope sql show HASH` prints one."]
    for kind, what in KINDS.items():
        of_kind = [statement for statement in listed if statement.kind == kind]
        lines += ["", f"{what} ({len(of_kind)})"]
        for one in of_kind:
            reads, rows, deadline = (FACTS[name](one) for name in ("Reads", "Rows at most", "Deadline"))
            lines.append(f"{one.hash}  {one.name}, {one.releases}; reads {reads}; rows: {rows}; {deadline} at most")
            lines.append(f"{' ' * len(one.hash)}  why: {one.why}; when: {one.when}; how often: {one.how_often}")
    return "\n".join(lines)


def one_as_text(statement: Statement) -> str:
    """A statement with all that is known of it, and its text."""
    return "\n".join((*(f"{name}: {fact(statement)}" for name, fact in FACTS.items()), "", statement.text))


def as_objects(listed: Sequence[Statement]) -> list[dict[str, object]]:
    """Every statement for JSON. `rows_at_most` is null where the statement has no limit of its own."""
    return [{member: getattr(one, name) for member, name in MEMBERS.items()} for one in listed]


MEMBERS = {
    **{name: name for name in ("hash", "sql_id", "kind")},
    "for": "name",
    **{name: name for name in ("releases", "reads", "binds", "why", "when", "how_often")},
    "rows_at_most": "most_rows",
    **{name: name for name in ("deadline_seconds", "text")},
}


def as_markdown(listed: Sequence[Statement]) -> str:
    """A page: a table for each kind, then the exact texts under their hashes."""
    parts = [_PAGE]
    for kind, what in KINDS.items():
        rows = [row([fact(one) for fact in FACTS.values()]) for one in listed if one.kind == kind]
        head = f"### {what[0].upper()}{what[1:]}"
        parts.append("\n".join((head, "", row([*FACTS]), "|" + "---|" * len(FACTS), *rows)))
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

## The list

The deadlines are the defaults of `oracle.statement_timeout`, for looks at blockers of
`defaults.blocker_look_timeout`, and for a login of `oracle.connect_timeout`. Where the rows are "as its views have",
the statement has no limit as a whole: it names its rows, as with a list of statistics, or reads a view of fixed size."""
