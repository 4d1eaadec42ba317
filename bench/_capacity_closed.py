"""The closed loop of `bench capacity` with several numbers of databases, measured in turns.

A shared machine changes its speed from one minute to the next, so figures of different minutes cannot be compared. Each
number of databases has a process that polls in its own turns only.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from bench._capacity_service import HOME, fleet

TURNS = 5

Window = dict[str, Any]


@dataclass
class Loop:
    """A process that polls as fast as it can, and rests between its turns."""

    process: "subprocess.Popen[str]"

    def line(self) -> str:
        """What it prints next. Raises RuntimeError if it ended instead."""
        assert self.process.stdout is not None and self.process.stderr is not None
        if line := self.process.stdout.readline():
            return line
        raise RuntimeError(f"the closed loop ended with {self.process.wait()}: {self.process.stderr.read()[-200:]}")

    def turn(self, seconds: float) -> Window:
        """One window."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        found: Window = json.loads(self.line())
        return found


def closed(counts: Sequence[int], troubled: float, seconds: float) -> dict[int, list[Window]]:
    """The windows of each number of databases, `seconds` in all for each."""
    with ExitStack() as stack:
        loops = {count: stack.enter_context(_loop(count, troubled)) for count in counts}
        found: dict[int, list[Window]] = {count: [] for count in counts}
        for _ in range(TURNS):
            for count, loop in loops.items():
                found[count].append(loop.turn(seconds / TURNS))
        return found


@contextmanager
def _loop(databases: int, troubled: float) -> Iterator[Loop]:
    """A warm loop with its databases."""
    with fleet(databases, troubled, alike=True) as standin:
        command = [sys.executable, "-m", "bench._capacity_loop", str(standin.port), str(databases)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, text=True, cwd=HOME, stdin=pipe, stdout=pipe, stderr=pipe) as process:
            try:
                loop = Loop(process)
                loop.line()
                yield loop
            finally:
                process.kill()


def total(windows: Sequence[Window], figure: str) -> float:
    """A figure over all windows."""
    return float(sum(window[figure] for window in windows))


def per_processor_second(window: Window) -> float:
    """Polls of a window for each second of processor."""
    return float(window["polls"] / window["processor"])


def ratio(windows: Sequence[Window], others: Sequence[Window]) -> float:
    """Polls per processor second, divided by the others' in the same turn; the median of all turns."""
    pairs = zip(windows, others, strict=True)
    return statistics.median(per_processor_second(mine) / per_processor_second(other) for mine, other in pairs)
