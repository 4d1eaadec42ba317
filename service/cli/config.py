"""The configuration: `config validate` names every mistake at once, `init` writes one, `notify test` tries its receivers."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from collectors.grants import grantee
from rules.model import Severity
from service.cli.check import check
from service.cli.common import CONFIG, ConfigOption, give, settings_of, write_whole
from service.cli.messages import Answer, fail, say
from service.config import load
from service.config.load import YamlText, place_of, refusals, warnings
from service.config.logs import Audit
from service.config.settings import DEMO, BadSettings, Settings, is_alias
from service.escape import visible
from service.extras import MissingExtra, require

config_cli = typer.Typer(no_args_is_help=True)


@config_cli.command("validate")
def validate(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="the configuration to read", show_default=str(CONFIG))
    ] = None,
    config: Annotated[Path | None, typer.Option(help="alias of FILE, as in other commands", show_default=False)] = None,
    insecure: Annotated[bool, typer.Option(help="allow what `serve --insecure` allows")] = False,
) -> Answer:
    """Name every mistake of a configuration with its line and the way out. Exit 2 if there is one; connects to nothing."""
    if file is not None and config is not None:
        fail(f"{file} and --config {config} are two files; name one")
    file = file or config or CONFIG
    try:
        found = load.checked(file)
    except BadSettings as error:
        fail(str(error))
    mistakes = list(found.mistakes)
    for refusal in refusals(found.settings, insecure=insecure) if found.settings is not None else ():
        name, _, number = refusal.where.rstrip("]").partition("[")
        place = (name, int(number)) if number else (name,)
        mistakes.append(replace(refusal, line=found.text.line_of(place)))
    for mistake in mistakes:
        say(f"{mistake.place(file)}: {mistake}")
    noted = [*_cut_values(found.text), *(notes(found.settings) if found.settings is not None else ())]
    for note in noted:
        say(f"{file}: note: {note}")
    told = [{"line": each.line, "where": each.where, "what": str(each)} for each in mistakes]
    answer = Answer({"file": str(file), "mistakes": told, "notes": noted}, "", 2 if mistakes else 0)
    if mistakes or found.settings is None:
        many = "mistake; correct it" if len(mistakes) == 1 else "mistakes; correct them"
        say(f"latchscope: {file} has {len(mistakes)} {many} and try again")
        return answer
    count = len(found.settings.databases)
    outcome = f"{len(noted)} note{'' if len(noted) == 1 else 's'}" if noted else "no mistakes"
    say(f"{file}: {count} database{'' if count == 1 else 's'}; {outcome}")
    return answer


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
    named = [("auth.tokens_file", chosen.auth.tokens_file)]
    named += [(f"webhook {hook.target}: secret_file", hook.secret_file) for hook in chosen.webhooks]
    named += [(f"notification {channel.name}: url_file", channel.url_file) for channel in chosen.notifications]
    logins: dict[tuple[str, str], list[str]] = {}
    for database in chosen.databases:
        named.append((f"{database.name}: password_file", database.password_file))
        named.append((f"{database.name}: wallet_password_file", database.wallet_password_file))
        if database.password_env is not None and database.password_env not in os.environ:
            yield f"{database.name}: the environment has no {place_of(database.password_env)} here"
        if is_alias(database.dsn) and database.config_dir is None and "TNS_ADMIN" not in os.environ:
            yield (
                f"{database.name}: dsn {database.dsn} is an alias, and neither config_dir nor TNS_ADMIN names the folder of "
                f"its tnsnames.ora here; of a host write {database.dsn}:1521/service"
            )
        if database.scripted is None:
            logins.setdefault((database.dsn, database.user), []).append(database.name)
    for name, path in ((name, path) for name, path in named if path is not None):
        if not os.access(path, os.R_OK):
            yield f"{name} {place_of(path)} {'cannot be read' if os.path.exists(path) else 'does not exist'} here"
        elif path.is_file():
            if path.stat().st_mode & 0o007 and name != "auth.tokens_file":
                yield f"{name} {path} can be read by other accounts; chmod 600 it"
            if "password" in name and not path.read_bytes().strip():
                yield f"{name} {path} is empty here; write the password into it and nothing else"
    yield from (f"{' and '.join(names)} have the same dsn and user" for names in logins.values() if len(names) > 1)
    yield from _default_users(chosen)
    yield from _useless_files(chosen)
    yield from _outages_without_message(chosen)


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


def _outages_without_message(chosen: Settings) -> Iterator[str]:
    """Databases whose outages nobody hears of, where people hear of their troubles."""
    receivers = [
        channel
        for channel in chosen.notifications
        if "outage" in channel.on and channel.min_severity.rank <= Severity.WARNING.rank
    ]
    names = [database.name for database in chosen.databases]
    silent = [name for name in names if not any(name in (channel.databases or names) for channel in receivers)]
    if chosen.notifications and chosen.public_url is None:
        yield "no `public_url`, so the messages of notifications have no link to the page"
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
        from service.notify.messages import looked_at

        with suppress(MissingExtra):  # told already
            yield from (f"notification {seen.target}: {seen.why}" for seen in looked_at(readable) if seen.why)


def _missing_extras(chosen: Settings) -> Iterator[str]:
    """The extras without which the service would refuse to start."""
    wanted = {
        ("apprise", "notify", "notifications"): bool(chosen.notifications),
        ("psycopg", "postgresql", "stores in PostgreSQL"): chosen.store.startswith("postgresql"),
    }
    for extra, needed in wanted.items():
        try:
            if needed:
                require(*extra)
        except MissingExtra as error:
            yield str(error)


# `latchscope init`: writes a commented latchscope.yaml with a database, or an example of one, and tries it.

_COMMENTS = {
    "user": "without containers LATCHSCOPE, else C##…",
    "password_file": "read at each login, so a new password needs no restart",
}
_REST = """
# These are the defaults; remove the # to change one. docs/configuration.md has every setting and its reason.
# listen: 127.0.0.1:8000               # another address needs auth.tokens_file
# store: sqlite:///latchscope.db       # or postgresql://user@host/database, with the extra `postgresql`
# oracle: {mode: thin}                 # thick, with an Instant Client, reaches 11.2
# defaults: {interval: 15s}            # time between polls, at least 10 s
# auth: {tokens_file: /run/secrets/tokens}
# public_url: https://latchscope.example.com
# notifications:                       # who gets messages, see docs/integrations.md
#   - {name: dba-team, url_file: /run/secrets/dba-team}
"""


def init(
    output: Annotated[Path, typer.Option("--output", "-o", help="the file to write")] = Path("latchscope.yaml"),
    name: Annotated[str | None, typer.Option(help="a name for the database; default: from --dsn")] = None,
    dsn: Annotated[
        str | None, typer.Option(help="host:port/service, an alias, or demo:undo-storm; without it, an example to edit")
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="the Oracle user; `latchscope grants` prints the script that creates it")
    ] = None,
    password_file: Annotated[Path | None, typer.Option(help="file with the password and nothing else")] = None,
    password_env: Annotated[str | None, typer.Option(help="environment variable with the password")] = None,
    force: Annotated[bool, typer.Option("--force", help="replace the file if it exists")] = False,
    try_it: Annotated[
        bool, typer.Option("--check/--no-check", help="log in once at the end and show what can be read")
    ] = True,
) -> None:
    """Write a commented latchscope.yaml with one database. Then run `check`."""
    if output.exists() and not force:
        fail(f"{output} exists already; name another with --output, or replace it with --force")
    if password_file is not None and password_env is not None:
        fail("--password-file and --password-env both name a place for the password; keep one")
    database = {"name": name or _name_in(dsn or EXAMPLE), "dsn": dsn or EXAMPLE}
    secret = Path(password_file or f"{database['name']}.password")
    if not database["dsn"].startswith(DEMO):
        database["user"] = user or grantee(
            "LATCHSCOPE", "cdb"
        )  # whom `latchscope grants` makes, unless asked for another
        database |= {"password_env": password_env} if password_env else {"password_file": str(secret)}
    try:
        with TemporaryDirectory() as folder:
            draft = Path(folder) / "latchscope.yaml"
            draft.write_text(_written(database), encoding="utf-8")
            if mistakes := load.checked(draft).mistakes:
                fail(f"nothing is written: {mistakes[0]}")
        write_whole(output, _written(database))
    except OSError as error:
        fail(f"{output} cannot be written: {error.strerror}; name a file in a folder of yours with --output")
    if dsn is None:
        say(f"{output}: written, with an example; put your database in its place, then `latchscope check` tries it")
        return
    say(f"{output}: written, with {database['name']}; `latchscope serve --config {output}` watches it")
    if "user" in database:
        say(
            "`latchscope grants --for KIND` prints the script for its user, `latchscope check` the rights that are missing"
        )
    if "password_file" in database and not secret.exists():
        say(f"put the password into {secret}, then run `latchscope check --config {output}`")
    elif try_it:
        give(check(None, output, None))


EXAMPLE = "db1.example.com:1521/erp1"


def _written(database: Mapping[str, str]) -> str:
    """The file, with a comment for each setting."""
    lines = [
        "# Written by `latchscope init`. `latchscope config validate` checks it after each change.",
        "databases:                               # one entry per instance",
    ]
    for setting, value in database.items():
        comment = f"    # {_COMMENTS[setting]}" if setting in _COMMENTS else ""
        lines.append(f"  {'-' if setting == 'name' else ' '} {setting}: {json.dumps(value)}{comment}")
    return "\n".join(lines) + "\n" + _REST


def _name_in(dsn: str) -> str:
    """A name for the database, from its dsn: the service, the alias, or the script."""
    last = dsn.removeprefix(DEMO).split("?")[0].rsplit("/", 1)[-1].split(".")[0].split(":")[0]
    return "".join(each for each in last if each.isalnum() or each in "-_").lower()[:63] or "oracle1"


# `latchscope notify test`: checks that messages arrive, before there is a problem to report.

notify_cli = typer.Typer(no_args_is_help=True)


@notify_cli.command("test")
def send_test(
    names: Annotated[list[str] | None, typer.Argument(help="names of receivers; default: all")] = None,
    config: ConfigOption = CONFIG,
) -> Answer:
    """Send each receiver a test message. Exit 1 if one did not accept it."""
    from service.notify.messages import receivers, try_out  # a start of latchscope for this command alone

    settings = settings_of(config)
    known = {receiver.target: receiver for receiver in receivers(settings)}
    if not known:
        fail(f"{config} has no receivers; add `notifications` or `webhooks`, see docs/integrations.md")
    for name in names or ():
        if name not in known:
            fail(f"`notifications` and `webhooks` have no {name}; the names are: {', '.join(known)}")
    audit, results = Audit(settings.auth.audit_file), []
    try:
        for result in try_out(settings, [known[name] for name in names or known]):
            audit.record("command line", "notify test", result.target, result.why or "sent")
            results.append(result)
    except MissingExtra as error:
        fail(str(error))
    outcomes = (
        f"{each.target}: {f'not sent: {each.why}' if each.why else 'sent'} ({each.service})" for each in results
    )
    return Answer(results, "\n".join(map(visible, outcomes)), 1 if any(each.why for each in results) else 0)
