"""`latchscope script`: prints the SQL*Plus script for an instance that latchscope cannot connect to."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

import typer

from collectors.grants import confirming_script, grants_script, has_row_cache_latch, release_named
from collectors.ondemand.sampling import LONGEST_BURST
from collectors.sqlplus.script import ScriptQuery, sqlplus_script
from rules.cause import Cause, catalogue, views_before_containers, views_since_containers
from service.cli.common import KIND_HELP, chosen_kind
from service.cli.messages import fail

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
        before, since = views_before_containers(causes), views_since_containers(causes)
        typer.echo(confirming_script(user, chosen, before, since, release_named(kind)), nl=False)


def script(
    seconds: Annotated[int, typer.Option(min=10, max=600, help="seconds between the two snapshots")] = 30,
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
    typer.echo(sqlplus_script(seconds, min(samples, seconds), asked, leave=leave, hang=hang), nl=False)


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
