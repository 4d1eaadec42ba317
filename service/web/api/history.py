"""REST for what the store keeps: figures over time as JSON or CSV, before against after, episodes, change marks."""

import csv
from collections.abc import Sequence
from datetime import UTC, datetime
from io import StringIO
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response

from rules.changes import Change
from rules.comparison.changes import Comparison
from service.config.logs import Audit
from service.escape import plain_cell
from service.history.baselines import usual_over
from service.history.comparison import SETTLE, ComparedWindows, at_mark, comparison
from service.history.curves import (
    METRICS,
    NAMED,
    RequestedResolution,
    TimeSeriesSet,
    hours_of,
    is_of,
    time_series,
)
from service.history.differences import differences
from service.history.marks import BadMark, set_mark
from service.history.month import Month, month_named
from service.history.month import month as month_of
from service.state.board import Board, MonitoredDatabase
from service.state.time_window import Window, iso, parse_duration, parse_window
from service.store.repository import Repository
from service.web import presenters, schemas
from service.web.access import Access, Caller
from service.web.api.common import (
    NOT_FOUND,
    REFUSED,
    BeginQuery,
    CursorQuery,
    EndQuery,
    LimitQuery,
    link_next,
    requested_window,
)
from service.web.api.databases import operation_id, watched_in

# The router of routes below /api/v1 that read the store: who may call them, and their answer when it is down.

STORE: dict[int | str, dict[str, Any]] = {503: {"model": schemas.Problem, "description": "The store does not answer."}}
INVALID: dict[int | str, dict[str, Any]] = {422: {"model": schemas.Problem, "description": "Not understood."}}


def store_router(access: Access) -> APIRouter:
    """A router for readers, whose routes need the store."""
    return APIRouter(
        prefix="/api/v1",
        tags=["history"],
        generate_unique_id_function=operation_id,
        dependencies=[Depends(access.reader)],
        responses=REFUSED | STORE | INVALID,
    )


# REST for before against after.

NO_COMPARISON: dict[int | str, dict[str, Any]] = {
    409: {"description": "The two sides cannot be compared, or not yet; `detail` says why."}
}


def compare_api(board: Board, store: Repository, access: Access) -> APIRouter:
    """GET …/compare."""
    router = store_router(access)

    @router.get("/databases/{db}/compare", responses=NOT_FOUND | NO_COMPARISON)
    def get_comparison(
        db: str,
        before: Annotated[str | None, Query(description="a window, begin/end; each RFC 3339 or relative")] = None,
        after: Annotated[str | None, Query(description="a window, begin/end")] = None,
        mark: Annotated[str | None, Query(description="last, or the id of a mark, instead of two windows")] = None,
        span: Annotated[str | None, Query(description="length of the windows of a mark; chosen by default")] = None,
        settle: Annotated[str | None, Query(description="time after a mark to leave out; default 20s")] = None,
    ) -> Comparison:
        """Before against after, per unit of work: two windows, or both sides of a change mark."""
        watched_in(board, db)
        if mark is not None and before is None and after is None:
            length = None if span is None else parse_duration("span", span)
            return at_mark(store, db, mark, length, SETTLE if settle is None else parse_duration("settle", settle))
        if mark is None and before is not None and after is not None and span is None and settle is None:
            now = datetime.now(UTC)
            return comparison(store, db, ComparedWindows(parse_window(before, now), parse_window(after, now)))
        raise HTTPException(
            422, "give before and after, or mark (last or an id) with span and settle where they matter"
        )

    return router


# REST for episodes: troubles from start to end, of one database or of all.


def episodes_api(board: Board, store: Repository, access: Access) -> APIRouter:
    router = store_router(access)

    @router.get("/month")
    def get_month(month: Annotated[str, Query(description="YYYY-MM, this or last")] = "this") -> Month:
        """What a month cost on all databases, by cause and database, and what ended its problems."""
        return month_of(store, month_named(month, datetime.now(UTC)))

    @router.get("/databases/{db}/episodes", responses=NOT_FOUND)
    def list_episodes(
        request: Request,
        response: Response,
        db: str,
        begin: BeginQuery = "-90d",
        end: EndQuery = "now",
        cursor: CursorQuery = None,
        limit: LimitQuery = 200,
    ) -> list[schemas.EpisodeOut]:
        """Problems from start to end, newest first. Open ones have no end. `Link` names the page of older ones."""
        watched = watched_in(board, db)
        return _page(store, request, response, [watched], db, requested_window(begin, end), cursor, limit)

    @router.get("/episodes", responses=NOT_FOUND)
    def list_all_episodes(
        request: Request,
        response: Response,
        database: Annotated[str | None, Query(description="episodes of this database only")] = None,
        begin: BeginQuery = "-7d",
        end: EndQuery = "now",
        cursor: CursorQuery = None,
        limit: LimitQuery = 200,
    ) -> list[schemas.EpisodeOut]:
        """Problems of every database, or of one, newest first. `Link` names the page of older ones."""
        watched = board.all_refreshed() if database is None else [watched_in(board, database)]
        return _page(store, request, response, watched, database, requested_window(begin, end), cursor, limit)

    return router


def _page(
    store: Repository,
    request: Request,
    response: Response,
    watched: list[MonitoredDatabase],
    db: str | None,
    within: Window,
    cursor: str | None,
    limit: int,
) -> list[schemas.EpisodeOut]:
    page = presenters.episode_page(store, watched, db, within, cursor, limit)
    link_next(request, response, within, page.cursor)
    return [presenters.episode_out(episode) for episode in page.items]


CSV = "text/csv"
AS_CSV: dict[int | str, dict[str, Any]] = {200: {"content": {CSV: {"schema": {"type": "string"}}}}}


def history_api(board: Board, store: Repository, access: Access) -> APIRouter:
    """GET …/history and GET …/usual."""
    router = store_router(access)

    @router.get("/databases/{db}/history", response_model=schemas.HistoryOut, responses=NOT_FOUND | AS_CSV)
    def get_history(
        request: Request,
        response: Response,
        db: str,
        metric: Annotated[list[str], Query(description="which figures; see docs/rest.md")],
        begin: BeginQuery = "-1h",
        end: EndQuery = "now",
        resolution: RequestedResolution = "auto",
        of: Annotated[list[str] | None, Query(description="only these children, caches, places or events")] = None,
        format: Annotated[Literal["json", "csv"] | None, Query(description="default: from the Accept header")] = None,
        cursor: CursorQuery = None,
        limit: Annotated[int, Query(ge=1, le=5000, description="most times per page")] = 1000,
    ) -> schemas.HistoryOut | Response:
        """Figures over time, as JSON or CSV; a gap is null, never zero."""
        watched, within = watched_in(board, db), requested_window(begin, end)
        unknown = [name for name in metric if name not in NAMED]
        if unknown:
            raise HTTPException(422, f"no metric {', '.join(unknown)}; the metrics are: {', '.join(NAMED)}")
        found = time_series(
            store,
            db,
            metric,
            within.begin,
            within.end,
            resolution,
            of or (),
            watched.map.series_names,
            watched.snapshot,
            cursor,
            limit,
        )
        # The last poll lists the names of later pages. Without it, only a single-page answer can decide.
        if cursor is None and (found.cursor is None or watched.snapshot is not None):
            _of_known(found, of or ())
        more = link_next(request, response, within, found.cursor, resolution=found.resolution)
        if format == "csv" or (format is None and CSV in request.headers.get("accept", "")):
            headers = {name: value for name, value in response.headers.items() if name == "link"}
            return Response(_csv(found), media_type=CSV, headers=headers)
        return _history_out(found, more)

    @router.get("/databases/{db}/usual", responses=NOT_FOUND)
    def get_usual(db: str, begin: BeginQuery = "-1h", end: EndQuery = "now") -> schemas.UsualOut:
        """The usual figures of this database in each hour of a window, from its own history. A quiet line for charts."""
        watched_in(board, db)
        hours = hours_of(requested_window(begin, end))
        figures = [
            schemas.UsualFigureOut(figure=figure, metric=METRICS.get(figure), values=values)
            for figure, values in usual_over(store, db, hours).items()
        ]
        return schemas.UsualOut(database=db, hours=hours, figures=tuple(figures))

    return router


def differences_api(board: Board, store: Repository, access: Access) -> APIRouter:
    """GET …/differences."""
    router = store_router(access)

    @router.get("/databases/{db}/differences", responses=NOT_FOUND)
    def get_differences(db: str, begin: BeginQuery = "-5m", end: EndQuery = "now") -> schemas.DifferencesOut:
        """Which wait, child latch, place, cache or container differs most in a stretch from the rest of its hour."""
        watched, stretch = watched_in(board, db), requested_window(begin, end)
        found = differences(store, db, stretch, watched.map.series_names, watched.snapshot)
        return schemas.DifferencesOut.model_validate(found, from_attributes=True)

    return router


def _of_known(series: TimeSeriesSet, of: Sequence[str]) -> None:
    """Raise HTTPException 422 if a name of `of` does not occur in the window."""
    unknown = [name for name in of if not any(is_of(label, [name]) for label in series.known)]
    if unknown:
        there = ", ".join(series.known) or "none, because these metrics have no names here; leave out `of`"
        raise HTTPException(422, f"nothing is named {', '.join(unknown)} in this window; the names are: {there}")


def _history_out(found: TimeSeriesSet, more: str | None) -> schemas.HistoryOut:
    members = {name: getattr(found, name) for name in schemas.HistoryOut.model_fields.keys() - {"next"}}
    return schemas.HistoryOut.model_validate({**members, "next": more}, from_attributes=True)


def _csv(found: TimeSeriesSet) -> str:
    """One line per time and series. An unknown value is an empty cell."""
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("time", "seconds", "metric", "of", "unit", "value", "highest"))
    names = [None if series.of is None else plain_cell(series.of) for series in found.series]
    for index, (at, seconds) in enumerate(zip(found.times, found.seconds, strict=True)):
        for series, of in zip(found.series, names, strict=True):
            highest = series.highest[index] if series.highest else None
            writer.writerow((iso(at), seconds, series.metric, of, series.unit, series.values[index], highest))
    return file.getvalue()


# REST for the timeline: what changed, as the database says it.


def changes_api(board: Board, store: Repository, access: Access) -> APIRouter:
    """GET …/changes."""
    router = store_router(access)

    @router.get("/databases/{db}/changes", responses=NOT_FOUND)
    def list_changes(
        request: Request,
        response: Response,
        db: str,
        begin: BeginQuery = "-1d",
        end: EndQuery = "now",
        cursor: CursorQuery = None,
        limit: LimitQuery = 100,
    ) -> list[Change]:
        """What changed on the database, newest first, without change marks. `Link` names the page of older ones."""
        watched_in(board, db)
        within = requested_window(begin, end)
        page = store.timeline.between(db, within.begin, within.end, cursor, limit)
        link_next(request, response, within, page.cursor)
        return list(page.items)

    return router


# REST for change marks: what was changed, and when.


def marks_api(board: Board, store: Repository, access: Access, audit: Audit) -> APIRouter:
    """GET and POST …/marks."""
    router = store_router(access)

    @router.get("/databases/{db}/marks", responses=NOT_FOUND)
    def list_marks(
        request: Request,
        response: Response,
        db: str,
        begin: BeginQuery = "-90d",
        end: EndQuery = "now",
        cursor: CursorQuery = None,
        limit: LimitQuery = 100,
    ) -> list[schemas.MarkOut]:
        """Change marks, newest first. `Link` names the page of older ones."""
        watched_in(board, db)
        within = requested_window(begin, end)
        page = store.marks.between(db, within.begin, within.end, cursor, limit)
        link_next(request, response, within, page.cursor)
        return [schemas.MarkOut.model_validate(mark, from_attributes=True) for mark in page.items]

    @router.post("/databases/{db}/marks", status_code=201, responses=NOT_FOUND)
    def create_mark(
        db: str, wanted: schemas.MarkIn, caller: Annotated[Caller, Depends(access.operator)]
    ) -> schemas.MarkOut:
        """Mark a change, so that you can compare before with after."""
        watched_in(board, db)
        now = datetime.now(UTC)
        try:
            mark = set_mark(store, db, wanted.text, wanted.at or now, caller.name, now)
        except BadMark as error:
            audit.record(caller.name, "mark", db, f"refused: {error}")
            raise
        audit.record(caller.name, "mark", db, f"kept as {mark.id}: {mark.text}")
        return schemas.MarkOut.model_validate(mark, from_attributes=True)

    return router
