"""A diagnosis as a file: one HTML file, Markdown, and each chart as a separate picture."""

import base64
import hashlib
import re
from datetime import UTC, datetime

from fastapi import APIRouter, Depends, Request
from markupsafe import escape
from starlette.responses import Response

from service.characters import visible
from service.intake.inputs import DiagnosedInput, InputResults
from service.render.diagnosis import as_markdown
from service.state.board import Board
from service.store.repository import Repository
from service.store.schema.engine import STORE_ERRORS
from service.web import presenters
from service.web.access import Access
from service.web.charts.axis import WIDE
from service.web.pages.database import last_hour
from service.web.pages.html_report import as_html
from service.web.pages.layout import GONE, HERE, missing, no_database, refused

_NAME = re.compile(r"[^\w.-]+")
_SVG = re.compile(r"<svg.*?</svg>", re.S)
_UNIT = re.compile(r'<figcaption>.*? <span class="quiet">(.*?)</span>')
HEAD = 26
"""Room for the line that names the subject of a picture."""


def export_pages(board: Board, store: Repository, access: Access) -> APIRouter:
    """GET /db/{db}/export.html, …/export.md and …/charts/{key}.svg."""
    router = APIRouter(include_in_schema=False, dependencies=[Depends(access.reader)])

    @router.get("/db/{db}/export.{form}")
    def export(request: Request, db: str, form: str) -> Response:
        watched = board.get(db)
        if watched is None:
            return no_database(request, db, [known.name for known in board])
        if form not in ("html", "md") or watched.current is None or watched.current.delta is None:
            return refused(request, db, 404, f"there is no diagnosis of {db} to export yet; wait for the next poll")
        diagnosed = DiagnosedInput(watched.name, watched.current.delta, presenters.diagnosis_of(watched))
        if form == "md":
            return kept_file(as_markdown([diagnosed]), "text/markdown", watched.name, form)
        return kept_file(as_html(InputResults([diagnosed], [], [], 1)), "text/html", watched.name, form)

    @router.get("/db/{db}/charts/{key}.svg")
    def picture(request: Request, db: str, key: str) -> Response:
        watched = board.get(db)
        if watched is None:
            return no_database(request, db, [known.name for known in board])
        try:
            drawn = last_hour(store, watched, datetime.now(UTC), (WIDE,))
        except STORE_ERRORS:
            return refused(request, db, 503, GONE)
        title, found = next(((title, chart) for name, title, chart in drawn.charts if name == key), ("", None))
        svg = _SVG.findall(found)[-1:] if found else []
        if not svg:
            known = {name: f"{request.url.path.rpartition('/')[0]}/{name}.svg" for name, _, _ in drawn.charts}
            return missing(request, f"There is no chart {key} of {db}.", known, ("Back", f"/db/{db}"), key)
        css = (HERE / "static" / "latchscope.css").read_text(encoding="utf-8")
        unit = _UNIT.search(str(found))
        head, rest = _alone(svg[0], f"{db}: {title}{f', {unit[1]}' if unit else ''}")
        answer = kept_file(f"{head}><style>{css}</style>{rest}", "image/svg+xml", watched.name, f"{key}.svg")
        digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
        answer.headers["Content-Security-Policy"] = f"default-src 'none'; style-src 'sha256-{digest}'"
        return answer

    return router


def _alone(svg: str, of: str) -> tuple[str, str]:
    """A standalone drawing, its first tag and the rest: with a size, and with a line that names its subject."""
    height = WIDE.height + HEAD
    size = f'width="{WIDE.width}" height="{height}"'
    whole = svg.replace("<svg ", f'<svg xmlns="http://www.w3.org/2000/svg" {size} ', 1)
    whole = whole.replace('viewBox="0 0 ', f'viewBox="0 -{HEAD} ', 1).replace(f' {WIDE.height}"', f' {height}"', 1)
    head, _, rest = whole.partition(">")
    return head, f'<text class="of" x="0" y="{16 - HEAD}">{escape(visible(of))}</text>{rest}'


def kept_file(text: str, kind: str, database: str, ending: str) -> Response:
    """A file to keep, named after database and time."""
    name = f"latchscope-{_NAME.sub('-', database)}-{datetime.now(UTC):%Y%m%dT%H%MZ}.{ending}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return Response(text, media_type=f"{kind}; charset=utf-8", headers=headers)
