"""`latchscope grants`: the least-privilege script for a user."""

import re
from typing import Annotated

import typer

from collectors.grants import confirming_script, grants_script, has_row_cache_latch, release_named
from rules.cause import catalogue, views_before_containers, views_since_containers
from service.cli.kinds import KIND_HELP, chosen_kind
from service.cli.messages import fail


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
