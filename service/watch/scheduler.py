"""PollScheduler: due polls in a heap, one thread that hands them out, few threads that run them. Sessions stay open meanwhile.

Three bounds. Polls in hand: begun, and answered within half a second. Polls at work: those of them whose answers we work
on, for the interpreter runs one thread at a time and slows down with each that wants it. Silent polls: those that wait for
a database that says nothing; each has a thread and nothing else, so that many may hang and none of the others waits.
While a scrape is answered no poll begins to work on an answer. The poll that is due longest comes first. So an overloaded process
polls everybody later, and nobody much later than the others.
"""

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Protocol

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from collectors.deadline import THREADS, taking_turns
from service.background import SupervisedThread
from service.metrics.families import metric

# RightOfWay: polls stand back while a scrape is answered, so that an overloaded process still answers it in time.
#
# The page of two thousand databases takes a tenth of a second to put together, in many steps. Before each of them it
# would
# wait until polls release the interpreter. Nothing is lost, because the processor computes all the while.

LONGEST = 0.5
"""Seconds that polls stand back at a stretch, because the reader of the answer may be slow."""
SHARE = 0.2
"""The most of all time that polls stand back, so that endless scrapes stop no poll."""


class RightOfWay:
    """Lets scrapes go first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._ahead = 0
        self._began = self._until = self._not_before = float("-inf")
        """When polls began to stand back, until when they do so at most, and when they may have to do so again."""

    @property
    def taken(self) -> bool:
        """Whether polls have to stand back now."""
        return self._ahead > 0 and self._clock() < self._until

    @contextmanager
    def first(self) -> Iterator[None]:
        """The caller goes first, and never waits for it."""
        with self._changed:
            self._ahead += 1
            now = self._clock()
            if self._ahead == 1 and now >= self._not_before:
                self._began, self._until = now, now + LONGEST
        try:
            yield
        finally:
            with self._changed:
                self._ahead -= 1
                if not self._ahead:
                    self._until = min(self._until, self._clock())
                    self._not_before = self._began + (self._until - self._began) / SHARE
                    self._changed.notify_all()

    def wait(self) -> None:
        """A poll stands back as long as it has to. Each asks several times, and nearly never has to."""
        if not self.taken:
            return
        with self._changed:
            while self.taken:
                self._changed.wait(self._until - self._clock())


log = logging.getLogger("latchscope.loop")

IN_HAND = 16
AT_WORK = 2
MOST_SILENT = 256
"""At most half of these may have failed the last time, so that known troubles never keep healthy databases from their polls."""
EARLY_SECONDS = 0.02
"""A thread that ends a turn takes another that is due so soon. To wake two threads for it costs nearly as much as a look."""
REMEMBERED_SECONDS = 60.0
"""The longest wait for a turn is reported for this long; at least half as long."""
AFTER_A_FAULT = 10.0
"""Seconds until the next turn of a worker whose turn ended by an error of ours."""


class Scheduled(Protocol):
    """Something with work from time to time: a Worker."""

    @property
    def name(self) -> str: ...

    @property
    def suspect(self) -> bool:
        """Whether the last attempt failed, so that this one may hang."""
        ...

    def take_turn(self) -> float | None:
        """Do what is due. Returns time.monotonic() of the next work, None if there is nothing more to do."""
        ...


@dataclass(order=True, slots=True)
class _Due:
    at: float
    number: int
    whose: Scheduled = field(compare=False)


class PollScheduler:
    """Hands out turns until it is stopped."""

    def __init__(
        self,
        in_hand: int = IN_HAND,
        at_work: int = AT_WORK,
        silent: int = MOST_SILENT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most_in_hand = in_hand
        self._most_silent = silent
        self._clock = clock
        self._places: SimpleQueue[None] = SimpleQueue()
        """A place for each that may be at work. A queue, because a semaphore costs several times as much and a poll takes one
        after each answer."""
        for _ in range(at_work):
            self._places.put(None)
        self.right_of_way = RightOfWay()
        self._changed = threading.Condition()
        self._heap: list[_Due] = []
        self._waiting: dict[Scheduled, _Due] = {}
        """The valid entry of each. An entry of the heap that is not here was moved or is over."""
        self._in_turn: dict[Scheduled, bool] = {}
        """Workers in their turn, and whether they get another at once."""
        self._suspects: set[Scheduled] = set()
        """Workers in their turn whose last one failed."""
        self._in_hand = 0
        self._silent = 0
        self._numbers = itertools.count()
        self._waits: tuple[tuple[float, float], tuple[float, float]] = ((0.0, 0.0), (0.0, 0.0))
        """Start and longest wait of the current half minute, and of the one before."""
        self._stopping = False
        self.thread = SupervisedThread("poll scheduler", self._run)

    def add(self, scheduled: Scheduled, due: float) -> None:
        """Give it turns from `due` on, a time.monotonic()."""
        with self._changed:
            self._put(scheduled, due)
        self.thread.start()

    def hasten(self, scheduled: Scheduled) -> None:
        """Give it a turn now, or another one right after the current one."""
        with self._changed:
            if scheduled in self._in_turn:
                self._in_turn[scheduled] = True
            elif scheduled in self._waiting:
                self._put(scheduled, self._clock())

    def stop(self) -> None:
        """Hand out no more turns."""
        self.thread.stop()
        with self._changed:
            self._stopping = True
            self._changed.notify()

    @property
    def queue_seconds(self) -> float:
        """The longest wait for a turn in the last minute, current waits included."""
        now = self._clock()
        with self._changed:
            waited = [longest for begin, longest in self._waits if now - begin < REMEMBERED_SECONDS]
            oldest = min((due.at for due in self._waiting.values()), default=now)
        return max(0.0, now - oldest, *waited)

    def _put(self, scheduled: Scheduled, at: float) -> None:
        due = self._waiting[scheduled] = _Due(at, next(self._numbers), scheduled)
        heapq.heappush(self._heap, due)
        if self._heap[0] is due:
            self._changed.notify()

    def _run(self) -> None:
        while not self._stopping:
            self._hand_out()

    def _hand_out(self) -> None:
        """Start what is due, then wait for the next."""
        with self._changed:
            while not self._stopping and (scheduled := self._next()) is not None:
                try:
                    THREADS.run(lambda mine=scheduled: self._take_turns(mine))  # type: ignore[misc]
                except RuntimeError:  # the system gives no more threads
                    self._ended(scheduled, self._clock() + 1.0)
                    raise
            if not self._stopping:
                self._changed.wait(self._pause())

    def _pause(self) -> float | None:
        """Seconds until something is due. None if only the end of a turn or a new entry matters."""
        if not self._heap or self._in_hand >= self._most_in_hand:
            return None
        return max(0.0, self._heap[0].at - self._clock())

    def _next(self, early: float = 0.0) -> Scheduled | None:
        """The worker that is due longest, with a place for it. None if none is due in `early` seconds, or there is no place."""
        now = self._clock()
        while self._heap and self._in_hand < self._most_in_hand and self._heap[0].at <= now + early:
            due = heapq.heappop(self._heap)
            if self._waiting.get(due.whose) is not due:
                continue
            if due.whose.suspect and len(self._suspects) >= self._most_silent // 2:
                self._put(due.whose, now + 1.0)
                continue
            del self._waiting[due.whose]
            self._in_turn[due.whose] = False
            if due.whose.suspect:
                self._suspects.add(due.whose)
            self._in_hand += 1
            self._note_wait(now, now - due.at)
            return due.whose
        return None

    def _note_wait(self, now: float, waited: float) -> None:
        (begin, longest), before = self._waits
        if now - begin < REMEMBERED_SECONDS / 2:
            self._waits = (begin, max(longest, waited)), before
        else:
            self._waits = (now, waited), (begin, longest)

    def _take_turns(self, scheduled: Scheduled | None) -> None:
        """Turns on a thread, one after another while something is due."""
        while scheduled is not None:
            threading.current_thread().name = f"poll {scheduled.name}"
            following = self._turn_of(scheduled)
            with self._changed:
                self._ended(scheduled, following)
                scheduled = None if self._stopping else self._next(EARLY_SECONDS)
                if scheduled is None and self._in_hand == self._most_in_hand - 1:
                    self._changed.notify()  # the scheduler had no place to give, and has one now

    def _turn_of(self, scheduled: Scheduled) -> float | None:
        turn = _PollTurn(self)
        turn.resume()
        try:
            with taking_turns(turn):
                return scheduled.take_turn()
        except BaseException:  # whatever it is, the place must be given back
            log.exception("%s: its turn failed and will be repeated", scheduled.name)
            return self._clock() + AFTER_A_FAULT
        finally:
            turn.leave()

    def _ended(self, scheduled: Scheduled, following: float | None) -> None:
        self._in_hand -= 1
        self._suspects.discard(scheduled)
        again = self._in_turn.pop(scheduled)
        if following is not None:
            self._put(scheduled, self._clock() if again else following)

    def _fell_silent(self) -> bool:
        """Give the place back. False if too many are silent already."""
        with self._changed:
            if self._silent >= self._most_silent:
                return False
            self._silent += 1
            self._in_hand -= 1
            self._changed.notify()
            return True

    def _spoke_again(self) -> None:
        with self._changed:
            self._silent -= 1
            self._in_hand += 1

    def _begin_work(self) -> None:
        """Wait for a place among those at work."""
        while True:
            self.right_of_way.wait()
            self._places.get()
            if not self.right_of_way.taken:
                return
            self._places.put(None)


class _PollTurn:
    """The right to work, held by the thread of a poll; see collectors.deadline.Turn."""

    def __init__(self, scheduler: PollScheduler) -> None:
        self._scheduler = scheduler
        self._silent = False

    def leave(self) -> None:
        self._scheduler._places.put(None)

    def silent(self) -> None:
        self._silent = self._scheduler._fell_silent()

    def resume(self) -> None:
        if self._silent:
            self._silent = False
            self._scheduler._spoke_again()
        self._scheduler._begin_work()


class QueueMetrics(Collector):
    """How long polls wait for their turn, for /metrics."""

    def __init__(self, scheduler: PollScheduler) -> None:
        self._scheduler = scheduler

    def collect(self) -> Iterator[Metric]:
        """The one gauge."""
        yield metric("latchscope_poll_queue_seconds", self._scheduler.queue_seconds)
