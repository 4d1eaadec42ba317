"""The page of all cells: the worst databases first, how many show which cause, the last day of each."""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from starlette.responses import Response

from service.cells.engine import EngineAway
from service.cells.overview import CellsView
from service.web.access import Access
from service.web.api.fleet import NO_ENGINE
from service.web.charts import svg
from service.web.pages.layout import page


def fleet_pages(cells: CellsView | None, access: Access) -> APIRouter:
    """GET /fleet."""
    router = APIRouter(
        include_in_schema=False, default_response_class=HTMLResponse, dependencies=[Depends(access.reader)]
    )

    @router.get("/fleet")
    def fleet(request: Request) -> Response:
        if cells is None:
            return page(request, "missing.html", 404, what=f"There is no view of many cells: {NO_ENGINE}.", back="/")
        try:
            found = cells.ask()
        except EngineAway as error:
            return page(request, "cells.html", 503, away=str(error), found=None)
        sparks: list[Markup] = [svg.spark(database.spark) for database in found.worst]
        return page(request, "cells.html", away=None, found=found, rows=list(zip(found.worst, sparks, strict=True)))

    return router
