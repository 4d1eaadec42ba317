"""Shared by several commands: the options for the configuration and the store, and the reading of a configuration."""

from pathlib import Path
from typing import Annotated

import typer

from service.cli.messages import fail
from service.config import sources
from service.config.mistakes import NO_DATABASES
from service.config.settings import BadSettings, Settings

CONFIG = Path("latchscope.yaml")
ConfigOption = Annotated[Path, typer.Option(help="configuration file, see docs/configuration.md")]
StoreOption = Annotated[str | None, typer.Option(help="URL of the store, instead of the one in the configuration")]


def settings_of(config: Path, *, watching: bool = True) -> Settings:
    """The configuration. If it is unusable, or lacks the databases that the command needs: one line and exit code 2."""
    try:
        chosen = sources.read(config)
    except BadSettings as error:
        fail(str(error))
    if watching and not chosen.watches_something:
        fail(f"{config}: {NO_DATABASES}")
    return chosen
