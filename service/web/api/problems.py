"""Errors as application/problem+json (RFC 9457): what, where, and no traceback."""

import logging
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from service.store.schema.engine import DATABASE_ERROR, brief
from service.web.schemas import Problem

log = logging.getLogger("latchscope.web")

MEDIA = "application/problem+json"
NOT_FOUND: dict[int | str, dict[str, Any]] = {
    404: {"description": "There is no such thing; `detail` says what there is."}
}
REFUSED: dict[int | str, dict[str, Any]] = {
    401: {"description": "A token is needed."},
    403: {"description": "The token's role does not allow it."},
}


def problem(request: Request, status: int, title: str, detail: str) -> JSONResponse:
    """A problem response for this request."""
    body = Problem(title=title, status=status, detail=detail, instance=request.url.path)
    return JSONResponse(body.model_dump(), status_code=status, media_type=MEDIA)


ErrorPage = Callable[[Request, int, str, str], Response | None]
"""Request, status, title and detail → the page of an error, or None where the caller wants a problem."""


def install(app: FastAPI, as_page: ErrorPage = lambda request, status, title, detail: None) -> None:
    """Answer every error of the application as a problem, or as a page where that is wanted; document it as a problem."""
    generate = app.openapi
    app.openapi = lambda: _documented(generate())  # type: ignore[method-assign]

    @app.exception_handler(HTTPException)
    def _http(request: Request, error: HTTPException) -> Response:
        titles = {404: "Not found", 405: "Method not allowed", 401: "Not authenticated", 403: "Not allowed"}
        told = (error.status_code, titles.get(error.status_code, "Refused"), str(error.detail))
        answer = as_page(request, *told) or problem(request, *told)
        answer.headers.update(error.headers or {})
        if error.status_code == 405:
            answer.headers["Allow"] = ", ".join(_allowed(request))
        return answer

    @app.exception_handler(RequestValidationError)
    def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        listed = "; ".join(
            f"{'.'.join(str(part) for part in error['loc'])}: {error['msg']}" for error in error.errors()
        )
        return problem(request, 422, "Not understood", listed)

    @app.exception_handler(ClientDisconnect)
    def _gone(request: Request, error: Exception) -> JSONResponse:
        log.info("%s: the client went away before it had sent everything", request.url.path)
        return problem(request, 400, "Not understood", "The request ended before its end.")

    @app.exception_handler(DATABASE_ERROR)
    def _store(request: Request, error: Exception) -> JSONResponse:
        log.warning("store: %s cannot be answered: %s", request.url.path, brief(error))
        return problem(request, 503, "The store does not answer", "Polls go on and wait for it; ask again later.")

    @app.exception_handler(Exception)
    def _bug(request: Request, error: Exception) -> JSONResponse:
        log.error("bug while answering %s", request.url.path, exc_info=error)
        return problem(request, 500, "A fault of latchscope", "The log of the service has the details.")


def _allowed(request: Request) -> list[str]:
    """Every method of an address; the framework tells those of the first of its routes alone."""
    found = (route for route in request.app.router.routes if route.matches(request.scope)[0] is not Match.NONE)
    return sorted({method for route in found for method in getattr(route, "methods", None) or ()})


_CONTENT = {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}
_GENERATED = ("HTTPValidationError", "ValidationError")


def _documented(document: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI document with every error as the problem it is; what the framework assumes instead is taken out."""
    for operations in document["paths"].values():
        for operation in operations.values():
            responses = operation["responses"]
            responses.setdefault("default", {"description": "Any other error."})["content"] = _CONTENT
            for status in (response for response in responses if response.startswith("4")):
                responses[status]["content"] = _CONTENT
    schemas = document["components"]["schemas"]
    schemas.setdefault("Problem", Problem.model_json_schema())
    for name in _GENERATED:
        schemas.pop(name, None)
    return document
