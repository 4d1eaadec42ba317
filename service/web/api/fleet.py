"""REST for all cells: what the engine that holds their metrics says."""

from fastapi import APIRouter, Depends, HTTPException

from service.cells.engine import EngineAway
from service.cells.overview import CellsView
from service.web.access import Access
from service.web.api.databases import operation_id
from service.web.api.problems import NOT_FOUND, REFUSED
from service.web.schemas import FleetOut, Problem

NO_ENGINE = "no engine is configured; set fleet.prometheus to the address of one that holds the metrics of all cells"


def fleet_api(cells: CellsView | None, access: Access) -> APIRouter:
    """GET /fleet; without an engine it answers 404."""
    router = APIRouter(
        prefix="/api/v1",
        tags=["fleet"],
        generate_unique_id_function=operation_id,
        dependencies=[Depends(access.reader)],
        responses=REFUSED | NOT_FOUND | {503: {"model": Problem, "description": "The engine does not answer."}},
    )

    @router.get("/fleet", response_model=FleetOut)
    def get_fleet() -> FleetOut:
        """Every database of every cell, the worst first."""
        if cells is None:
            raise HTTPException(404, NO_ENGINE)
        try:
            return FleetOut.model_validate(cells.ask(), from_attributes=True)
        except EngineAway as error:
            raise HTTPException(503, f"the fleet cannot be shown: {error}") from None

    return router
