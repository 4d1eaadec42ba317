"""Real programs for tests of this folder: they start on free ports and stop by their own handle, never by name."""

import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.oracle_standin.deadline import HANGS

T = TypeVar("T")


def need(program: str, package: str) -> str:
    """The path of a program. If it is not installed, the test is skipped by name."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed (Debian package {package})")
    return found


@contextmanager
def running(command: list[str], log: Path, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process for the length of the block. Its output goes to `log`."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, **more)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(60)


@contextmanager
def monitor(name: str, folder: Path, port: int, config: Path | None = None) -> Iterator[str]:
    """Prometheus or Alertmanager with its file in `folder`, or another one; its address, once it is ready."""
    package = {"alertmanager": "prometheus-alertmanager"}.get(name, name)
    storage = {"alertmanager": "storage.path"}.get(name, "storage.tsdb.path")
    command = [
        need(package, package),
        f"--config.file={config or folder / f'{name}.yml'}",
        f"--{storage}={folder}/{name}",
    ]
    command += [f"--web.listen-address=127.0.0.1:{port}", *["--cluster.listen-address="] * (name == "alertmanager")]
    log, address = folder / f"{name}.log", f"http://127.0.0.1:{port}"
    with running(command, log):
        eventually(lambda: fetch(f"{address}/-/ready")[0] == 200 or None, log.read_text)
        yield address


def fetch(url: str, headers: Mapping[str, str] | None = None, timeout: float = 60) -> tuple[int, str]:
    """Status and body, whatever the status."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=dict(headers or {})), timeout=timeout) as told:
            return told.status, told.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def fetch_json(url: str) -> Any:
    """The JSON behind a URL that answers 200."""
    status, body = fetch(url)
    assert status == 200, f"{url}: {status} {body[:300]}"
    return json.loads(body)


def eventually(ask: Callable[[], T | None], why: Callable[[], str]) -> T:
    """The first answer that is not None. Fails with `why()` if it never comes."""
    until = time.monotonic() + HANGS
    while time.monotonic() < until:
        with suppress(OSError):
            answer = ask()
            if answer is not None:
                return answer
        time.sleep(0.2)
    pytest.fail(why())
