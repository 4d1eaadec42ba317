"""The web server: uvicorn with what it lacks against clients that are slow, many or rude.

A connection has so long to say what it wants, to send it, and to take its answer. There are so many connections at most,
fewer than there are file descriptors; who comes beyond that takes the place of whoever has been idle the longest.
"""

import asyncio
import logging
import resource
import socket
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

log = logging.getLogger("latchscope.web")

MOST_CONNECTIONS = 500
BACKLOG = 128
"""Connections that may wait to be taken up. asyncio takes up as many at once, so the descriptors must do for them too."""
HEADER_SECONDS = 10.0
"""To send the head of a request, from the connection or the first byte on."""
BODY_SECONDS = 300.0
"""To send the body of a request."""
ANSWER_SECONDS = 120.0
"""To take an answer that is ready."""
LOOK_SECONDS = 2.0
OWN_DESCRIPTORS = 150
"""For the store, files, streams and what the interpreter needs."""
WANTED_DESCRIPTORS = 4096
SAY_AGAIN_SECONDS = 60.0
GRACE_SECONDS = 1
"""For answers under way when we are told to stop."""
END_SECONDS = 4.0
"""From the signal to the end at the latest."""


class PatientProtocol(H11Protocol):
    """One connection, looked at every two seconds."""

    most_connections = MOST_CONNECTIONS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or refuse it where there is no room."""
        self._waiting_since = self._emptied_at = self.loop.time()
        self._looks: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        if len(self.connections) > self.most_connections and not self._made_room():
            transport.abort()
            return
        self._looks = self.loop.call_later(LOOK_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        if self._looks is not None:
            self._looks.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Note when a request began."""
        if self._idle:
            self._waiting_since = self.loop.time()
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Wait for the next request from now on."""
        self._waiting_since = self.loop.time()
        super().on_response_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """Whoever asks for a WebSocket gets an ordinary answer; it is not worth a line in the log."""

    @property
    def _idle(self) -> bool:
        """Whether nothing of a request has come that is not answered."""
        return self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]

    @property
    def _busy(self) -> bool:
        """Whether we owe an answer."""
        return self.cycle is not None and not self.cycle.response_complete

    def _made_room(self) -> bool:
        """Close whoever has waited the longest without asking for anything; False where all are being served."""
        others = [each for each in self.connections if isinstance(each, PatientProtocol) and each is not self]
        idle = min((each for each in others if not each._busy), key=lambda each: each._waiting_since, default=None)
        if idle is None:
            return False
        idle.transport.abort()
        self.connections.discard(idle)
        return True

    def _look(self) -> None:
        """End a connection whose client takes too long over what it has to do."""
        now = self.loop.time()
        if not self.transport.get_write_buffer_size():
            self._emptied_at = now
        receiving = self._busy and self.cycle.more_body and self.conn.their_state is h11.SEND_BODY
        patience = BODY_SECONDS if receiving else HEADER_SECONDS
        too_slow = now - self._waiting_since > patience and (receiving or not self._busy)
        if too_slow or now - self._emptied_at > ANSWER_SECONDS:
            self.transport.abort()
            return
        self._looks = self.loop.call_later(LOOK_SECONDS, self._look)


def guarded(app: Any, **more: Any) -> uvicorn.Config:
    """How an app is served against such clients."""
    return uvicorn.Config(app, http=PatientProtocol, ws="none", backlog=BACKLOG, server_header=False, **more)


class Server(uvicorn.Server):
    """Ends the streams before it waits for the answers under way, since a stream would never end by itself."""

    def __init__(self, app: Any, end: Callable[[], None] = lambda: None) -> None:
        """`end`: called when all is in order after a signal, and at the latest END_SECONDS after it."""
        super().__init__(guarded(app, log_config=None, timeout_graceful_shutdown=GRACE_SECONDS))
        self._end = end
        self._said_at = float("-inf")
        logging.getLogger("uvicorn.error").addFilter(_not_noise)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, with our own way to say that there are no descriptors left."""
        asyncio.get_running_loop().set_exception_handler(self._loop_failed)
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal: stop, and set a limit to it. Event loop and interpreter would wait for threads that hang."""
        if not self.should_exit:
            last = threading.Timer(END_SECONDS, self._late)
            last.daemon = True
            last.start()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the app's feed, then everything as usual."""
        self.config.app.state.feed.stop()  # type: ignore[union-attr]
        await super().shutdown(sockets)
        self._end()

    def _late(self) -> None:
        log.warning("not all of it ended within %g s; what is in memory goes to the spool", END_SECONDS)
        self._end()

    def _loop_failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """asyncio tells of every connection that it has no descriptor for; once a minute is enough."""
        if "out of system resource" not in str(context.get("message")):
            loop.default_exception_handler(context)
        elif loop.time() - self._said_at > SAY_AGAIN_SECONDS:
            self._said_at = loop.time()
            log.error(
                "no file descriptor is left for new connections (%d are open, the limit is %d): raise it, by ulimit -n or "
                "LimitNOFILE=; polls go on",
                len(self.server_state.connections),
                resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            )


def _not_noise(record: logging.LogRecord) -> bool:
    """What anybody can make uvicorn say as often as they like is not said."""
    return record.getMessage() != "Invalid HTTP request received."


def provide_descriptors(databases: int) -> None:
    """Raise the limit of file descriptors as far as we may; say so where it stays low, and take fewer connections then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = OWN_DESCRIPTORS + 3 * databases + BACKLOG
    wanted = max(WANTED_DESCRIPTORS, needed + MOST_CONNECTIONS)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        soft = most
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    room = MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, soft - needed)
    PatientProtocol.most_connections = max(10, room)
    if room < MOST_CONNECTIONS:
        log.warning(
            "at most %d file descriptors may be open: %d connections are served at a time; for %d databases set the limit "
            "(ulimit -n, LimitNOFILE=) to %d or more",
            soft,
            PatientProtocol.most_connections,
            databases,
            needed + MOST_CONNECTIONS,
        )
