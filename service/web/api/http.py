"""What HTTP asks of every server and no framework does for us: HEAD, and answers in gzip where the caller takes that."""

import gzip

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ENDLESS = "/stream"
SMALLEST = 1000
"""Bytes below which an answer is not worth compressing."""


def takes_gzip(request: Request) -> bool:
    """Whether the caller takes gzip."""
    takes = [entry.partition(";") for entry in request.headers.get("accept-encoding", "").replace(" ", "").split(",")]
    return any(name == "gzip" and weight not in ("q=0", "q=0.0") for name, _, weight in takes)


def squeezed(body: bytes, request: Request, level: int) -> tuple[bytes, dict[str, str]]:
    """A body as it is sent, and the headers that say so."""
    headers = {"vary": "Accept-Encoding"}
    if len(body) < SMALLEST or not takes_gzip(request):
        return body, headers
    return gzip.compress(body, level, mtime=0), {**headers, "content-encoding": "gzip"}


class AnswersHead:
    """HEAD is GET without the body, for every route but a stream that never ends."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"].endswith(ENDLESS):
            await self._app(scope, receive, send)
            return

        async def headers_only(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self._app({**scope, "method": "GET"}, receive, headers_only)
