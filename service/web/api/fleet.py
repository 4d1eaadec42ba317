"""REST for all cells, from the engine that holds their metrics."""

from datetime import datetime

from fastapi import APIRouter, Depends, HTTPException
from pydantic import BaseModel, Field

from service.cells.engine import EngineAway
from service.cells.overview import CellsView
from service.web.access import Access
from service.web.api.databases import operation_id
from service.web.api.problems import NOT_FOUND, REFUSED
from service.web.schemas import Problem


class CauseCountOut(BaseModel):
    """How many databases of all cells show a cause at a severity."""

    cause: str
    title: str
    severity: str
    databases: int


class FleetDatabaseOut(BaseModel):
    """A database of any cell, among the worst."""

    name: str
    cell: str = Field(description="the label `cell` of its metrics, else the address they are scraped from")
    url: str | None = Field(description="its page in its cell; null if the metrics have no address")
    up: bool
    severity: str
    causes: tuple[str, ...]
    impact: float | None = Field(description="share of DB time lost, 0 to 1; null if unknown")
    spark: tuple[float | None, ...] = Field(description="the same over the last 24 hours, by the half hour")


class FleetOut(BaseModel):
    """All cells at one moment, from the engine that holds their metrics."""

    asked_at: datetime
    counted_at: datetime | None = Field(
        description="time of the engine's rules (cells.yml); null without them: then every series was read"
    )
    engine: str
    databases: int
    answering: int = Field(description="databases whose last poll succeeded")
    causes: tuple[CauseCountOut, ...]
    worst: tuple[FleetDatabaseOut, ...] = Field(description="at most 50, the worst first")


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
            raise HTTPException(503, f"the fleet is not available: {error}") from None

    return router
