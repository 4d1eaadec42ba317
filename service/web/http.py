"""HTTP that the framework lacks: HEAD, gzip for callers that accept it, scrapes before everything else, separate threads."""

import zlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial, wraps
from itertools import chain
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ENDLESS = "/stream"
SCRAPE = "/metrics"
GZIP = zlib.MAX_WBITS + 16
"""zlib's number for the format of gzip."""
SMALLEST = 1000
"""An answer with fewer bytes is not worth compressing."""


def takes_gzip(request: Request) -> bool:
    """Whether the caller accepts gzip."""
    takes = [entry.partition(";") for entry in request.headers.get("accept-encoding", "").replace(" ", "").split(",")]
    return any(name == "gzip" and weight not in ("q=0", "q=0.0") for name, _, weight in takes)


def squeezed(body: bytes, request: Request, level: int) -> tuple[bytes, dict[str, str]]:
    """A body in the form it is sent, and its headers."""
    return squeezed_parts([[body]], len(body), request, level)


def squeezed_parts(
    parts: Sequence[Sequence[bytes]], size: int, request: Request, level: int
) -> tuple[bytes, dict[str, str]]:
    """A body of so many bytes as it is sent, and its headers. It is made of parts in pieces, and compressed a part at a time,
    because to join a large page takes longer than to make it."""
    headers = {"vary": "Accept-Encoding"}
    if size < SMALLEST or not takes_gzip(request):
        # In one piece: a caller who stops reading would hold the answer open, and with it the right of way of scrapes.
        return b"".join(chain.from_iterable(parts)), headers
    packer = zlib.compressobj(level, wbits=GZIP)
    packed = [packer.compress(b"".join(part)) for part in parts]
    return b"".join([*packed, packer.flush()]), {**headers, "content-encoding": "gzip"}


class AnswersHead:
    """HEAD is GET without the body, for every route except an endless stream."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"].endswith(ENDLESS):
            await self._app(scope, receive, send)
            return

        async def headers_only(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self._app({**scope, "method": "GET"}, receive, headers_only)


FRAME = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
FILES = ("/static/", "/docs/", "/swagger/")
"""They contain nothing about any database."""


class SafeHeaders:
    """Headers that an answer has unless it brings its own: what a page may load, that nobody frames it or guesses its type, and
    that no browser keeps it: back from a cache it would look as if it were of now, even after the sign-out."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("Content-Security-Policy", FRAME)
                headers.setdefault("X-Content-Type-Options", "nosniff")
                headers.setdefault("Referrer-Policy", "same-origin")
                if not scope["path"].startswith(FILES):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, with_headers)


class ScrapesFirst:
    """Polls stand back until a scrape has been answered, to the last byte."""

    def __init__(
        self, app: ASGIApp, first: Callable[[], AbstractContextManager[None]], scraped: Callable[[], None]
    ) -> None:
        """`scraped` is called after each answer."""
        self._app = app
        self._first = first
        self._scraped = scraped

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != SCRAPE:
            await self._app(scope, receive, send)
            return
        with self._first():
            await self._app(scope, receive, send)
        self._scraped()


# Separate threads for routes that must answer while all others wait for the store.

Given = ParamSpec("Given")
Told = TypeVar("Told")


class Bulkhead:
    """A number of threads that its routes share with no others.

    The routes of the framework share 40. A store that hangs holds all of them, and the next request waits in line.
    """

    def __init__(self, threads: int) -> None:
        self._limiter = CapacityLimiter(threads)

    def __call__(self, route: Callable[Given, Told]) -> Callable[Given, Awaitable[Told]]:
        """The route, run in one of these threads."""

        @wraps(route)
        async def in_own_thread(*args: Given.args, **members: Given.kwargs) -> Told:
            return await run_sync(partial(route, *args, **members), limiter=self._limiter)

        return in_own_thread
