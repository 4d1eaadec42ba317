"""A disposable database on the stand-in, and the command line that runs the selftest on it."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from service.cli.main import cli
from tests.oracle_standin.scripted import PASSWORD, USER
from tests.oracle_standin.selftest import WRITER, SelftestBackend
from tests.oracle_standin.server import Listener
from tests.paths import ROOT

SPEED = 20.0
"""Seconds that the database plays in one of ours: a load of two seconds lasts as long as a person would run it."""
FLAG = "--on-a-disposable-database"


@dataclass(frozen=True)
class Said:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Disposable:
    """The database, and a folder without a configuration."""

    listener: Listener
    folder: Path

    @property
    def backend(self) -> SelftestBackend:
        backend = self.listener.services["free"].backend
        assert isinstance(backend, SelftestBackend)
        return backend

    @property
    def output(self) -> Path:
        """The file of the selftest."""
        return self.folder / "selftest.json"

    def line(self, *more: str, user: str = WRITER, seconds: float = 1.0) -> list[str]:
        """The command line, with these words at its end."""
        secret = self.folder / "password"
        secret.write_text(PASSWORD + "\n", encoding="utf-8")
        options = {
            "--dsn": self.listener.dsn("free"),
            "--user": user,
            "--password-file": str(secret),
            "--monitor-user": USER,
            "--monitor-password-file": str(secret),
            "--output": str(self.output),
            "--seconds": str(seconds),
        }
        return ["selftest", *(word for option in options.items() for word in option), *more]

    def run(self, *more: str, user: str = WRITER, seconds: float = 1.0) -> Said:
        """The selftest in this process."""
        result = CliRunner().invoke(cli, self.line(FLAG, *more, user=user, seconds=seconds))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return Said(result.exit_code, result.stdout, result.stderr)

    def start(self, *more: str, seconds: float = 1.0) -> "subprocess.Popen[str]":
        """The selftest in a process of its own, which can be killed."""
        command: Sequence[str] = [sys.executable, "-m", "service", *self.line(FLAG, *more, seconds=seconds)]
        return subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )
