"""Deadlines around calls that have none of their own: every call of a session runs on the session's own thread.

A connect to a listener that accepts and says nothing never returns and cannot be cancelled. So the caller waits only so
long, then shuts the socket under the call and leaves the thread behind. The thread is a daemon and is counted until it
ends; where we do not know the socket (thick mode, TLS, a name server that hangs) that is when the call returns by itself.
"""

import socket
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from collectors.errors import SessionError

T = TypeVar("T")

MOST_LEFT_BEHIND = 2
"""Threads per database that may hang in the driver at one time; beyond it no new session is tried."""


class TooLate(SessionError):
    """A call did not come back in time; its session is given up."""


_given_up: deque[threading.Thread] = deque()
_here = threading.local()


def _remember_socket(event: str, arguments: tuple[Any, ...]) -> None:
    """Note the socket a call connects. The driver shows it to nobody; Python's audit events do."""
    if event == "socket.connect" and (mine := getattr(_here, "call_thread", None)) is not None:
        mine.socket = weakref.ref(arguments[0])


sys.addaudithook(_remember_socket)


def left_behind(name: str) -> int:
    """How many given-up threads of that name still hang in a call."""
    for _ in range(len(_given_up)):
        thread = _given_up.popleft()
        if thread.is_alive():
            _given_up.append(thread)
    return sum(1 for thread in tuple(_given_up) if thread.name == name)


class CallThread:
    """Runs calls one after another on a thread of its own; after one that came too late it runs no more."""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._given_up = False
        self.socket: Callable[[], socket.socket | None] = lambda: None
        """The socket its calls last connected, as long as somebody holds it."""
        self._thread.start()

    def run(self, call: Callable[[], T], seconds: float, what: str) -> T:
        """The result of `call`, or its exception; TooLate when it takes longer than `seconds`."""
        if self._given_up:
            raise TooLate(f"{what}: the session was given up")
        done = threading.Event()
        outcome: dict[str, Any] = {}

        def work() -> None:
            try:
                outcome["result"] = call()
            except BaseException as error:  # noqa: BLE001  it is raised again where the call was made
                outcome["error"] = error
            done.set()

        self._calls.put(work)
        if not done.wait(seconds):
            self.give_up()
            self._cut()
            raise TooLate(f"no answer to {what} within {seconds:g} s")
        if "error" in outcome:
            raise outcome["error"]
        result: T = outcome["result"]
        return result

    def give_up(self) -> None:
        """Let the thread end after the call it is in; until then it counts as left behind."""
        if not self._given_up:
            self._given_up = True
            self._calls.put(None)
            _given_up.append(self._thread)

    def _cut(self) -> None:
        """End a call that hangs on its socket."""
        connected = self.socket()
        if connected is not None:
            with suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)

    def _run(self) -> None:
        _here.call_thread = self
        while (work := self._calls.get()) is not None:
            work()
