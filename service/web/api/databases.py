"""REST for actions that load a database or change state. Every route needs the role operate and writes to the audit log."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, HTTPException

from collectors.errors import CredentialError, NotApplicable, SessionError, StatementError
from rules.cause import catalogue
from rules.judge import confirms, seen
from service.config.audit import Audit
from service.state.board import Board, MonitoredDatabase
from service.state.login_gate import LoginStopped
from service.watch.actions import ActionRunning, OperatorActions, OwnerUnreachable
from service.web import presenters
from service.web.access import Access, Caller
from service.web.api.databases import operation_id, watched_in
from service.web.api.problems import NOT_FOUND, REFUSED
from service.web.schemas import (
    ConfirmationIn,
    ConfirmationOut,
    HoldersIn,
    HoldersOut,
    Problem,
    ResumeOut,
    SamplesOut,
)

T = TypeVar("T")
NO_OTHER = "no other login is tried until the password changes or an operator resumes: POST …/login/resume"
FAILED: dict[int | str, dict[str, Any]] = {
    409: {
        "model": Problem,
        "description": "Another action runs on the database, its login was refused, or the instance does not have it.",
    },
    502: {"model": Problem, "description": "The database refused or did not answer; `detail` has its words."},
    503: {"model": Problem, "description": "Another replica polls the database and could not be reached."},
}


def actions_api(board: Board, can: OperatorActions, access: Access, audit: Audit) -> APIRouter:
    """The POST routes below /api/v1/databases/{db}."""
    responses = REFUSED | NOT_FOUND | FAILED
    router = APIRouter(
        prefix="/api/v1/databases/{db}", tags=["actions"], generate_unique_id_function=operation_id, responses=responses
    )

    @router.post("/login/resume")
    def resume_login(db: str, caller: Annotated[Caller, Depends(access.operator)]) -> ResumeOut:
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
        return ResumeOut(database=db, resumed=resumed)

    @router.post("/samples")
    def run_sampling(db: str, caller: Annotated[Caller, Depends(access.operator)]) -> SamplesOut:
        """Sample waiting sessions once a second from the next poll to the one after it. `who` then has the result."""
        watched = watched_in(board, db)
        attempt(audit, caller, "sample sessions", watched, lambda: can.sample(watched), lambda _: "asked")
        return SamplesOut(database=db, asked=True)

    @router.post("/confirmations")
    def run_confirming_query(
        db: str, wanted: ConfirmationIn, caller: Annotated[Caller, Depends(access.operator)]
    ) -> ConfirmationOut:
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
        return ConfirmationOut(
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
        db: str, wanted: HoldersIn, caller: Annotated[Caller, Depends(access.operator)]
    ) -> HoldersOut:
        """Profile the holders of the row cache latch: many looks within one statement. 409 where mutexes guard the row cache."""
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
    """Run an action, and record the caller and the result."""
    try:
        done = run()
    except ActionRunning as error:
        audit.record(caller.name, action, watched.name, "refused: busy")
        raise HTTPException(409, str(error)) from None
    except OwnerUnreachable as error:
        audit.record(caller.name, action, watched.name, f"failed: {error}")
        raise HTTPException(503, str(error)) from None
    except NotApplicable as error:
        audit.record(caller.name, action, watched.name, "refused: not applicable")
        raise HTTPException(409, f"{watched.name}: {error}") from None
    except LoginStopped as error:
        audit.record(caller.name, action, watched.name, "refused: the login was refused before")
        raise HTTPException(409, f"{watched.name}: {error}") from None
    except CredentialError as error:
        audit.record(caller.name, action, watched.name, f"failed: {error}")
        raise HTTPException(502, f"{watched.name}: {error}; {NO_OTHER}") from None
    except (StatementError, SessionError) as error:
        audit.record(caller.name, action, watched.name, f"failed: {error}")
        raise HTTPException(502, f"{watched.name}: {error}") from None
    audit.record(caller.name, action, watched.name, outcome(done))
    return done
