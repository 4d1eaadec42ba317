"""The page of the API: Swagger UI over our own document, served by us, with its own policy.

Swagger UI comes from the package fastapi-offline. Only its two files are used; nothing of it is imported.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import HTMLResponse
from starlette.responses import Response

from service.web.access import Access
from service.web.api.http import squeezed
from service.web.pages.layout import FRAME, page

FILES = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}
INLINE = "style-src 'self' 'unsafe-inline'"
"""Swagger UI sets styles as attributes. Scripts stay limited to ours."""
LEVEL = 6
DAY = 86400


def api_pages(access: Access) -> APIRouter:
    """GET /api, the page, and its files below /swagger."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    @router.get("/api", dependencies=[Depends(access.reader)])
    def api_page(request: Request) -> Response:
        answer = page(request, "api.html")
        answer.headers["Content-Security-Policy"] = FRAME.replace("style-src 'self'", INLINE)
        return answer

    @router.get("/swagger/{name}")
    def file(request: Request, name: str) -> Response:
        if name not in FILES:
            raise HTTPException(404, f"no file {name[:60]}; there are {' and '.join(FILES)}")
        body, headers = squeezed(_file(name), request, LEVEL)
        headers |= {"Cache-Control": f"max-age={DAY}", "X-Content-Type-Options": "nosniff"}
        return Response(body, media_type=FILES[name], headers=headers)

    return router


@cache
def _file(name: str) -> bytes:
    """A file of Swagger UI. The package is not imported, because it would bring its own app."""
    found = find_spec("fastapi_offline")
    assert found is not None and found.origin is not None, "fastapi-offline is one of our dependencies"
    return (Path(found.origin).parent / "static" / name).read_bytes()
