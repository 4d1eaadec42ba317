"""The page of one database: what is wrong and what to do first, the reasoning as a picture, the last hour, and the rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from markupsafe import Markup
from starlette.responses import Response

from rules.model import Diagnosis
from service.intake.uploads import Uploads
from service.state.board import Board, MonitoredDatabase
from service.state.last_hour import LAST_HOUR
from service.state.mark_verdicts import in_words
from service.state.window import PRESETS, BadWindow, Window, moment
from service.store.queries.reports import StoredReportSummary
from service.store.repository import Repository
from service.store.schema.engine import STORE_ERRORS, StoreError
from service.web import presenters
from service.web.access import Access, Caller
from service.web.charts import overview, timechart
from service.web.charts.axis import FRAMES, Axis, Frame
from service.web.charts.panels import ChartPanel, reached, thinned
from service.web.charts.timeline import Event
from service.web.charts.usual import UsualStretch, usual_lines
from service.web.fleet_rows import FleetRows
from service.web.fleet_schemas import DatabaseOut
from service.web.pages import words
from service.web.pages.action_said import said_of
from service.web.pages.diagnosis import diagnosis_view
from service.web.pages.events import as_events, happenings, of_mark
from service.web.pages.layout import GONE, HERE, no_database, page, refused
from service.web.pages.past_trouble import past_trouble
from service.web.pages.restarted import RestartNote, restart_note

LISTED = 10
"""Uploaded reports and change marks shown on the page of their database."""
MARKS_SINCE = timedelta(days=7)
TOLD_MARK = timedelta(days=1)
"""How long a change is shown at the top of the page."""
ROWS = 40
DRAWN = (overview.SHARE, overview.CHILDREN, overview.MUTEXES, overview.EXECUTIONS)
SHOWN = ("share", "sleeps", "executions")
static = StaticFiles(directory=HERE / "static")


@dataclass(frozen=True, slots=True)
class ChangeNote:
    """The last change, and its result."""

    at: str
    text: str
    outcome: str
    verdict: str
    link: str


def pages(board: Board, access: Access, uploads: Uploads, store: Repository) -> APIRouter:
    """The HTML route of a database. It shows what REST shows."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    @router.get("/db/{db}")
    def database(
        request: Request, db: str, caller: Annotated[Caller, Depends(access.reader)], done: str = "", at: str = ""
    ) -> Response:
        watched = board.get(db)
        if watched is None:
            return no_database(request, db, [known.name for known in board])
        now = datetime.now(UTC)
        try:
            values = shown(watched, store, now, caller, moment(at, now) if at else None)
        except BadWindow as error:
            return refused(request, db, 422, str(error))
        except STORE_ERRORS:
            return refused(request, db, 503, GONE)
        values["said"] = said_of(watched, done)
        return page(request, "database.html", **values, reports=_reports(uploads, watched))

    return router


def shown(
    watched: MonitoredDatabase, store: Repository, now: datetime, caller: Caller, at: datetime | None = None
) -> dict[str, Any]:
    """The data of a database's template, without uploaded reports. With `at` as of that time."""
    out, diagnosis = FleetRows(store).row(watched), _told(store, watched, at)
    view = diagnosis_view(watched.name, diagnosis, "views", (), at or now, None if at else out)
    return {
        "database": out,
        "diagnosis": diagnosis,
        "view": view,
        "change": None if at else _change(out, now),
        "latches": None if at else presenters.latches_out(watched),
        "caches": None if at else presenters.caches_out(watched),
        "episodes": presenters.episodes_out(watched),
        "may_operate": caller.role == "operate",
        "presets": PRESETS,
        "restart": None if at else _restart(store, watched, out),
        "past": None if at or view.card.state != "fine" or diagnosis.easing else past_trouble(watched),
        "said": None,
        "at": at,
        **recent(store, watched, now, at),
    }


def _told(store: Repository, watched: MonitoredDatabase, at: datetime | None) -> Diagnosis:
    """The diagnosis with its episodes. The current one without them if the store does not answer."""
    if at is not None:
        return presenters.told_at(store, watched, at)
    try:
        return presenters.told_now(store, watched)
    except STORE_ERRORS:
        return presenters.diagnosis_of(watched)


def _restart(store: Repository, watched: MonitoredDatabase, out: DatabaseOut) -> RestartNote | None:
    """The restart of the last hour. None if the store does not answer."""
    try:
        return restart_note(store, watched, out)
    except STORE_ERRORS:
        return None


def _change(out: DatabaseOut, now: datetime) -> ChangeNote | None:
    mark = out.last_mark
    if mark is None or now - mark.at > TOLD_MARK:
        return None
    return ChangeNote(
        at=words.clock(mark.at, now),
        text=mark.text,
        outcome=words.outcome(mark.outcome),
        verdict=in_words(mark.verdict or "")[1],
        link=f"/db/{quote(out.name)}/compare?mark={quote(mark.id)}",
    )


def _reports(uploads: Uploads, watched: MonitoredDatabase) -> list[StoredReportSummary] | None:
    """Uploaded reports of a database. None if the store does not answer, so that the page still works."""
    try:
        return uploads.newest(LISTED, watched.name)
    except StoreError:
        return None


@dataclass(frozen=True, slots=True)
class HourCharts:
    """The charts of the last hour: key, title and drawing of each."""

    charts: Sequence[tuple[str, str, Markup]]
    drawn: overview.Overview
    window: Window


def last_hour(
    store: Repository,
    watched: MonitoredDatabase,
    now: datetime,
    frames: Sequence[Frame] = FRAMES,
    at: datetime | None = None,
) -> HourCharts:
    """The last hour from the store, so that it survives a restart. With `at` the hour around it. Raises what the store raises."""
    last = watched.published.snapshot if watched.published else store.last_snapshot(watched.name)
    end = min(at + LAST_HOUR / 2, now) if at else ((last and last.taken_at) or now) + timedelta(milliseconds=1)
    drawn = overview.overview(store, watched.name, Window(end - LAST_HOUR, end), watched.labels, DRAWN)
    window = drawn.window if at else _watched(drawn, end)
    events = as_events(happenings(store, watched.name, window), end)
    gaps = [gap for gap in drawn.gaps if gap.end > window.begin]
    usual = usual_lines(store, watched.name, window)
    charts = [
        (panel.key, panel.title, _charted(panel, Axis(window), drawn, gaps, events, usual.get(panel.key, ()), frames))
        for panel in drawn.panels
        if panel.key in SHOWN
    ]
    return HourCharts(charts if len(drawn.stretches) > 1 else [], drawn, window)


def _charted(
    panel: ChartPanel,
    axis: Axis,
    drawn: overview.Overview,
    gaps: Sequence[overview.Gap],
    events: Sequence[Event],
    usual: Sequence[UsualStretch],
    frames: Sequence[Frame],
) -> Markup:
    return timechart.chart(panel, axis, drawn.stretches, gaps, events, timechart.least(panel), usual, frames)


def recent(store: Repository, watched: MonitoredDatabase, now: datetime, at: datetime | None = None) -> dict[str, Any]:
    """The last hour as charts and as a table, and the latest marks. Empty if the store does not answer."""
    try:
        found = last_hour(store, watched, now, at=at)
        marks = store.marks.between(watched.name, now - MARKS_SINCE, now, limit=LISTED).items
    except STORE_ERRORS:
        return {"charts": None, "marks": [], "values": None, "resolution": "", "pictures": ()}
    return {
        "charts": [chart for _, _, chart in found.charts],
        "pictures": [(key, title) for key, title, chart in found.charts if "<svg" in chart],
        "values": table(found.drawn, SHOWN) if found.charts else None,
        "marks": [of_mark(mark) for mark in marks],
        "resolution": found.drawn.resolution,
    }


def _watched(drawn: overview.Overview, end: datetime) -> Window:
    """The last hour. If less of it was watched, from shortly before the first poll."""
    if not drawn.stretches:
        return drawn.window
    known = end - drawn.stretches[0].begin
    return Window(max(drawn.window.begin, end - max(known * 1.05, timedelta(minutes=1))), end)


@dataclass(frozen=True, slots=True)
class ValuesTable:
    """The values of charts as a table."""

    headings: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str]]]


def table(drawn: overview.Overview, keys: Sequence[str]) -> ValuesTable:
    """The values behind the charts, at most `ROWS` rows, the newest first."""
    by = -(-len(drawn.stretches) // ROWS) if drawn.stretches else 1
    stretches, panels = thinned(drawn.stretches, [panel for panel in drawn.panels if panel.key in keys], by)
    lines = [(panel, line) for panel in panels for line in panel.lines]
    headings = [
        line.name if line.name not in (panel.title, "all") else f"{panel.title}, {panel.unit}" for panel, line in lines
    ]
    rows = [
        (f"{stretch.end:%H:%M:%S}", [reached(line, index) for _, line in lines])
        for index, stretch in enumerate(stretches)
    ]
    return ValuesTable(headings, rows[::-1])
