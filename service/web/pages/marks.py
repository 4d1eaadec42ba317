"""Sets a change mark from a page: a form, and an answer that leads to before and after."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.responses import Response

from service.config.audit import Audit
from service.history.marks import BadMark, set_mark
from service.state.board import Board
from service.state.window import BadWindow, moment
from service.store.repository import Repository
from service.store.schema.engine import STORE_ERRORS
from service.web.access import Access, Caller
from service.web.pages.forms import form_of
from service.web.pages.layout import no_database, refused


def marks_pages(board: Board, store: Repository, access: Access, audit: Audit) -> APIRouter:
    """The HTML route that sets a mark. It needs the role operate."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    async def posted(request: Request, caller: Annotated[Caller, Depends(access.operator)]) -> Mapping[str, str]:
        return await form_of(request)

    @router.post("/db/{db}/marks")
    def mark(
        request: Request,
        db: str,
        form: Annotated[Mapping[str, str], Depends(posted)],
        caller: Annotated[Caller, Depends(access.operator)],
    ) -> Response:
        if board.get(db) is None:
            return no_database(request, db, [known.name for known in board])
        try:
            now = datetime.now(UTC)
            kept = set_mark(store, db, form.get("text", ""), moment(form.get("at", ""), now), caller.name, now)
        except (BadMark, BadWindow) as error:
            return refused(request, db, 422, str(error))
        except STORE_ERRORS:
            audit.record(caller.name, "mark", db, "failed: the store does not answer")
            return refused(request, db, 503, "the store does not answer, so the mark was not kept; try again")
        audit.record(caller.name, "mark", db, f"kept as {kept.id}: {kept.text}")
        return RedirectResponse(f"/db/{quote(db)}/compare?mark={kept.id}", 303)

    return router
