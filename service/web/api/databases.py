"""REST under /api/v1: databases, their last intervals, and causes. Reads board, catalogue and store."""

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from rules.cause import catalogue
from rules.hang_model import Blockers
from rules.model import Diagnosis
from service.state.board import Board, MonitoredDatabase
from service.store.repository import Repository
from service.web import presenters
from service.web.access import Access
from service.web.api.etag import UNCHANGED, tagged
from service.web.api.problems import NOT_FOUND, REFUSED
from service.web.fleet_rows import FleetRows, having
from service.web.fleet_schemas import CauseOut, CauseWholeOut, DatabaseOut, OverviewOut
from service.web.query_params import AtQuery, CursorQuery, WholeQuery, link_next, part_of, requested_time
from service.web.schemas import CachesOut, CapabilitiesOut, LatchesOut


def operation_id(route: APIRoute) -> str:
    """Operation ids as the functions are named: get_diagnosis, list_databases."""
    return route.name


def watched_in(board: Board, db: str) -> MonitoredDatabase:
    """The database of that name, or 404."""
    found = board.get(db)
    if found is None:
        names = ", ".join(database.name for database in board) or "none"
        raise HTTPException(404, f"no database named {db}; watched are: {names}")
    return found


def api(board: Board, store: Repository, access: Access) -> APIRouter:
    """The routes below /api/v1."""
    rows = FleetRows(store)
    readers = [Depends(access.reader)]
    router = APIRouter(
        prefix="/api/v1", generate_unique_id_function=operation_id, dependencies=readers, responses=REFUSED
    )

    def watched(db: str) -> MonitoredDatabase:
        return watched_in(board, db)

    @router.get("/databases", tags=["databases"])
    def list_databases(
        request: Request, response: Response, cursor: CursorQuery = None, limit: WholeQuery = None
    ) -> list[DatabaseOut]:
        """Every watched database: whether it answers, and its verdict in a sentence. With `limit`, `Link` names the next page."""
        page = part_of(tuple(board), lambda each: each.name, cursor, limit)
        link_next(request, response, None, page.cursor)
        return list(rows.all(page.items))

    @router.get("/overview", tags=["databases"])
    def get_overview() -> OverviewOut:
        """Every watched database in one call, as on the page of the fleet, and how many are in each state."""
        return rows.overview(board)

    @router.get("/databases/{db}", tags=["databases"], responses=NOT_FOUND)
    def get_database(db: str) -> DatabaseOut:
        """One watched database."""
        return rows.row(watched(db))

    @router.get(
        "/databases/{db}/diagnosis", tags=["diagnosis"], response_model=Diagnosis, responses=NOT_FOUND | UNCHANGED
    )
    def get_diagnosis(request: Request, db: str, at: AtQuery = None) -> Response:
        """What is found, ruled out and undetermined over the last interval, or at a past time; `basis` is null without one."""
        found = watched(db)
        if at is None:
            return tagged(request, presenters.told_now(store, found).model_dump_json())
        moment = requested_time(at)
        return tagged(request, presenters.told_at(store, found, moment).model_dump_json())

    @router.get("/databases/{db}/blockers", tags=["diagnosis"], responses=NOT_FOUND)
    def list_blockers(db: str) -> Blockers:
        """Who holds what sessions hang on, as far as it was found. Empty if no session hangs. Reads nothing from the database."""
        return presenters.diagnosis_of(watched(db)).blockers or Blockers()

    @router.get("/databases/{db}/latches", tags=["diagnosis"], responses=NOT_FOUND)
    def list_latches(db: str) -> LatchesOut:
        """The child latches of `row cache objects` over the last interval, with the caches they guard."""
        return presenters.latches_out(watched(db))

    @router.get("/databases/{db}/caches", tags=["diagnosis"], responses=NOT_FOUND)
    def list_caches(db: str) -> CachesOut:
        """The dictionary caches over the last interval, with the children that guard them."""
        return presenters.caches_out(watched(db))

    @router.get("/databases/{db}/capabilities", tags=["databases"], responses=NOT_FOUND)
    def get_capabilities(db: str) -> CapabilitiesOut:
        """What can be read on this database, what is lost without the rest, and the SQL that opens it."""
        return presenters.capabilities_out(watched(db))

    @router.get("/causes", tags=["causes"])
    def list_causes(
        request: Request, response: Response, cursor: CursorQuery = None, limit: WholeQuery = None
    ) -> list[CauseOut]:
        """The knowledge base, with the databases that have a cause now. With `limit`, `Link` names the next page."""
        members = set(CauseOut.model_fields) - {"databases"}
        found = having(board)
        page = part_of(tuple(catalogue().values()), lambda each: each.id, cursor, limit)
        link_next(request, response, None, page.cursor)
        return [
            CauseOut(**cause.model_dump(include=members), databases=tuple(row.name for row in found.get(cause.id, ())))
            for cause in page.items
        ]

    @router.get("/causes/{id}", tags=["causes"], responses=NOT_FOUND)
    def get_cause(id: str) -> CauseWholeOut:
        """One cause with its conditions, confirming query, remedy and references, and the databases that have it now."""
        if id not in catalogue():
            raise HTTPException(404, f"no cause {id}; the causes are: {', '.join(catalogue())}")
        return CauseWholeOut.model_validate(catalogue()[id].model_dump() | {"found_at": having(board).get(id, ())})

    return router
