"""`latchscope serve` while its PostgreSQL is killed, restarted, made read-only, without free connections, or frozen.

One service lives through everything. Each time /readyz says so, no poll is lost, and the service recovers by itself. Without
leases nobody may poll (docs/scale.md). A read-only server leaves the leases, and polls go on into the spool.
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from service.store.admin import problems
from service.store.repository import Repository
from tests.service.noting import NOTED
from tests.service.running import ASK, Running, serve
from tests.service.standin import becomes
from tests.service.stores import Place, Postgres
from tests.service.test_crash import noted, stored

NAMES = ("undo-storm", "parse-storm", "busy-but-fine")
AWAY = 8.0
"""Seconds of each outage."""
SERVED = (
    "select pid from pg_stat_activity where datname = '{}' and pid <> pg_backend_pid() and application_name <> 'filler'"
)


@contextmanager
def killed(server: Postgres, place: Place) -> Iterator[None]:
    server.end(kill=True)
    yield
    server.begin()


@contextmanager
def restarted(server: Postgres, place: Place) -> Iterator[None]:
    server.end()
    server.begin()
    yield


@contextmanager
def read_only(server: Postgres, place: Place) -> Iterator[None]:
    """As after a promotion behind a fence: `default_transaction_read_only`."""
    server.query("alter system set default_transaction_read_only = on")
    server.query("select pg_reload_conf()")
    yield
    server.query("alter system reset default_transaction_read_only")
    server.query("select pg_reload_conf()")


@contextmanager
def out_of_connections(server: Postgres, place: Place) -> Iterator[None]:
    """Other clients hold every connection, and the service loses its own."""
    with ExitStack() as fillers:
        fill = {"dbname": "postgres", "host": server.socket, "user": "postgres", "application_name": "filler"}
        first = fillers.enter_context(psycopg.connect(**fill, autocommit=True))
        while True:
            with suppress(psycopg.OperationalError):
                while True:
                    fillers.enter_context(psycopg.connect(**fill))
            served = first.execute(SERVED.format(place.name)).fetchall()
            if not served:
                break
            for (pid,) in served:
                first.execute("select pg_terminate_backend(%s)", [pid])
        yield


@contextmanager
def frozen(server: Postgres, place: Place) -> Iterator[None]:
    """It accepts connections, which the kernel does for it, and answers nothing: a server whose own disk is stuck."""
    everyone = server.processes()
    for each in everyone:
        each.send_signal(signal.SIGSTOP)
    yield
    for each in everyone:
        each.send_signal(signal.SIGCONT)


OUTAGES: tuple[Callable[[Postgres, Place], object], ...] = (killed, restarted, read_only, out_of_connections, frozen)


def through(outage: Callable[..., object], server: Postgres, place: Place, running: Running) -> str:
    """One outage from beginning to end, and its line."""
    name = outage.__name__
    before, began, said, slowest = len(noted(place)), time.monotonic(), "", 0.0
    with outage(server, place):  # type: ignore[attr-defined]
        if outage is not restarted:
            running.wait(lambda: ASK.get(f"{running.url}/readyz").status_code == 503)
            seen = time.monotonic() - began
            while time.monotonic() - began < AWAY:
                for path in ("/readyz", "/metrics", "/healthz", "/api/v1/databases"):
                    asked = time.monotonic()
                    answer = ASK.get(f"{running.url}{path}")
                    slowest = max(slowest, time.monotonic() - asked)
                    assert answer.status_code == (503 if path == "/readyz" else 200), (path, answer.text)
                    said = answer.json()["status"] if path == "/readyz" else said
                time.sleep(0.5)
            polls = len(noted(place)) - before
            during = f"told after {seen:.1f} s, {polls} polls meanwhile, slowest answer {slowest:.1f} s; {said}"
            if outage is read_only:
                assert polls > 2 * len(NAMES), "a read-only server stops no poll"
        else:
            during = ""
    well = time.monotonic()
    at_end = len(noted(place))
    running.wait(lambda: ASK.get(f"{running.url}/readyz").status_code == 200)
    becomes(lambda: len(noted(place)) > at_end + 3 * len(NAMES), f"polls go on after {name}")
    polled = time.monotonic() - well
    taken = set(noted(place))
    becomes(lambda: taken <= stored(place), f"all polls are stored after {name}")
    return f"{name}: {during}; polls go on and all are stored {polled:.1f} s after it"


@pytest.mark.soak
def test_service_lives_through_every_outage_of_postgresql(tmp_path: Path) -> None:
    databases = [{"name": name, "dsn": f"demo:{name}", "interval": "500ms"} for name in NAMES]
    server = Postgres()
    server.query("alter system set synchronous_commit = on")  # a killed process keeps its promises
    server.query("select pg_reload_conf()")
    place = Place("postgresql", tmp_path, server)
    try:
        with serve(
            tmp_path,
            databases=databases,
            store=place.url,
            defaults={"budget": 1},
            spool={"directory": str(tmp_path / "spool")},
            environment={NOTED: str(tmp_path / "polls.txt")},
        ) as running:
            running.wait(lambda: len(noted(place)) > 10)
            for outage in OUTAGES:
                print(through(outage, server, place, running), flush=True)  # noqa: T201  figures for `make soak`
            running.stop()
            assert running.process.returncode == 0
        assert "Traceback" not in running.log.read_text("utf-8"), running.log.read_text("utf-8")
        store = Repository(place.url)
        assert list(problems(store.engine)) == []
        assert set(noted(place)) <= stored(place)
        store.close()
    finally:
        server.stop()
