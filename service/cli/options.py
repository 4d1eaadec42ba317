"""What several commands share: the options for the configuration and the store, and how a command fails."""

from pathlib import Path
from typing import Annotated, NoReturn

import typer

CONFIG = Path("latchscope.yaml")
ConfigOption = Annotated[Path, typer.Option(help="configuration file, see docs/configuration.md")]
StoreOption = Annotated[str | None, typer.Option(help="URL of the store, in place of that of the configuration")]


def fail(message: str) -> NoReturn:
    """One line on stderr, and exit code 2."""
    typer.echo(f"latchscope: {message}", err=True)
    raise typer.Exit(2)
