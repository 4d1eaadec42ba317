"""The web server: uvicorn with protection against clients that are slow, many or rude, and against a store that hangs.

A connection has limited time for its request and for its answer. The number of connections is limited to less than the
file descriptors. One more takes the place of the connection that has been idle the longest.
"""

import asyncio
import logging
import resource
import signal
import socket
import ssl
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import h11
import uvicorn
from anyio import CancelScope
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from service.background import NO_THREAD
from service.config.settings import BadSettings, TlsSettings
from service.store.engine import Probe
from service.web.http import FILES, Bulkhead

# What a request waits for a store that hangs: a few seconds, then it is answered that the store does not answer.
#
# No timeout of PostgreSQL or its driver helps: a frozen server counts no time, and its kernel goes on to confirm what
# arrives.

PATIENCE = 3.0
"""Seconds without an answer after which the store is asked whether it answers at all. If it does, the request goes on."""
STORE_SECONDS = 8.0
"""Seconds for its answer. On a host that starves, a store that works needs some, and a page must not be refused for that."""
THREADS = 4
OF_MONITORING = ("/metrics", "/probe", "/healthz", "/readyz")
"""They wait for no store, and answer in their own form."""


class AnswersInTime:
    """Answers for a request that waits for the store, or in line behind those that do. What runs already goes on."""

    def __init__(self, app: ASGIApp, reachable: Callable[[], bool], refused: Callable[[Request], Response]) -> None:
        """`reachable`: asks the store, and may hang; `refused`: the answer if it does not."""
        self._app = app
        self._answers = Bulkhead(THREADS)(Probe(reachable, STORE_SECONDS).answers)
        self._refused = refused
        self._left: set[asyncio.Task[None]] = set()
        """Requests that were answered for, until they end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in OF_MONITORING or scope["path"].startswith(FILES):
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(self._app, scope, receive, send)
        work = asyncio.create_task(exchange.run())
        try:
            while not (await asyncio.wait({work}, timeout=PATIENCE))[0]:
                if exchange.begun or await self._store_answers():
                    continue
                if not exchange.begun and not work.done():
                    # Take its answer from it. If it waits in line it never runs; a thread that runs keeps its place
                    # until it ends.
                    exchange.given_up = True
                    exchange.cancel.cancel()
                    self._left.add(work)
                    work.add_done_callback(self._left.discard)
                    await self._refused(Request(scope))(scope, receive, send)
                    return
        except asyncio.CancelledError:
            work.cancel()
            raise
        await work

    async def _store_answers(self) -> bool:
        """Whether the store answers. True without a thread to ask it: the request goes on, and its own answer says the same."""
        try:
            return await self._answers()
        except RuntimeError as error:
            if NO_THREAD not in str(error):
                raise
            return True


class _Exchange:
    """A request and its answer."""

    def __init__(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        self._app, self._scope, self._receive, self._send = app, scope, receive, send
        self.cancel = CancelScope()
        self.begun = self.given_up = False

    async def run(self) -> None:
        with self.cancel:
            await self._app(self._scope, self._receive, self._pass_on)

    async def _pass_on(self, message: Message) -> None:
        if not self.given_up:
            self.begun = True
            await self._send(message)


log = logging.getLogger("latchscope.web")

MOST_CONNECTIONS = 500
BACKLOG = 128
"""Connections that may wait for acceptance. asyncio accepts as many at once, so the descriptors must be enough for them too."""
HEADER_SECONDS = 10.0
"""To send the head of a request, from the connection or the first byte on."""
BODY_SECONDS = 300.0
"""To send the body of a request."""
ANSWER_SECONDS = 120.0
"""To read an answer that is ready."""
MOST_LEFT_OVER = 64 * 2**20
"""Bytes that a client may still send of a request that is answered already. They are dropped, so that it can read the answer."""
PROXIES = ("127.0.0.1", "::1")
"""Only a proxy on this machine may say for whom it asks, so nobody else chooses the address that a request comes from."""
LOOK_SECONDS = 2.0
OWN_DESCRIPTORS = 150
"""Descriptors for the store, files, streams and the interpreter."""
WANTED_DESCRIPTORS = 4096
SAY_AGAIN_SECONDS = 60.0
GRACE_SECONDS = 1
"""Seconds for current answers when we have to stop."""
END_SECONDS = 4.0
"""Most seconds from the signal to the end."""


class PatientProtocol(H11Protocol):
    """One connection, checked every two seconds."""

    most_connections = MOST_CONNECTIONS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, or refuse it if there is no room."""
        self._waiting_since = self._emptied_at = self.loop.time()
        self._left_over = 0
        self._looks: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        if len(self.connections) > self.most_connections and not self._made_room():
            transport.abort()
            return
        self._looks = self.loop.call_later(LOOK_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._looks is not None:
            self._looks.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Note when a request began. End a connection that goes on and on with one that is answered."""
        if self._idle:
            self._waiting_since = self.loop.time()
        if not self._busy and self.conn.their_state is h11.SEND_BODY:
            self._left_over += len(data)
            if self._left_over > MOST_LEFT_OVER:
                self.transport.abort()
                return
        super().data_received(data)

    def on_response_complete(self) -> None:
        self._waiting_since, self._left_over = self.loop.time(), 0
        super().on_response_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """A request for a WebSocket gets an ordinary answer. It is not worth a log line."""

    @property
    def _idle(self) -> bool:
        """Whether no unanswered request has started."""
        return self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]

    @property
    def _busy(self) -> bool:
        """Whether we still have to answer."""
        return self.cycle is not None and not self.cycle.response_complete

    def _made_room(self) -> bool:
        """Close the connection that has been idle the longest. False if all are busy."""
        others = [
            connection
            for connection in self.connections
            if isinstance(connection, PatientProtocol) and connection is not self
        ]
        idle = min((each for each in others if not each._busy), key=lambda each: each._waiting_since, default=None)
        if idle is None:
            return False
        idle.transport.abort()
        self.connections.discard(idle)
        return True

    def _look(self) -> None:
        """End a connection whose client is too slow."""
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
    return uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        backlog=BACKLOG,
        server_header=False,
        forwarded_allow_ips=list(PROXIES),
        **more,
    )


def tls_of(tls: TlsSettings, context: ssl.SSLContext | None = None) -> ssl.SSLContext | None:
    """The TLS of these settings, None without. A `context` that serves takes renewed files. Raises BadSettings."""
    if tls.certificate is None:
        return None
    context = context or ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(tls.certificate, tls.key)
        if tls.client_ca is not None:
            context.load_verify_locations(tls.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:
        files = ", ".join(str(file) for file in (tls.certificate, tls.key, tls.client_ca) if file)
        why = f"tls: {files} cannot be used: {error.strerror or error}; they must be PEM files, and belong together"
        raise BadSettings(why) from None
    return context


class Server(uvicorn.Server):
    """Ends the streams before it waits for current answers, because a stream never ends by itself."""

    def __init__(
        self,
        app: Any,
        end: Callable[[], None] = lambda: None,
        ready: Callable[[], None] = lambda: None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`end`: called when all is in order after a signal, and at the latest END_SECONDS after it; `ready`: after the start."""
        config = guarded(app, log_config=None, timeout_graceful_shutdown=GRACE_SECONDS)
        config.load()
        config.ssl = tls
        super().__init__(config)
        self._end, self._ready = end, ready
        self._said_at = float("-inf")
        logging.getLogger("uvicorn.error").addFilter(_not_noise)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, with our own message for missing descriptors."""
        asyncio.get_running_loop().set_exception_handler(self._loop_failed)
        await super().startup(sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """On a signal: stop, with a time limit. Event loop and interpreter would wait for threads that hang."""
        if not self.should_exit:
            last = threading.Timer(END_SECONDS, self._late)
            last.daemon = True
            last.start()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the app's feed, then the rest as usual."""
        why = signal.Signals(self._captured_signals[0]).name if self._captured_signals else "it could not start"
        log.info("stops: %s", why, extra={"event": "stop"})
        self.config.app.state.feed.stop()  # type: ignore[union-attr]
        await super().shutdown(sockets)
        self._end()

    def _late(self) -> None:
        log.warning("not everything ended within %g s; polls in memory go to the spool", END_SECONDS)
        self._end()

    def _loop_failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """asyncio reports every connection without a descriptor. Once a minute is enough."""
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
    """Drops messages that any client could trigger at will, and those of bugs, which we log ourselves."""
    return not record.getMessage().startswith(("Invalid HTTP request received.", "Exception in ASGI application"))


def provide_descriptors(databases: int) -> None:
    """Raise the limit of file descriptors as far as allowed. If it stays low, log it and accept fewer connections."""
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
