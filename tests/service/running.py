"""A `latchscope` in its own process, on a free port, asked over HTTP, as a user would."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.oracle_standin.deadline import HANGS
from tests.ports import free_port
from tests.started import ROOT, Started

STUCK = 5 * HANGS
"""Seconds after which a process will never be ready. One start took 120 s beside twenty busy processes."""
ASK = httpx.Client(timeout=HANGS, limits=httpx.Limits(max_keepalive_connections=0))
"""One client, because each reads the certificates of the machine. No connection outlives its request."""


class Running:
    """The process, its address, and its stderr."""

    def __init__(self, process: subprocess.Popen[bytes] | Started, url: str, log: Path) -> None:
        self.process = process
        self.url = url
        self.log = log

    def json(self, path: str) -> Any:
        """The body of a GET."""
        answer = ASK.get(f"{self.url}{path}")
        answer.raise_for_status()
        return answer.json()

    def wait(self, ready: Callable[[], bool], seconds: float = STUCK) -> None:
        """Wait until a condition holds, or fail with the process's output."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.process.poll() is None:
            try:
                if ready():
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.2)
        raise AssertionError(f"not ready after {seconds:g} s; stderr:\n{self.log.read_text()}")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal, and wait until the process is gone."""
        self.process.send_signal(how)
        self.process.wait(HANGS)


@contextmanager
def answering(
    process: subprocess.Popen[bytes] | Started, port: int, log: Path, *, awaited: bool = True
) -> Iterator[Running]:
    """A started service, once it answers, or at once if nobody waits for that. The block kills it."""
    running = Running(process, f"http://127.0.0.1:{port}", log)
    try:
        if awaited:
            running.wait(lambda: ASK.get(f"{running.url}/healthz").status_code == 200)
        yield running
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(60)


@contextmanager
def serve(
    folder: Path,
    *under: str,
    databases: Sequence[Mapping[str, object]],
    port: int | None = None,
    environment: Mapping[str, str] | None = None,
    fresh: bool = False,
    awaited: bool = True,
    **settings: object,
) -> Iterator[Running]:
    """`latchscope serve` with these settings, in its own process that also notes its polls.

    The block kills it. Its files are below `folder`, unless the settings say otherwise. `under` is a command that starts it,
    such as `prlimit`. With `under`, or if the process must be `fresh`, it has its own interpreter; otherwise it is forked,
    see tests.started. The block begins once the service answers, if that is `awaited`. tests.service.noting says what the
    environment may ask for.
    """
    port = port or free_port()
    chosen = {
        "listen": f"127.0.0.1:{port}",
        "store": f"sqlite:///{folder}/store.db",
        "databases": databases,
        **settings,
    }
    config, log = folder / "latchscope.yaml", folder / "stderr.txt"
    config.write_text(yaml.safe_dump(chosen), encoding="utf-8")
    words = ("-m", "tests.service.noting", "serve", "--config", str(config))
    surroundings = {**os.environ, **(environment or {})}
    process: subprocess.Popen[bytes] | Started
    if fresh or under:
        with log.open("ab") as errors:
            process = subprocess.Popen([*under, sys.executable, *words], cwd=ROOT, stderr=errors, env=surroundings)
    else:
        process = Started(*words, errors=log, environment=surroundings)
    with answering(process, port, log, awaited=awaited) as running:
        yield running


@contextmanager
def demo(folder: Path, *arguments: str, fresh: bool = False) -> Iterator[Running]:
    """`latchscope demo` on a free port, with its temporary files below `folder`, without history unless `arguments` want one.

    The block ends it. `fresh` starts it in its own interpreter, as a user does; otherwise it is forked, see tests.started.
    """
    log = folder / "stderr.txt"
    port = free_port()
    words = ("-m", "service", "demo", "--port", str(port), "--history", "0", *arguments)
    # A scripted poll costs no real database anything, however busy this machine is.
    environment = {**os.environ, "TMPDIR": str(folder), "LATCHSCOPE_DEFAULTS__BUDGET": "1"}
    process: subprocess.Popen[bytes] | Started
    if fresh:
        with log.open("wb") as errors:
            process = subprocess.Popen([sys.executable, *words], cwd=ROOT, stderr=errors, env=environment)
    else:
        process = Started(*words, errors=log, environment=environment)
    with answering(process, port, log) as running:
        yield running
