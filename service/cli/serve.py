"""`latchscope serve` and `latchscope demo`: the listening socket, the app, and an end within five seconds whatever hangs."""

import faulthandler
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, NoReturn

import typer

from collectors.demo.scenarios import scenarios
from service.app import create_app
from service.cli.demo_history import play
from service.cli.messages import fail
from service.cli.options import CONFIG, ConfigOption, settings_of
from service.config import sources
from service.config.logging import configure as configure_logging
from service.config.refusals import refusals, warnings
from service.config.settings import BadSettings, Settings
from service.garbage import collect_rarely
from service.store.schema.engine import StoreError
from service.web.server import Server, provide_descriptors

GREETING = "latchscope: http://{address}/"
DEMO = "latchscope demo: http://{address}/ (the undo storm builds up within 20 s); its store: STORE"
STORM = "latchscope demo: the storm of the hour before: http://{{address}}/db/{database}?at={at:%Y-%m-%dT%H:%M:%SZ}"


def demo(
    port: Annotated[int, typer.Option(min=0, max=65535, help="port on 127.0.0.1")] = 8000,
    interval: Annotated[float, typer.Option(min=0.2, help="seconds between polls")] = 2.0,
    history: Annotated[int, typer.Option(min=0, max=60, help="minutes of scripted history, played at the start")] = 60,
) -> None:
    """Serve scripted databases: an undo storm, a busy but healthy one, a parse storm."""
    with tempfile.TemporaryDirectory(prefix="latchscope-") as folder:
        chosen = sources.demo(list(scenarios()), port, f"sqlite:///{folder}/demo.db", interval)
        serve_until_told(
            chosen,
            DEMO.replace("STORE", chosen.store),
            tidy=lambda: shutil.rmtree(folder),
            history=partial(_with_history, chosen, history) if history else None,
        )


def _with_history(chosen: Settings, minutes: int, began: datetime) -> str:
    """Play the history of the demo. Returns the line of the greeting that links to the storm in it."""
    storm = play(chosen, began, minutes, os.cpu_count() or 1)
    if storm is None:
        return ""
    moment = storm.peak_at + timedelta(seconds=1)  # a whole second, easier to read, at which that poll was the last
    return f"\n{STORM.format(database=storm.database, at=moment)}"


def serve(
    config: ConfigOption = CONFIG,
    insecure: Annotated[bool, typer.Option(help="serve an address that others can reach, without tokens")] = False,
) -> None:
    """Serve the databases of a configuration."""
    chosen = settings_of(config, watching=False)
    for refusal in refusals(chosen, insecure=insecure):
        fail(f"{config}: {refusal}")
    serve_until_told(chosen)


def serve_until_told(
    chosen: Settings,
    greeting: str = GREETING,
    tidy: Callable[[], object] = lambda: None,
    history: Callable[[datetime], str] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; then run `tidy` and end the process.

    `history` fills the store with the time before scripted databases began, and returns what the greeting says of it.
    """
    configure_logging(form=chosen.telemetry.log_format)
    faulthandler.enable()  # bytes from a database can crash the driver's compiled part; then the log has at least the place
    with _ended_by_signals(), _listener(chosen) as listener:
        began = datetime.now(UTC) if history else None
        try:
            if history and began:
                greeting += history(began)
            app = create_app(chosen, began)
        except (StoreError, BadSettings) as error:
            fail(str(error))
        host, port = listener.getsockname()[:2]
        typer.echo(greeting.format(address=f"[{host}]:{port}" if ":" in host else f"{host}:{port}"), err=True)
        for warning in warnings(chosen):
            logging.getLogger("latchscope").warning("%s", warning)
        if not chosen.loopback and chosen.auth.tokens_file is None:
            logging.getLogger("latchscope").warning("serving %s without access control", chosen.listen)
        provide_descriptors(len(chosen.databases))
        collect_rarely()

        def end() -> NoReturn:
            """Write to disk what is still in memory, and exit.

            The interpreter's own end waits for threads that wait for databases, and walks through all objects in memory.
            """
            with suppress(Exception):
                app.state.secure()
            with suppress(OSError):
                tidy()
            logging.shutdown()
            sys.stderr.flush()
            os._exit(0)

        Server(app, end).run(sockets=[listener])


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Handlers until uvicorn has its own: a signal runs `tidy` and ends the process. Later the old handlers return."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: sys.exit(0)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _listener(chosen: Settings) -> socket.socket:
    """The listening socket. It is opened before anything else, so that a busy port gives one clear line."""
    family = socket.AF_INET6 if ":" in chosen.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((chosen.host, chosen.port))
        listener.listen()
    except OSError as error:
        listener.close()
        fail(f"cannot listen on {chosen.listen}: {error.strerror}; choose another port")
    return listener
