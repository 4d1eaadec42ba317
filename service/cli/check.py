"""`latchscope check`: what the user can read on each database, and whether the store and the receivers of notifications work."""

from typing import Annotated

import typer

from service.characters import visible
from service.cli import preflight
from service.cli.kinds import KIND_HELP, chosen_kind
from service.cli.messages import fail
from service.cli.options import CONFIG, ConfigOption, settings_of
from service.cli.terminal import show
from service.config.audit import unwritable
from service.config.mistakes import meant
from service.config.settings import DatabaseSettings, Settings
from service.extras import MissingExtra
from service.notify.trial import looked_at
from service.store.schema.look import look_at_store


def check(
    databases: Annotated[list[str] | None, typer.Argument(help="names in the configuration; default: all")] = None,
    config: ConfigOption = CONFIG,
    kind: Annotated[
        str | None, typer.Option("--for", metavar="KIND", help=f"{KIND_HELP}; default: found by itself")
    ] = None,
) -> None:
    """Try every view on each database, and print the SQL for those that cannot be read. Exit 1 if something is missing.

    Without names it also looks at the store and the audit file, which it does not change, and at the addresses of notifications,
    to which it sends nothing: a line each.
    """
    chosen, known = settings_of(config), chosen_kind(kind) if kind else None
    reports = [preflight.check(database, chosen, known) for database in named_databases(chosen, databases)]
    if reports:
        show("\n".join(preflight.as_text(report) for report in reports))
    store_works, others_work = (True, True) if databases else (_store(chosen), _audit_file(chosen) & _addresses(chosen))
    if any(report.error for report in reports) or not store_works:
        raise typer.Exit(2)
    if any(report.lacking for report in reports) or not others_work:
        raise typer.Exit(1)


def _store(chosen: Settings) -> bool:
    """Whether the service could start with its store; says so."""
    look = look_at_store(chosen.store)
    show(visible(f"store {look.store}: {look.said}"))
    return look.usable


def _audit_file(chosen: Settings) -> bool:
    """Whether actions can be written to the audit file, if one is set; says so."""
    file = chosen.auth.audit_file
    if file is None:
        return True
    why = unwritable(file)
    show(visible(f"audit file {file}: {f'cannot be written: {why}' if why else 'can be written'}"))
    return why is None


def _addresses(chosen: Settings) -> bool:
    """Whether each notification has an address that can be sent to; says so of each."""
    every = True
    try:
        for seen in looked_at(chosen.notifications):
            show(visible(f"notification {seen.target}: {seen.why or f'address of {seen.service}, nothing sent'}"))
            every = every and seen.why is None
    except MissingExtra as error:
        show(f"notifications: {error}")
        return False
    return every


def named_databases(chosen: Settings, names: list[str] | None) -> list[DatabaseSettings]:
    known = {database.name: database for database in chosen.databases}
    for name in names or ():
        if name not in known:
            fail(f"no database named {name} in the configuration{meant(name, known)}")
    return [known[name] for name in names] if names else list(known.values())
