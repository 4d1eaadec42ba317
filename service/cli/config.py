"""The configuration: `config validate` names every mistake at once, `init` writes one, `notify test` tries its receivers."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from collectors.demo.scenarios import scenarios
from collectors.grants import grantee
from rules.model import Severity
from service.cli.check import check
from service.cli.common import CONFIG, ConfigOption, give, settings_of, write_whole
from service.cli.messages import Answer, fail, say
from service.config import load
from service.config.load import YamlText, meant, mistakes_of, place_of, refusals, warnings
from service.config.logs import Audit
from service.config.settings import DEMO, BadSettings, DatabaseSettings, Settings, is_alias, plain_dsn
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


# `latchscope init`: writes a commented latchscope.yaml from questions or options, and tries it.

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


@dataclass(frozen=True, slots=True)
class WantedDatabase:
    """The answers about a database."""

    name: str
    dsn: str
    user: str
    password: tuple[str, str] | None
    """Setting and value: password_file and a path, or password_env and a name. None for a scripted database."""


def init(
    output: Annotated[Path, typer.Option("--output", "-o", help="the file to write")] = Path("latchscope.yaml"),
    name: Annotated[str | None, typer.Option(help="a name for the database, such as erp1")] = None,
    dsn: Annotated[str | None, typer.Option(help="host:port/service, an alias, or demo:undo-storm")] = None,
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
    """Write a commented latchscope.yaml. Questions cover what the options leave open. Then run `check`."""
    if output.exists() and not force:
        fail(f"{output} exists already; name another with --output, or replace it with --force")
    if password_file is not None and password_env is not None:
        fail("--password-file and --password-env both name a place for the password; keep one")
    given = ("password_file", str(password_file)) if password_file else ("password_env", password_env or "")
    wanted = _wanted(name, dsn, user, given if given[1] else None)
    try:
        write_whole(output, written(wanted))
    except OSError as error:
        fail(f"{output} cannot be written: {error.strerror}; name a file in a folder of yours with --output")
    mistakes = load.checked(output).mistakes
    if mistakes:
        output.unlink()
        fail(f"nothing is written: {mistakes[0]}")
    say(f"{output}: written, with {wanted.name}; `latchscope serve --config {output}` watches it")
    if wanted.password is not None:
        say(
            "`latchscope grants --for KIND` prints the script for its user, `latchscope check` the rights that are missing"
        )
    if wanted.password is not None and wanted.password[0] == "password_file" and not Path(wanted.password[1]).exists():
        say(f"put the password into {wanted.password[1]}, then run `latchscope check --config {output}`")
        return
    if try_it:
        give(check(None, output, None))


def written(wanted: WantedDatabase) -> str:
    """The file, with a comment for each setting."""
    lines = [
        "# Written by `latchscope init`. `latchscope config validate` checks it after each change.",
        "databases:                               # one entry per instance",
        f"  - name: {json.dumps(wanted.name)}",
        f"    dsn: {json.dumps(wanted.dsn)}",
    ]
    if wanted.password is not None:
        setting, value = wanted.password
        lines += [
            f"    user: {json.dumps(wanted.user)}                    # without containers LATCHSCOPE, else C##…",
            f"    {setting}: {json.dumps(value)}    # read at each login, so a new password needs no restart",
        ]
    return "\n".join(lines) + "\n" + _REST


def _wanted(name: str | None, dsn: str | None, user: str | None, password: tuple[str, str] | None) -> WantedDatabase:
    """The values from the options, and the rest from questions."""
    scripted = dsn is not None and dsn.startswith(DEMO)
    missing = [] if dsn else ["--dsn"]
    missing += [] if password or scripted else ["--password-file or --password-env"]
    if missing and not _can_ask():
        fail(f"{' and '.join(missing)} must be given without a terminal; or run it on a terminal")
    if dsn is None:
        say("Which database? Enter takes the value in brackets; Ctrl-C ends and writes nothing.")
        dsn = _asked("  host:port/service, or a TNS alias", None, _usable_dsn)
        scripted = dsn.startswith(DEMO)
        if is_alias(dsn) and "TNS_ADMIN" not in os.environ:
            say(f"  {dsn} is an alias of tnsnames.ora; if it is a host, end with Ctrl-C and write {dsn}:1521/service")
    else:
        _given("--dsn", dsn, _usable_dsn)
    if name is None:
        own = _name_in(dsn)
        name = own if not _can_ask() else _asked("  a name for it", own, _usable_name)
    else:
        _given("--name", name, _usable_name)
    if scripted:
        return WantedDatabase(name, dsn, "", None)
    if user is None:
        ask = "  Oracle user (LATCHSCOPE in a database without containers)"
        usual = grantee("LATCHSCOPE", "cdb")  # whom `latchscope grants` makes, unless it is asked for another kind
        user = _asked(ask, usual, _usable_user) if _can_ask() else usual
    else:
        _given("--user", user, _usable_user)
    if password is None:
        password = "password_file", _asked("  file with its password", f"{name}.password", _usable_file)
        _make_password_file(Path(password[1]), user)
    return WantedDatabase(name, dsn, user, password)


def _usable_dsn(dsn: str) -> str:
    """The dsn unchanged, or a ValueError, like the others: each answer is judged before the next question."""
    if not dsn.startswith(DEMO):
        return plain_dsn(dsn)
    script = dsn.removeprefix(DEMO)
    if script not in scenarios():
        raise ValueError(f"names no scripted database{meant(script, scenarios())}")
    return dsn


def _as_setting(setting: str, value: str) -> str:
    """The value unchanged. Raises ValueError in the words of `config validate` if the settings refuse it."""
    members: Mapping[str, str] = {"name": "a", "dsn": "demo:undo-storm", setting: value}
    try:
        DatabaseSettings.model_validate(members)
    except ValidationError as error:
        mistakes = mistakes_of(error.errors(), YamlText({}, {}, (), ()))
        raise ValueError(next(mistakes).what) from None
    return value


_usable_name = partial(_as_setting, "name")
_usable_user = partial(_as_setting, "user")


def _usable_file(file: str) -> str:
    path = Path(file).expanduser()
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {path.absolute().parent}; create it, or name another file")
    return str(path)


def _given(option: str, value: str, usable: Callable[[str], str]) -> None:
    """Refuse the value of an option in one line."""
    try:
        usable(value)
    except ValueError as error:
        fail(f"{option} {error}")


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _make_password_file(path: Path, user: str) -> None:
    """A file for the owner only, with a password typed unseen. Nothing if the file exists or the input is empty."""
    if path.exists():
        return
    typed = typer.prompt(
        f"  password of {user} (unseen; empty: you write the file yourself)", "", hide_input=True, show_default=False
    )
    if typed:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            fail(f"{path} cannot be written: {error.strerror}; name a file in a folder of yours")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(typed + "\n")


def _asked(question: str, default: str | None, usable: Callable[[str], str]) -> str:
    """The answer to a question, repeated until it is usable."""
    while True:
        answer = str(typer.prompt(question, default)).strip()
        try:
            return usable(answer)
        except ValueError as error:
            say(f"  {error}")


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
