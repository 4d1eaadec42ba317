"""REST for uploaded reports: the results of `latchscope diagnose`, kept under the SHA-256 of the content."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response

from collectors.errors import InputError
from service.config.logs import Audit
from service.intake.archives import TooLarge, label
from service.intake.incident import Story
from service.intake.inputs import EmptyFile, UnknownFormat
from service.intake.uploads import MOST_FILES, File, Upload, Uploads
from service.store.engine import StoreError
from service.web.access import Access, Caller
from service.web.api.common import (
    BODY,
    NOT_FOUND,
    REFUSED,
    CursorQuery,
    LimitQuery,
    UploadRefused,
    link_next,
    most_bytes,
    receive,
)
from service.web.api.databases import operation_id
from service.web.http import Bulkhead
from service.web.schemas import Problem, ReportOut, ReportShortOut

NOT_TAKEN: dict[int | str, dict[str, Any]] = {
    413: {"model": Problem, "description": "A file, the request, or what an archive unpacks to is too large."},
    415: {"model": Problem, "description": "latchscope does not read this content."},
    422: {"model": Problem, "description": "The content is damaged or not understood; `detail` says where."},
}
KNOWN: dict[int | str, dict[str, Any]] = {
    200: {"model": list[ReportOut], "description": "Every content was known: the earlier results."}
}
READERS = 2
"""Threads of requests that read files: one reads, one waits. All others wait in line without one of the threads of pages."""
STORE: dict[int | str, dict[str, Any]] = {503: {"model": Problem, "description": "The store does not answer."}}


def take(uploads: Uploads, audit: Audit, files: Sequence[File], caller: Caller) -> list[Upload]:
    """Diagnose and keep files, and record the sender and the result. Raises UploadRefused."""
    names = ", ".join(label(file.name) for file in files)
    try:
        taken = uploads.take(files, caller.name)
    except (InputError, StoreError) as error:
        audit.record(caller.name, "upload report", names, f"refused: {error}")
        kept = "; nothing was kept" if isinstance(error, InputError) else ""
        raise UploadRefused(_status(error), f"{error}{kept}") from None
    for upload in taken:
        outcome = f"{'known' if upload.known else 'kept'} as {upload.kept.id}"
        audit.record(caller.name, "upload report", ", ".join(upload.kept.databases), outcome)
    return taken


def delete(uploads: Uploads, audit: Audit, id: str, caller: Caller) -> bool:
    """Delete a report, and record who did it. False if there is none. Raises StoreError."""
    found = uploads.get(id)
    if found is None or not uploads.delete(id):
        return False
    audit.record(caller.name, "delete report", ", ".join(found.kept.databases), f"deleted {found.kept.name}, {id}")
    return True


def reports_api(uploads: Uploads, access: Access, audit: Audit) -> APIRouter:
    """The routes below /api/v1/reports, and /api/v1/incident, which reads several reports together."""
    router = APIRouter(
        prefix="/api/v1", tags=["reports"], generate_unique_id_function=operation_id, responses=REFUSED | STORE
    )

    most, in_line = most_bytes(uploads.max_bytes), Bulkhead(READERS)

    async def received(request: Request, caller: Annotated[Caller, Depends(access.operator)]) -> Sequence[File]:
        return await receive(request, uploads.max_bytes)

    @router.post("/reports", status_code=201, responses=NOT_TAKEN | KNOWN, openapi_extra=BODY, max_body_size=most)
    @in_line
    def create_reports(
        files: Annotated[Sequence[File], Depends(received)],
        caller: Annotated[Caller, Depends(access.operator)],
        response: Response,
    ) -> list[ReportOut]:
        """Diagnose uploaded files and keep them; 200 if every content was known. All are kept, or none."""
        taken = take(uploads, audit, files, caller)
        if all(upload.known for upload in taken):
            response.status_code = 200
        return [report_out(upload) for upload in taken]

    @router.get("/reports", dependencies=[Depends(access.reader)])
    def list_reports(
        request: Request, response: Response, cursor: CursorQuery = None, limit: LimitQuery = 100
    ) -> list[ReportShortOut]:
        """Uploaded reports, newest first. `Link` names the page of older ones."""
        page = uploads.page(limit, cursor)
        link_next(request, response, None, page.cursor)
        return [ReportShortOut.model_validate(report, from_attributes=True) for report in page.items]

    @router.get("/incident", dependencies=[Depends(access.reader)], responses=NOT_FOUND)
    @in_line
    def get_incident(
        id: Annotated[list[str], Query(max_length=MOST_FILES, description="of each report")],
    ) -> Story:
        """Uploaded reports of one time, read together: the incident, and the Diagnosis of each."""
        found = uploads.story(id)
        if found is None:
            raise HTTPException(404, "one of these reports is not kept; GET /api/v1/reports lists those that are")
        return found

    @router.get("/reports/{id}", dependencies=[Depends(access.reader)], responses=NOT_FOUND)
    def get_report(id: str) -> ReportOut:
        """One uploaded report with its Diagnoses."""
        found = uploads.get(id)
        if found is None:
            raise HTTPException(404, f"no report {label(id)}; GET /api/v1/reports lists them")
        return report_out(found)

    @router.delete("/reports/{id}", status_code=204, responses=NOT_FOUND)
    def delete_report(id: str, caller: Annotated[Caller, Depends(access.operator)]) -> None:
        """Delete an uploaded report for good. Its address returns 404 afterwards."""
        if not delete(uploads, audit, id, caller):
            raise HTTPException(404, f"no report {label(id)}; GET /api/v1/reports lists them")

    return router


def report_out(upload: Upload) -> ReportOut:
    """A kept report as REST shows it."""
    short = ReportShortOut.model_validate(upload.kept, from_attributes=True)
    content = upload.content
    return ReportOut(
        **short.model_dump(),
        known=upload.known,
        diagnoses=content.diagnoses,
        incident=content.incident,
        unread=content.unread,
    )


def _status(error: Exception) -> int:
    if isinstance(error, StoreError):
        return 503
    if isinstance(error, TooLarge):
        return 413
    return 415 if isinstance(error, UnknownFormat) and not isinstance(error, EmptyFile) else 422
