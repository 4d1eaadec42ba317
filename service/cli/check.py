"""`latchscope check`: what the user can read on each database. Also how commands name kinds and databases."""

from typing import Annotated

import typer

from service.cli import preflight
from service.cli.kinds import KIND_HELP, chosen_kind
from service.cli.messages import fail
from service.cli.options import CONFIG, ConfigOption, settings_of
from service.cli.terminal import show
from service.config.mistakes import meant
from service.config.settings import DatabaseSettings, Settings


def check(
    databases: Annotated[list[str] | None, typer.Argument(help="names in the configuration; default: all")] = None,
    config: ConfigOption = CONFIG,
    kind: Annotated[
        str | None, typer.Option("--for", metavar="KIND", help=f"{KIND_HELP}; default: found by itself")
    ] = None,
) -> None:
    """Try every view on each database, and print the SQL for those that cannot be read. Exit 1 if something is missing."""
    chosen, known = settings_of(config), chosen_kind(kind) if kind else None
    reports = [preflight.check(database, chosen, known) for database in named_databases(chosen, databases)]
    show("\n".join(preflight.as_text(report) for report in reports))
    if any(report.error for report in reports):
        raise typer.Exit(2)
    if any(report.lacking for report in reports):
        raise typer.Exit(1)


def named_databases(chosen: Settings, names: list[str] | None) -> list[DatabaseSettings]:
    known = {database.name: database for database in chosen.databases}
    for name in names or ():
        if name not in known:
            fail(f"no database named {name} in the configuration{meant(name, known)}")
    return [known[name] for name in names] if names else list(known.values())
