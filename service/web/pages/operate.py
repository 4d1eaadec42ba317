"""An operator's actions on the page of a database: run a confirming query, sample sessions, log in once more.

The forms need no script. The rules for senders are those of REST. Each action leaves a line in the audit log.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.responses import Response

from rules.cause import catalogue
from service.config.audit import Audit
from service.state.board import Board, MonitoredDatabase
from service.store.repository import Repository
from service.watch.actions import OperatorActions
from service.web.access import Access, Caller
from service.web.api.actions import attempt
from service.web.pages.action_said import ActionSaid
from service.web.pages.database import shown
from service.web.pages.forms import form_of
from service.web.pages.layout import no_database, page
from service.web.pages.words import capped

Action = Callable[[MonitoredDatabase], object]


def operate_pages(board: Board, store: Repository, can: OperatorActions, access: Access, audit: Audit) -> APIRouter:
    """The POST routes of forms below /db/{db}; each leads back to the page."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    async def posted(request: Request, caller: Annotated[Caller, Depends(access.operator)]) -> Mapping[str, str]:
        return await form_of(request)

    def done(request: Request, db: str, caller: Caller, said: str, run: Action, action: str) -> Response:
        watched = board.get(db)
        if watched is None:
            return no_database(request, db, [known.name for known in board])
        try:
            attempt(audit, caller, action, watched, lambda: run(watched))
        except HTTPException as error:
            values = shown(watched, store, datetime.now(UTC), caller)
            values |= {"said": ActionSaid(f"{capped(str(error.detail))}.", failed=True), "reports": []}
            return page(request, "database.html", error.status_code, **values)
        place = "#confirm" if said == "confirmed" else ""
        return RedirectResponse(f"/db/{quote(db)}?done={said}{place}", 303)

    @router.post("/db/{db}/confirmations")
    def confirm(
        request: Request,
        db: str,
        form: Annotated[Mapping[str, str], Depends(posted)],
        caller: Annotated[Caller, Depends(access.operator)],
    ) -> Response:
        cause = catalogue().get(form.get("cause", ""))

        def run(watched: MonitoredDatabase) -> object:
            if cause is None or cause.confirm is None:
                raise HTTPException(404, f"no cause {form.get('cause', '')[:60]} with a confirming query")
            return can.confirm(watched, cause, names=True)

        return done(request, db, caller, "confirmed", run, f"confirm {cause.id}" if cause else "confirm")

    @router.post("/db/{db}/samples")
    def sample(request: Request, db: str, caller: Annotated[Caller, Depends(access.operator)]) -> Response:
        return done(request, db, caller, "sampled", can.sample, "sample sessions")

    @router.post("/db/{db}/login/resume")
    def resume(request: Request, db: str, caller: Annotated[Caller, Depends(access.operator)]) -> Response:
        return done(request, db, caller, "resumed", can.resume_login, "resume login")

    return router
