"""REST under /api/v1 for databases: their last intervals, causes, and actions of an operator."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from collectors.errors import CredentialError, NotApplicable, SessionError, StatementError
from rules.cause import catalogue
from rules.confirmation import confirms, seen
from rules.hangs.model import Blockers
from rules.model import Diagnosis
from service.config.logs import Audit
from service.state.board import Board, MonitoredDatabase
from service.state.login_gate import LoginStopped
from service.state.time_window import moment
from service.store.repository import Repository
from service.watch.actions import ActionRunning, OperatorActions, OwnerUnreachable
from service.web import presenters, schemas
from service.web.access import Access, Caller
from service.web.api.common import (
    NOT_FOUND,
    REFUSED,
    UNCHANGED,
    AtQuery,
    CursorQuery,
    WholeQuery,
    link_next,
    part_of,
    tagged,
)
from service.web.presenters import FleetRows, having


def operation_id(route: APIRoute) -> str:
    """Operation ids as the functions are named: get_diagnosis, list_databases."""
    return route.name


def watched_in(board: Board, db: str) -> MonitoredDatabase:
    """The database of that name, or 404."""
    watched = board.refreshed(db)
    if watched is None:
        names = ", ".join(database.name for database in board) or "none"
        raise HTTPException(404, f"no database named {db}; watched are: {names}")
    return watched


def api(board: Board, store: Repository, access: Access) -> APIRouter:
    """The routes below /api/v1."""
    rows, watched = FleetRows(store), partial(watched_in, board)
    readers = [Depends(access.reader)]
    router = APIRouter(
        prefix="/api/v1", generate_unique_id_function=operation_id, dependencies=readers, responses=REFUSED
    )

    @router.get("/databases", tags=["databases"])
    def list_databases(
        request: Request, response: Response, cursor: CursorQuery = None, limit: WholeQuery = None
    ) -> list[schemas.DatabaseOut]:
        """Every watched database: whether it answers, and its verdict in a sentence. With `limit`, `Link` names the next page."""
        page = part_of(tuple(board.all_refreshed()), lambda each: each.name, cursor, limit)
        link_next(request, response, None, page.cursor)
        return list(rows.all(page.items))

    @router.get("/overview", tags=["databases"])
    def get_overview() -> schemas.OverviewOut:
        """Every watched database in one call, as on the page of the fleet, and how many are in each state."""
        return presenters.overview_out(rows.all(board.all_refreshed()))

    @router.get("/databases/{db}", tags=["databases"], responses=NOT_FOUND)
    def get_database(db: str) -> schemas.DatabaseOut:
        """One watched database."""
        return rows.row(watched(db))

    @router.get(
        "/databases/{db}/diagnosis", tags=["diagnosis"], response_model=Diagnosis, responses=NOT_FOUND | UNCHANGED
    )
    def get_diagnosis(request: Request, db: str, at: AtQuery = None) -> Response:
        """What is found, ruled out and undetermined over the last interval, or at a past time; `basis` is null without one."""
        found, now = watched(db), datetime.now(UTC)
        then = None if at is None else moment(at, now)
        told = presenters.told_at(store, found, then) if then else presenters.told_now(store, found)
        return tagged(request, told.model_dump_json())

    @router.get("/databases/{db}/blockers", tags=["diagnosis"], responses=NOT_FOUND)
    def list_blockers(db: str) -> Blockers:
        """Who holds what sessions hang on, as far as it was found. Empty if no session hangs. Reads nothing from the database."""
        return presenters.diagnosis_of(watched(db)).blockers or Blockers()

    @router.get("/databases/{db}/latches", tags=["diagnosis"], responses=NOT_FOUND)
    def list_latches(db: str) -> schemas.LatchesOut:
        """The child latches of `row cache objects` over the last interval, with the caches they guard."""
        return presenters.latches_out(watched(db))

    @router.get("/databases/{db}/caches", tags=["diagnosis"], responses=NOT_FOUND)
    def list_caches(db: str) -> schemas.CachesOut:
        """The dictionary caches over the last interval, with the children that guard them."""
        return presenters.caches_out(watched(db))

    @router.get("/databases/{db}/capabilities", tags=["databases"], responses=NOT_FOUND)
    def get_capabilities(db: str) -> schemas.CapabilitiesOut:
        """What can be read on this database, what is lost without the rest, and the SQL that opens it."""
        return presenters.capabilities_out(watched(db))

    @router.get("/causes", tags=["causes"])
    def list_causes(
        request: Request, response: Response, cursor: CursorQuery = None, limit: WholeQuery = None
    ) -> list[schemas.CauseOut]:
        """The knowledge base, with the databases that have a cause now. With `limit`, `Link` names the next page."""
        members = set(schemas.CauseOut.model_fields) - {"databases"}
        found = having(board.all_refreshed())
        page = part_of(tuple(catalogue().values()), lambda each: each.id, cursor, limit)
        link_next(request, response, None, page.cursor)
        return [
            schemas.CauseOut(
                **cause.model_dump(include=members), databases=tuple(row.name for row in found.get(cause.id, ()))
            )
            for cause in page.items
        ]

    @router.get("/causes/{id}", tags=["causes"], responses=NOT_FOUND)
    def get_cause(id: str) -> schemas.CauseWholeOut:
        """One cause with its conditions, confirming query, remedy and references, and the databases that have it now."""
        if id not in catalogue():
            raise HTTPException(404, f"no cause {id}; the causes are: {', '.join(catalogue())}")
        return schemas.CauseWholeOut.model_validate(
            catalogue()[id].model_dump() | {"found_at": having(board.all_refreshed()).get(id, ())}
        )

    return router


# REST for actions that load a database or change state. Every route needs the role operate and writes to the audit log.

T = TypeVar("T")
NOT_DONE: Mapping[type[Exception], tuple[int, str, str]] = {
    ActionRunning: (409, "refused: busy", "{error}"),
    OwnerUnreachable: (503, "failed: {error}", "{error}"),
    NotApplicable: (409, "refused: not applicable", "{name}: {error}"),
    LoginStopped: (409, "refused: the login was refused before", "{name}: {error}"),
    CredentialError: (
        502,
        "failed: {error}",
        "{name}: {error}; no other login is tried until the password changes or an operator resumes: POST …/login/resume",
    ),
    StatementError: (502, "failed: {error}", "{name}: {error}"),
    SessionError: (502, "failed: {error}", "{name}: {error}"),
}
"""Why an action was not done, the first that fits → the status, the line of the audit log, and `detail`."""
FAILED: dict[int | str, dict[str, Any]] = {
    409: {
        "model": schemas.Problem,
        "description": "Another action runs on the database, its login was refused, or the instance does not have it.",
    },
    502: {"model": schemas.Problem, "description": "The database refused or did not answer; `detail` has its words."},
    503: {"model": schemas.Problem, "description": "Another replica polls the database and could not be reached."},
}


def actions_api(board: Board, can: OperatorActions, access: Access, audit: Audit) -> APIRouter:
    """The POST routes below /api/v1/databases/{db}."""
    responses = REFUSED | NOT_FOUND | FAILED
    router = APIRouter(
        prefix="/api/v1/databases/{db}", tags=["actions"], generate_unique_id_function=operation_id, responses=responses
    )

    @router.post("/login/resume")
    def resume_login(db: str, caller: Annotated[Caller, Depends(access.operator)]) -> schemas.ResumeOut:
        """Try the same password once more after a refused login stopped all others."""
        watched = watched_in(board, db)
        resumed = attempt(
            audit,
            caller,
            "resume login",
            watched,
            lambda: can.resume_login(watched),
            lambda done: "resumed" if done else "was not stopped",
        )
        return schemas.ResumeOut(database=db, resumed=resumed)

    @router.post("/samples")
    def run_sampling(db: str, caller: Annotated[Caller, Depends(access.operator)]) -> schemas.SamplesOut:
        """Sample waiting sessions once a second from the next poll to the one after it. `who` then has the result."""
        watched = watched_in(board, db)
        attempt(audit, caller, "sample sessions", watched, lambda: can.sample(watched), lambda _: "asked")
        return schemas.SamplesOut(database=db, asked=True)

    @router.post("/confirmations")
    def run_confirming_query(
        db: str, wanted: schemas.ConfirmationIn, caller: Annotated[Caller, Depends(access.operator)]
    ) -> schemas.ConfirmationOut:
        """Run a cause's confirming query, one row, and one for up to five names. The result counts in the next diagnoses."""
        watched = watched_in(board, db)
        cause = catalogue().get(wanted.cause)
        if cause is None or cause.confirm is None:
            raise HTTPException(404, f"no cause {wanted.cause} with a confirming query")
        query = cause.confirm
        done = attempt(
            audit, caller, f"confirm {cause.id}", watched, lambda: can.confirm(watched, cause, names=wanted.names)
        )
        release = watched.published.snapshot.release if watched.published else None
        return schemas.ConfirmationOut(
            database=db,
            cause=cause.id,
            sql=done.sql,
            result=done.value or 0.0,
            seen=seen(query, release, done.container, done.con_id),
            reading=query.reading,
            confirms=confirms(query, release, done, done.con_id),
            names=done.names,
            unnamed=done.unnamed,
        )

    @router.post("/holders")
    def run_holder_profile(
        db: str, wanted: schemas.HoldersIn, caller: Annotated[Caller, Depends(access.operator)]
    ) -> schemas.HoldersOut:
        """Profile the holders of the row cache latch: samples within one statement. 409 where mutexes guard the row cache."""
        watched = watched_in(board, db)
        found = attempt(
            audit, caller, "profile holders", watched, lambda: can.profile(watched, wanted.seconds, wanted.looks)
        )
        return presenters.holders_out(watched, found)

    return router


def attempt(
    audit: Audit,
    caller: Caller,
    action: str,
    watched: MonitoredDatabase,
    run: Callable[[], T],
    outcome: Callable[[T], str] = lambda _: "done",
) -> T:
    """Run an action, and record the caller and the result. Raises HTTPException."""
    try:
        done = run()
    except tuple(NOT_DONE) as error:
        status, recorded, detail = next(NOT_DONE[kind] for kind in NOT_DONE if isinstance(error, kind))
        audit.record(caller.name, action, watched.name, recorded.format(error=error))
        raise HTTPException(status, detail.format(name=watched.name, error=error)) from None
    audit.record(caller.name, action, watched.name, outcome(done))
    return done
