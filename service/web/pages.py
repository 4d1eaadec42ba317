"""The pages: the fleet, one database in the order of a DBA's walk, and the knowledge base."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from markupsafe import Markup
from starlette.responses import Response

from rules.catalogue import catalogue
from rules.cause import Condition
from rules.signals import SIGNALS
from service.board import Board, Point, Watched
from service.store.reports import Kept
from service.store.repository import StoreError
from service.uploads import Uploads
from service.web import charts, runbooks, views
from service.web.access import Access
from service.web.layout import HERE, page

LISTED = 10
"""Uploaded reports shown on the page of their database."""
static = StaticFiles(directory=HERE / "static")


def pages(board: Board, access: Access, uploads: Uploads) -> APIRouter:
    """The HTML routes; they show what REST shows."""
    router = APIRouter(
        include_in_schema=False, default_response_class=HTMLResponse, dependencies=[Depends(access.reader)]
    )

    @router.get("/")
    def fleet(request: Request) -> Response:
        told = [views.database_out(one) for one in board]
        order = sorted(told, key=lambda one: (-(one.severity.rank if one.severity else -1), one.name))
        return page(request, "fleet.html", databases=order)

    @router.get("/db/{db}")
    def database(request: Request, db: str) -> Response:
        watched = board.get(db)
        if watched is None:
            return page(request, "missing.html", 404, what=f"No database named {db} is watched.", back="/")
        return page(
            request,
            "database.html",
            database=views.database_out(watched),
            diagnosis=views.diagnosis_of(watched),
            latches=views.latches_out(watched),
            caches=views.caches_out(watched),
            episodes=views.episodes_out(watched),
            causes=catalogue(),
            charts=_charts(watched),
            reports=_reports(uploads, watched),
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


def _reports(uploads: Uploads, watched: Watched) -> list[Kept] | None:
    """Uploaded reports of a database; None when the store does not answer, which must not take the page away."""
    try:
        return uploads.newest(LISTED, watched.name)
    except StoreError:
        return None


def _charts(watched: Watched) -> list[Markup]:
    points = list(_with_gaps(watched.history, 3 * max(watched.interval, watched.pace) + 5))
    sleeps = [(one.at, one.sleeps_per_second) for one in points]
    shares = [(one.at, None if one.share_of_db_time is None else one.share_of_db_time * 100) for one in points]
    return [
        charts.line(sleeps, "Row cache sleeps", "per second"),
        charts.line(shares, "DB time lost in row cache waits", "%"),
    ]


def _with_gaps(history: Iterable[Point], longest: float) -> Iterator[Point]:
    """The points, with an unknown one where polls were missed, so that no line is drawn over an outage."""
    last: datetime | None = None
    for one in history:
        if last is not None and (one.at - last).total_seconds() > longest:
            yield Point(last, None, None, one.severity)
        yield one
        last = one.at
