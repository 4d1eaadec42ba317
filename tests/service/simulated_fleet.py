"""Workers on a scheduler in simulated time, so that the speed of the machine does not change how they share."""

from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import cast

import pytest

from collectors.ondemand.sampling import Burst
from collectors.poll import Connection
from service.config.settings import DatabaseSettings, OracleSettings
from service.state.board import MonitoredDatabase
from service.watch.connect import Connector
from service.watch.scheduler import PollScheduler
from service.watch.worker import Worker
from tests.service.stage import Kept


@dataclass
class Looks:
    """A burst of looks at sessions that does not end."""

    fleet: "SimulatedFleet"
    spent: bool = False

    def look(self, connection: Connection) -> None:
        self.fleet.now += 0.1


class SimulatedFleet:
    """A poll takes half a second, a look at sessions a tenth."""

    def __init__(self, databases: int, interval: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("service.watch.worker.time", SimpleNamespace(monotonic=lambda: self.now))
        self.scheduler = PollScheduler(clock=lambda: self.now)
        self.polls: dict[str, list[float]] = {}
        with self.scheduler._changed:
            self.workers = [self._worker(number, interval) for number in range(databases)]

    def _worker(self, number: int, interval: float) -> Worker:
        """Every third database is in trouble, with looks from poll to poll."""
        settings = DatabaseSettings(name=f"db-{number:03}", dsn="demo:undo-storm")
        worker = Worker(MonitoredDatabase(settings, interval), Connector(OracleSettings()), Kept([]), first=self.now)

        def poll() -> float:
            self.polls.setdefault(worker.name, []).append(self.now)
            self.now += 0.5
            worker.watched.pace = interval
            return interval

        worker.step = poll  # type: ignore[method-assign]
        if number % 3 == 0:
            worker._follow_up._burst, worker._connection = cast(Burst, Looks(self)), cast(Connection, self)
        self.scheduler._put(worker, self.now)
        return worker

    def run(self, until: float) -> None:
        """Run every turn up to that time."""
        with self.scheduler._changed:
            while self.now < until:
                whose = self.scheduler._next()
                if whose is None:
                    self.now = self.scheduler._heap[0].at
                else:
                    self.scheduler._ended(whose, whose.take_turn())

    def gaps(self, since: float) -> list[float]:
        """From poll to poll."""
        return sorted(b - a for at in self.polls.values() for a, b in pairwise(at) if a >= since)
