"""SupervisedThread: none of our threads dies silently. The log, /readyz and /metrics report it, and the thread restarts."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from threading import Event, Lock, Thread

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

log = logging.getLogger("latchscope.threads")

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds from a death to the restart. Doubled if it dies again sooner than this pause."""


class SupervisedThread:
    """Runs `run`, which returns only after `stop`. If it raises, or returns early, it runs again after a pause."""

    def __init__(self, name: str, run: Callable[[], object], *, first_pause: float | None = None) -> None:
        """`first_pause`: seconds before the first restart, else FIRST_PAUSE."""
        self.name = name
        self.deaths = 0
        self._run = run
        self._first_pause = FIRST_PAUSE if first_pause is None else first_pause
        self._pause = self._first_pause
        self._began = 0.0
        self._death: str | None = None
        self._stopping = Event()
        self._lock = Lock()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Start. A second call changes nothing."""
        with self._lock:
            if self._thread is None and not self._stopping.is_set():
                self._thread = Thread(target=self._supervised, name=self.name, daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Do not restart it. Its owner must wake whatever `run` waits for."""
        self._stopping.set()

    def join(self, timeout: float) -> None:
        """Wait for the end, for at most this many seconds."""
        if self._thread is not None:
            self._thread.join(timeout)

    @property
    def alive(self) -> bool:
        """Whether there is a thread, running or waiting to restart."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def trouble(self) -> str | None:
        """Why it died, in one line, until it has lived as long as it was away. None while it is well."""
        if self._thread is None or self._stopping.is_set():
            return None
        if not self._thread.is_alive():
            return f"the thread {self.name} is gone"
        if self._death is not None and time.monotonic() - self._began < self._pause:
            return f"the thread {self.name} died and restarts: {self._death}"
        return None

    def _supervised(self) -> None:
        while not self._stopping.is_set():
            self._began = time.monotonic()
            try:
                self._run()
                why: BaseException | None = None
            except BaseException as error:  # noqa: BLE001  whatever it is, the thread must not be gone without a word
                why = error
            if not self._stopping.is_set():
                self._died(why)
                self._stopping.wait(self._pause)

    def _died(self, why: BaseException | None) -> None:
        """Log it, with the stack trace the first time, and choose the pause."""
        if time.monotonic() - self._began >= self._pause:
            self._death, self._pause = None, self._first_pause
        elif self._death is not None:
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
        line = "it ended early" if why is None else f"{type(why).__name__}: {(str(why).splitlines() or [''])[0]}"
        trace = None if line == self._death else why
        self.deaths += 1
        self._death, self._began = line, float("inf")
        log.error("the thread %s died and restarts in %g s: %s", self.name, self._pause, line, exc_info=trace)


class ThreadMetrics(Collector):
    """The state of our threads, for /metrics and /readyz."""

    def __init__(self, threads: Sequence[SupervisedThread]) -> None:
        self._threads = threads

    def trouble(self) -> str | None:
        """The trouble of our threads, in one line. None while all are well."""
        return "; ".join(each.trouble for each in self._threads if each.trouble) or None

    def collect(self) -> Iterator[Metric]:
        """Whether each thread is up, and how often it died."""
        up = GaugeMetricFamily("latchscope_thread_up", "1 while a thread of latchscope is well.", labels=["thread"])
        deaths = CounterMetricFamily(
            "latchscope_thread_deaths", "How often a thread of latchscope died and was restarted.", labels=["thread"]
        )
        for thread in self._threads:
            up.add_metric([thread.name], float(thread.alive and thread.trouble is None))
            deaths.add_metric([thread.name], float(thread.deaths))
        yield up
        yield deaths
