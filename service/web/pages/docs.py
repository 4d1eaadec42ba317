"""The documentation under /docs/: the pages from `make site`, or one page that says how to get them.

They contain nothing about any database, so nobody needs a token.
"""

import base64
import hashlib
import re
from os import PathLike, stat_result
from pathlib import Path

from fastapi import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from service.web.pages.layout import page

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
        """The library's answer, with the headers of a page."""
        answer = super().file_response(full_path, stat_result, scope, status_code)
        if str(full_path).endswith(".html"):
            answer.headers["Content-Security-Policy"] = frame_of(Path(full_path).read_bytes())
        answer.headers["X-Content-Type-Options"] = "nosniff"
        answer.headers["Referrer-Policy"] = "same-origin"
        return answer
