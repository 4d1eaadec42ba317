"""Databases behind one listener, each with a real Worker through the real driver: what the stand-in tests share."""

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Self

from collectors.demo.scenarios import scenarios
from collectors.model import Snapshot
from collectors.registry import views_of
from rules.model import Diagnosis
from service.config.settings import DatabaseSettings, OracleSettings
from service.sql_list import statements
from service.state.board import Board, MonitoredDatabase
from service.watch.connect import Connector
from service.watch.scheduler import PollScheduler
from service.watch.worker import Worker
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.backend import Answer
from tests.oracle_standin.databases import Service
from tests.oracle_standin.deadline import HANGS
from tests.oracle_standin.faults import Stage
from tests.oracle_standin.profiles import ORACLE_12_1, Profile
from tests.oracle_standin.scripted import PASSWORD, USER, ScriptedBackend
from tests.oracle_standin.server import Listener

QUICK = OracleSettings(connect_timeout=2.0, statement_timeout=1.0)
"""Short where nobody answers, and long enough for a busy machine that does."""
SCRIPT = "busy-but-fine"


def unlisted(services: Mapping[str, Service]) -> set[str]:
    """The texts that these databases were sent and that are not on the list of SQL, whatever the time zone of this machine."""
    sent = {text for service in services.values() for text in service.texts}
    return {re.sub(r"(?<=TIME_ZONE=')[+-]\d\d:\d\d(?='$)", "+00:00", text) for text in sent} - {
        one.text for one in statements()
    }


class IdleBackend(ScriptedBackend):
    """A scripted database where nothing happens, so that fifty of them cost the test machine little."""

    def restart(self) -> None:
        super().restart()
        self._still: dict[str, Answer] = {}

    def answer(self, service: str, sql: str, binds: Mapping[str, object], /) -> Answer:
        if views_of(sql) & {"v$instance", *self.refused}:
            return super().answer(service, sql, binds)
        if sql not in self._still:
            self._still[sql] = super().answer(service, sql, binds)
        return self._still[sql]


def idle(script: str = SCRIPT, profile: Profile = ORACLE_12_1) -> Service:
    """A service on which nothing happens."""
    return Service(IdleBackend(scenarios()[script]), {USER: Account(PASSWORD)}, profile)


class Fleet:
    """Workers over one listener. `polled` has the times of each database's good polls."""

    def __init__(
        self, services: Mapping[str, Service], folder: Path, interval: float = 0.2, oracle: OracleSettings = QUICK
    ) -> None:
        self.listener = Listener(services)
        self.services = self.listener.services
        self.oracle = oracle
        self.polled: dict[str, list[float]] = {name: [] for name in services}
        self._lock = threading.Lock()
        self.passwords = {name: folder / f"{name}.password" for name in services}
        for file in self.passwords.values():
            file.write_text(PASSWORD + "\n", encoding="utf-8")
        self.board = Board([MonitoredDatabase(self.settings(name), interval) for name in services])
        self._started: list[Worker] = []
        self.scheduler = PollScheduler()
        self.workers = {
            one.name: Worker(one, Connector(oracle), self, budget=1.0, scheduler=self.scheduler) for one in self.board
        }

    def settings(self, name: str) -> DatabaseSettings:
        """The configuration of one database."""
        return DatabaseSettings(
            name=name, dsn=self.listener.dsn(name), user=USER, password_file=self.passwords[name], interval=60
        )

    def __getitem__(self, name: str) -> MonitoredDatabase:
        found = self.board.get(name)
        assert found is not None
        return found

    def keep(self, snapshot: Snapshot, diagnosis: Diagnosis, poll_record: object = None) -> None:
        """Called by the main path with every good poll."""
        with self._lock:
            self.polled[snapshot.database].append(monotonic())

    def start(self, names: Iterable[str] | None = None) -> None:
        """Begin to poll these databases, or all."""
        for name in names if names is not None else self.workers:
            self.workers[name].start()
            self._started.append(self.workers[name])

    def __enter__(self) -> Self:
        self.listener.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._started:
            worker.stop()
        self.listener.stop()
        for worker in self._started:
            worker.join(1.0)
        self.scheduler.stop()


def hanging() -> dict[str, Service]:
    """Five databases, each of which hangs at another place."""
    services = {f"db-{number:02}": idle() for number in range(5)}
    stages = [Stage.ACCEPT, Stage.LOGIN, Stage.EXECUTE, Stage.FETCH, Stage.ACCEPT]
    for service, stage in zip(services.values(), stages, strict=True):
        service.faults.hang(stage)
    return services


def becomes(condition: Callable[[], object], what: str, seconds: float = HANGS) -> float:
    """Wait until it holds, and return how long that took. Fails after this many seconds, by default only if it never would."""
    began = monotonic()
    while not condition():
        assert monotonic() - began < seconds, f"not within {seconds:g} s: {what}"
        sleep(min(0.25, 0.01 + (monotonic() - began) / 20))
    return monotonic() - began
