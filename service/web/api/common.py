"""What the routes of REST share.

- the OpenAPI document: groups, and how to log in
- answers with an ETag
- files of a multipart request, within limits
- errors as application/problem+json (RFC 9457): what, where, and no traceback
- query parameters about time
"""

import hashlib
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, urlencode

from fastapi import FastAPI, Query, Request
from fastapi import Response as FastapiResponse
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect
from starlette.routing import Match, compile_path

from collectors.errors import InputError
from service.background import NO_THREAD
from service.history.comparison import CannotCompare, NoMark
from service.history.marks import BadMark
from service.intake.archives import label, mib
from service.intake.inputs import CUT, HEAD_BYTES, log_reader
from service.intake.uploads import MOST_FILES, File
from service.state.time_window import BadWindow, Window, iso, window
from service.store.engine import DATABASE_ERROR, StoreError, brief
from service.store.episodes import EpisodePage
from service.store.polls import BadCursor
from service.successors import successors
from service.web.schemas import Problem

# Completes the OpenAPI document: how to log in, the servers, and the groups.

TAGS: Mapping[str, str] = {
    "databases": "The watched databases: whether they answer, and what can be read on each.",
    "diagnosis": "What the last interval shows: findings with their evidence, and the figures behind them.",
    "history": "Figures over time, episodes, change marks, comparisons and what a change would be worth.",
    "actions": "Actions that change state or load a database. Needs the role `operate` and is written to the audit log.",
    "reports": "AWR and Statspack reports and captures, uploaded and kept.",
    "causes": "The knowledge base: what latchscope can find, and what to do about it.",
    "service": "For Prometheus and for programs that restart the service.",
}
SERVERS = [{"url": "/", "description": "This service."}]
SECURITY = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of `auth.tokens_file`, with the role `read` or `operate`. Without that file none is needed.",
    },
    "password": {
        "type": "http",
        "scheme": "basic",
        "description": "For browsers: the token as the password, with any name.",
    },
}
OPEN = ("/healthz", "/readyz")
"""Paths that need no token."""


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with servers, ways to log in, and groups."""
    document["servers"] = SERVERS
    document["components"]["securitySchemes"] = SECURITY
    document["security"] = [{"token": []}, {"password": []}, {}]
    for path, methods in document["paths"].items():
        for operation in methods.values() if path in OPEN else ():
            operation["security"] = []
    document["tags"] = [{"name": name, "description": about} for name, about in TAGS.items()]
    return document


# Answers with a tag of their content. A repeated request gets a few bytes if nothing changed.

UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "It is as the tag of If-None-Match says."}}


def tagged(request: Request, body: str) -> Response:
    """JSON with a weak tag. 304 without a body if the caller has it already."""
    tag = f'W/"{hashlib.sha256(body.encode()).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if _named(tag, request.headers.getlist("if-none-match")):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


def _named(tag: str, asked: list[str]) -> bool:
    """Whether a list of tags has this one; strength does not matter when reading (RFC 9110, 13.1.2)."""
    listed = ", ".join(asked)
    return listed.strip() == "*" or tag.removeprefix("W/") in re.findall(r'"[^"]*"', listed)


# Files of a multipart request, read within limits.

MULTIPART = "multipart/form-data"
PART = "file"
BODY = {
    "requestBody": {
        "required": True,
        "content": {
            MULTIPART: {
                "schema": {
                    "type": "object",
                    "required": [PART],
                    "properties": {
                        PART: {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": MOST_FILES,
                            "items": {"type": "string", "contentMediaType": "application/octet-stream"},
                            "description": "reports, script output, captures, or archives of them",
                        }
                    },
                }
            }
        },
    }
}
"""The description of such a request in the OpenAPI document."""


class UploadRefused(Exception):
    """A refused request: the status and one line that says why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def most_bytes(max_bytes: int) -> int:
    """Bytes of a whole request whose files have at most `max_bytes` each."""
    return MOST_FILES * (max_bytes + 4096)


async def receive(request: Request, max_bytes: int) -> Sequence[File]:
    """The files of the request, none larger than `max_bytes`. The route bounds the whole. Raises UploadRefused."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != MULTIPART:
        raise UploadRefused(415, f"send {MULTIPART} with parts named {PART}, such as curl -F {PART}=@awr.html")
    form = await _form(request)
    try:
        files = [part for part in form.getlist(PART) if isinstance(part, UploadFile) and part.filename]
        if not files:
            raise UploadRefused(422, f"no file came; send parts named {PART}, such as curl -F {PART}=@awr.html")
        for file in files:
            if (file.size or 0) > max_bytes:
                named = f"{label(file.filename or PART)} has {mib(file.size or 0)} MiB"
                cut = f"; {CUT}" if log_reader(await file.read(HEAD_BYTES)) else ""
                raise UploadRefused(413, f"{named}; reports.max_bytes is {mib(max_bytes)} MiB; nothing was kept{cut}")
        return [File(file.filename or PART, await file.read()) for file in files]
    finally:
        await form.close()


async def _form(request: Request) -> FormData:
    parser = MultiPartParser(request.headers, request.stream(), max_files=MOST_FILES, max_fields=MOST_FILES)
    try:
        return await parser.parse()
    except MultiPartException as error:
        raise UploadRefused(422, error.message) from None


log = logging.getLogger("latchscope.web")

PROBLEM_JSON = "application/problem+json"
NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"description": "It does not exist; `detail` lists what exists."}}
REFUSED: dict[int | str, dict[str, Any]] = {
    401: {"description": "A token is needed."},
    403: {"description": "The token's role does not allow it."},
    429: {"description": "Too many wrong tokens came from this address. `Retry-After` says when to try another."},
}


TYPES: Mapping[str, tuple[str, str]] = {
    "not-found": ("Not found", "The address names something that does not exist. `detail` lists what exists."),
    "not-authenticated": (
        "Not authenticated",
        "The service needs a token. Send `Authorization: Bearer <token>`; see auth.tokens_file.",
    ),
    "not-allowed": (
        "Not allowed",
        "The role of the token, or the page that asks, may not do this. Use a token with the role `operate`.",
    ),
    "gone": ("Gone", "The address has left latchscope. `detail` says what to ask in its place."),
    "method-not-allowed": ("Method not allowed", "The address takes other methods. The header Allow lists them."),
    "not-understood": (
        "Not understood",
        "A part of the request has a form that cannot be read. `detail` names the part and shows what to write.",
    ),
    "refused": ("Refused", "The request was understood and not carried out. `detail` says why and what to do."),
    "too-large": (
        "Too large",
        "The request, or a file in it, is larger than its address takes. `detail` says the limit; send less at a time. "
        "`reports.max_bytes` sets it for uploads.",
    ),
    "too-many-guesses": (
        "Too many guesses",
        "Too many different wrong tokens came from one address. A token that was right from there before still is. Wait as "
        "long as the header `Retry-After` says, and send the right token.",
    ),
    "store-unavailable": (
        "The store does not answer",
        "The answer is in the store, which does not respond. Polls go on. Try again later; see /readyz.",
    ),
    "fault": (
        "An error in latchscope",
        "The service failed on this request. Its log has the details; report them with the version.",
    ),
}
"""Kind of problem, as in its address below /docs/problems/ → its title; what it means, and what to do."""
_BY_TITLE = {title: name for name, (title, _) in TYPES.items()}


def problem(request: Request, status: int, title: str, detail: str) -> JSONResponse:
    """A problem response for this request."""
    kind = f"/docs/problems/{_BY_TITLE.get(title, 'refused')}"
    body = Problem(type=kind, title=title, status=status, detail=detail, instance=request.url.path)
    return JSONResponse(body.model_dump(), status_code=status, media_type=PROBLEM_JSON)


AWAY = ("The store does not answer", "Polls go on and wait for it; try again later.")
UNSURE = "What you sent may still be carried out: look before you send it again. Polls go on and wait for the store."
RETRY_SECONDS = "30"


def store_away(as_page: "ErrorPage", request: Request) -> Response:
    """The answer to a request that waited long enough for a store that does not answer."""
    title, detail = AWAY
    said = detail if request.method in ("GET", "HEAD") else UNSURE
    answer = as_page(request, 503, title, said) or problem(request, 503, title, said)
    answer.headers["Retry-After"] = RETRY_SECONDS
    return answer


_TITLES = {
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    413: "Too large",
    429: "Too many guesses",
}


def error_answer(as_page: "ErrorPage", request: Request, error: HTTPException) -> Response:
    parts = (error.status_code, _TITLES.get(error.status_code, "Refused"), str(error.detail))
    answer = as_page(request, *parts) or problem(request, *parts)
    answer.headers.update(error.headers or {})
    return answer


def departed(request: Request) -> Response | None:
    """The answer at an address that left: a page leads to its successor, REST says what to ask. None at any other."""
    left = successors()
    for path, successor in {**left.pages, **left.routes}.items():
        if (found := compile_path(path)[0].match(request.scope["path"])) is None:
            continue
        if path in left.routes:
            return problem(request, 410, "Gone", successor)
        names = {name: quote(value, safe="") for name, value in found.groupdict().items()}
        return RedirectResponse(successor.format(**names), 302)
    return None


REFUSALS: Mapping[type[Exception], int] = {
    BadCursor: 422,
    BadMark: 422,
    BadWindow: 422,
    NoMark: 404,
    CannotCompare: 409,
    StoreError: 503,
    InputError: 503,
}
"""What a route raises, with the way out in its text → its status. InputError: a kept file cannot be read again in time."""
SAY_AGAIN_SECONDS = 60.0


ErrorPage = Callable[[Request, int, str, str], Response | None]
"""Request, status, title and detail → the page of an error. None if the caller wants a problem."""


def install(app: FastAPI, as_page: ErrorPage = lambda request, status, title, detail: None) -> None:
    """Answer every error as a problem or page, in the event loop, which needs no thread; and document it as a problem."""
    generate = app.openapi
    said_at: dict[str, float] = {}
    app.openapi = lambda: completed(_documented(generate()))  # type: ignore[method-assign]

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        gone = departed(request) if error.status_code == 404 else None
        answer = gone or error_answer(as_page, request, error)
        if error.status_code == 405:
            answer.headers["Allow"] = ", ".join(_allowed(request))
        return answer

    async def _refused(request: Request, error: Exception) -> Response:
        status = next((status for kind, status in REFUSALS.items() if isinstance(error, kind)), 422)
        status = error.status if isinstance(error, UploadRefused) else status
        return error_answer(as_page, request, HTTPException(status, str(error)))

    for kind in (*REFUSALS, UploadRefused):
        app.add_exception_handler(kind, _refused)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        listed = "; ".join(
            f"{'.'.join(str(part) for part in error['loc'])}: {error['msg']}" for error in error.errors()
        )
        return problem(request, 422, "Not understood", listed)

    @app.exception_handler(ClientDisconnect)
    async def _gone(request: Request, error: Exception) -> JSONResponse:
        log.info("%s: the client went away before it had sent everything", request.url.path)
        return problem(request, 400, "Not understood", "The request is incomplete.")

    @app.exception_handler(RuntimeError)
    async def _no_thread(request: Request, error: Exception) -> JSONResponse:
        """Logged once a minute, however many requests fail."""
        if NO_THREAD not in str(error):
            raise error
        now = time.monotonic()
        if now - said_at.get(NO_THREAD, float("-inf")) > SAY_AGAIN_SECONDS:
            said_at[NO_THREAD] = now
            log.error("no thread is left for requests: raise the limit (pids.max, TasksMax=, ulimit -u); polls go on")
        return problem(request, 503, "Refused", "No thread is left for this request; try again later.")

    @app.exception_handler(DATABASE_ERROR)
    async def _store(request: Request, error: Exception) -> JSONResponse:
        log.warning("store: %s cannot be answered: %s", request.url.path, brief(error))
        answer = problem(request, 503, *AWAY)
        answer.headers["Retry-After"] = RETRY_SECONDS
        return answer

    @app.exception_handler(Exception)
    async def _bug(request: Request, error: Exception) -> JSONResponse:
        log.error("bug while answering %s", request.url.path, exc_info=error)
        return problem(request, 500, "An error in latchscope", "The log of the service has the details.")


def _allowed(request: Request) -> list[str]:
    """Every method of an address. The framework reports only those of the first route."""
    routes = (route for route in request.app.router.routes if route.matches(request.scope)[0] is not Match.NONE)
    return sorted({method for route in routes for method in getattr(route, "methods", None) or ()})


_CONTENT = {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}}
_AS_JSON = {"application/json": _CONTENT[PROBLEM_JSON]}
"""The framework's own documentation of a problem. /readyz has its own 503."""
_GENERATED = ("HTTPValidationError", "ValidationError")


def _documented(document: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI document with every error as a problem. The framework's default errors are removed."""
    for operations in document["paths"].values():
        for operation in operations.values():
            responses = operation["responses"]
            responses.setdefault("default", {"description": "Any other error."})["content"] = _CONTENT
            for status, response in responses.items():
                if status.startswith("4") or response.get("content") == _AS_JSON:
                    response["content"] = _CONTENT
    schemas = document["components"]["schemas"]
    schemas.setdefault("Problem", Problem.model_json_schema())
    for name in _GENERATED:
        schemas.pop(name, None)
    return document


# Query parameters about time.

T = TypeVar("T")

BeginQuery = Annotated[str, Query(description="RFC 3339 with a zone, or relative to now such as -6h")]
EndQuery = Annotated[str, Query(description="as begin; default: now")]
AtQuery = Annotated[str | None, Query(description="a past time, as begin; default: now")]
CursorQuery = Annotated[str | None, Query(min_length=1, description="from the address of the next page")]
LimitQuery = Annotated[int, Query(ge=1, le=1000)]
WholeQuery = Annotated[int | None, Query(ge=1, le=1000, description="most entries per page; default: all")]


def requested_window(begin: str, end: str) -> Window:
    """The window between two times of a query. Raises BadWindow."""
    return window(begin, end, datetime.now(UTC))


def part_of(items: Sequence[T], key: Callable[[T], str], cursor: str | None, limit: int | None) -> EpisodePage[T]:
    """Part of a list in memory. The cursor is the key of the last entry. Raises BadCursor for any other."""
    begin = 0
    if cursor is not None:
        keys = [key(item) for item in items]
        if cursor not in keys:
            raise BadCursor(f"the list has no {cursor!r} to continue from; start again without `cursor`")
        begin = keys.index(cursor) + 1
    found = tuple(items[begin:] if limit is None else items[begin : begin + limit])
    return EpisodePage(found, key(found[-1]) if found and begin + len(found) < len(items) else None)


def link_next(
    request: Request, response: FastapiResponse, within: Window | None, cursor: str | None, **more: object
) -> str | None:
    """The address of the next page, for the header `Link`. Relative times become fixed ones."""
    if cursor is None:
        return None
    kept = [
        (name, value) for name, value in request.query_params.multi_items() if name not in _OURS and name not in more
    ]
    times = {"begin": iso(within.begin), "end": iso(within.end)} if within else {}
    ours = {**times, **more, "cursor": cursor}
    address = f"{request.url.path}?{urlencode([*kept, *ours.items()])}"
    response.headers["Link"] = f'<{address}>; rel="next"'
    return address


_OURS = ("begin", "end", "cursor")
