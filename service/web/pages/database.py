"""The page of one database: what is wrong and what to do first, the reasoning as a picture, the last hour, and the rest.

It also shows a restart and a trouble that just ended. Its forms set a change mark and run an operator's actions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles
from markupsafe import Markup
from starlette.responses import Response

from rules.cause import catalogue
from rules.changes import nearest_to
from rules.formatting import number, sentence
from rules.model import Diagnosis
from service.config.logs import Audit
from service.history.comparison import diagnosis_at
from service.history.marks import BadMark, set_mark
from service.intake.uploads import Uploads
from service.state.board import LAST_HOUR, Board, MonitoredDatabase
from service.state.episodes import Episode
from service.state.time_window import PRESETS, Window, moment
from service.store.engine import STORE_ERRORS, StoreError
from service.store.repository import Repository
from service.watch.actions import OperatorActions
from service.web import presenters
from service.web.access import Access, Caller
from service.web.api.databases import attempt
from service.web.charts import timeline
from service.web.pages import words
from service.web.pages.diagnosis import diagnosis_view
from service.web.pages.history import as_events, cells_of, change_flags, charts_of, of_mark, page_events
from service.web.pages.layout import (
    HERE,
    form_of,
    page,
    page_router,
    refused,
    watched_in,
)
from service.web.presenters import FleetRows
from service.web.schemas import DatabaseOut

T = TypeVar("T")

# The message on the page of a database after an operator's action.


@dataclass(frozen=True, slots=True)
class ActionSaid:
    """The result of an action, in one sentence."""

    words: str
    failed: bool = False


DONE: Mapping[str, str] = {
    "sampled": "Waiting sessions are sampled from the next poll to the one after it.",
    "resumed": "latchscope logs in once more with the same password.",
    "confirmed": "The confirming query ran. Its result counts from the next poll on.",
}


def said_of(watched: MonitoredDatabase, done: str) -> ActionSaid | None:
    """The message after an action. None without one."""
    if done == "confirmed" and watched.confirmed:
        last = max(watched.confirmed.values(), key=lambda result: result.at)
        if last.value is not None:
            return ActionSaid(f"The query gave {number(last.value)}. It counts from the next poll on.")
    words = DONE.get(done)
    return ActionSaid(words) if words else None


# The restart of an instance on its page: when, the state before, how long nobody watched, and what is lost.

SLACK = timedelta(seconds=1)


def restart_note(store: Repository, watched: MonitoredDatabase, out: DatabaseOut) -> dict[str, Any] | None:
    """The restart of the last hour: when, the last poll before it and its diagnosis, and the first poll after it.

    None if we saw none. Raises what the store does.
    """
    now = watched.published.snapshot.taken_at if watched.published else None
    if now is None:
        return None
    seen = [
        gap
        for gap in store.history.polls(watched.name, now - LAST_HOUR, now + SLACK, broken=True)
        if gap.kind == "restart"
    ]
    polls = store.history.polls(watched.name, seen[-1].at - LAST_HOUR, seen[-1].at) if seen else ()
    if not polls:
        return None
    last, first = polls[-1].at, seen[-1].at
    began = out.started_at if out.started_at and last <= out.started_at <= first else first
    before = diagnosis_at(store, watched.name, last)
    return {"began": began, "now": now, "before": before, "last": last, "first": first}


def past_trouble(watched: MonitoredDatabase) -> Episode | None:
    """The last episode that ended within the hour before the last poll; None where there was none."""
    now = watched.published.snapshot.taken_at if watched.published else None
    ended = [(each.end, each) for each in watched.episodes.all if each.end and now and each.end > now - LAST_HOUR]
    return max(ended, key=lambda pair: (pair[0], pair[1].peak_severity.rank))[1] if ended else None


LISTED = 10
"""Uploaded reports and change marks shown on the page of their database."""
MARKS_SINCE = timedelta(days=7)
TOLD_MARK = timedelta(days=1)
"""How long a change is shown at the top of the page."""
ROWS = 40
DRAWN = ("share", "sleeps", "executions")
static = StaticFiles(directory=HERE / "static")


def pages(board: Board, access: Access, uploads: Uploads, store: Repository) -> APIRouter:
    """The HTML route of a database. It shows what REST shows."""
    router = page_router()

    @router.get("/db/{db}")
    def database(
        request: Request, db: str, caller: Annotated[Caller, Depends(access.reader)], done: str = "", at: str = ""
    ) -> Response:
        watched = watched_in(board, db)
        now = datetime.now(UTC)
        values = shown(watched, store, now, caller, moment(at, now) if at else None)
        values["said"] = said_of(watched, done)
        reports = _if_it_answers(lambda: uploads.newest(LISTED, watched.name))
        return page(request, "database.html", **values, reports=reports)

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
        "change": out.last_mark if not at and out.last_mark and now - out.last_mark.at <= TOLD_MARK else None,
        "latches": None if at else presenters.latches_out(watched),
        "caches": None if at else presenters.caches_out(watched),
        "episodes": [presenters.episode_out(each) for each in watched.episodes.all],
        "may_operate": caller.role == "operate",
        "presets": PRESETS,
        "restart": None if at else _if_it_answers(lambda: restart_note(store, watched, out)),
        "past": None if at or view.card.state not in words.CALM or diagnosis.easing else past_trouble(watched),
        "said": None,
        "changes": changes_card(diagnosis),
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
        return presenters.with_timeline(presenters.diagnosis_of(watched), watched, watched.episodes.open)


NEAR = 10
"""Changes on the page. The others are behind a click."""


def changes_card(diagnosis: Diagnosis) -> dict[str, Any] | None:
    """The card of the timeline, oldest first: the changes nearest to the begin of the waits, all if those are not all, and gaps.

    None without a reading.
    """
    if diagnosis.changes is None:
        return None
    begin = diagnosis.waits_began
    near = nearest_to(diagnosis.changes, begin, NEAR) if begin else diagnosis.changes[-NEAR:]
    every = diagnosis.changes if len(diagnosis.changes) > len(near) else ()
    return {"near": near, "every": every, "missing": diagnosis.changes_missing}


def _if_it_answers(ask: Callable[[], T]) -> T | None:
    """What the store has. None if it does not answer, so that the page still works."""
    try:
        return ask()
    except (StoreError, *STORE_ERRORS):
        return None


def last_hour(
    store: Repository, watched: MonitoredDatabase, now: datetime, at: datetime | None = None
) -> tuple[Sequence[Markup], timeline.Overview]:
    """The charts of the last hour from the store, so that it survives a restart. With `at` the hour around it. Raises what the
    store raises."""
    last = watched.snapshot or store.last_snapshot(watched.name)
    end = min(at + LAST_HOUR / 2, now) if at else ((last and last.taken_at) or now) + timedelta(milliseconds=1)
    drawn = timeline.overview(store, watched.name, Window(end - LAST_HOUR, end), watched.map, DRAWN, newest=last)
    window = drawn.window if at else _watched(drawn, end)
    events = [*as_events(page_events(store, watched.name, window), end), *change_flags(store, watched.name, window)]
    gaps = [gap for gap in drawn.gaps if gap.end > window.begin]
    return (charts_of(store, watched.name, drawn, window, gaps, events) if len(drawn.stretches) > 1 else []), drawn


def recent(store: Repository, watched: MonitoredDatabase, now: datetime, at: datetime | None = None) -> dict[str, Any]:
    """The last hour as charts and as a table, and the latest marks. Empty if the store does not answer."""
    try:
        charts, drawn = last_hour(store, watched, now, at)
        marks = store.marks.between(watched.name, now - MARKS_SINCE, now, limit=LISTED).items
    except STORE_ERRORS:
        return {"charts": None, "marks": [], "values": None, "resolution": ""}
    return {
        "charts": charts,
        "values": table(drawn) if charts else None,
        "marks": [of_mark(mark) for mark in marks],
        "resolution": drawn.resolution,
    }


def _watched(drawn: timeline.Overview, end: datetime) -> Window:
    """The last hour. If less of it was watched, from shortly before the first poll."""
    if not drawn.stretches:
        return drawn.window
    known = end - drawn.stretches[0].begin
    return Window(max(drawn.window.begin, end - max(known * 1.05, timedelta(minutes=1))), end)


def table(drawn: timeline.Overview) -> dict[str, Any]:
    """The values behind the charts as a table, at most `ROWS` rows, the newest first."""
    lines = [(panel, line) for panel in drawn.panels for line in panel.lines]
    headings = [
        line.name if line.name not in (panel.title, "all") else f"{panel.title}, {panel.unit}" for panel, line in lines
    ]
    rows = [(f"{stretch.end:%H:%M:%S}", cells) for stretch, cells in cells_of(drawn, ROWS)]
    return {"headings": headings, "rows": rows[::-1]}


# The forms of a database's page: set a change mark, run a confirming query, sample sessions, log in once more.
#
# They need no script. The rules for senders are those of REST. Each action leaves a line in the audit log.

Action = Callable[[MonitoredDatabase], object]


def operate_pages(board: Board, store: Repository, can: OperatorActions, access: Access, audit: Audit) -> APIRouter:
    """The POST routes of forms below /db/{db}, for operators. A mark leads to before and after, an action back to the page."""
    router = page_router()

    async def posted(request: Request, caller: Annotated[Caller, Depends(access.operator)]) -> Mapping[str, str]:
        return await form_of(request)

    @router.post("/db/{db}/marks")
    def mark(
        request: Request,
        db: str,
        form: Annotated[Mapping[str, str], Depends(posted)],
        caller: Annotated[Caller, Depends(access.operator)],
    ) -> Response:
        watched_in(board, db)
        try:
            now = datetime.now(UTC)
            kept = set_mark(store, db, form.get("text", ""), moment(form.get("at", ""), now), caller.name, now)
        except BadMark as error:
            return refused(request, db, 422, str(error))
        except STORE_ERRORS:
            audit.record(caller.name, "mark", db, "failed: the store does not answer")
            return refused(request, db, 503, "the store does not answer, so the mark was not kept; try again")
        audit.record(caller.name, "mark", db, f"kept as {kept.id}: {kept.text}")
        return RedirectResponse(f"/db/{quote(db)}/compare?mark={kept.id}", 303)

    def done(request: Request, db: str, caller: Caller, said: str, run: Action, action: str) -> Response:
        watched = watched_in(board, db)
        try:
            attempt(audit, caller, action, watched, lambda: run(watched))
        except HTTPException as error:
            values = shown(watched, store, datetime.now(UTC), caller)
            values |= {"said": ActionSaid(f"{sentence(str(error.detail))}.", failed=True), "reports": []}
            return page(request, "database.html", error.status_code, **values)
        place = "#confirm" if said == "confirmed" else ""
        return RedirectResponse(f"/db/{quote(db)}?done={said}{place}", 303)

    @router.post("/db/{db}/confirmations")
    def confirm(
        request: Request,
        db: str,
        form: Annotated[Mapping[str, str], Depends(posted)],
        caller: Annotated[Caller, Depends(access.operator)],
    ) -> Response:
        cause = catalogue().get(form.get("cause", ""))

        def run(watched: MonitoredDatabase) -> object:
            if cause is None or cause.confirm is None:
                raise HTTPException(404, f"no cause {form.get('cause', '')[:60]} with a confirming query")
            return can.confirm(watched, cause, names=True)

        return done(request, db, caller, "confirmed", run, f"confirm {cause.id}" if cause else "confirm")

    @router.post("/db/{db}/samples")
    def sample(request: Request, db: str, caller: Annotated[Caller, Depends(access.operator)]) -> Response:
        return done(request, db, caller, "sampled", can.sample, "sample sessions")

    @router.post("/db/{db}/login/resume")
    def resume(request: Request, db: str, caller: Annotated[Caller, Depends(access.operator)]) -> Response:
        return done(request, db, caller, "resumed", can.resume_login, "resume login")

    return router
