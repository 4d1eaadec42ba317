"""Pages for uploaded reports: the form and the list, and each report as the page of a database is laid out."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.responses import Response

from rules.catalogue import catalogue
from service.config.audit import Audit
from service.intake.archives import label, mib
from service.intake.uploads import File, Uploads
from service.state.board import Board
from service.web.access import Access, Caller
from service.web.api.multipart import UploadRefused, receive
from service.web.api.reports import stored, take
from service.web.pages.layout import diagnosis_view, page

LISTED = 200


def reports_pages(board: Board, uploads: Uploads, access: Access, audit: Audit) -> APIRouter:
    """The HTML routes below /reports. They need no script: a form, and an answer that is a page."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    async def received(
        request: Request, caller: Annotated[Caller, Depends(access.operator)]
    ) -> Sequence[File] | UploadRefused:
        try:
            return await receive(request, uploads.max_bytes)
        except UploadRefused as error:
            return error

    def listed(request: Request, caller: Caller, status: int = 200, refused: str | None = None) -> Response:
        return page(
            request,
            "reports.html",
            status,
            reports=stored(lambda: uploads.newest(LISTED)),
            refused=refused,
            may_upload=caller.role == "operate",
            most=mib(uploads.max_bytes),
        )

    @router.get("/reports")
    def reports(request: Request, caller: Annotated[Caller, Depends(access.reader)]) -> Response:
        return listed(request, caller)

    @router.post("/reports")
    def upload(
        request: Request,
        files: Annotated[Sequence[File] | UploadRefused, Depends(received)],
        caller: Annotated[Caller, Depends(access.operator)],
    ) -> Response:
        try:
            if isinstance(files, UploadRefused):
                raise files
            taken = take(uploads, audit, files, caller)
        except UploadRefused as error:
            return listed(request, caller, error.status, str(error))
        known = "?known=1" if taken[0].known else ""
        return RedirectResponse(f"/reports/{taken[0].kept.id}{known}" if len(taken) == 1 else "/reports", 303)

    @router.get("/reports/{id}", dependencies=[Depends(access.reader)])
    def report(request: Request, id: str, known: bool = False) -> Response:
        found = stored(lambda: uploads.get(id))
        if found is None:
            return page(request, "missing.html", 404, what=f"There is no report {label(id)}.", back="/reports")
        watched = {database.name.casefold(): database.name for database in board}
        return page(
            request,
            "report.html",
            report=found.kept,
            known=known,
            unread=found.content.unread,
            parts=[
                diagnosis_view(part.name, part.diagnosis, part.source, part.figures) for part in found.content.diagnoses
            ],
            watched={
                database: watched[database.casefold()]
                for database in found.kept.databases
                if database.casefold() in watched
            },
            causes=catalogue(),
        )

    return router
