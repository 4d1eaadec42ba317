"""`latchscope mcp --http`: passes the caller's own token to the service, which decides what the caller may read."""

from typing import Any

import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from service.assistants.server import ClientOf
from service.client import ServiceRefused

CHEAP = "/causes/undo-segments"
"""The path that a token is tried on. It costs the service nothing and reads no database."""


class TokensOfTheService:
    """Admits a caller only if the service does. Otherwise anybody could list the tools."""

    def __init__(self, app: ASGIApp, client_of: ClientOf) -> None:
        self._app = app
        self._client_of = client_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
            scheme, _, token = headers.get("authorization", "").partition(" ")
            try:
                client = self._client_of(token.strip() or None if scheme.lower() == "bearer" else None)
                await anyio.to_thread.run_sync(client.get, CHEAP)
            except ServiceRefused as error:
                status = error.status if error.status in (401, 403) else 503
                challenge = {"WWW-Authenticate": "Bearer"} if status == 401 else None
                await JSONResponse({"detail": str(error)}, status, challenge)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def http_app(server: MCPServer[Any], client_of: ClientOf, host: str) -> ASGIApp:
    """The server at /mcp. Requests are independent, so any of several processes may answer one."""
    return TokensOfTheService(server.streamable_http_app(stateless_http=True, json_response=True, host=host), client_of)
