"""What a request waits for a store that hangs: a few seconds, then it is answered that the store does not answer.

No timeout of PostgreSQL or its driver helps: a frozen server counts no time, and its kernel goes on to confirm what arrives.
"""

import asyncio
from collections.abc import Callable

from anyio import CancelScope
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.store.probe import Probe
from service.web.bulkhead import Bulkhead

PATIENCE = 3.0
"""Seconds without an answer after which the store is asked whether it answers at all. If it does, the request goes on."""
STORE_SECONDS = 8.0
"""Seconds for its answer. On a host that starves, a store that works needs some, and a page must not be refused for that."""
THREADS = 4
OF_MONITORING = ("/metrics", "/probe", "/healthz", "/readyz")
"""They wait for no store, and answer in their own form."""
FILES = ("/static/", "/docs/")
"""They need no store."""


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
        """One request."""
        if scope["type"] != "http" or scope["path"] in OF_MONITORING or scope["path"].startswith(FILES):
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(self._app, scope, receive, send)
        work = asyncio.create_task(exchange.run())
        try:
            while not (await asyncio.wait({work}, timeout=PATIENCE))[0]:
                if exchange.begun or await self._answers():
                    continue
                if not exchange.begun and not work.done():
                    self._leave(exchange, work)
                    await self._refused(Request(scope))(scope, receive, send)
                    return
        except asyncio.CancelledError:
            work.cancel()
            raise
        await work

    def _leave(self, exchange: "_Exchange", work: asyncio.Task[None]) -> None:
        """Take its answer from it. If it waits in line it never runs; a thread that runs keeps its place until it ends."""
        exchange.given_up = True
        exchange.cancel.cancel()
        self._left.add(work)
        work.add_done_callback(self._left.discard)


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
