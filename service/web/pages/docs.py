"""The documentation under /docs/, as `make site` builds it, or one page that says how to get it; and the page of the API.

They contain nothing about any database, so nobody needs a token.
"""

import base64
import hashlib
import re
from functools import cache
from importlib.util import find_spec
from os import PathLike, stat_result
from pathlib import Path

from fastapi import APIRouter, Depends, HTTPException, Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from service.web.access import Access
from service.web.http import FRAME, squeezed
from service.web.pages.layout import page, page_router

# The page of the API: Swagger UI over our own document, served by us, with its own policy.
#
# Swagger UI comes from the package fastapi-offline. Only its two files are used; nothing of it is imported.

FILES = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}
INLINE = "style-src 'self' 'unsafe-inline'"
"""Swagger UI sets styles as attributes. Scripts stay limited to ours."""
LEVEL = 6
DAY = 86400


def api_pages(access: Access) -> APIRouter:
    """GET /api, the page, and its files below /swagger."""
    router = page_router()

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
        headers["Cache-Control"] = f"max-age={DAY}"
        return Response(body, media_type=FILES[name], headers=headers)

    return router


@cache
def _file(name: str) -> bytes:
    """A file of Swagger UI. The package is not imported, because it would bring its own app."""
    found = find_spec("fastapi_offline")
    assert found is not None and found.origin is not None, "fastapi-offline is one of our dependencies"
    return (Path(found.origin).parent / "static" / name).read_bytes()


SITE = Path(__file__).parents[2] / "site"
"""The output folder of `make site`. A wheel built after it includes the pages."""
NOT_BUILT = (
    "The documentation is not built here. Run `make site` in the checkout and load this page again; the image includes "
    "it. The same texts are in the folder docs of the checkout."
)
_INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def frame_of(html: bytes) -> str:
    """The Content-Security-Policy of a page of the site: its own files, and exactly the scripts in it."""
    hashes = (base64.b64encode(hashlib.sha256(script).digest()).decode() for script in _INLINE.findall(html))
    scripts = "".join(f" 'sha256-{one}'" for one in sorted(set(hashes)))
    return (
        f"default-src 'none'; script-src 'self'{scripts}; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class Documentation(StaticFiles):
    """The folder of the built site. It may come and go while the service runs."""

    def __init__(self, folder: Path = SITE) -> None:
        super().__init__(directory=folder, check_dir=False)
        self._folder = folder

    async def check_config(self) -> None:
        """Does nothing, because a missing folder has its own answer."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """A file of the site, or its first page for the folder itself."""
        if not (self._folder / "index.html").is_file():
            back = {"back": "/docs/problems", "back_words": "Problems that REST answers with"}
            return page(Request(scope), "missing.html", 404, title="No documentation", what=NOT_BUILT, near=(), **back)
        return await super().get_response("index.html" if path == "." else path, scope)

    def file_response(
        self, full_path: str | PathLike[str], stat_result: stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """The library's answer, with the policy of a page."""
        answer = super().file_response(full_path, stat_result, scope, status_code)
        if str(full_path).endswith(".html"):
            answer.headers["Content-Security-Policy"] = frame_of(Path(full_path).read_bytes())
        return answer
