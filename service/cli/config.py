"""`latchscope config validate`: every mistake of a configuration at once, each with its line."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from service.cli.messages import fail, say
from service.cli.options import CONFIG
from service.config import sources
from service.config.dsn import is_alias
from service.config.mistakes import NO_DATABASES
from service.config.settings import BadSettings, Settings
from service.extras import MissingExtra, require

config_cli = typer.Typer(no_args_is_help=True, help="The configuration: find its mistakes before you use it.")


@config_cli.command("validate")
def validate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="the configuration to read")] = CONFIG,
) -> None:
    """Name every mistake of a configuration with its line and the way out. Exit 2 if there is one; connects to nothing."""
    try:
        found = sources.checked(file)
    except BadSettings as error:
        fail(str(error))
    mistakes = [(mistake.line, str(mistake)) for mistake in found.mistakes]
    if found.settings is not None and not found.settings.watches_something:
        mistakes.append((None, NO_DATABASES))
    for line, what in mistakes:
        say(f"{file}{'' if line is None else f':{line}'}: {what}")
    if mistakes:
        many = "mistake" if len(mistakes) == 1 else "mistakes"
        say(f"latchscope: {file} has {len(mistakes)} {many}; correct them and try again")
        raise typer.Exit(2)
    assert found.settings is not None
    for note in notes(found.settings):
        say(f"{file}: note: {note}")
    count = len(found.settings.databases)
    say(f"{file}: {count} database{'' if count == 1 else 's'}; no mistakes")


def notes(chosen: Settings) -> Iterator[str]:
    """What is missing here but may exist where the service runs: extras, secret files, the folder of an alias."""
    yield from _missing_extras(chosen)
    named = [("auth.tokens_file", chosen.auth.tokens_file), ("fleet.token_file", chosen.fleet.token_file)]
    named += [(f"webhook {hook.target}: secret_file", hook.secret_file) for hook in chosen.webhooks]
    named += [(f"notification {channel.name}: url_file", channel.url_file) for channel in chosen.notifications]
    for database in chosen.databases:
        named.append((f"{database.name}: password_file", database.password_file))
        named.append((f"{database.name}: wallet_password_file", database.wallet_password_file))
        if database.password_env is not None and database.password_env not in os.environ:
            yield f"{database.name}: the environment has no {database.password_env} here"
        if is_alias(database.dsn) and database.config_dir is None and "TNS_ADMIN" not in os.environ:
            yield (
                f"{database.name}: dsn {database.dsn} is an alias, and neither config_dir nor TNS_ADMIN names the folder of "
                "its tnsnames.ora here"
            )
        secrets = (database.password_file, database.password_env, database.password_command)
        if database.scripted is None and all(secret is None for secret in secrets):
            yield f"{database.name}: no password; set password_file, password_env or password_command"
    for name, path in named:
        if path is not None and not os.access(path, os.R_OK):
            yield f"{name} {path} {'cannot be read' if path.exists() else 'does not exist'} here"


def _missing_extras(chosen: Settings) -> Iterator[str]:
    """The extras without which the service would refuse to start."""
    wanted = {
        ("opentelemetry.sdk", "otel", "exports to OpenTelemetry"): chosen.telemetry.otlp is not None,
        ("apprise", "notify", "notifications"): bool(chosen.notifications),
        ("psycopg", "postgresql", "stores in PostgreSQL"): chosen.store.startswith("postgresql+psycopg:"),
    }
    for extra, needed in wanted.items():
        try:
            if needed:
                require(*extra)
        except MissingExtra as error:
            yield str(error)
