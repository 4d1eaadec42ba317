"""`latchscope script`: prints the SQL*Plus script for an instance that no connection of ours can reach."""

from collections.abc import Iterable, Iterator
from typing import Annotated

import typer

from collectors import sqlplus
from collectors.sampling import LONGEST_BURST
from collectors.sqlplus import Question
from rules.catalogue import catalogue
from rules.cause import Cause


def script(
    seconds: Annotated[int, typer.Option(min=10, max=600, help="seconds between the two snapshots")] = 30,
    samples: Annotated[
        int, typer.Option(min=0, max=LONGEST_BURST, help="looks at waiting sessions in between, at most one a second")
    ] = 30,
    confirm: Annotated[
        bool, typer.Option(help="also run the confirming queries of all causes once; some read large dictionary views")
    ] = False,
) -> None:
    """Print a read-only SQL*Plus script for a sick instance; diagnose the one file that it spools."""
    asked = questions(catalogue().values()) if confirm else ()
    typer.echo(sqlplus.script(seconds, min(samples, seconds), asked), nl=False)


def questions(causes: Iterable[Cause]) -> Iterator[Question]:
    """The confirming queries of causes, each asked once for all causes that share it and its releases."""
    shared: dict[tuple[str, str | None, str | None], list[str]] = {}
    for cause in causes:
        if cause.confirm:
            asked = (cause.confirm.sql, cause.releases.since, cause.releases.until)
            shared.setdefault(asked, []).append(cause.id)
    for (sql, since, until), ids in shared.items():
        yield Question(tuple(ids), sql, since, until)
