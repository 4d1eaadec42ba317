"""Databases on the stand-in, some of which hang:

the others are polled, /metrics answers, SIGTERM ends the service. How late polls come and how fast /metrics answers depend
on the machine too, so the test only prints them; `python -m bench capacity --hung` measures them. The stand-in is a separate
process, as databases are. Poll times come from /metrics, as for Prometheus.
"""

import http.client
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import httpx
import pytest
import uvicorn
import yaml

from service.app import create_app
from service.config.settings import DatabaseSettings, Defaults, OracleSettings, Settings
from tests.oracle_standin.deadline import HANGS, within
from tests.oracle_standin.scripted import PASSWORD, USER
from tests.ports import free_port
from tests.service.standin import becomes
from tests.started import Started

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Size:
    """How many databases there are, and how many of them hang, as `tests.service.standin` makes them."""

    backend: str
    databases: int
    hung: int

    @property
    def hanging(self) -> set[str]:
        return {f"db-{number:02}" for number in range(self.hung)}

    @property
    def healthy(self) -> set[str]:
        return {f"db-{number:02}" for number in range(self.databases)} - self.hanging


SIXTEEN = Size("tests.service.standin:fleet_of_sixteen", 16, 4)
FIFTY = Size("tests.service.standin:fleet_of_fifty", 50, 5)
_POLLED = re.compile(r'^latchscope_last_poll_timestamp_seconds\{db="([^"]+)"\} (\S+)$', re.MULTILINE)


@dataclass
class Watch:
    """The results of repeated scrapes of /metrics."""

    port: int
    answers: list[float] = field(default_factory=list)
    """Seconds that each scrape took."""
    polls: dict[str, list[float]] = field(default_factory=dict)

    def scrape(self) -> None:
        """One scrape over a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANGS)
        began = monotonic()
        connection.request("GET", "/metrics")
        page = connection.getresponse().read().decode()
        self.answers.append(monotonic() - began)
        connection.close()
        for name, moment in _POLLED.findall(page):
            moments = self.polls.setdefault(name, [])
            if not moments or float(moment) != moments[-1]:
                moments.append(float(moment))

    def scrape_for(self, seconds: float, every: float) -> None:
        """Scrape for this long."""
        until = monotonic() + seconds
        while monotonic() < until:
            self.scrape()
            sleep(every)

    def lateness(self, interval: float) -> list[float]:
        """By how much polls came later than the interval after the one before. The first waits for its turn."""
        pairs = [pair for moments in self.polls.values() for pair in pairwise(moments[1:])]
        return sorted(max(0.0, later - earlier - interval) for earlier, later in pairs)

    def line(self, interval: float) -> str:
        """The figures."""
        late, answers = self.lateness(interval), sorted(self.answers)
        return (
            f"{len(self.polls)} databases polled, {sum(map(len, self.polls.values()))} polls; lateness "
            f"p50 {at(late, 0.5):.3f} p99 {at(late, 0.99):.3f} max {late[-1]:.3f} s; /metrics in "
            f"{len(answers)} scrapes p50 {1000 * at(answers, 0.5):.1f} p99 {1000 * at(answers, 0.99):.1f} "
            f"max {1000 * answers[-1]:.1f} ms"
        )


def at(values: list[float], share: float) -> float:
    """The value below which this share of the values lies."""
    return values[min(len(values) - 1, int(share * len(values)))]


@contextmanager
def stand_in(backend: str, databases: int) -> Iterator[dict[str, str]]:
    """Name → dsn of so many databases."""
    command = [sys.executable, "-m", "tests.oracle_standin", "--port", "0"]
    command += ["--backend", backend]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = [within(HANGS, process.stdout.readline) for _ in range(databases)]
            dsns = [line.strip().partition("@")[2] for line in lines]
            yield {dsn.rpartition("/")[2]: dsn for dsn in dsns}
        finally:
            process.kill()


def judge(watch: Watch, interval: float, patience: float, capsys: pytest.CaptureFixture[str]) -> None:
    """What must hold for the fifty on any machine. `patience`: the seconds for which a hung statement makes its caller wait."""
    with capsys.disabled():
        print(f"\n{watch.line(interval)}")  # noqa: T201  figures are there to be read
    assert watch.polls.keys() == FIFTY.healthy
    assert all(len(moments) > 1 for moments in watch.polls.values()), "some get no more polls"
    assert at(sorted(watch.answers), 0.5) < patience, "/metrics waits for the databases that hang"


@contextmanager
def serving(size: Size, folder: Path, interval: float, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a service in this process that polls these databases."""
    monkeypatch.setenv("FLEET_PASSWORD", PASSWORD)
    monkeypatch.setattr("service.config.settings.SHORTEST_REAL_INTERVAL", 0.1)
    with stand_in(size.backend, size.databases) as dsns:
        databases = [
            DatabaseSettings(name=name, dsn=dsn, user=USER, password_env="FLEET_PASSWORD", interval=interval)
            for name, dsn in dsns.items()
        ]
        settings = Settings(
            store=f"sqlite:///{folder}/fleet.db",
            oracle=OracleSettings(connect_timeout=2.0, statement_timeout=2.0),
            defaults=Defaults(budget=1.0),
            databases=databases,
        )
        port = free_port()
        server = uvicorn.Server(uvicorn.Config(create_app(settings), port=port, log_config=None))
        thread = Thread(target=server.run, daemon=True)
        thread.start()
        becomes(lambda: server.started, "the service has started")
        try:
            yield port
        finally:
            server.should_exit = True
            thread.join(HANGS)
        assert not thread.is_alive()


def test_standin_fleet_polls_every_database_that_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(SIXTEEN, tmp_path, 1.5, monkeypatch) as port:
        watch = Watch(port)

        def again_and_again() -> bool:
            watch.scrape()
            return len([moments for moments in watch.polls.values() if len(moments) >= 3]) >= len(SIXTEEN.healthy)

        becomes(again_and_again, "twelve databases are polled three times beside four that hang")
        assert watch.polls.keys() == SIXTEEN.healthy
        told: dict[str, dict[str, object]] = {}

        def every_hang_is_told() -> bool:
            rows = httpx.get(f"http://127.0.0.1:{port}/api/v1/databases", timeout=HANGS).json()
            told.update({row["name"]: row for row in rows})
            return {name for name, row in told.items() if row["failure"]} >= SIXTEEN.hanging

        becomes(every_hang_is_told, "each of the four that hang has its failure")
        assert {name for name, row in told.items() if row["mechanism"] == "latch"} == watch.polls.keys()


@pytest.mark.soak
def test_standin_fleet_of_fifty_goes_on_beside_those_that_hang(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    interval = 1.5  # six times as often as a configuration allows
    with serving(FIFTY, tmp_path, interval, monkeypatch) as port:
        watch = Watch(port)
        watch.scrape_for(1.5, 0.03)
        watch.answers.clear()  # this test is not about fifty logins at one moment
        watch.scrape_for(6.0, 0.03)
    judge(watch, interval, 2.0, capsys)


@pytest.mark.parametrize(
    ("size", "seconds"),
    [pytest.param(SIXTEEN, 0.0, id="short"), pytest.param(FIFTY, 120.0, id="long", marks=pytest.mark.soak)],
)
def test_standin_fleet_ends_at_sigterm(
    size: Size, seconds: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    interval, patience, port = 10.0, 30.0, free_port()
    (tmp_path / "password").write_text(PASSWORD, encoding="utf-8")
    with stand_in(size.backend, size.databases) as dsns:
        config = {
            "listen": f"127.0.0.1:{port}",
            "store": f"sqlite:///{tmp_path}/fleet.db",
            "oracle": {"connect_timeout": f"{patience}s", "statement_timeout": f"{patience}s"},
            "defaults": {"interval": f"{interval}s"},
            "databases": [
                {"name": name, "dsn": dsn, "user": USER, "password_file": f"{tmp_path}/password"}
                for name, dsn in dsns.items()
            ],
        }
        (tmp_path / "latchscope.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        words = ("-m", "service", "serve", "--config", str(tmp_path / "latchscope.yaml"))
        service = Started(*words)
        try:
            watch = Watch(port)
            becomes(lambda: _all_up(watch, size), "every healthy database is polled")
            if seconds:
                watch.answers.clear()
                watch.scrape_for(seconds, 0.1)
                judge(watch, interval, patience, capsys)
            began = monotonic()
            service.send_signal(signal.SIGTERM)
            service.wait(HANGS)
        finally:
            service.kill()
            service.wait(HANGS)
        took = monotonic() - began
    with capsys.disabled():
        print(f"\nSIGTERM with {size.hung} hung databases: gone after {took:.2f} s")  # noqa: T201
    assert took < patience, "the end waits for the databases that hang"


def _all_up(watch: Watch, size: Size) -> bool:
    try:
        watch.scrape()
    except OSError:
        return False
    return watch.polls.keys() == size.healthy
