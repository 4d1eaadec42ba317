"""Pages of what latchscope knows: the causes of the catalogue and the runbooks of its alerts."""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from starlette.responses import Response

from rules.catalogue import catalogue
from rules.cause import Condition
from rules.signals import SIGNALS
from service.web.access import Access
from service.web.pages import runbooks
from service.web.pages.layout import page


def causes_pages(access: Access) -> APIRouter:
    """The HTML routes below /causes and /runbooks."""
    router = APIRouter(
        include_in_schema=False, default_response_class=HTMLResponse, dependencies=[Depends(access.reader)]
    )

    @router.get("/causes")
    def causes(request: Request) -> Response:
        return page(request, "causes.html", causes=catalogue().values())

    @router.get("/causes/{id}")
    def cause(request: Request, id: str) -> Response:
        if id not in catalogue():
            return page(request, "missing.html", 404, what=f"There is no cause {id}.", back="/causes")
        return page(request, "cause.html", cause=catalogue()[id], signals=SIGNALS, single=Condition)

    @router.get("/runbooks")
    def runbooks_list(request: Request) -> Response:
        return page(request, "runbooks.html", names=runbooks.names())

    @router.get("/runbooks/{name}")
    def runbook(request: Request, name: str) -> Response:
        text = runbooks.runbook(name)
        if text is None:
            return page(request, "missing.html", 404, what=f"There is no runbook {name}.", back="/runbooks")
        return page(request, "runbook.html", name=name, text=text)

    return router
