"""Several `latchscope serve` on one PostgreSQL, each in its own process, and the polls in the store."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from service.store.tables import moment
from tests.oracle_standin.databases import Service
from tests.oracle_standin.deadline import HANGS, within
from tests.ports import free_port
from tests.service.running import ASK, Running
from tests.service.standin import idle
from tests.service.stores import Place
from tests.started import Started

_UP = re.compile(r'^latchscope_up\{db="([^"]+)"[^}]*\} (\S+)$', re.MULTILINE)


def sixty() -> dict[str, Service]:
    """Sixty databases on which nothing happens; for `python -m tests.oracle_standin`."""
    return {f"db-{number:02}": idle() for number in range(60)}


class Replica(Running):
    """One of them."""

    name = ""

    def up(self) -> dict[str, str]:
        """Database → latchscope_up, as this replica exports it."""
        return dict(_UP.findall(ASK.get(f"{self.url}/metrics").text))

    def shares(self) -> dict[str | None, list[str]]:
        """Which replica polls what, as this replica reports it."""
        told: dict[str | None, list[str]] = {}
        for one in self.json("/api/v1/databases"):
            told.setdefault(one["polled_by"], []).append(one["name"])
        return told


class Replicas:
    """Processes with one configuration except for their names."""

    def __init__(self, place: Place, folder: Path, databases: list[dict[str, Any]], **more: object) -> None:
        self.place = place
        self.folder = folder
        self.databases = databases
        self._more = more
        self.running: dict[str, Replica] = {}

    def start(self, name: str) -> Replica:
        """One more. It listens on return, and may poll nothing yet."""
        port = free_port()
        config = {
            "listen": f"127.0.0.1:{port}",
            "store": self.place.url,
            "replica": {"name": name, "url": f"http://127.0.0.1:{port}"},
            "spool": {"directory": str(self.folder / "spool")},
            "databases": self.databases,
            **self._more,
        }
        file, log = self.folder / f"{name}.yaml", self.folder / f"{name}.txt"
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        process = Started("-m", "service", "serve", "--config", str(file), errors=log)
        self.running[name] = replica = Replica(process, f"http://127.0.0.1:{port}", log)
        replica.name = name
        replica.wait(lambda: ASK.get(f"{replica.url}/healthz").status_code == 200)
        return replica

    def even(self, *names: str, seconds: float = HANGS) -> None:
        """Wait until these replicas share the databases evenly, and all of them report that."""
        share = -(-len(self.databases) // len(names))

        def shared() -> bool:
            told = [self.running[name].shares() for name in names]
            return all(
                set(one) == set(names) and max(map(len, one.values())) <= share and one == told[0] for one in told
            )

        self.running[names[0]].wait(shared, seconds)

    def kill(self, name: str, how: signal.Signals = signal.SIGKILL) -> None:
        """End one."""
        self.running.pop(name).stop(how)

    def polls(self) -> dict[str, list[datetime]]:
        """Database → the times of its kept polls."""
        found: dict[str, list[datetime]] = {}
        rows = self.place.execute(
            "select d.name, p.at from polls p join databases d on d.id = p.database_id order by 1, 2"
        )
        for name, at in rows:
            found.setdefault(name, []).append(moment(at))
        return found


@contextmanager
def stand_in(backend: str, databases: int) -> Iterator[dict[str, str]]:
    """Name → dsn of so many databases, in a process of their own."""
    command = [sys.executable, "-m", "tests.oracle_standin", "--port", "0", "--backend", backend]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = [within(HANGS, process.stdout.readline) for _ in range(databases)]
            dsns = [line.strip().partition("@")[2] for line in lines]
            yield {dsn.rpartition("/")[2]: dsn for dsn in dsns}
        finally:
            process.kill()


@contextmanager
def replicas(place: Place, folder: Path, databases: list[dict[str, Any]], **more: object) -> Iterator[Replicas]:
    """None at first. The block kills all that run."""
    fleet = Replicas(place, folder, databases, **more)
    try:
        yield fleet
    finally:
        for one in fleet.running.values():
            one.process.kill()
            one.process.wait(60)


def gaps(polls: dict[str, list[datetime]], since: datetime) -> list[tuple[float, str]]:
    """Seconds from poll to poll, with the database, in order."""
    pairs = [(name, *pair) for name, times in polls.items() for pair in pairwise(times)]
    return sorted(((later - earlier).total_seconds(), name) for name, earlier, later in pairs if earlier >= since)
