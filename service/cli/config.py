"""`latchscope init`: writes a commented latchscope.yaml from questions or options, and tries it."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from collectors.demo.scenarios import scenarios
from service.cli.check import check
from service.cli.messages import fail, say
from service.config import sources
from service.config.dsn import is_alias, plain_dsn
from service.config.lines import YamlText
from service.config.mistakes import meant, mistakes_of
from service.config.settings import DEMO, DatabaseSettings

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
        output.write_text(written(wanted), encoding="utf-8")
    except OSError as error:
        fail(f"{output} cannot be written: {error.strerror}; name a file in a folder of yours with --output")
    mistakes = sources.checked(output).mistakes
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
        check(None, output, None)


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
            f"    user: {json.dumps(wanted.user)}                    # C##… to watch a container database from its root",
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
        ask = "  Oracle user (C##LATCHSCOPE in a container database)"
        user = "LATCHSCOPE" if not _can_ask() else _asked(ask, "LATCHSCOPE", _usable_user)
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


def _usable_name(name: str) -> str:
    return _as_setting("name", name)


def _usable_user(user: str) -> str:
    return _as_setting("user", user)


def _as_setting(setting: str, value: str) -> str:
    """The value unchanged. Raises ValueError in the words of `config validate` if the settings refuse it."""
    members: Mapping[str, str] = {"name": "a", "dsn": "demo:undo-storm", setting: value}
    try:
        DatabaseSettings.model_validate(members)
    except ValidationError as error:
        mistakes = mistakes_of(error.errors(), YamlText({}, {}, (), ()))
        raise ValueError(next(mistakes).what) from None
    return value


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
