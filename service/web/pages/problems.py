"""A page for each type of problem in REST. The `type` of a problem is its address."""

from html import escape

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from service.web.api.problems import TYPES

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title} · latchscope</title></head>
<body><main><h1>{title}</h1>{body}<p><a href="/docs/problems">All problems</a></p></main></body></html>"""


def problems_pages() -> APIRouter:
    """GET /docs/problems and /docs/problems/{name}. They contain nothing about any database, so nobody needs a token."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    @router.get("/docs/problems")
    def every_problem() -> HTMLResponse:
        links = (f'<li><a href="/docs/problems/{name}">{escape(kind.title)}</a></li>' for name, kind in TYPES.items())
        return _page("Problems", f"<ul>{''.join(links)}</ul>")

    @router.get("/docs/problems/{name}")
    def one_problem(name: str) -> HTMLResponse:
        kind = TYPES.get(name)
        if kind is None:
            return _page("Not found", "<p>There is no problem of that name.</p>", 404)
        what, cure = escape(kind.meaning), escape(kind.way_out)
        return _page(kind.title, f"<p>{what}</p><p><strong>What to do:</strong> {cure}</p>")

    return router


def _page(title: str, body: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(_PAGE.format(title=escape(title), body=body), status)
