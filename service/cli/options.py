"""What several commands share: the options for the configuration and the store, and how a command fails."""

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from service.characters import visible
from service.config import sources
from service.config.mistakes import NO_DATABASES
from service.config.settings import BadSettings, Settings

CONFIG = Path("latchscope.yaml")
ConfigOption = Annotated[Path, typer.Option(help="configuration file, see docs/configuration.md")]
StoreOption = Annotated[str | None, typer.Option(help="URL of the store, in place of that of the configuration")]


def fail(message: str) -> NoReturn:
    """One line on stderr, and exit code 2."""
    say(f"latchscope: {message}")
    raise typer.Exit(2)


def unwritten(path: Path, error: OSError) -> str:
    """Why a file cannot be written, and the way out."""
    why = f"{path} cannot be written: {error.strerror}"
    if isinstance(error, FileNotFoundError):
        return f"{why}; make the folder {path.parent} first, or name another file"
    if isinstance(error, IsADirectoryError):
        return f"{why}; name a file in it"
    return f"{why}; name a file in a folder of yours"


def say(message: str) -> None:
    """A message on stderr; what it names may come from anywhere."""
    typer.echo(visible(message, keep="\n"), err=True)


def settings_of(config: Path, *, watching: bool = True) -> Settings:
    """The configuration; one that cannot be used, or names nothing to watch where that is meant, is one line and exit code 2."""
    try:
        chosen = sources.read(config)
    except BadSettings as error:
        fail(str(error))
    if watching and not chosen.watches_something:
        fail(f"{config}: {NO_DATABASES}")
    return chosen
