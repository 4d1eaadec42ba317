"""`latchscope top`: a live view in the terminal, of a service or of databases that it polls itself."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from collectors.demo.scenarios import scenarios
from service.cli.common import CONFIG, ConfigOption, a_number
from service.cli.messages import fail
from service.client import TOKEN_VARIABLE, ServiceClient, ServiceRefused, token_of
from service.config import load
from service.config.settings import BadSettings
from service.extras import MissingExtra, require
from service.store.engine import StoreError

if TYPE_CHECKING:
    from service.top.source import TopSource


def top(
    url: Annotated[
        str | None, typer.Option(help="address of a running service; without it, this command polls the databases")
    ] = None,
    token_file: Annotated[Path | None, typer.Option(help=f"file with a token for it; else {TOKEN_VARIABLE}")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="scripted databases, to try it out")] = False,
    interval: Annotated[
        float, typer.Option(min=1, max=60, callback=a_number, help="seconds between two refreshes")
    ] = 2.0,
    config: ConfigOption = CONFIG,
) -> None:
    """Watch in the terminal: the fleet, then a database with its chain, hot children, caches and who waits."""
    try:
        require("textual", "top", "the screens of `latchscope top`")
        with _source(url, token_file, demo, config) as source:
            from service.top.app import TopApp  # loads the library for screens, which no other command needs

            logging.getLogger().addHandler(logging.NullHandler())  # log lines would run across the screen
            TopApp(source, interval).run()
    except (MissingExtra, ServiceRefused, BadSettings, StoreError) as error:
        fail(str(error))


@contextmanager
def _source(url: str | None, token_file: Path | None, demo: bool, config: Path) -> "Iterator[TopSource]":
    """The databases to watch. It asks once first, so that a wrong address is one line and not a screen."""
    from service.top.source import PolledDirectly, RunningService

    if url is not None:
        service = RunningService(ServiceClient(url, token_of(token_file)))
        service.fleet()
        yield service
        return
    settings = load.demo(list(scenarios()), 0, "sqlite://", 2.0) if demo else load.read(config)
    if not settings.databases:
        fail(f"{config} names no database; add one under `databases`, or try it with --demo")
    polled = PolledDirectly(settings, "demo" if demo else str(config))
    try:
        yield polled
    finally:
        polled.close()
