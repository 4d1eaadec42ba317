"""Who may do what, and how much a request may send.

Callers have bearer tokens with roles; without tokens, everybody on this machine may do everything. A browser cannot send
a bearer token: its user signs in once with the token, and a cookie identifies them. The token also works as the password
of HTTP Basic.

A route declares its rule as a dependency (`Access.reader`, `Access.operator`, `Access.own_page`) and its limit, if it takes
more than a small form, as `max_body_size`. The framework would apply both after it has read and parsed the body, so
`Admission` applies them by the head of the request.
"""

import base64
import hashlib
import hmac
import ipaddress
import math
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from fastapi import HTTPException, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from collectors.errors import SetupError
from service.config.load import read_secret
from service.config.settings import BadSettings, Settings
from service.intake.archives import label, mib
from service.web.sessions import GuessLimit, Sessions

CallerRole = Literal["read", "operate"]
_LINE = re.compile(r"^(?P<name>[\w.@-]+)\s+(?P<role>read|operate)\s+(?P<digest>[0-9a-f]{64})$")
_LOOPBACK = re.compile(r"^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])(?::\d+)?$", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller and their rights."""

    name: str
    role: CallerRole


SESSION = "latchscope_session"
LOCAL = Caller("this machine", "operate")
EMPTY = hashlib.sha256(b"").hexdigest()
"""What a shell prints for a token that is not set."""


def read_tokens(path: Path) -> dict[str, Caller]:
    """sha256 of a token → its owner. Raises BadSettings with the wrong line."""
    try:
        lines = read_secret(path, "auth.tokens_file").splitlines()
    except SetupError as error:
        raise BadSettings(str(error)) from None
    tokens: dict[str, Caller] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.match(line.strip())
        if match is None:
            raise BadSettings(
                f"auth.tokens_file {path} line {number}: write name, read or operate, sha256 of the token; "
                "`printf %s TOKEN | sha256sum` prints it"
            )
        if match["digest"] == EMPTY:
            raise BadSettings(
                f"auth.tokens_file {path} line {number}: this is the sha256 of no token at all, which lets everybody in; "
                "set the token before you print its sum"
            )
        tokens[match["digest"]] = Caller(match["name"], "operate" if match["role"] == "operate" else "read")
    if not tokens:
        raise BadSettings(
            f"auth.tokens_file {path} has no token, so nobody could use the service; "
            "write a line of name, read or operate, sha256 of the token"
        )
    return tokens


def tokens_of(settings: Settings) -> dict[str, Caller] | None:
    """The tokens of a configuration. None if it needs none. Raises BadSettings."""
    return read_tokens(settings.auth.tokens_file) if settings.auth.tokens_file else None


class Access:
    """Decides about requests. Its rules are FastAPI dependencies, with which a route declares who may use it; `Admission`
    applies them before a body is read. They are asynchronous because they never block, so they need no thread."""

    def __init__(self, tokens: dict[str, Caller] | None, *, here_only: bool = True) -> None:
        """`here_only`: only this machine can reach the service, so every request must name it as its host."""
        self.tokens = tokens
        """A reload replaces them. Who signed in with one that left is out."""
        self._here_only = here_only
        self._sessions = Sessions()
        self._guesses = GuessLimit()

    @property
    def by_token(self) -> bool:
        """Whether requests need tokens, so that a browser's user may sign in."""
        return self.tokens is not None

    def sign_in(self, request: Request, token: str) -> tuple[Caller, str] | None:
        """The owner of a token and their cookie. None if the token is unknown. Raises 429."""
        digest = hashlib.sha256(token.strip().encode()).hexdigest()
        caller = self._tried(request, digest)
        return None if caller is None else (caller, self._sessions.begin(digest))

    def sign_out(self, request: Request) -> Caller | None:
        """End the session of a request's cookie. Its caller, or None if it was nobody's."""
        caller = self._signed_in(request)
        self._sessions.end(request.cookies.get(SESSION, ""))
        return caller

    def _tried(self, request: Request, digest: str) -> Caller | None:
        """The owner of the token with this SHA-256. None if it is wrong. Raises 429 if its address guesses too often."""
        peer = request.client.host if request.client else ""
        if wait := self._guesses.wait(peer, digest):
            raise HTTPException(
                429,
                "too many wrong tokens came from this address; try again later",
                headers={"Retry-After": str(math.ceil(wait))},
            )
        found = [caller for known, caller in (self.tokens or {}).items() if hmac.compare_digest(known, digest)]
        (self._guesses.right if found else self._guesses.wrong)(peer, digest)
        return found[0] if found else None

    def _signed_in(self, request: Request) -> Caller | None:
        """The caller that the cookie of a request identifies."""
        token = self._sessions.owner(request.cookies.get(SESSION, ""))
        return None if token is None else (self.tokens or {}).get(token)

    async def own_page(self, request: Request) -> None:
        """Anybody, from one of our own pages: sign-in and sign-out. Raises 403."""
        if self.tokens is None and self._here_only:
            _for_this_machine(request)
        _from_own_page(request, "sign-in and sign-out", by_origin=False)

    async def reader(self, request: Request) -> Caller:
        """A caller who may read. Raises 401 or 429, or 403 without tokens."""
        if self.tokens is None:
            if self._here_only:
                _for_this_machine(request)
            return LOCAL
        if "authorization" in request.headers:
            caller = self._tried(request, hashlib.sha256(_token(request).encode()).hexdigest())
        else:
            caller = self._signed_in(request)
        if caller is not None:
            return caller
        challenge = {"WWW-Authenticate": 'Bearer, Basic realm="latchscope: any name, token as password"'}
        raise HTTPException(401, "send a token of auth.tokens_file: Authorization: Bearer <token>", headers=challenge)

    async def operator(self, request: Request) -> Caller:
        """A caller who may change state or load a database. Raises 401, 403 or 429."""
        caller = await self.reader(request)
        if caller.role != "operate":
            raise HTTPException(403, f"{caller.name} may read; this needs the role operate")
        if self.tokens is None:
            _for_this_machine(request)
            _from_own_page(request, "actions without a token", by_origin=True)
        elif "authorization" not in request.headers:
            _from_own_page(request, "actions of somebody who is signed in", by_origin=False)
        elif request.headers["authorization"].lower().startswith("basic "):
            _from_own_page(request, "actions by HTTP Basic", by_origin=False)
        return caller


def _for_this_machine(request: Request) -> None:
    """Without tokens the caller must be a program of this machine, by the address of its connection, which it cannot choose.

    It must name this machine too: a foreign page in a browser here may have a host name that points here at any time.
    """
    peer = request.client.host if request.client else ""
    if not _is_loopback(peer):
        raise HTTPException(
            403,
            f"without tokens this is for programs of this machine, not {label(peer) or 'others'}: set auth.tokens_file",
        )
    host = request.headers.get("host", "")
    if not _LOOPBACK.match(host):
        raise HTTPException(
            403,
            f"without tokens only this machine is served, under 127.0.0.1 or localhost, not {label(host) or 'no host'}",
        )


def _is_loopback(peer: str) -> bool:
    """Whether the other end of a connection is on this machine, also if IPv4 came over a socket of IPv6."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _from_own_page(request: Request, what: str, *, by_origin: bool) -> None:
    """A browser also sends its user's credentials with requests that a foreign page makes it send.

    `by_origin`: the page must have our own scheme, host and port, even if the browser calls it the same site. Behind a
    proxy they are unknown.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    own_site = site in ("same-origin", "none")
    own_origin = origin is None or origin.lower() == f"{request.url.scheme}://{request.headers.get('host', '')}".lower()
    if (site and not own_site) or (not own_origin and (by_origin or not site)):
        here = f"{request.url.scheme}://{request.headers.get('host', '')}"
        raise HTTPException(
            403,
            f"{what} are accepted only from our own pages; send a token as Bearer. The Origin is {label(origin or 'not sent')}, "
            f"and this is {label(here)}; a proxy in between must pass Host and X-Forwarded-Proto (docs/operate.md)",
        )


def _token(request: Request) -> str:
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except ValueError:  # not base64, or no text behind it, or itself beyond ASCII
            return ""
    return ""


# Requests are let in by their head, before anything of their body is read.

MOST_BODY = 8192
"""Bytes of a body where its route declares nothing else. A mark of 500 characters needs 6,000 at most, however encoded."""
READS = frozenset({"GET", "HEAD"})

AccessRule: TypeAlias = Callable[[Request], Awaitable[object]]
"""Raises HTTPException for a request that it refuses."""


class Admission:
    """Refuses a request with 401, 403, 413 or 429. A body without a declared length is counted as it is read."""

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
        fitting = (route for route in self._routes if scope["type"] == "http" and route.matches(scope)[0] is Match.FULL)
        route = next(fitting, None)
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
        await self._app(scope, _bounded(receive, most, takes_none=scope["method"] in READS), send)

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


def _bounded(receive: Receive, most: int, *, takes_none: bool) -> Receive:
    """The body as it comes, up to the limit.

    A stream of events listens for the client's end while it answers. It `takes_none`, so who sends it more is gone to it.
    """
    received = 0

    async def next_message() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received <= most:
            return message
        if takes_none:
            return {"type": "http.disconnect"}
        raise _too_large(most)

    return next_message


def _too_large(most: int) -> HTTPException:
    limit = f"{most:,} bytes" if most < 2**20 else f"{mib(most)} MiB"
    return HTTPException(
        413, f"the request is more than {limit}, the most this address takes; nothing was kept: send less at a time"
    )
