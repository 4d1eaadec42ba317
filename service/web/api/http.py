"""What HTTP asks of every server and no framework does for us: HEAD."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

ENDLESS = "/stream"


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
