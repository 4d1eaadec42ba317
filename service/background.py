"""SupervisedThread: none of our threads dies silently. The log, /readyz and /metrics report it, and the thread restarts."""

import asyncio
import ctypes
import gc
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from threading import Event, Lock, Thread

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

# When Python collects garbage: rarely, and best a second after a scrape, because a collection stops every thread. What lost
# sessions leave is collected in `collectors.oracle`.

AFTER_SCRAPE = 1.0
"""Seconds from a scrape's answer to the collection. The next scrape is then many seconds away."""
PAUSE = 60.0
"""Seconds between such collections. A process with 2,000 busy databases would collect on its own once in one or two minutes."""


def collect_rarely() -> None:
    """Objects from the start stay, and a poll replaces all of the one before, so of polls a collection would find nothing."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


class CollectsAfterScrapes:
    """Collects what is due anyway while no scrape waits.

    With 2,000 databases it takes 0.3 to 0.7 s: a scrape that meets it is late by so much.
    """

    def __init__(
        self, collect: Callable[[], object] = lambda: gc.collect(1), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._collect = collect
        self._clock = clock
        self._not_before = float("-inf")

    def scraped(self) -> None:
        """A scrape has been answered. Runs in the event loop, and only plans."""
        now = self._clock()
        if now >= self._not_before:
            self._not_before = now + PAUSE
            asyncio.get_running_loop().call_later(AFTER_SCRAPE, self._collect)


# Where memory comes from: with a heap for each of many threads, glibc keeps what is free in one and needed in another.

_ARENA_MAX = -8
"""glibc's M_ARENA_MAX, from its malloc.h."""


def share_one_heap() -> None:
    """Give every later thread the heap of the first one. Only glibc has heaps for threads, and can be asked this.

    Threads rarely wait for it, because most of what they take they take while they hold Python's lock.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def tell_systemd(state: str) -> None:
    """Say READY=1, RELOADING=1 or STOPPING=1 to the unit's manager, if there is one (`Type=notify`)."""
    if where := os.environ.get("NOTIFY_SOCKET"):
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.sendto(state.encode(), where.replace("@", "\0", 1) if where.startswith("@") else where)


log = logging.getLogger("latchscope.threads")

NO_THREAD = "can't start new thread"
"""Python's words for a system that gives no more threads."""
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
        # Without another thread, the reason is the system's and not in our code.
        trace = None if line == self._death or NO_THREAD in line else why
        self.deaths += 1
        self._death, self._began = line, float("inf")
        log.error("the thread %s died and restarts in %g s: %s", self.name, self._pause, line, exc_info=trace)


class ThreadMetrics(Collector):
    """The state of our threads, for /metrics and /readyz."""

    def __init__(self, threads: Callable[[], Sequence[SupervisedThread]]) -> None:
        """`threads`: those of now, as receivers come and go."""
        self._threads = threads

    def trouble(self) -> str | None:
        """The trouble of our threads, in one line. None while all are well."""
        return "; ".join(each.trouble for each in self._threads() if each.trouble) or None

    def collect(self) -> Iterator[Metric]:
        """Whether each thread is up, and how often it died."""
        up = GaugeMetricFamily("latchscope_thread_up", "1 while a thread of latchscope is well.", labels=["thread"])
        deaths = CounterMetricFamily(
            "latchscope_thread_deaths", "How often a thread of latchscope died and was restarted.", labels=["thread"]
        )
        for thread in self._threads():
            up.add_metric([thread.name], float(thread.alive and thread.trouble is None))
            deaths.add_metric([thread.name], float(thread.deaths))
        yield up
        yield deaths


# PeriodicJob: one thread per job. Errors are logged once and retried in the next round.

periodic_log = logging.getLogger("latchscope.jobs")


class PeriodicJob:
    """Calls `do(now)` at this interval until it is stopped."""

    def __init__(
        self, name: str, every: float, do: Callable[[datetime], object], stopping: Event | None = None
    ) -> None:
        """`stopping`: an event that the work itself checks, if a round can be long."""
        self._name = name
        self._every = every
        self._do = do
        self._stopping = stopping or Event()
        self._last_error: str | None = None
        self.thread = SupervisedThread(name, self._run)

    def start(self) -> None:
        """Start. The first round comes after one pause."""
        self.thread.start()

    def stop(self) -> None:
        """Ask it to end after the current round; `join` waits for that."""
        self.thread.stop()
        self._stopping.set()

    def join(self, timeout: float) -> None:
        """Wait for the end, for at most this many seconds."""
        self.thread.join(timeout)

    def run_once(self, now: datetime) -> None:
        """One round. The first line of a repeated error is logged once."""
        try:
            self._do(now)
            self._last_error = None
        except Exception as error:  # noqa: BLE001  the store may be down; the next round tries again
            why = f"{type(error).__name__}: {str(getattr(error, 'orig', None) or error).splitlines()[0]}"
            if why != self._last_error:
                periodic_log.warning("%s: not done: %s", self._name, why)
            self._last_error = why

    def _run(self) -> None:
        while not self._stopping.wait(self._every):
            self.run_once(datetime.now(UTC))
