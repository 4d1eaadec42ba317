"""REST for figures over time, as JSON or CSV."""

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Request, Response

from service.characters import plain_cell
from service.history.metric_catalog import NAMED
from service.history.timeseries import RequestedResolution, TimeSeriesSet, is_of, time_series
from service.history.usual_hours import METRICS, hours_of, usual_over
from service.state.board import Board, MonitoredDatabase
from service.state.window import iso
from service.store.repository import Repository
from service.web.access import Access
from service.web.api.databases import watched_in
from service.web.api.problems import NOT_FOUND
from service.web.api.store_router import store_router
from service.web.query_params import BeginQuery, CursorQuery, EndQuery, link_next, requested_window, understood
from service.web.schemas import HistoryOut, SeriesOut, UsualFigureOut, UsualOut

CSV = "text/csv"
AS_CSV: dict[int | str, dict[str, Any]] = {200: {"content": {CSV: {"schema": {"type": "string"}}}}}


def history_api(board: Board, store: Repository, access: Access) -> APIRouter:
    """GET …/history and GET …/usual."""
    router = store_router(access)

    @router.get("/databases/{db}/history", response_model=HistoryOut, responses=NOT_FOUND | AS_CSV)
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
    ) -> HistoryOut | Response:
        """Figures over time, as JSON or CSV; a gap is null, never zero."""
        watched, within = watched_in(board, db), requested_window(begin, end)
        unknown = [name for name in metric if name not in NAMED]
        if unknown:
            raise HTTPException(422, f"no metric {', '.join(unknown)}; the metrics are: {', '.join(NAMED)}")
        frame = watched.published.snapshot if watched.published else None
        found = understood(
            lambda: time_series(
                store,
                db,
                metric,
                within.begin,
                within.end,
                resolution,
                of or (),
                _caches(watched),
                frame,
                cursor,
                limit,
            )
        )
        # The frame lists the names of later pages. Without a frame, only a single-page answer can decide.
        if cursor is None and (found.cursor is None or frame is not None):
            _of_known(found, of or ())
        more = link_next(request, response, within, found.cursor, resolution=found.resolution)
        if format == "csv" or (format is None and CSV in request.headers.get("accept", "")):
            headers = {name: value for name, value in response.headers.items() if name == "link"}
            return Response(_csv(found), media_type=CSV, headers=headers)
        return _history_out(found, more)

    @router.get("/databases/{db}/usual", responses=NOT_FOUND)
    def get_usual(db: str, begin: BeginQuery = "-1h", end: EndQuery = "now") -> UsualOut:
        """The usual figures of this database in each hour of a window, from its own history. A quiet line for charts."""
        watched_in(board, db)
        hours = hours_of(requested_window(begin, end))
        figures = [
            UsualFigureOut(figure=figure, metric=METRICS.get(figure), values=values)
            for figure, values in usual_over(store, db, hours).items()
        ]
        return UsualOut(database=db, hours=hours, figures=tuple(figures))

    return router


def _of_known(found: TimeSeriesSet, of: Sequence[str]) -> None:
    """Raise HTTPException 422 if a name of `of` does not occur in the window."""
    unknown = [name for name in of if not any(is_of(label, [name]) for label in found.known)]
    if unknown:
        there = ", ".join(found.known) or "none, because these metrics have no names here; leave out `of`"
        raise HTTPException(422, f"nothing is named {', '.join(unknown)} in this window; the names are: {there}")


def _caches(watched: MonitoredDatabase) -> dict[int, str]:
    return {child: watched.labels.name(child) for child in watched.labels.children}


def _history_out(found: TimeSeriesSet, more: str | None) -> HistoryOut:
    series = tuple(SeriesOut.model_validate(series, from_attributes=True) for series in found.series)
    return HistoryOut(
        database=found.database,
        resolution=found.resolution,
        begin=found.begin,
        end=found.end,
        times=found.times,
        seconds=found.seconds,
        series=series,
        next=more,
    )


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
