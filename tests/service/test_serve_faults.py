"""`latchscope serve` through what its surroundings do to it, in the long forms of `make soak`: a sick disk, a PostgreSQL that is
away, no more threads or descriptors.

One service lives through all faults of a family, one after the other. Each time /readyz says so, polls go on where they may,
no poll is lost, and the service recovers by itself.
"""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import psycopg
import pytest

from service.store.disk_queue import DiskQueue
from service.store.repository import Repository
from service.store.writer import Writer
from tests.oracle_standin.deadline import HANGS
from tests.oracle_standin.scripted import PASSWORD, USER
from tests.oracle_standin.server import Listener
from tests.service.noting import NOTED
from tests.service.running import ASK, Running, serve
from tests.service.sick_disk import SickDisk, sick_disk
from tests.service.standin import becomes, idle
from tests.service.stores import Place, Postgres
from tests.service.test_crash import noted, sound, stored

pytestmark = pytest.mark.soak

NAMES = ("undo-storm", "parse-storm", "busy-but-fine")


@contextmanager
def serving(
    place: Place,
    *under: str,
    databases: tuple[Mapping[str, object], ...] = (),
    **more: object,
) -> Iterator[Running]:
    """`latchscope serve` over scripted databases and these, which notes its polls in the folder of its store."""
    scripted = [{"name": name, "dsn": f"demo:{name}", "interval": "500ms"} for name in NAMES]
    settings = {"store": place.url, "spool": {"directory": str(place.folder / "spool")}, "defaults": {"budget": 1}}
    noting = {NOTED: str(place.folder / "polls.txt")}
    with serve(
        place.folder, *under, databases=[*scripted, *databases], environment=noting, **{**settings, **more}
    ) as running:
        yield running


def ready(running: Running, status: int = 200) -> str:
    """Wait until /readyz answers with this, and return its words."""
    running.wait(lambda: ASK.get(f"{running.url}/readyz").status_code == status)
    return str(ASK.get(f"{running.url}/readyz").json()["status"])


def polls_go_on(place: Place, when: str, more: int = 6) -> float:
    """Wait for so many more polls of each database, and return how long that took."""
    before = Counter(name for name, _ in noted(place))

    def enough() -> bool:
        now = Counter(name for name, _ in noted(place))
        return all(now[name] > before[name] + more for name in NAMES)

    return becomes(enough, f"polls go on {when}")


def all_stored(place: Place, when: str) -> None:
    taken = set(noted(place))
    becomes(lambda: taken <= stored(place), f"all polls are stored {when}")


def ends_well(running: Running, place: Place) -> None:
    """It ends in order, with a store that is whole and a log without a stack trace."""
    if running.process.poll() is None:
        running.stop()
    assert running.process.returncode == 0
    assert "Traceback" not in running.log.read_text("utf-8"), running.log.read_text("utf-8")
    sound(place)


# Disk

SICK = ("ENOSPC", "EROFS", "EIO", "slow 0.3", "stuck")


def ends_while_stuck(disk: SickDisk, running: Running, place: Place, spool: Path | None) -> None:
    """It ends once everything in memory is on a disk that answers, or else it names the loss.

    The kernel releases a process only after the disk has answered.
    """
    disk.suffer("stuck")
    ready(running, 503)
    running.process.send_signal(signal.SIGTERM)
    last = "latchscope: stopped" if spool else "polls are lost: latchscope stops"
    becomes(lambda: last in running.log.read_text("utf-8"), "it says what it loses, or ends")
    disk.suffer("")
    assert running.process.wait(HANGS) == 0
    if spool is not None:
        assert "polls are lost" not in running.log.read_text("utf-8")
        store, left = Repository(place.url), DiskQueue(spool, 2**30)
        Writer(store, left).catch_up()
        store.close()
        assert set(noted(place)) <= stored(place), "the next start brings in everything that was taken"


@pytest.mark.parametrize("spool", ["beside the store", "elsewhere"])
def test_service_lives_through_every_sickness_of_a_disk(tmp_path: Path, spool: str) -> None:
    with sick_disk(tmp_path) as disk:
        place = Place("sqlite", tmp_path, None)
        place.file.symlink_to(disk.mount / "store.db")
        folder = None if spool == "beside the store" else tmp_path / "spool"
        settings = {"store": f"sqlite:///{disk.mount}/store.db", "spool": {"directory": str(folder)} if folder else {}}
        with serving(place, **settings) as running:
            polls_go_on(place, "at first")
            for sickness in SICK:
                disk.suffer(sickness)
                said = "" if sickness.startswith("slow") else ready(running, 503)
                took = polls_go_on(place, f"while the disk is {sickness}", 10)
                assert all(one["up"] for one in running.json("/api/v1/databases"))
                assert ASK.get(f"{running.url}/metrics").status_code == 200
                disk.suffer("")
                ready(running)
                all_stored(place, f"after {sickness}")
                print(f"spool {spool}, {sickness}: 10 polls of each in {took:.1f} s; {said}")  # noqa: T201
            ends_while_stuck(disk, running, place, folder)
        ends_well(running, place)


# PostgreSQL

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
    with server.frozen():
        yield


OUTAGES: tuple[Callable[[Postgres, Place], object], ...] = (killed, restarted, read_only, out_of_connections, frozen)


def through(outage: Callable[..., object], server: Postgres, place: Place, running: Running) -> str:
    """One outage from beginning to end, and its line.

    Without leases nobody may poll (docs/scale.md). A read-only server leaves the leases, and polls go on into the spool.
    """
    before, began, said, slowest = len(noted(place)), time.monotonic(), "", 0.0
    with outage(server, place):  # type: ignore[attr-defined]
        if outage is not restarted:
            said = ready(running, 503)
            while time.monotonic() - began < AWAY:
                for path in ("/readyz", "/metrics", "/healthz", "/api/v1/databases"):
                    asked = time.monotonic()
                    answer = ASK.get(f"{running.url}{path}")
                    slowest = max(slowest, time.monotonic() - asked)
                    assert answer.status_code == (503 if path == "/readyz" else 200), (path, answer.text)
                time.sleep(0.5)
        polls = len(noted(place)) - before
        assert outage is not read_only or polls > 2 * len(NAMES), "a read-only server stops no poll"
    ready(running)
    polls_go_on(place, f"after {outage.__name__}", 3)
    all_stored(place, f"after {outage.__name__}")
    return f"{outage.__name__}: {polls} polls meanwhile, slowest answer {slowest:.1f} s; {said}"


def test_service_lives_through_every_outage_of_postgresql(tmp_path: Path) -> None:
    server = Postgres()
    server.query("alter system set synchronous_commit = on")  # a killed process keeps its promises
    server.query("select pg_reload_conf()")
    place = Place("postgresql", tmp_path, server)
    try:
        with serving(place) as running:
            polls_go_on(place, "at first")
            for outage in OUTAGES:
                print(through(outage, server, place, running), flush=True)  # noqa: T201  figures for `make soak`
            ends_well(running, place)
        assert set(noted(place)) <= stored(place)
    finally:
        server.stop()


# Threads and descriptors

CGROUPS = (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup"))
"""Where the number of threads of a process can be limited: version 1, version 2."""


@contextmanager
def no_more_threads(pid: int) -> Iterator[None]:
    """The kernel's message to a process in a container that has reached its pids.max."""
    root = next((each for each in CGROUPS if (each / "cgroup.procs").is_file() and os.access(each, os.W_OK)), None)
    if root is None:
        pytest.skip("no control group that limits threads can be made here (pids, as root)")
    group = root / f"latchscope-{pid}"
    group.mkdir()
    try:
        (group / "cgroup.procs").write_text(str(pid))
        (group / "pids.max").write_text((group / "pids.current").read_text())
        yield
    finally:
        (group / "pids.max").write_text("max")
        (root / "cgroup.procs").write_text(str(pid))
        group.rmdir()


@contextmanager
def no_more_descriptors(running: Running) -> Iterator[None]:
    """Six hundred clients that connect and stay, beside a limit of three hundred."""
    waiting = [httpx.Client() for _ in range(600)]

    def connect() -> None:
        for each in waiting:
            with suppress(httpx.HTTPError):
                each.get(f"{running.url}/healthz", timeout=20)

    with ThreadPoolExecutor(1) as pool:
        crowded = pool.submit(connect)
        yield
        crowded.result()
    for each in waiting:
        each.close()


def crowd(running: Running, requests: int = 200) -> Counter[int]:
    """How often each status answers this many requests, forty at a time. A refused connection is 0."""

    def ask(number: int) -> int:
        paths = ("/metrics", "/api/v1/databases", "/readyz", "/api/v1/episodes")
        with suppress(httpx.HTTPError):
            return httpx.get(f"{running.url}{paths[number % 4]}", timeout=30).status_code
        return 0

    with ThreadPoolExecutor(40) as pool:
        return Counter(pool.map(ask, range(requests)))


@pytest.mark.parametrize("lack", ["threads", "descriptors"])
def test_service_lives_without_more_threads_or_descriptors(tmp_path: Path, lack: str) -> None:
    (tmp_path / "password").write_text(PASSWORD, encoding="utf-8")
    place = Place("sqlite", tmp_path, None)
    under = ("prlimit", "--nofile=300:300") if lack == "descriptors" else ()
    with Listener({"real": idle()}) as listener:
        login = {"dsn": listener.dsn("real"), "user": USER, "password_file": str(tmp_path / "password")}
        real = {"name": "real", "interval": "10s", **login}
        with serving(place, *under, databases=(real,)) as running:
            becomes(lambda: {name for name, _ in noted(place)} == {*NAMES, "real"}, "all are polled")
            with no_more_threads(running.process.pid) if lack == "threads" else no_more_descriptors(running):
                if lack == "threads":
                    listener.services["real"].drop_connections()
                answers = crowd(running)
                took = polls_go_on(place, f"without more {lack}")
            ready(running)
            becomes(
                lambda: all(one["up"] for one in running.json("/api/v1/databases")), "all are up, without a restart"
            )
            all_stored(place, f"after the lack of {lack}")
            print(f"no more {lack}: answers {dict(answers)}, 6 polls of each in {took:.1f} s")  # noqa: T201
            assert len(running.log.read_text("utf-8").splitlines()) < 100, running.log.read_text("utf-8")[:4000]
            running.stop()
            assert running.process.returncode == 0
