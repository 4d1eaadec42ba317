"""Reading in a process of its own: a file that takes for ever, or all memory, holds up no poll and no page.

The process is kept for the next files, another takes its place where it was ended, and it ends with ours.
"""

import os
import resource
import subprocess
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from threading import Lock, Timer
from time import monotonic
from typing import Any, ParamSpec, TypeVar

from collectors.errors import InputError
from service.intake.archives import MIB, mib

SECONDS = 60.0
"""For all files of one request."""
MEMORY = 512 * MIB
"""What reading may take. The largest file that a reader takes needs less."""
KEPT = 256 * MIB
"""A process that has more is ended, since it would never give all of it back."""
Given = ParamSpec("Given")
Made = TypeVar("Made")


class Worker:
    """Such a process. It reads for one request at a time, so that only one unpacked archive is in memory."""

    def __init__(self, seconds: float = SECONDS, memory: int = MEMORY) -> None:
        self._seconds, self._memory = seconds, memory
        self._process: subprocess.Popen[bytes] | None = None
        self._reading = Lock()

    def run(self, name: str, read: Callable[Given, Made], *given: Given.args, **more: Given.kwargs) -> Made:
        """What `read` gives or raises. Raises InputError about the file `name` where it takes too much time or memory."""
        with self._reading:
            if self._process is None or self._process.poll() is not None:
                self._start()
            process, size = self._process, KEPT
            assert process is not None
            late, began = Timer(self._seconds, process.kill), monotonic()
            late.start()
            try:
                self._line.send((read, given, more))
                made, size = self._line.recv()
            except (OSError, EOFError):
                slow = monotonic() - began >= self._seconds
                made = _Ended(f"takes more than {self._seconds:g} s" if slow else "ends the process that reads it")
            late.cancel()
            if size >= KEPT:
                self.end()
        if isinstance(made, _Ended):
            raise InputError(f"{name} {made}; nothing limits `latchscope diagnose`, which reads the same") from None
        if isinstance(made, Exception):
            raise made
        return made  # type: ignore[no-any-return]

    def end(self) -> None:
        """End the process. The next file starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _start(self) -> None:
        """Start it. It sees the same modules, and no signal of our terminal."""
        self._line, its = Pipe()
        program = f"from service.intake import worker; worker.serve({its.fileno()}, {self._memory})"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", program],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[its.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
        )
        its.close()


class _Ended(Exception):
    """Why a file was not read to its end."""


def serve(descriptor: int, memory: int) -> None:
    """Read whatever comes, until nothing more can come. Polls and pages have the processor first, and the memory."""
    line: Connection[Any, Any] = Connection(descriptor)
    os.nice(5)
    if _bytes(0):
        Path("/proc/self/oom_score_adj").write_text("1000")
    while True:
        try:
            read, given, more = line.recv()
        except EOFError:
            return
        if size := _bytes(0):
            resource.setrlimit(resource.RLIMIT_AS, (size + memory, resource.RLIM_INFINITY))
        try:
            made = read(*given, **more)
        except InputError as error:
            made = error
        except MemoryError:
            made = _Ended(f"takes more than {mib(memory)} MiB of memory")
        except Exception:  # noqa: BLE001 - of any kind: it is raised again where it is logged
            made = RuntimeError(traceback.format_exc())
        line.send((made, _bytes(1)))


def _bytes(which: int) -> int:
    """The addresses (0) or the memory (1) that this process has. 0 where the system is not Linux, which alone limits them."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[which]) * resource.getpagesize()
    except OSError:
        return 0


WORKER = Worker()
"""That of this process."""
