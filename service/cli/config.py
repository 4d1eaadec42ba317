"""`latchscope config validate`: every mistake of a configuration at once, each with its line."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from rules.model import Severity
from service.cli.messages import fail, say
from service.cli.options import CONFIG
from service.config import sources
from service.config.dsn import is_alias
from service.config.lines import YamlText
from service.config.refusals import refusals, warnings
from service.config.settings import BadSettings, Settings
from service.extras import MissingExtra, require

config_cli = typer.Typer(no_args_is_help=True, help="The configuration: find its mistakes before you use it.")


@config_cli.command("validate")
def validate(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="the configuration to read", show_default=str(CONFIG))
    ] = None,
    config: Annotated[Path | None, typer.Option(help="alias of FILE, as in other commands", show_default=False)] = None,
    insecure: Annotated[bool, typer.Option(help="allow what `serve --insecure` allows")] = False,
) -> None:
    """Name every mistake of a configuration with its line and the way out. Exit 2 if there is one; connects to nothing."""
    if file is not None and config is not None:
        fail(f"{file} and --config {config} are two files; name one")
    file = file or config or CONFIG
    try:
        found = sources.checked(file)
    except BadSettings as error:
        fail(str(error))
    mistakes = list(found.mistakes)
    if found.settings is not None:
        for refusal in refusals(found.settings, insecure=insecure):
            mistakes.append(replace(refusal, line=found.text.lines.get((refusal.where,))))
    for mistake in mistakes:
        say(f"{file}{'' if mistake.line is None else f':{mistake.line}'}: {mistake}")
    noted = [*_cut_values(found.text), *(notes(found.settings) if found.settings is not None else ())]
    for note in noted:
        say(f"{file}: note: {note}")
    if mistakes:
        many = "mistake; correct it" if len(mistakes) == 1 else "mistakes; correct them"
        say(f"latchscope: {file} has {len(mistakes)} {many} and try again")
        raise typer.Exit(2)
    assert found.settings is not None
    count = len(found.settings.databases)
    outcome = f"{len(noted)} note{'' if len(noted) == 1 else 's'}" if noted else "no mistakes"
    say(f"{file}: {count} database{'' if count == 1 else 's'}; {outcome}")


def _cut_values(text: YamlText) -> Iterator[str]:
    """Values that YAML ends at a # with a blank before it."""
    for cut in text.cut:
        yield (
            f"line {cut.line}: {cut.place[-1]} is {cut.value!r}, since ` #` begins a comment; where `{cut.comment}` belongs "
            "to it, take the blank away or put the whole in quotes"
        )


def notes(chosen: Settings) -> Iterator[str]:
    """What is missing here but may exist where the service runs: extras, secret files, an alias; and what should be changed."""
    yield from warnings(chosen)
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
                f"its tnsnames.ora here; of a host write {database.dsn}:1521/service"
            )
        secrets = (database.password_file, database.password_env, database.password_command)
        if database.scripted is None and all(secret is None for secret in secrets):
            yield f"{database.name}: no password; set password_file, password_env or password_command"
    for name, path in named:
        if path is not None and not os.access(path, os.R_OK):
            yield f"{name} {path} {'cannot be read' if path.exists() else 'does not exist'} here"
        elif path is not None and "password" in name and path.is_file() and not path.read_bytes().strip():
            yield f"{name} {path} is empty here; write the password into it and nothing else"
    yield from _default_users(chosen)
    yield from _useless_files(chosen)
    yield from _untold_outages(chosen)


def _default_users(chosen: Settings) -> Iterator[str]:
    """Databases without `user`. Nothing here shows whether they have containers, whose user has another name."""
    names = [each.name for each in chosen.databases if each.scripted is None and "user" not in each.model_fields_set]
    if names:
        yield (
            f"{_few(names)}: no `user`, so it is LATCHSCOPE; in a container database the script of `latchscope grants` creates "
            "C##LATCHSCOPE, and dsn names a service of CDB$ROOT, not of a PDB; write `user` to say which it is"
        )


def _few(names: list[str]) -> str:
    """The first five names."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _untold_outages(chosen: Settings) -> Iterator[str]:
    """Databases whose outages nobody hears of, where people hear of their troubles."""
    telling = [
        channel
        for channel in chosen.notifications
        if "outage" in channel.on and channel.min_severity.rank <= Severity.WARNING.rank
    ]
    names = [database.name for database in chosen.databases]
    silent = [name for name in names if not any(name in (channel.databases or names) for channel in telling)]
    if chosen.notifications and silent:
        yield (
            f"no notification says when {_few(silent)} does not answer; that takes a receiver with outage under `on` and "
            "min_severity warning or lower"
        )


def _useless_files(chosen: Settings) -> Iterator[str]:
    """Files that can be read here, but lack what the service needs."""
    # What reads them loads half the service, which most files do not need.
    tokens = chosen.auth.tokens_file
    if tokens is not None and os.access(tokens, os.R_OK):
        from service.web.access import read_tokens

        try:
            read_tokens(tokens)
        except BadSettings as error:
            yield str(error)
    readable = [channel for channel in chosen.notifications if os.access(channel.url_file, os.R_OK)]
    if readable:
        from service.notify.trial import looked_at

        with suppress(MissingExtra):  # told already
            yield from (f"notification {seen.target}: {seen.why}" for seen in looked_at(readable) if seen.why)


def _missing_extras(chosen: Settings) -> Iterator[str]:
    """The extras without which the service would refuse to start."""
    wanted = {
        ("opentelemetry.sdk", "otel", "exports to OpenTelemetry"): chosen.telemetry.otlp is not None,
        ("apprise", "notify", "notifications"): bool(chosen.notifications),
        ("psycopg", "postgresql", "stores in PostgreSQL"): chosen.store.startswith("postgresql"),
    }
    for extra, needed in wanted.items():
        try:
            if needed:
                require(*extra)
        except MissingExtra as error:
            yield str(error)
