"""Errors as pages, for browsers. Programs get JSON."""

from collections.abc import Callable, Mapping
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from service.state.board import Board
from service.web.pages.layout import SECTIONS, missing, page
from service.web.pages.words import capped

PROGRAMS = ("/api/", "/metrics", "/probe", "/healthz", "/readyz", "/static/")
"""Addresses for programs, whatever they say they accept."""


def error_pages(board: Board) -> Callable[[Request, int, str, str], Response | None]:
    """Builds the page of an error: status, title and detail. None if a problem in JSON is wanted."""

    def error_page(request: Request, status: int, title: str, detail: str) -> Response | None:
        path = request.url.path
        if path.startswith(PROGRAMS) or "text/html" not in request.headers.get("accept", ""):
            return None
        if status == 401:
            return RedirectResponse(f"/sign-in?to={quote(path)}", 303)
        if status == 404:
            return missing(request, f"There is no page {path[:80]}.", _addresses(board), ("All databases", "/"), path)
        return page(
            request,
            "missing.html",
            status,
            title=title,
            what=f"{capped(detail).rstrip('.')}.",
            near=(),
            back="/",
            back_words="All databases",
        )

    return error_page


def _addresses(board: Board) -> Mapping[str, str]:
    """Similar pages, by their address."""
    links = [*(link for _, link in SECTIONS), *(f"/db/{watched.name}" for watched in board.every())]
    return {link: link for link in links}
