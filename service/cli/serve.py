"""`latchscope serve` and `latchscope demo`: the listening socket, the app, and an end within five seconds whatever hangs."""

import faulthandler
import gc
import logging
import multiprocessing
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated, NoReturn

import typer

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.model import Snapshot
from collectors.poll import Grouping
from rules.cause import catalogue
from rules.model import Diagnosis
from service.app import create_app
from service.background import SupervisedThread, collect_rarely, share_one_heap, tell_systemd
from service.cli.common import CONFIG, ConfigOption, a_number
from service.cli.messages import fail
from service.config import load
from service.config.load import refusals, warnings
from service.config.logs import configure as configure_logging
from service.config.settings import BadSettings, DatabaseSettings, Settings
from service.extras import release
from service.history.marks import WHO, Verifier
from service.state.board import MonitoredDatabase, PollRecord
from service.state.episodes import Episode
from service.store.engine import StoreError, masked
from service.store.record import CompleteDiagnoses, IngestRecord, record_of
from service.store.repository import Repository
from service.store.writer import AT_ONCE
from service.watch.pipeline import PollContext, run_poll
from service.web.server import Server, provide_descriptors

log = logging.getLogger("latchscope")


def serve(
    config: ConfigOption = CONFIG,
    insecure: Annotated[bool, typer.Option(help="serve an address that others can reach, without tokens")] = False,
) -> None:
    """Serve the databases of a configuration."""

    def read() -> Settings:
        chosen = load.read(config)
        for refusal in refusals(chosen, insecure=insecure):
            raise BadSettings(f"{config}: {refusal}")
        return chosen

    try:
        serve_until_told(read(), "", read=read, config=config)
    except BadSettings as error:
        fail(str(error))


def serve_until_told(
    chosen: Settings,
    greeting: str,
    tidy: Callable[[], object] = lambda: None,
    history: Callable[[datetime], str] | None = None,
    read: Callable[[], Settings] | None = None,
    config: Path | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; then run `tidy` and end the process. SIGHUP takes the settings that `read` gives.

    `history` fills the store with the time before scripted databases began, and returns what the greeting says of it.
    """
    share_one_heap()
    configure_logging(chosen.telemetry.log_level, chosen.telemetry.log_format)
    reloads = SimpleQueue[str]()  # a handler may put into it while it puts into it
    if read is not None:
        signal.signal(signal.SIGHUP, lambda *_: reloads.put("SIGHUP"))
    faulthandler.enable()  # bytes from a database can crash the driver's compiled part; then the log has at least the place
    with _ended_by_signals(), _listener(chosen) as listener:
        began = datetime.now(UTC) if history else None
        try:
            if history and began:
                greeting += history(began)
            app = create_app(chosen, began, read)
            tls = app.state.reload.tls
        except (StoreError, BadSettings) as error:
            fail(str(error))
        host, port = listener.getsockname()[:2]
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if greeting:
            typer.echo(greeting.format(address=address), err=True)
        log.info(
            "latchscope %s, databases: %d, store %s, configuration %s, %s",
            release(),
            len(chosen.watched),
            masked(chosen.store),
            config or "of the demo",
            f"{'https' if tls else 'http'}://{address}/",
            extra={"event": "start"},
        )
        for warning in warnings(chosen):
            log.warning("%s", warning)
        if not chosen.loopback and chosen.auth.tokens_file is None:
            log.warning("serving %s without access control", chosen.listen)
        provide_descriptors(len(chosen.databases))
        collect_rarely()

        def end() -> NoReturn:
            """Write to disk what is still in memory, and exit.

            The interpreter's own end waits for threads that wait for databases, and walks through all objects in memory.
            """
            tell_systemd("STOPPING=1")
            with suppress(Exception):
                app.state.secure()
            with suppress(OSError):
                tidy()
            log.info("stopped", extra={"event": "end"})
            logging.shutdown()
            sys.stderr.flush()
            os._exit(0)

        def reload() -> NoReturn:
            while True:
                caller = reloads.get()
                tell_systemd(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")
                with suppress(BadSettings):  # the log has it
                    app.state.reload(caller)
                tell_systemd("READY=1")

        SupervisedThread("reload", reload).start()
        Server(app, end, lambda: tell_systemd("READY=1"), tls).run(sockets=[listener])


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


# The demo.

DEMO = "latchscope demo: http://{address}/ (the undo storm builds up within 20 s); its store: STORE"
STORM = "latchscope demo: the storm of the hour before: http://{{address}}/db/{database}?at={at:%Y-%m-%dT%H:%M:%SZ}"


def demo(
    port: Annotated[int, typer.Option(min=0, max=65535, help="port on 127.0.0.1")] = 8000,
    interval: Annotated[float, typer.Option(min=0.2, max=3600, callback=a_number, help="seconds between polls")] = 2.0,
    history: Annotated[int, typer.Option(min=0, max=60, help="minutes of scripted history, played at the start")] = 60,
) -> None:
    """Serve scripted databases: an undo storm, a busy but healthy one, a parse storm."""
    with tempfile.TemporaryDirectory(prefix="latchscope-") as folder:
        chosen = load.demo(list(scenarios()), port, f"sqlite:///{folder}/demo.db", interval)
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


# The history behind the demo: polls of its scripted databases, one a minute, played into its own store at the start.

EVERY = timedelta(minutes=1)


class _Kept:
    """The keeper of the played polls: a list, because a transaction for each would take most of the time."""

    def __init__(self) -> None:
        self.records: list[IngestRecord] = []
        self._complete = CompleteDiagnoses()

    def keep(self, snapshot: Snapshot, diagnosis: Diagnosis, poll_record: PollRecord | None = None) -> None:
        """Keep one poll in memory."""
        record = record_of(snapshot, diagnosis, poll_record, complete=self._complete.due(snapshot, diagnosis))
        if record is not None:
            self.records.append(record)


def play(settings: Settings, began: datetime, minutes: int = 60, processes: int = 1) -> Episode | None:
    """Poll the scripted databases once a minute of the time before their loops `began`, and once now; store polls and marks.

    Every poll takes the service's own path, on state that is then thrown away: the service goes on from the store, as after a
    restart. Returns the worst of the episodes that ended before `began`. Raises StoreError.
    """
    since = began - minutes * EVERY
    store = Repository(settings.store, settings.history)
    try:
        records = sorted(_polled(settings.databases, since, began, processes), key=lambda record: record.at)
        for first in range(0, len(records), AT_ONCE):
            store.write(records[first : first + AT_ONCE])
        for database in settings.databases:
            for seconds, text in scenarios()[database.scripted or ""].past_marks:
                at = began - timedelta(seconds=seconds)
                if at > since:
                    store.marks.add(database.name, at, text, WHO)
        Verifier(store).do(began)
        found = store.episodes.between(None, since, began).items
        ended = (episode for episode in found if episode.end is not None)
        return max(ended, key=lambda episode: episode.peak_severity.rank, default=None)
    finally:
        store.close()


def _polled(
    databases: Sequence[DatabaseSettings], since: datetime, began: datetime, processes: int
) -> list[IngestRecord]:
    """The polls of all databases. They keep a core busy for seconds and need nothing of each other, so processes share them."""
    poll = partial(_polls_of, since=since, began=began)
    if processes == 1:
        return [record for database in databases for record in poll(database)]
    catalogue()  # read once, not in each process
    fork = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
    with fork.Pool(min(processes, len(databases)), _begin_process) as pool:
        return [record for records in pool.map(poll, databases, chunksize=1) for record in records]


def _begin_process() -> None:
    """Signals are for the parent, which ends us. There is little garbage, and it goes when we end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.disable()


def _polls_of(database: DatabaseSettings, since: datetime, began: datetime) -> list[IngestRecord]:
    """The polls of one database. The last is made now, so that the first poll of the service is a short while after it."""
    watched, kept = MonitoredDatabase(database, EVERY.total_seconds()), _Kept()
    now = 0.0
    connection = ScriptedDatabase(scenarios()[database.scripted or ""], began, lambda: now)
    beside = PollContext(grouping=Grouping(watched.name))
    at = since
    while at < began:
        now = (at - began).total_seconds()
        run_poll(watched, connection, kept, beside)
        at += EVERY
    now = (datetime.now(UTC) - began).total_seconds()
    run_poll(watched, connection, kept, beside)
    return kept.records
