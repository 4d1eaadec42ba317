"""`latchscope serve` without another thread or file descriptor: polls go on, the log stays short, and it recovers by itself."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.oracle_standin.scripted import PASSWORD, USER
from tests.oracle_standin.server import Listener
from tests.ports import free_port
from tests.service.noting import NOTED
from tests.service.running import ASK, Running, serve
from tests.service.standin import becomes, idle
from tests.service.stores import Place
from tests.service.test_crash import noted, stored

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


def crowd(running: Running, requests: int) -> list[int]:
    """The statuses of this many requests, forty at a time. A refused connection is 0."""

    def ask(number: int) -> int:
        paths = ("/metrics", "/api/v1/databases", "/readyz", "/api/v1/episodes")
        with suppress(httpx.HTTPError):
            return httpx.get(f"{running.url}{paths[number % 4]}", timeout=30).status_code
        return 0

    with ThreadPoolExecutor(40) as pool:
        return list(pool.map(ask, range(requests)))


def goes_on(place: Place, name: str, why: str) -> float:
    """Wait for five more polls of a database, and return how long that took."""
    before = sum(each == name for each, _ in noted(place))
    return becomes(lambda: sum(each == name for each, _ in noted(place)) > before + 5, f"polls of {name} go on {why}")


@pytest.mark.soak
@pytest.mark.parametrize("lack", ["threads", "descriptors"])
def test_service_lives_without_more_threads_or_descriptors(tmp_path: Path, lack: str) -> None:
    (tmp_path / "password").write_text(PASSWORD, encoding="utf-8")
    place = Place("sqlite", tmp_path, None)
    under = ("prlimit", "--nofile=300:300") if lack == "descriptors" else ()
    with Listener({"real": idle()}) as listener:
        databases = [
            {"name": "scripted", "dsn": "demo:undo-storm", "interval": "500ms"},
            {"name": "real", "dsn": listener.dsn("real"), "user": USER, "password_file": str(tmp_path / "password")},
        ]
        databases[1]["interval"] = "10s"
        with serve(
            tmp_path,
            *under,
            databases=databases,
            port=free_port(),
            defaults={"budget": 1},
            environment={NOTED: str(tmp_path / "polls.txt")},
        ) as running:
            becomes(lambda: {name for name, _ in noted(place)} == {"scripted", "real"}, "both are polled")
            if lack == "threads":
                with no_more_threads(running.process.pid):
                    listener.services["real"].drop_connections()
                    statuses = crowd(running, 200)
                    took = goes_on(place, "scripted", "without another thread")
            else:
                with ThreadPoolExecutor(1) as pool:
                    waiting = [httpx.Client() for _ in range(600)]
                    crowded = pool.submit(lambda: [_opened(running, each) for each in waiting])
                    statuses = crowd(running, 200)
                    took = goes_on(place, "scripted", "without another descriptor")
                    crowded.result()
                    for each in waiting:
                        each.close()
            running.wait(lambda: ASK.get(f"{running.url}/readyz").status_code == 200)
            back = becomes(
                lambda: all(one["up"] for one in running.json("/api/v1/databases")),
                "both are up again without a restart",
            )
            taken = set(noted(place))
            becomes(lambda: taken <= stored(place), "all polls are stored")
            lines = len(running.log.read_text("utf-8").splitlines())
            told = {status: statuses.count(status) for status in sorted(set(statuses))}
            print(f"no more {lack}: answers {told}, 5 polls in {took:.1f} s, well after {back:.1f} s, {lines} lines")  # noqa: T201
            assert lines < 100, running.log.read_text("utf-8")[:4000]
            began = time.monotonic()
            running.stop()
            assert running.process.returncode == 0, time.monotonic() - began


def _opened(running: Running, client: httpx.Client) -> None:
    with suppress(httpx.HTTPError):
        client.get(f"{running.url}/healthz", timeout=20)
