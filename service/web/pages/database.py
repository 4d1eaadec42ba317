"""The pages: the fleet, one database in the order of a DBA's walk, and the knowledge base."""

from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from starlette.responses import Response

from rules.catalogue import catalogue
from service.intake.uploads import Uploads
from service.state.board import Board, MonitoredDatabase
from service.state.window import Window
from service.store.queries.reports import StoredReportSummary
from service.store.repository import Repository
from service.store.schema.engine import STORE_ERRORS, StoreError
from service.web import presenters
from service.web.access import Access
from service.web.charts import overview, timeline
from service.web.fleet_rows import database_out
from service.web.pages.events import as_events, happenings, of_mark
from service.web.pages.history import names_of
from service.web.pages.layout import HERE, page

LISTED = 10
"""Uploaded reports and change marks shown on the page of their database."""
RECENT_POLLS = 240
DAY, MARKS_SINCE = timedelta(days=1), timedelta(days=7)
static = StaticFiles(directory=HERE / "static")


def pages(board: Board, access: Access, uploads: Uploads, store: Repository) -> APIRouter:
    """The HTML routes; they show what REST shows."""
    router = APIRouter(
        include_in_schema=False, default_response_class=HTMLResponse, dependencies=[Depends(access.reader)]
    )

    @router.get("/")
    def fleet(request: Request) -> Response:
        rows = [database_out(database) for database in board]
        order = sorted(rows, key=lambda row: (-(row.severity.rank if row.severity else -1), row.name))
        return page(request, "fleet.html", databases=order, **_lately(store))

    @router.get("/db/{db}")
    def database(request: Request, db: str) -> Response:
        watched = board.get(db)
        if watched is None:
            return page(request, "missing.html", 404, what=f"No database named {db} is watched.", back="/")
        return page(
            request,
            "database.html",
            database=database_out(watched),
            diagnosis=presenters.diagnosis_of(watched),
            latches=presenters.latches_out(watched),
            caches=presenters.caches_out(watched),
            episodes=presenters.episodes_out(watched),
            causes=catalogue(),
            **_recent(store, watched),
            reports=_reports(uploads, watched),
        )

    return router


def _reports(uploads: Uploads, watched: MonitoredDatabase) -> list[StoredReportSummary] | None:
    """Uploaded reports of a database; None when the store does not answer, which must not take the page away."""
    try:
        return uploads.newest(LISTED, watched.name)
    except StoreError:
        return None


def _lately(store: Repository) -> dict[str, Any]:
    """What happened on any database within a day; the page stands without it when the store does not answer."""
    now = datetime.now(UTC)
    window = Window(now - DAY, now)
    try:
        events = happenings(store, None, window)
    except STORE_ERRORS:
        return {"happened": None}
    return {
        "happened": events,
        "timeline": timeline.events(as_events(events, now, of_many=True), timeline.Axis(window)),
    }


def _recent(store: Repository, watched: MonitoredDatabase) -> dict[str, Any]:
    """The last polls as charts, from the store, so that a restart keeps them; and the latest marks."""
    try:
        last = watched.published.snapshot if watched.published else store.last_snapshot(watched.name)
        end = ((last and last.taken_at) or datetime.now(UTC)) + timedelta(milliseconds=1)
        window = Window(end - RECENT_POLLS * timedelta(seconds=max(watched.interval, watched.pace)), end)
        drawn = (overview.SHARE, overview.CHILDREN, overview.MUTEXES)
        recent = overview.overview(store, watched.name, window, names_of(watched), drawn, tier="poll")
        marks = store.marks.between(watched.name, end - MARKS_SINCE, datetime.now(UTC), limit=LISTED).items
    except STORE_ERRORS:
        return {"charts": None, "marks": []}
    axis = timeline.Axis(recent.since())
    charts = [
        timeline.chart(panel, axis, recent.stretches, recent.gaps)
        for panel in recent.panels
        if panel.key in ("sleeps", "share")
    ]
    return {"charts": charts if len(recent.stretches) > 1 else [], "marks": [of_mark(mark) for mark in marks]}
