"""The end of a service: within five seconds of the signal, whatever hangs, and with every poll on disk."""

import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.oracle_standin.scripted import PASSWORD, USER
from tests.oracle_standin.server import Listener
from tests.ports import free_port
from tests.service.running import Running, answering
from tests.service.standin import becomes, fleet
from tests.started import Started

HANGING = """
import time
from service.store.writer import Writer
Writer.stop = lambda self, *_: time.sleep(3600)
from service.__main__ import main
main()
"""
"""The service, with a store that never ends."""


@contextmanager
def serving(
    folder: Path, listener: Listener | None = None, start: Sequence[str] = ("-m", "service")
) -> Iterator[Running]:
    """`latchscope serve` over these databases, in a process of its own."""
    folder.mkdir(exist_ok=True)
    (folder / "password").write_text(PASSWORD)
    names = listener.services if listener else ()
    databases = [
        {"name": name, "dsn": listener.dsn(name), "user": USER, "password_file": str(folder / "password")}
        for name in names
        if listener
    ] or [{"name": "healthy", "dsn": "demo:healthy-19c"}]
    port = free_port()
    settings = {"listen": f"127.0.0.1:{port}", "store": f"sqlite:///{folder}/store.db", "databases": databases}
    (folder / "latchscope.yaml").write_text(yaml.safe_dump(settings))
    log = folder / "stderr.txt"
    process = Started(*start, "serve", "--config", str(folder / "latchscope.yaml"), errors=log)
    with answering(process, port, log) as running:
        yield running


def test_service_ends_although_its_store_never_would(tmp_path: Path) -> None:
    with serving(tmp_path, start=("-c", HANGING)) as running:
        running.process.send_signal(signal.SIGTERM)
        becomes(lambda: running.process.poll() is not None, "it ends")
        assert running.process.returncode == 0
        assert "not everything ended" in running.log.read_text()


def test_service_with_hung_databases_ends_in_order(tmp_path: Path) -> None:
    with Listener(fleet(5, 5)) as listener, serving(tmp_path, listener) as running:
        becomes(lambda: all(each.counters.connections for each in listener.services.values()), "each has been tried")
        running.stop()
        assert running.process.returncode == 0
        text = running.log.read_text()
    assert text.startswith("latchscope: starting …\n"), "serve prints a line before it has loaded half of the libraries"
    assert "Application shutdown complete" in text and "not everything ended" not in text
    assert "Traceback" not in text


@contextmanager
def busy(cores: int) -> Iterator[None]:
    """This many processes that only compute."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores)]
    try:
        yield
    finally:
        for each in loops:
            each.kill()
            each.wait(60)


@pytest.mark.soak
def test_sigterm_to_exit_on_a_busy_machine(tmp_path: Path) -> None:
    taken = []
    with Listener(fleet(5, 5)) as listener, busy(len(os.sched_getaffinity(0))):
        for number in range(20):
            with serving(tmp_path / str(number), listener) as running:
                time.sleep(3)
                began = time.monotonic()
                running.stop()
                taken.append(time.monotonic() - began)
    told = f"p50 {statistics.median(taken):.2f} s, max {max(taken):.2f} s"
    print(f"SIGTERM to exit, 5 hung databases, busy cores: {told}")  # noqa: T201  figures for `make soak`
    assert max(taken) <= 5.0
