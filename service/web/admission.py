"""Who is let in, and with how much: decided in one place, by the head of a request, before anything of its body is read.

A route declares its rule as a dependency (`Access.reader`, `Access.operator`, `Access.own_page`) and its limit, if it takes
more than a small form, as `max_body_size`. The framework applies neither before it has read and parsed a body.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeAlias

from fastapi import HTTPException, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.intake.archives import mib
from service.web.access import Access

MOST_BODY = 8192
"""Bytes of a body where its route declares nothing else. A mark of 500 characters needs 6,000 at most, however encoded."""
READS = frozenset({"GET", "HEAD"})

AccessRule: TypeAlias = Callable[[Request], Awaitable[object]]
"""Raises HTTPException for a request that it refuses."""


class Admission:
    """Refuses a request with 401, 403 or 413. A body without a declared length is counted as it is read."""

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        routes: Sequence[BaseRoute],
        refused: Callable[[Request, HTTPException], Response],
    ) -> None:
        self._app = app
        self._access = access
        self._routes = routes
        self._refused = refused
        self._rules: dict[int, AccessRule | None] = {}
        """Route, by identity → its rule."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        route = self._route(scope) if scope["type"] == "http" else None
        if route is None:
            await self._app(scope, receive, send)
            return
        request, most = Request(scope), most_body(route)
        try:
            if (rule := self._rule(route)) is not None:
                await rule(request)
            claimed = request.headers.get("content-length", "")
            if claimed.isdecimal() and int(claimed) > most:
                raise _too_large(most)
        except HTTPException as error:
            await self._refused(request, error)(scope, receive, send)
            return
        await self._app(scope, _bounded(receive, most), send)

    def _route(self, scope: Scope) -> BaseRoute | None:
        return next((route for route in self._routes if route.matches(scope)[0] is Match.FULL), None)

    def _rule(self, route: BaseRoute) -> AccessRule | None:
        if id(route) not in self._rules:
            self._rules[id(route)] = rule_of(route, self._access)
        return self._rules[id(route)]


def rule_of(route: BaseRoute, access: Access) -> AccessRule | None:
    """The strictest rule that a route declares. Without one, reads are for everybody and all else is for operators."""
    declared = list(_calls(route.dependant)) if isinstance(route, APIRoute) else []
    for rule in (access.operator, access.reader, access.own_page):
        if rule in declared:
            return rule
    return None if (getattr(route, "methods", None) or READS) <= READS else access.operator


def most_body(route: BaseRoute) -> int:
    """Bytes of a body that a route takes."""
    declared: int | None = getattr(route, "max_body_size", None)
    return MOST_BODY if declared is None else declared


def _calls(dependant: Dependant) -> Iterator[object]:
    for each in dependant.dependencies:
        yield each.call
        yield from _calls(each)


def _bounded(receive: Receive, most: int) -> Receive:
    """The body as it comes, up to the limit."""
    received = 0

    async def next_message() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > most:
            raise _too_large(most)
        return message

    return next_message


def _too_large(most: int) -> HTTPException:
    limit = f"{most:,} bytes" if most < 2**20 else f"{mib(most)} MiB"
    return HTTPException(
        413, f"the request is more than {limit}, the most this address takes; nothing was kept: send less at a time"
    )
