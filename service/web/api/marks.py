"""REST for change marks: what was changed, and when."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request, Response

from service.config.audit import Audit
from service.history.marks import BadMark, set_mark
from service.state.board import Board
from service.store.repository import Repository
from service.web.access import Access, Caller
from service.web.api.databases import watched_in
from service.web.api.problems import NOT_FOUND
from service.web.api.store_router import store_router
from service.web.query_params import (
    BeginQuery,
    CursorQuery,
    EndQuery,
    LimitQuery,
    link_next,
    requested_window,
    understood,
)
from service.web.schemas import MarkIn, MarkOut


def marks_api(board: Board, store: Repository, access: Access, audit: Audit) -> APIRouter:
    """GET and POST …/marks."""
    router = store_router(access)

    @router.get("/databases/{db}/marks", responses=NOT_FOUND)
    def list_marks(
        request: Request,
        response: Response,
        db: str,
        begin: BeginQuery = "-90d",
        end: EndQuery = "now",
        cursor: CursorQuery = None,
        limit: LimitQuery = 100,
    ) -> list[MarkOut]:
        """Change marks, newest first. `Link` names the page of older ones."""
        watched_in(board, db)
        within = requested_window(begin, end)
        page = understood(lambda: store.marks.between(db, within.begin, within.end, cursor, limit))
        link_next(request, response, within, page.cursor)
        return [MarkOut.model_validate(mark, from_attributes=True) for mark in page.items]

    @router.post("/databases/{db}/marks", status_code=201, responses=NOT_FOUND)
    def create_mark(db: str, wanted: MarkIn, caller: Annotated[Caller, Depends(access.operator)]) -> MarkOut:
        """Mark a change, so that you can compare before with after."""
        watched_in(board, db)
        now = datetime.now(UTC)
        try:
            mark = set_mark(store, db, wanted.text, wanted.at or now, caller.name, now)
        except BadMark as error:
            audit.record(caller.name, "mark", db, f"refused: {error}")
            raise HTTPException(422, str(error)) from None
        audit.record(caller.name, "mark", db, f"kept as {mark.id}: {mark.text}")
        return MarkOut.model_validate(mark, from_attributes=True)

    return router
