"""Errors as application/problem+json (RFC 9457): what, where, and no traceback."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from service.store.schema.engine import DATABASE_ERROR, brief
from service.web.api.document import completed
from service.web.schemas import Problem

log = logging.getLogger("latchscope.web")

MEDIA = "application/problem+json"
NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"description": "It does not exist; `detail` lists what exists."}}
REFUSED: dict[int | str, dict[str, Any]] = {
    401: {"description": "A token is needed."},
    403: {"description": "The token's role does not allow it."},
}


@dataclass(frozen=True, slots=True)
class ProblemType:
    """A kind of problem, as on its page at /docs/problems/."""

    title: str
    meaning: str
    way_out: str


TYPES: Mapping[str, ProblemType] = {
    "not-found": ProblemType(
        "Not found",
        "The address names something that does not exist.",
        "`detail` lists what exists.",
    ),
    "not-authenticated": ProblemType(
        "Not authenticated",
        "The service needs a token.",
        "Send `Authorization: Bearer <token>`; see auth.tokens_file.",
    ),
    "not-allowed": ProblemType(
        "Not allowed",
        "The role of the token, or the page that asks, may not do this.",
        "Use a token with the role `operate`.",
    ),
    "method-not-allowed": ProblemType(
        "Method not allowed", "The address takes other methods.", "The header Allow lists them."
    ),
    "not-understood": ProblemType(
        "Not understood",
        "A part of the request has a form that cannot be read.",
        "`detail` names the part and shows what to write.",
    ),
    "refused": ProblemType(
        "Refused", "The request was understood and not carried out.", "`detail` says why and what to do."
    ),
    "too-large": ProblemType(
        "Too large",
        "The request, or a file in it, is larger than its address takes.",
        "`detail` says the limit; send less at a time. `reports.max_bytes` sets it for uploads.",
    ),
    "store-unavailable": ProblemType(
        "The store does not answer",
        "The answer is in the store, which does not respond. Polls go on.",
        "Try again later; see /readyz.",
    ),
    "fault": ProblemType(
        "An error in latchscope",
        "The service failed on this request.",
        "Its log has the details; report them with the version.",
    ),
}
_BY_TITLE = {kind.title: name for name, kind in TYPES.items()}


def problem(request: Request, status: int, title: str, detail: str) -> JSONResponse:
    """A problem response for this request."""
    kind = f"/docs/problems/{_BY_TITLE.get(title, 'refused')}"
    body = Problem(type=kind, title=title, status=status, detail=detail, instance=request.url.path)
    return JSONResponse(body.model_dump(), status_code=status, media_type=MEDIA)


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
}


def error_answer(as_page: "ErrorPage", request: Request, error: HTTPException) -> Response:
    """The page or problem of an HTTP error."""
    parts = (error.status_code, _TITLES.get(error.status_code, "Refused"), str(error.detail))
    answer = as_page(request, *parts) or problem(request, *parts)
    answer.headers.update(error.headers or {})
    return answer


NO_THREAD = "can't start new thread"
"""The interpreter's message if the system gives a process no more threads."""
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
        answer = error_answer(as_page, request, error)
        if error.status_code == 405:
            answer.headers["Allow"] = ", ".join(_allowed(request))
        return answer

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
    found = (route for route in request.app.router.routes if route.matches(request.scope)[0] is not Match.NONE)
    return sorted({method for route in found for method in getattr(route, "methods", None) or ()})


_CONTENT = {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}
_AS_JSON = {"application/json": _CONTENT[MEDIA]}
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
