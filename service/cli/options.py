"""What several commands share: the options for the configuration and the store, and how a configuration is read."""

from pathlib import Path
from typing import Annotated

import typer

from service.cli.messages import fail
from service.config import sources
from service.config.mistakes import NO_DATABASES
from service.config.settings import BadSettings, Settings

CONFIG = Path("latchscope.yaml")
ConfigOption = Annotated[Path, typer.Option(help="configuration file, see docs/configuration.md")]
StoreOption = Annotated[str | None, typer.Option(help="URL of the store, in place of that of the configuration")]


def settings_of(config: Path, *, watching: bool = True) -> Settings:
    """The configuration; one that cannot be used, or names nothing to watch where that is meant, is one line and exit code 2."""
    try:
        chosen = sources.read(config)
    except BadSettings as error:
        fail(str(error))
    if watching and not chosen.watches_something:
        fail(f"{config}: {NO_DATABASES}")
    return chosen
