"""`python -m …` and `python -c …` without the second of imports: forked from a process that has them. Each is a separate
process with its own arguments, environment and files, and receives signals as usual. test_end_to_end, test_modes and
test_main prove that `python -m service` works in a fresh interpreter too.
"""

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing import forkserver
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_FORKS = multiprocessing.get_context("forkserver")


class Started:
    """Such a process, to be used as a subprocess.Popen."""

    def __init__(self, *words: str, errors: Path | None = None, environment: Mapping[str, str] | None = None) -> None:
        """Start what `python *words` would. It writes nothing to stdout; its stderr goes into a file, or nowhere."""
        if errors is not None:
            errors.touch()
        _FORKS.set_forkserver_preload(["service.app", "service.cli.main", "service.cli.serve"])
        known = dict(os.environ if environment is None else environment)
        self._process = _FORKS.Process(target=_run, args=(words, errors, known), daemon=True)
        self._process.start()
        self.args = words
        self.pid = self._process.pid or 0

    @property
    def returncode(self) -> int | None:
        """Its exit code, the negative number of the signal that ended it, or None."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """As returncode."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; raises TimeoutExpired."""
        self._process.join(timeout)
        if (code := self.returncode) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def end() -> None:
    """End the forking process, and wait for it, so that its processor time counts as ours."""
    forkserver._forkserver._stop()  # type: ignore[attr-defined]


def _run(words: tuple[str, ...], errors: Path | None, environment: Mapping[str, str]) -> None:
    file = os.open(errors or os.devnull, os.O_WRONLY | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(file, 2)
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # it may differ in this environment
    how, what, *rest = words
    sys.argv = [what if how == "-m" else how, *rest]
    if how == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
