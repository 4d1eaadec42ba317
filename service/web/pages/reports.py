"""Pages for uploaded reports: the form and the list, and each report in the layout of a database's page."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from service.config.logs import Audit
from service.intake.archives import label, mib
from service.intake.uploads import MOST_FILES, File, Upload, Uploads
from service.render.incident import incident_view
from service.state.board import Board
from service.web.access import Access, Caller
from service.web.api.common import UploadRefused, most_bytes, receive
from service.web.api.reports import READERS, delete, take
from service.web.http import Bulkhead
from service.web.pages.diagnosis import diagnosis_view
from service.web.pages.export import as_html, kept_file
from service.web.pages.layout import missing, page, page_router

LISTED = 200


def reports_pages(board: Board, uploads: Uploads, access: Access, audit: Audit) -> APIRouter:
    """The HTML routes below /reports. They need no script: a form, and an answer that is a page."""
    router = page_router()

    received, in_line = _receiver(uploads, access), Bulkhead(READERS)

    @router.get("/reports")
    def reports(request: Request, caller: Annotated[Caller, Depends(access.reader)], deleted: bool = False) -> Response:
        return _listed(request, uploads, caller, deleted=deleted)

    @router.post("/reports", max_body_size=most_bytes(uploads.max_bytes))
    @in_line
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
            return _listed(request, uploads, caller, error.status, str(error))
        known = "?known=1" if taken[0].known else ""
        together = urlencode([("id", upload.kept.id) for upload in taken])
        one = f"/reports/{taken[0].kept.id}{known}"
        return RedirectResponse(one if len(taken) == 1 else f"/incident?{together}", 303)

    @router.get("/incident")
    @in_line
    def incident(
        request: Request,
        caller: Annotated[Caller, Depends(access.reader)],
        id: Annotated[list[str], Query(max_length=MOST_FILES)],
    ) -> Response:
        kept = [uploads.get(each) for each in id]
        found = uploads.story(id)
        if found is None:
            return _gone(request, next((each for each, upload in zip(id, kept, strict=True) if upload is None), id[0]))
        return page(
            request,
            "incident.html",
            incident=incident_view(found.incident),
            address=f"{str(request.base_url).rstrip('/')}/incident?{request.url.query}",
            json=f"/api/v1/incident?{request.url.query}",
            reports=[upload.kept for upload in kept if upload],
            surest=found.incident.rests_on if found.incident else None,
        )

    @router.get("/reports/{id}")
    def report(
        request: Request, id: str, caller: Annotated[Caller, Depends(access.reader)], known: bool = False
    ) -> Response:
        found = uploads.get(id)
        return _shown(request, board, found, known, caller) if found else _gone(request, id)

    @router.get("/reports/{id}/export.html", dependencies=[Depends(access.reader)])
    @in_line
    def export(request: Request, id: str) -> Response:
        kept, found = uploads.get(id), uploads.again([id], as_html)
        if kept is None or found is None:
            return _gone(request, id)
        return kept_file(found, "text/html", kept.kept.databases[0], "html")

    @router.post("/reports/{id}/delete")
    def delete_report(request: Request, id: str, caller: Annotated[Caller, Depends(access.operator)]) -> Response:
        if not delete(uploads, audit, id, caller):
            return _gone(request, id)
        return RedirectResponse("/reports?deleted=1", 303)

    return router


def _receiver(uploads: Uploads, access: Access) -> Callable[..., Awaitable[Sequence[File] | UploadRefused]]:
    """The files of a request from a caller who may send some, or why there are none."""

    async def received(
        request: Request, caller: Annotated[Caller, Depends(access.operator)]
    ) -> Sequence[File] | UploadRefused:
        try:
            return await receive(request, uploads.max_bytes)
        except UploadRefused as error:
            return error

    return received


def _gone(request: Request, id: str) -> Response:
    return missing(request, f"There is no report {label(id)}.", {}, ("All reports", "/reports"))


def _shown(request: Request, board: Board, found: Upload, known: bool, caller: Caller) -> Response:
    watched = {database.name.casefold(): database.name for database in board}
    now = datetime.now(UTC)
    return page(
        request,
        "report.html",
        report=found.kept,
        known=known,
        address=f"{str(request.base_url).rstrip('/')}/reports/{found.kept.id}",
        may_delete=caller.role == "operate",
        incident=incident_view(found.content.incident),
        unread=found.content.unread,
        parts=[
            diagnosis_view(part.name, part.diagnosis, part.source, part.figures, now)
            for part in found.content.diagnoses
        ],
        watched={
            database: watched[database.casefold()]
            for database in found.kept.databases
            if database.casefold() in watched
        },
    )


def _listed(
    request: Request,
    uploads: Uploads,
    caller: Caller,
    status: int = 200,
    refused: str | None = None,
    deleted: bool = False,
) -> Response:
    return page(
        request,
        "reports.html",
        status,
        reports=uploads.newest(LISTED),
        refused=refused,
        deleted=deleted,
        may_upload=caller.role == "operate",
        most=mib(uploads.max_bytes),
    )
