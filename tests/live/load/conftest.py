"""A disposable database on the stand-in for each test, and the command that runs loads on it."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.live.load.__main__ import main
from tests.oracle_standin.disposable import WRITER, DisposableBackend, disposable
from tests.oracle_standin.scripted import PASSWORD, USER
from tests.oracle_standin.server import Listener
from tests.paths import ROOT

SPEED = 20.0
"""Seconds that the database plays in one of ours: a load of two seconds lasts as long as a person would run it."""


@dataclass(frozen=True)
class Disposable:
    """The database, and the environment of a run on it."""

    listener: Listener
    output: Path
    capsys: pytest.CaptureFixture[str]

    @property
    def backend(self) -> DisposableBackend:
        backend = self.listener.services["free"].backend
        assert isinstance(backend, DisposableBackend)
        return backend

    @property
    def connections(self) -> int:
        """How many were opened."""
        return self.listener.services["free"].counters.connections

    def run(self, *words: str, seconds: float = 1.0) -> tuple[int, str]:
        """Exit code and error output of a run in this process."""
        code = main(["--seconds", str(seconds), "--output", str(self.output), *words])
        out, told = self.capsys.readouterr()
        assert out == ""
        return code, told

    def start(self, *words: str, seconds: float = 1.0) -> "subprocess.Popen[str]":
        """A run in a process of its own, which can be killed."""
        options = ["--seconds", str(seconds), "--output", str(self.output), *words]
        command = [sys.executable, "-m", "tests.live.load", *options]
        return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, encoding="utf-8")


@pytest.fixture
def database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Disposable]:
    """A database that nobody needs, and all that a run wants. The folder of the test has no configuration."""
    monkeypatch.chdir(tmp_path)
    with Listener({"free": disposable(SPEED)}) as listener:
        said = {"DSN": listener.dsn("free"), "WRITER": WRITER, "WRITER_PASSWORD": PASSWORD, "USER": USER}
        for name, value in {**said, "PASSWORD": PASSWORD}.items():
            monkeypatch.setenv(f"LATCHSCOPE_TEST_{name}", value)
        monkeypatch.delenv("LATCHSCOPE_TEST_MONITOR_DSN", raising=False)
        monkeypatch.setenv("ON_A_DISPOSABLE_DATABASE", "yes")
        yield Disposable(listener, tmp_path / "load.json", capsys)
        assert not listener.problems
