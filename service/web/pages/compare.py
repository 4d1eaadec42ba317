"""The page of before against after: around a change mark, or of two windows by their address."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from starlette.responses import Response

from rules.cause import catalogue
from rules.comparison.changes import ChangeVerification, Comparison, NotVerified
from rules.comparison.compare import verified
from service.history.comparison import CannotCompare, ComparedWindows, NoMark, around, comparison
from service.state.board import Board, MonitoredDatabase
from service.state.window import BadWindow, Window, parse_window
from service.store.queries.marks import Mark
from service.store.repository import Repository
from service.store.schema.engine import STORE_ERRORS
from service.web.access import Access
from service.web.charts import overview, timechart
from service.web.charts.axis import HALF, NARROW, Axis
from service.web.charts.panels import ChartPanel, round_up, together
from service.web.pages.compared import WORK_NAMES, compared_rows, leading
from service.web.pages.events import as_events, happenings, of_mark
from service.web.pages.layout import GONE, no_database, page, refused

LISTED = 20
MARKS_SINCE = timedelta(days=90)
DRAWN = (overview.SHARE, overview.CHILDREN, overview.MUTEXES, overview.GETS, overview.HARD, overview.EXECUTIONS)
EVERY_LINE = 1000


def compare_pages(board: Board, store: Repository, access: Access) -> APIRouter:
    """The HTML route of the comparison."""
    router = APIRouter(
        include_in_schema=False, default_response_class=HTMLResponse, dependencies=[Depends(access.reader)]
    )

    @router.get("/db/{db}/compare")
    def compare(request: Request, db: str, before: str = "", after: str = "", mark: str = "") -> Response:
        watched = board.get(db)
        if watched is None:
            return no_database(request, db, [known.name for known in board])
        now = datetime.now(UTC)
        shown: dict[str, Any] = {
            "database": db,
            "before": before,
            "after": after,
            "mark": None,
            "comparison": None,
            "why": None,
        }
        status = 200
        try:
            shown["marks"] = [
                of_mark(mark) for mark in store.marks.between(db, now - MARKS_SINCE, now, limit=LISTED).items
            ]
            try:
                shown |= _asked(store, watched, before, after, mark, now)
            except (BadWindow, NoMark, CannotCompare) as error:
                # "Cannot tell" is an answer, not an error of the caller.
                status = 200 if isinstance(error, CannotCompare) else 404 if isinstance(error, NoMark) else 422
                shown["why"] = str(error)
            return page(request, "compare.html", status, **shown)
        except STORE_ERRORS:
            return refused(request, db, 503, GONE)

    return router


def _asked(
    store: Repository, watched: MonitoredDatabase, before: str, after: str, mark: str, now: datetime
) -> dict[str, Any]:
    """The requested comparison. None without one. Raises BadWindow, NoMark, CannotCompare, and what the store does."""
    if mark:
        found = store.marks.get(watched.name, mark)
        if found is None:
            raise NoMark(f"{watched.name} has no mark {mark[:60]}; choose one of those below, or name two windows")
        return {"mark": found} | _shown(store, watched, around(store, found), found)
    if before or after:
        if not (before and after):
            raise BadWindow("one of the two windows is not given; write both as begin..end")
        return _shown(store, watched, ComparedWindows(parse_window(before, now), parse_window(after, now)), None)
    return {}


def _shown(
    store: Repository, watched: MonitoredDatabase, windows: ComparedWindows, mark: Mark | None
) -> dict[str, Any]:
    text = mark.text if mark else None
    compared = comparison(store, watched.name, windows.before, windows.after, text, windows.notes)
    verdicts = _verdicts(store, watched.name, windows, compared)
    judged = [change for change in compared.changes if change.verdict != "cannot tell"]
    changed = [change for change in judged if change.verdict == "changed"]
    rest = [change for change in judged if change.verdict != "changed"]
    return {
        "comparison": compared,
        "windows": windows,
        "before": windows.before.dots,
        "after": windows.after.dots,
        "pairs": list(_pairs(store, watched, windows)),
        "verdicts": verdicts,
        "lead": leading(compared, verdicts),
        "changed": compared_rows(changed),
        "work": compared_rows([change for change in rest if change.name in WORK_NAMES]),
        "same": compared_rows([change for change in rest if change.name not in WORK_NAMES]),
        "untold": [change for change in compared.changes if change.verdict == "cannot tell"],
        "home": f"/db/{quote(watched.name)}/history",
    }


def _verdicts(
    store: Repository, database: str, windows: ComparedWindows, compared: Comparison
) -> Sequence[tuple[str, ChangeVerification | NotVerified]]:
    """For each trouble of the window before, whether its end is verified."""
    found = store.episodes.between(database, windows.before.begin, windows.before.end).items
    causes = {episode.cause: episode.title for episode in found if episode.cause in catalogue()}
    return [(title, verified(compared, catalogue()[cause])) for cause, title in causes.items()]


def _pairs(store: Repository, watched: MonitoredDatabase, windows: ComparedWindows) -> Iterator[tuple[Markup, Markup]]:
    """Charts of both windows, the same lines on the same scale."""
    sides = [_side(store, watched, window) for window in (windows.before, windows.after)]
    events = [
        as_events(happenings(store, watched.name, window), window.end) for window in (windows.before, windows.after)
    ]
    by_title = {panel.title: panel for panel in sides[1].panels}
    for panel in sides[0].panels:
        if panel.title not in by_title:
            continue
        both = together((panel, sides[0].stretches), (by_title[panel.title], sides[1].stretches))
        scale = _scale(both)
        drawn = [
            timechart.chart(panel, Axis(side.window), side.stretches, side.gaps, lane, scale, frames=(HALF, NARROW))
            for panel, side, lane in zip(both, sides, events, strict=True)
        ]
        yield drawn[0], drawn[1]


def _side(store: Repository, watched: MonitoredDatabase, window: Window) -> overview.Overview:
    return overview.overview(store, watched.name, window, watched.labels, DRAWN, EVERY_LINE)


def _scale(both: Sequence[ChartPanel]) -> float:
    values = (value for panel in both for line in panel.lines for value in line.values if value is not None)
    return round_up(max(values, default=0.0))
