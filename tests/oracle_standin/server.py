"""The listener: one port on the loopback interface, many services, one thread per connection.

Tests connect with python-oracledb. go-ora 2.9.0 was tried by hand, as no test has Go.
"""

import socket
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from time import monotonic
from types import TracebackType
from typing import Self

from .calls import Session
from .databases import Problem, Problems, Service
from .faults import Stage
from .handshake import choose_service, negotiate
from .login import log_in
from .packets import ClosedError, Link
from .wire import ProtocolError

_LOOPBACK = "127.0.0.1"
_STOP_WITHIN = 0.4  # seconds for all threads together
_ACCEPT_POLL = 0.1  # seconds until a stop is noticed


class Listener:
    """Serves `services` by name on 127.0.0.1; port 0 picks a free one. Use it as a context manager."""

    def __init__(self, services: Mapping[str, Service], port: int = 0) -> None:
        self.services = dict(services)
        self._problems = Problems()
        self._stopping = Event()
        self._lock = Lock()
        self._open: dict[Link, Thread] = {}
        self._socket = socket.create_server((_LOOPBACK, port), backlog=128)
        self._socket.settimeout(_ACCEPT_POLL)
        self.port: int = self._socket.getsockname()[1]
        self._acceptor = Thread(target=self._accept, name=f"standin-{self.port}", daemon=True)

    @property
    def problems(self) -> deque[Problem]:
        """Events that nobody scripted. A test of a healthy exchange ends with an empty list."""
        return self._problems.found

    def dsn(self, service: str) -> str:
        """The connect string of a service, known or not."""
        return f"{_LOOPBACK}:{self.port}/{service}"

    def start(self) -> None:
        """Begins to accept connections."""
        self._acceptor.start()

    def stop(self) -> None:
        """Closes the port and every connection, also hung ones, within half a second."""
        until = monotonic() + _STOP_WITHIN
        self._stopping.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the acceptor at once on Linux, elsewhere it polls
        self._acceptor.join(_STOP_WITHIN)
        self._socket.close()
        with self._lock:
            links = dict(self._open)
        for link in links:
            link.close()
        for thread in links.values():
            thread.join(max(0.0, until - monotonic()))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                accepted, _ = self._socket.accept()
                accepted.settimeout(None)
                self._welcome(Link(accepted))
            except TimeoutError:
                continue
            except OSError:  # a client that has gone again, or a stop
                self._stopping.wait(_ACCEPT_POLL)

    def _welcome(self, link: Link) -> None:
        thread = Thread(target=self._attend, args=(link,), name=f"standin-{self.port}-connection", daemon=True)
        with self._lock:
            self._open[link] = thread
        thread.start()

    def _attend(self, link: Link) -> None:
        """A connection's thread."""
        try:
            with self._reporting(""):
                name, service = choose_service(link, self.services)
            with self._reporting(name):
                self._converse(link, name, service)
        except ClosedError:
            pass
        finally:
            self._forget(link)

    def _converse(self, link: Link, name: str, service: Service) -> None:
        if service.faults.now().hang is Stage.LOGIN:
            link.hang()
        greeting = negotiate(link, service)
        record = log_in(link, service, greeting)
        if record:
            Session(link, service, name, greeting.dialect, record, self._problems).serve()

    @contextmanager
    def _reporting(self, name: str) -> Iterator[None]:
        """Only `ClosedError` leaves here. Everything else that ends a connection becomes a problem."""
        try:
            yield
        except (ClosedError, GeneratorExit):
            raise
        except ProtocolError as error:
            self._problems.report(name, f"not understood: {error}")
            raise ClosedError from error
        except Exception as error:
            self._problems.report(name, f"the listener itself broke: {error!r}")
            raise ClosedError from error

    def _forget(self, link: Link) -> None:
        for service in self.services.values():
            service.leave(link)
        with self._lock:
            del self._open[link]
        link.release()
