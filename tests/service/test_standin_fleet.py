"""Databases on the stand-in, some of which hang: the others are polled, and /metrics answers.

How late polls come and how fast /metrics answers depend on the machine too; `python -m bench capacity --hung` measures them.
The stand-in is a separate process, as databases are. Poll times come from /metrics, as for Prometheus. That SIGTERM ends such
a service is tested in tests/service/cli/test_serve.py.
"""

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from threading import Thread
from time import monotonic

import httpx
import pytest
import uvicorn

from service.app import create_app
from service.config.settings import DatabaseSettings, Defaults, OracleSettings, Settings
from tests.oracle_standin.deadline import HANGS, within
from tests.oracle_standin.scripted import PASSWORD, USER
from tests.ports import free_port
from tests.service.standin import becomes

pytestmark = pytest.mark.slow

PATIENCE = 2.0
"""Seconds for which a hung statement makes its caller wait."""
_POLLED = re.compile(r'^latchscope_last_poll_timestamp_seconds\{db="([^"]+)"\} (\S+)$', re.MULTILINE)


@contextmanager
def stand_in(backend: str, databases: int) -> Iterator[dict[str, str]]:
    """Name → dsn of so many databases."""
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
def serving(dsns: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a service in this process that polls these databases six times as often as a configuration allows."""
    monkeypatch.setenv("FLEET_PASSWORD", PASSWORD)
    monkeypatch.setattr("service.config.settings.SHORTEST_REAL_INTERVAL", 0.1)
    settings = Settings(
        store=f"sqlite:///{folder}/fleet.db",
        oracle=OracleSettings(connect_timeout=PATIENCE, statement_timeout=PATIENCE),
        defaults=Defaults(budget=1.0),
        databases=[
            DatabaseSettings(name=name, dsn=dsn, user=USER, password_env="FLEET_PASSWORD", interval=1.5)
            for name, dsn in dsns.items()
        ],
    )
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(create_app(settings), port=port, log_config=None))
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    becomes(lambda: server.started, "the service has started")
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(HANGS)
    assert not thread.is_alive()


@pytest.mark.parametrize(
    ("backend", "databases", "hung"),
    [("fleet_of_sixteen", 16, 4), pytest.param("fleet_of_fifty", 50, 5, marks=pytest.mark.soak)],
)
def test_standin_fleet_polls_every_database_that_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, databases: int, hung: int
) -> None:
    names = {f"db-{number:02}" for number in range(databases)}
    hanging = {f"db-{number:02}" for number in range(hung)}
    polls: dict[str, set[str]] = defaultdict(set)
    answers: list[float] = []
    with (
        stand_in(f"tests.service.standin:{backend}", databases) as dsns,
        serving(dsns, tmp_path, monkeypatch) as url,
        httpx.Client(base_url=url, timeout=HANGS) as client,
    ):

        def again_and_again() -> bool:
            began = monotonic()
            page = client.get("/metrics").text
            answers.append(monotonic() - began)
            for name, moment in _POLLED.findall(page):
                polls[name].add(moment)
            return sum(len(moments) >= 3 for moments in polls.values()) >= databases - hung

        becomes(again_and_again, "each that answers is polled three times beside those that hang")
        assert polls.keys() == names - hanging
        assert median(answers) < PATIENCE, "/metrics waits for the databases that hang"
        told: dict[str, dict[str, object]] = {}

        def every_hang_is_told() -> bool:
            told.update({row["name"]: row for row in client.get("/api/v1/databases").json()})
            return {name for name, row in told.items() if row["failure"]} >= hanging

        becomes(every_hang_is_told, "each that hangs has its failure")
        assert {name for name, row in told.items() if row["mechanism"] == "latch"} == polls.keys()
