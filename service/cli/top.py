"""`latchscope top`: a live view in the terminal, of a service or of databases that it polls itself."""

import logging
import signal
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from collectors.demo.scenarios import scenarios
from service.cli.common import CONFIG, ConfigOption, TokenFileOption, a_number
from service.cli.messages import fail
from service.client import ServiceClient, ServiceRefused, token_of
from service.config import load
from service.config.settings import BadSettings
from service.store.engine import StoreError

if TYPE_CHECKING:
    from service.top import Source


def top(
    url: Annotated[
        str | None, typer.Option(help="address of a running service; without it, this command polls the databases")
    ] = None,
    token_file: TokenFileOption = None,
    demo: Annotated[bool, typer.Option("--demo", help="scripted databases, to try it out")] = False,
    interval: Annotated[
        float, typer.Option(min=1, max=60, callback=a_number, help="seconds between two refreshes")
    ] = 2.0,
    config: ConfigOption = CONFIG,
) -> None:
    """Watch in the terminal: the fleet, then a database with its chain, hot children, caches and who waits."""
    try:
        where, opened = _source(url, token_file, demo, config)
        if not (sys.stdin.isatty() and sys.stdout.isatty()) or Console().is_dumb_terminal:
            fail("`top` needs a terminal, and here is none; a script reads /api/v1/databases of `latchscope serve`")
        for ending in (signal.SIGTERM, signal.SIGHUP):  # they restore the terminal and delete the files too
            signal.signal(ending, lambda *_: sys.exit(0))
        logging.getLogger().addHandler(logging.NullHandler())  # log lines would run across the screen
        from service.top import watch  # loads what other commands, and mistakes, do not need

        with opened as source:
            watch(source, where, interval)
    except (ServiceRefused, BadSettings, StoreError) as error:
        fail(str(error))


def _source(
    url: str | None, token_file: Path | None, demo: bool, config: Path
) -> "tuple[str, AbstractContextManager[Source]]":
    """What to watch, in words, and where it is asked. A service answers once first, so that a mistake is one line."""
    if url is not None:
        client = ServiceClient(url, token_of(token_file))
        client.get("/databases")
        return client.url.partition("://")[2], nullcontext(client.get)
    settings = load.demo(list(scenarios()), 0, "sqlite://", 2.0) if demo else load.read(config)
    if not settings.databases:
        fail(f"{config} names no database; add one under `databases`, or try it with --demo")
    from service.top import polled

    return "demo" if demo else str(config), polled(settings)
