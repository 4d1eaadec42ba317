"""What several commands share: the name of a kind of database, options, reading the configuration, and text on a terminal."""

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Literal

import typer
from pydantic_core import to_json
from rich.console import Console
from rich.text import Text

from collectors.grants import KINDS, DatabaseKind, UnknownKind, kind_named
from service.cli.messages import Answer, fail, say, unwritten
from service.client import TOKEN_VARIABLE
from service.config import load
from service.config.load import NO_DATABASES
from service.config.settings import BadSettings, Settings
from service.escape import visible_json
from service.render.parts import COLUMNS, LINE_WIDTH

# How commands name the kind of a database.

KIND_HELP = f"kind of database: {', '.join(KINDS)}; non-cdb, for any release without containers; or a release, such as 11g or 19c"


def chosen_kind(word: str) -> DatabaseKind:
    """The kind of that name or release. Another word gives one line and exit code 2."""
    try:
        return kind_named(word)
    except UnknownKind as error:
        fail(str(error))


# Shared by several commands: the options for the configuration and the store, and the reading of a configuration.


def a_number(value: float) -> float:
    """An option's number. `nan` passes every comparison with a limit, and is refused here."""
    if value != value:
        raise typer.BadParameter("nan is not a number; write seconds, such as 2")
    return value


CONFIG = Path("latchscope.yaml")
ConfigOption = Annotated[
    Path, typer.Option(envvar="LATCHSCOPE_CONFIG", help="configuration file, see docs/configuration.md")
]
StoreOption = Annotated[str | None, typer.Option(help="URL of the store, instead of the one in the configuration")]
UrlOption = Annotated[str | None, typer.Option(help="address of a running service, to ask it instead")]
TokenFileOption = Annotated[Path | None, typer.Option(help=f"file with a token for it; else {TOKEN_VARIABLE}")]
Form = Literal["text", "json", "markdown"]
Force = Annotated[bool, typer.Option("--force", help="replace the file if it exists; from 0.4.0 on only with this")]


def settings_of(config: Path, *, watching: bool = True) -> Settings:
    """The configuration. If it is unusable, or lacks the databases that the command needs: one line and exit code 2."""
    try:
        chosen = load.read(config)
    except BadSettings as error:
        fail(str(error))
    if watching and not chosen.databases:
        fail(f"{config}: {NO_DATABASES}")
    return chosen


# Where text goes, and in which form.

Format = Literal["text", "json", "markdown", "html"]
ENDINGS: Mapping[str, Format] = {".txt": "text", ".json": "json", ".md": "markdown", ".html": "html"}
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", help="write to this file instead of stdout")]


def form_of(output: Path | None, given: Format | None, endings: Mapping[str, Format] = ENDINGS) -> Format:
    """The format as given, else as the file ends, else text. A file with the name of a format is a mistake."""
    name = str(output or "")
    if name in (*endings.values(), *(ending[1:] for ending in endings)):
        fail(
            f"-o {name} names a file, not a format; write --format {endings.get(f'.{name}', name)}, or -o report.{name}"
        )
    if given is None and (suffix := Path(name).suffix.lower()) not in ("", ".log", *endings):
        fail(f"-o {name}: nothing is written as {suffix}; end it with {', '.join(endings)}, or name a --format")
    return given or endings.get(Path(name).suffix.lower(), "text")


def give(answer: Answer, *, as_json: bool = False) -> None:
    """Print an answer, and end the command if it has a code."""
    if as_json:
        typer.echo(visible_json(to_json(answer.value, indent=2).decode()))
    elif answer.text:
        show(answer.text)
    if answer.code:
        raise typer.Exit(answer.code)


def write_whole(file: Path, text: str, *, force: bool = True) -> None:
    """Write a file. A disk that fails in the middle leaves the earlier file as it was. Raises OSError."""
    if not force and file.is_file():
        say(f"{file} exists already and is replaced; from 0.4.0 on that takes --force")
    target = file.resolve()
    known = target.exists()
    replaceable = not known or (target.is_file() and os.access(target, os.W_OK))
    if not (replaceable and os.access(target.parent, os.W_OK)):  # for example a terminal
        target.write_text(text, encoding="utf-8")
        return
    draft = target.with_name(f".{target.name}.draft")
    try:
        draft.write_text(text, encoding="utf-8")
        if known:
            shutil.copymode(target, draft)
        draft.replace(target)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise


def written(text: str, output: Path | None, format: Format, *, force: bool) -> bool:
    """Print a text, or write it to a file. False where that fails, which is one line."""
    if output is None:
        (show if format == "text" else typer.echo)(text)
        return True
    try:
        write_whole(output, text + "\n", force=force)
    except OSError as error:
        say(f"latchscope: {unwritten(output, error)}")
        return False
    other = ENDINGS.get(output.suffix.lower(), format) != format
    say(f"{output}: written, as {format}{', whatever its name says' if other else ''}")
    return True


NARROWEST = 40
_TABLE = re.compile(r"\S {2,}\S")
"""Headings of tables. A wrapped line would destroy their columns."""
_STYLES = (
    (r"(?mi)^critical(?= waits|:)|severity critical\b", "bold red"),
    (r"(?mi)^warning(?=:)|severity warning\b", "bold yellow"),
    (r"(?mi)^notice(?=:)|severity notice\b", "bold cyan"),
    (r"(?mi)^(?:fine|info|quiet)(?=:)|severity info\b", "bold green"),
    (r"(?m)^  (?:REFUSED|FAILED|CLOSED)(?= )", "bold red"),
    (r"(?m)^  ok(?= )", "green"),
    (r"(?m)^ *Do(?: now)?(?=: )", "bold green"),
    (r"(?m)^ *Do not(?=: )", "bold red"),
    (r"(?m)^ *[A-Z][a-z][A-Za-z ]{0,24}(?=: )", "bold"),
)
"""The highlighted words and their styles; last the labels at the start of a line."""


def fit_to_terminal() -> None:
    """Make rendered text no wider than the terminal. Elsewhere it has the width of a document."""
    console = Console()
    if console.is_terminal:
        LINE_WIDTH.set(max(NARROWEST, min(COLUMNS, console.width)))


def show(text: str) -> None:
    """Print a report: in colour on a terminal unless NO_COLOR is set, else as plain text."""
    console = Console(highlight=False)
    if not console.is_terminal:  # FORCE_COLOR makes a terminal of a pipe
        typer.echo(text)
        return
    wide = max(NARROWEST, console.width)
    lines = [part for line in text.split("\n") for part in _within(line, wide)]
    if os.environ.get("NO_COLOR"):
        typer.echo("\n".join(lines))
        return
    shown = Text("\n".join(lines))
    for pattern, style in _STYLES:
        shown.highlight_regex(pattern, style)
    console.print(shown, soft_wrap=True)


def _within(line: str, wide: int) -> list[str]:
    """A line, or its parts in a narrower window. Tables are left to the terminal."""
    if len(line) <= wide or _TABLE.search(line):
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return wrap(
        line.strip(),
        wide,
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
