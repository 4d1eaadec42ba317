"""REST for what was: figures over time, episodes, change marks, and before against after."""

import csv
from collections.abc import Sequence
from datetime import UTC, datetime
from io import StringIO
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response

from rules.comparison.model import Comparison
from service.config.audit import Audit
from service.history.comparison import SETTLE, CannotCompare, NoMark, at_mark, comparison
from service.history.marks import BadMark, set_mark
from service.history.metric_catalog import NAMED
from service.history.timeseries import RequestedResolution, TimeSeriesSet, is_of, time_series
from service.state.board import Board, MonitoredDatabase
from service.state.window import BadWindow, Window, iso
from service.store.repository import Repository
from service.web import presenters
from service.web.access import Access, Caller
from service.web.api.databases import operation_id, watched_in
from service.web.api.problems import NOT_FOUND, REFUSED
from service.web.query_params import asked_window, duration, link_next, one_window, understood
from service.web.schemas import EpisodeOut, HistoryOut, MarkIn, MarkOut, Problem, SeriesOut

CSV = "text/csv"
STORE: dict[int | str, dict[str, Any]] = {503: {"model": Problem, "description": "The store does not answer."}}
UNTOLD: dict[int | str, dict[str, Any]] = {
    409: {"model": Problem, "description": "The two sides cannot be compared, or not yet; `detail` says why."}
}
AS_CSV: dict[int | str, dict[str, Any]] = {200: {"content": {CSV: {"schema": {"type": "string"}}}}}
INVALID: dict[int | str, dict[str, Any]] = {422: {"model": Problem, "description": "Not understood."}}

BeginQuery = Annotated[str, Query(description="RFC 3339 with a zone, or relative to now such as -6h")]
End = Annotated[str, Query(description="as begin; without it, now")]
Cursor = Annotated[str | None, Query(description="from the address of the next page")]
PageSize = Annotated[int, Query(ge=1, le=1000)]


def history_api(board: Board, store: Repository, access: Access, audit: Audit) -> APIRouter:
    """The routes below /api/v1 that ask the store."""
    router = APIRouter(
        prefix="/api/v1",
        tags=["history"],
        generate_unique_id_function=operation_id,
        dependencies=[Depends(access.reader)],
        responses=REFUSED | STORE | INVALID,
    )
    path = "/databases/{db}"

    @router.get(f"{path}/history", response_model=HistoryOut, responses=NOT_FOUND | AS_CSV)
    def get_history(
        request: Request,
        response: Response,
        db: str,
        metric: Annotated[list[str], Query(description="which figures; see docs/rest.md")],
        begin: BeginQuery = "-1h",
        end: End = "now",
        resolution: RequestedResolution = "auto",
        of: Annotated[list[str] | None, Query(description="only these children, caches, places or events")] = None,
        format: Annotated[Literal["json", "csv"] | None, Query(description="without it, what Accept asks for")] = None,
        cursor: Cursor = None,
        limit: Annotated[int, Query(ge=1, le=5000, description="times at once")] = 1000,
    ) -> HistoryOut | Response:
        """Figures over time, as JSON or CSV; a gap is null, never zero."""
        watched, within = watched_in(board, db), asked_window(begin, end)
        unknown = [name for name in metric if name not in NAMED]
        if unknown:
            raise HTTPException(422, f"no metric {', '.join(unknown)}; there are: {', '.join(NAMED)}")
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
        # What a later page may know is in the frame; without one, only an answer of one page can tell.
        if cursor is None and (found.cursor is None or frame is not None):
            _of_known(found, of or ())
        more = link_next(request, response, within, found.cursor, resolution=found.resolution)
        if format == "csv" or (format is None and CSV in request.headers.get("accept", "")):
            headers = {name: value for name, value in response.headers.items() if name == "link"}
            return Response(_csv(found), media_type=CSV, headers=headers)
        return _history_out(found, more)

    @router.get(f"{path}/episodes", responses=NOT_FOUND)
    def list_episodes(
        request: Request,
        response: Response,
        db: str,
        begin: BeginQuery = "-90d",
        end: End = "now",
        cursor: Cursor = None,
        limit: PageSize = 200,
    ) -> list[EpisodeOut]:
        """Troubles from start to end, newest first; those that last have no end. `Link` leads to older ones."""
        watched = watched_in(board, db)
        return episodes(request, response, [watched], db, asked_window(begin, end), cursor, limit)

    @router.get("/episodes", responses=NOT_FOUND)
    def list_all_episodes(
        request: Request,
        response: Response,
        database: Annotated[str | None, Query(description="episodes of this database only")] = None,
        begin: BeginQuery = "-7d",
        end: End = "now",
        cursor: Cursor = None,
        limit: PageSize = 200,
    ) -> list[EpisodeOut]:
        """Troubles of every database, or of one, newest first. `Link` leads to older ones."""
        watched = list(board) if database is None else [watched_in(board, database)]
        return episodes(request, response, watched, database, asked_window(begin, end), cursor, limit)

    def episodes(
        request: Request,
        response: Response,
        watched: list[MonitoredDatabase],
        db: str | None,
        within: Window,
        cursor: str | None,
        limit: int,
    ) -> list[EpisodeOut]:
        page = understood(lambda: presenters.episode_page(store, watched, db, within, cursor, limit))
        link_next(request, response, within, page.cursor)
        return [presenters.episode_out(episode) for episode in page.items]

    @router.get(f"{path}/marks", responses=NOT_FOUND)
    def list_marks(
        request: Request,
        response: Response,
        db: str,
        begin: BeginQuery = "-90d",
        end: End = "now",
        cursor: Cursor = None,
        limit: PageSize = 100,
    ) -> list[MarkOut]:
        """Change marks, newest first. `Link` leads to older ones."""
        watched_in(board, db)
        within = asked_window(begin, end)
        page = understood(lambda: store.marks.between(db, within.begin, within.end, cursor, limit))
        link_next(request, response, within, page.cursor)
        return [MarkOut.model_validate(mark, from_attributes=True) for mark in page.items]

    @router.post(f"{path}/marks", status_code=201, responses=NOT_FOUND)
    def create_mark(db: str, wanted: MarkIn, caller: Annotated[Caller, Depends(access.operator)]) -> MarkOut:
        """Mark that something was changed, so that before can be held against after."""
        watched_in(board, db)
        now = datetime.now(UTC)
        try:
            mark = set_mark(store, db, wanted.text, wanted.at or now, caller.name, now)
        except BadMark as error:
            audit.record(caller.name, "mark", db, f"refused: {error}")
            raise HTTPException(422, str(error)) from None
        audit.record(caller.name, "mark", db, f"kept as {mark.id}: {mark.text}")
        return MarkOut.model_validate(mark, from_attributes=True)

    @router.get(f"{path}/compare", responses=NOT_FOUND | UNTOLD)
    def get_comparison(
        db: str,
        before: Annotated[str | None, Query(description="a window, begin/end; each RFC 3339 or relative")] = None,
        after: Annotated[str | None, Query(description="a window, begin/end")] = None,
        mark: Annotated[str | None, Query(description="last, or the id of a mark, in place of two windows")] = None,
        span: Annotated[str | None, Query(description="how long the windows of a mark are; chosen without it")] = None,
        settle: Annotated[str | None, Query(description="time after a mark that is left out; 20s without it")] = None,
    ) -> Comparison:
        """Before against after, per unit of work: two windows, or both sides of a change mark."""
        watched_in(board, db)
        try:
            if mark is not None and before is None and after is None:
                length = None if span is None else duration("span", span)
                return at_mark(store, db, mark, length, SETTLE if settle is None else duration("settle", settle))
            if mark is None and before is not None and after is not None and span is None and settle is None:
                now = datetime.now(UTC)
                return comparison(store, db, one_window(before, now), one_window(after, now))
        except BadWindow as error:
            raise HTTPException(422, str(error)) from None
        except NoMark as error:
            raise HTTPException(404, str(error)) from None
        except CannotCompare as error:
            raise HTTPException(409, str(error)) from None
        raise HTTPException(
            422, "give before and after, or mark (last or an id) with span and settle where they matter"
        )

    return router


def _of_known(found: TimeSeriesSet, of: Sequence[str]) -> None:
    """Raise HTTPException 422 where a name of `of` is none of those known in the window."""
    unknown = [name for name in of if not any(is_of(label, [name]) for label in found.known)]
    if unknown:
        there = ", ".join(found.known) or "none, as these metrics have nothing by name here; leave `of` out"
        raise HTTPException(422, f"nothing is named {', '.join(unknown)} in this window; there are: {there}")


def _caches(watched: MonitoredDatabase) -> dict[int, str]:
    labels = watched.published.labels if watched.published else None
    return {child: labels.name(child) for child in labels.children} if labels else {}


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
    """One line per time and series; an unknown value is an empty cell."""
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("time", "seconds", "metric", "of", "unit", "value"))
    for index, (at, seconds) in enumerate(zip(found.times, found.seconds, strict=True)):
        for series in found.series:
            writer.writerow((iso(at), seconds, series.metric, series.of, series.unit, series.values[index]))
    return file.getvalue()
