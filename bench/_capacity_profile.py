"""The whole service with its processor time by step, a process of its own for `bench capacity`.

It is `latchscope serve` with the same arguments, of the checkout that it runs in. Around the functions of STEPS it counts the
processor time of their thread, without that of the steps within. It answers each line of input with a line of JSON: seconds of
processor by step so far. The measure itself is part of them, some hundredths of a millisecond a poll.
"""

import gc
import importlib
import json
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

HAND_OVER, HOURS, TIMERS = "hand-over between threads", "hours and retention", "timer"
GARBAGE, REST = "garbage collection", "everything else"
STEPS = {
    "collectors.oracle:OracleConnection._fetch": "driver",
    "collectors.deadline:SessionCalls.run": HAND_OVER,
    "collectors.deadline:ReusedThreads._work": HAND_OVER,
    "service.watch.scheduler:PollScheduler._hand_out": HAND_OVER,
    "service.watch.pipeline:run_poll": "rest of a poll",
    "service.watch.pipeline:poll": "our reading",
    "service.watch.pipeline:between": "change since the poll before",
    "service.watch.pipeline:cache_map": "judging",
    "service.watch.pipeline:examine": "judging",
    "service.watch.pipeline:render": "text for /metrics",
    "service.watch.follow_up:FollowUp.after": "between polls",
    "service.watch.follow_up:FollowUp.sample": "between polls",
    "service.store.writer:Writer.keep": "record",
    "service.store.writer:Writer._write_in_flight": "transaction",
    "service.store.snapshots:packed": "snapshots packed",
    "service.store.build:Maintenance.do": HOURS,
    "service.background:PeriodicJob.run_once": TIMERS,
    "service.background:SupervisedThread._supervised": TIMERS,
    "service.web.api.live:in_parts": "/metrics",
    "service.web.api.live:squeezed_parts": "/metrics",
}
"""Functions of the service, and the step that each belongs to. Threads of polls and sessions spend the rest of their time in
hand-over, which includes the worker and the scheduler."""


class Running:
    """The steps in progress on one thread, innermost last, and the seconds of each step on it."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.since = 0.0
        self.seconds: dict[str, float] = {}
        self._thread = threading.get_native_id()

    def count(self) -> None:
        """Count the time since the last change for the innermost step."""
        now = time.thread_time()
        if self.steps:
            step = self.steps[-1]
            self.seconds[step] = self.seconds.get(step, 0.0) + now - self.since
        self.since = now

    def told(self) -> dict[str, float]:
        """Seconds by step, those of the step in progress included. Called on another thread."""
        found, steps, since = self.seconds.copy(), self.steps[-1:], self.since
        with suppress(OSError, IndexError):  # the thread may be over
            spent = int(Path(f"/proc/self/task/{self._thread}/schedstat").read_text().split()[0]) / 1e9
            found[steps[0]] = found.get(steps[0], 0.0) + max(0.0, spent - since)
        return found


class Profile:
    """Processor seconds by step. Each thread has its own sums, so that none waits for another."""

    def __init__(self) -> None:
        self._threads: list[Running] = []
        self._here = threading.local()

    def around(self, step: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, with its time counted for the step."""

        @wraps(call)
        def during(*given: Any, **more: Any) -> Any:
            self.enter(step)
            try:
                return call(*given, **more)
            finally:
                self.leave()

        return during

    def enter(self, step: str) -> None:
        """This thread begins a step, within the one that it is in."""
        running = self._of_this_thread()
        running.count()
        running.steps.append(f"{step}: {threading.current_thread().name}" if step == TIMERS else step)

    def leave(self) -> None:
        """This thread ends its step, and goes on with the one around it."""
        running = self._of_this_thread()
        running.count()
        running.steps.pop()

    def collects(self, phase: str, _: dict[str, Any]) -> None:
        """For gc.callbacks."""
        if phase == "start":
            self.enter(GARBAGE)
        else:
            self.leave()

    def told(self) -> dict[str, float]:
        """Seconds by step so far, and what no step covers."""
        found: dict[str, float] = {}
        for running in list(self._threads):
            for step, seconds in running.told().items():
                found[step] = found.get(step, 0.0) + seconds
        return found | {REST: time.process_time() - sum(found.values())}

    def _of_this_thread(self) -> Running:
        running: Running | None = getattr(self._here, "running", None)
        if running is None:
            running = self._here.running = Running()
            self._threads.append(running)
        return running


def measure(profile: Profile) -> None:
    """Count the steps from now on. A checkout may lack some of them; those are named and left out."""
    for place, step in STEPS.items():
        module, _, path = place.partition(":")
        *outer, name = path.split(".")
        try:
            holder: Any = importlib.import_module(module)
            for part in outer:
                holder = getattr(holder, part)
            found = holder.__dict__[name]
        except (ImportError, AttributeError, KeyError):
            print(f"not measured, for this checkout lacks it: {place}", file=sys.stderr)
            continue
        if isinstance(found, staticmethod):
            setattr(holder, name, staticmethod(profile.around(step, found.__func__)))
        else:
            setattr(holder, name, profile.around(step, found))
    gc.callbacks.append(profile.collects)


def _answers(profile: Profile) -> None:
    for _ in sys.stdin:
        print(json.dumps(profile.told()), flush=True)


if __name__ == "__main__":
    sys.path[0] = str(Path.cwd())  # this file may be of another checkout than the service
    profile = Profile()
    measure(profile)
    threading.Thread(target=_answers, args=(profile,), daemon=True).start()
    importlib.import_module("service.__main__").main()
