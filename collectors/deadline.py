"""Deadlines for driver calls that have none.

A connect to a listener that accepts and says nothing never returns, and nothing can cancel it. So it runs on a borrowed
thread: the caller waits for a limited time, then shuts the socket under the call and abandons the thread. The thread is a
daemon and counts until it ends. Without a known socket (thick mode, TLS, a name server that hangs) it ends when the call
returns by itself.

A call on a socket that is known needs no thread of its own, because shutting the socket ends it: the caller makes it, and
one thread watches all of them. Most statements of a fleet are such calls, and to pass one to a thread and back costs as
much as the statement.
"""

import socket
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Any, Protocol, TypeVar, cast

from collectors.errors import SessionError

T = TypeVar("T")

MOST_LEFT_BEHIND = 2
"""Calls per database that may hang in the driver at one time. At this number latchscope opens no new session."""
SPARE_THREADS = 16
"""Threads kept for the next jobs. Any further thread ends with its job."""
CONNECT_SECONDS, STATEMENT_SECONDS, LOOK_SECONDS = 15.0, 5.0, 3.0
"""The most seconds of a login, of a statement, and of one on an instance that hangs, where nothing else is configured."""
SILENCE_SECONDS = 0.5
"""After this time without an answer, a call may never get one."""
WATCH_SECONDS = 0.2
"""Seconds between two looks at the calls in progress. A call that is late is ended so much later at most."""


class TooLate(SessionError):
    """A call did not return in time; its session is given up."""


class NoThread(SessionError):
    """The system gives no thread for a call, which did not begin."""


class Turn(Protocol):
    """The right to use the processor, which a thread gives back while it waits for a database; see service.watch.scheduler."""

    def leave(self) -> None:
        """The thread begins to wait for an answer."""
        ...

    def silent(self) -> None:
        """The call has had no answer for SILENCE_SECONDS."""
        ...

    def resume(self) -> None:
        """The wait is over. May block until other threads have done their work."""
        ...


class ReusedThreads:
    """Daemon threads that do one job after another. If all of them are busy, one more starts, so that no job waits."""

    def __init__(self, spare: int = SPARE_THREADS) -> None:
        self._spare = spare
        self._idle: deque[SimpleQueue[Callable[[], None]]] = deque()

    def run(self, job: Callable[[], None]) -> None:
        """Start a job, which must not raise. Raises RuntimeError if the system gives no thread."""
        try:
            jobs = self._idle.pop()
        except IndexError:
            jobs = SimpleQueue()
            threading.Thread(target=self._work, args=(jobs,), name="spare", daemon=True).start()
        jobs.put(job)

    def _work(self, jobs: "SimpleQueue[Callable[[], None]]") -> None:
        thread = threading.current_thread()
        while True:
            jobs.get()()
            thread.name = "spare"
            if len(self._idle) >= self._spare:
                return
            self._idle.append(jobs)


THREADS = ReusedThreads()
"""The threads of this process for calls of sessions and for polls."""


# A call, on a thread of its own or on that of its caller, and who looks after it.


class _Borrowed:
    """A call on a borrowed thread."""

    def __init__(self) -> None:
        self.over = False
        self.outcome: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        """Gets its result, or the error that it raised. A queue is the cheapest way from one thread to another."""


class _Watched:
    """A call that its caller makes on a known socket."""

    def __init__(self, calls: "SessionCalls", seconds: float, turn: Turn | None) -> None:
        now = monotonic()
        self.over = self.late = False
        self._calls, self._turn = calls, turn
        self._silent_at, self._late_at = now + SILENCE_SECONDS, now + seconds
        self._lock = threading.Lock()

    def look(self) -> None:
        """Say that it is silent. If it is late, end it, again at every look. Called on the thread that watches."""
        now = monotonic()
        with self._lock:
            if self.over:
                return
            if self._turn is not None and now >= self._silent_at:
                self._silent_at = float("inf")
                self._turn.silent()
            if now >= self._late_at:
                self.late = True
                self._calls.give_up()
                self._calls.cut()

    def end(self) -> None:
        """It is over. After this nobody speaks for its caller."""
        with self._lock:
            self.over = True


class _Watch:
    """The thread that looks at the watched calls."""

    def __init__(self) -> None:
        self.calls: set[_Watched] = set()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def runs(self) -> bool:
        """Whether there is such a thread. It starts with the first call."""
        if self._thread is not None and self._thread.is_alive():
            return True
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._run, name="deadlines", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system gives no more threads
                    return False
                self._thread = thread
            return True

    def _run(self) -> None:
        while True:
            sleep(WATCH_SECONDS)
            for call in tuple(self.calls):
                call.look()


_WATCH = _Watch()
_given_up: deque[tuple[str, _Borrowed | _Watched]] = deque()
_here = threading.local()


def _remember_socket(event: str, arguments: tuple[Any, ...]) -> None:
    """Note the socket that a call connects. The driver does not expose it; Python's audit events do."""
    if event == "socket.connect" and (mine := getattr(_here, "calls", None)) is not None:
        mine.socket = weakref.ref(arguments[0])


sys.addaudithook(_remember_socket)


def left_behind(name: str) -> int:
    """How many abandoned calls of sessions of that name still hang."""
    for _ in range(len(_given_up)):
        given_up = _given_up.popleft()
        if not given_up[1].over:
            _given_up.append(given_up)
    return sum(1 for of, _ in tuple(_given_up) if of == name)


@contextmanager
def taking_turns(turn: Turn) -> Iterator[None]:
    """Make this thread give back its turn while it waits for the answer to a call."""
    _here.turn = turn
    try:
        yield
    finally:
        _here.turn = None


@contextmanager
def without_turn() -> Iterator[None]:
    """Give this thread's turn to others while it waits for something else than a call."""
    turn: Turn | None = getattr(_here, "turn", None)
    if turn is None:
        yield
        return
    turn.leave()
    _here.turn = None
    try:
        yield
    finally:
        _here.turn = turn
        turn.resume()


# The calls of one session.


class SessionCalls:
    """Runs the calls of one session one after another. After a call that came too late it runs no more."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._given_up = self._abandoned = False
        self._last: _Borrowed | _Watched | None = None
        self.socket: Callable[[], socket.socket | None] = lambda: None
        """The socket that its calls connected last, while something holds it."""

    def run(self, call: Callable[[], T], seconds: float, what: str) -> T:
        """The result of `call`, or its exception. TooLate if it takes longer than `seconds`."""
        if self._given_up:
            raise TooLate(f"{what}: the session was given up")
        connected = self.socket()
        if connected is not None and connected.fileno() >= 0 and _WATCH.runs():
            return self._run_watched(call, seconds, what)
        return self._run_borrowed(call, seconds, what)

    def _run_watched(self, call: Callable[[], T], seconds: float, what: str) -> T:
        turn: Turn | None = getattr(_here, "turn", None)
        self._last = last = _Watched(self, seconds, turn)
        _WATCH.calls.add(last)
        if turn is not None:
            turn.leave()
        try:
            result = call()
        except Exception:
            if not last.late:
                raise
        finally:
            last.end()
            _WATCH.calls.discard(last)
            if self._abandoned:
                self._close()
            if turn is not None:
                turn.resume()
        if last.late:
            raise TooLate(f"no answer to {what} within {seconds:g} s")
        return result

    def _run_borrowed(self, call: Callable[[], T], seconds: float, what: str) -> T:
        self._last = last = _Borrowed()

        def work() -> None:
            threading.current_thread().name = self._name
            _here.calls = self
            try:
                found: tuple[Any, BaseException | None] = call(), None
            except BaseException as error:  # noqa: BLE001  it is raised again where the call was made
                found = None, error
            _here.calls = None
            last.over = True
            last.outcome.put(found)
            if self._abandoned:
                self._close()

        try:
            THREADS.run(work)
        except RuntimeError:
            last.over = True  # nothing runs, so nothing is left behind
            raise NoThread(
                f"{what} did not begin: the system gives no more threads; raise the limit (pids.max, TasksMax=, ulimit -u)"
            ) from None
        try:
            result, error = _in_time(last.outcome, seconds)
        except Empty:
            self.give_up()
            self.cut()
            raise TooLate(f"no answer to {what} within {seconds:g} s") from None
        if error is not None:
            raise error
        return cast(T, result)

    def give_up(self) -> None:
        """Run no further call. A call that still hangs counts as abandoned until it ends."""
        if not self._given_up:
            self._given_up = True
            if self._last is not None and not self._last.over:
                _given_up.append((self._name, self._last))

    def abandon(self) -> None:
        """Give up and close any connection that a call opened. If a call still hangs, its own thread closes the connection."""
        self.give_up()
        self.cut()
        self._abandoned = True  # before `over` is read: either this thread closes, or the one that has just finished
        if self._last is None or self._last.over:
            self._close()

    def cut(self) -> None:
        """End a call that hangs on its socket."""
        connected = self.socket()
        if connected is not None:
            with suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)

    def _close(self) -> None:
        connected = self.socket()
        if connected is not None:
            with suppress(OSError):
                connected.close()


def _in_time(outcome: "SimpleQueue[T]", seconds: float) -> T:
    """The outcome of a call. This thread gives back its turn meanwhile. Raises Empty if it takes longer than `seconds`."""
    turn: Turn | None = getattr(_here, "turn", None)
    if turn is None:
        return outcome.get(timeout=seconds)
    turn.leave()
    try:
        if seconds > SILENCE_SECONDS:
            with suppress(Empty):
                return outcome.get(timeout=SILENCE_SECONDS)
            turn.silent()
            seconds -= SILENCE_SECONDS
        return outcome.get(timeout=seconds)
    finally:
        turn.resume()
