"""The page of a database over time: any window by its address, without a script."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from starlette.responses import Response

from service.state.board import Board, MonitoredDatabase
from service.state.window import PRESETS, BadWindow, Window, window
from service.store.engine import STORE_ERRORS
from service.store.repository import Repository
from service.web.access import Access
from service.web.charts import history as history_
from service.web.charts import timeline
from service.web.charts.history import usual_lines
from service.web.charts.svg import Axis, reached, thinned
from service.web.charts.timeline import Overview, overview
from service.web.pages.events import as_events, happenings
from service.web.pages.layout import GONE, no_database, page, refused

ROWS = 60


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One row of the table: figures as text, or why there are none."""

    begin: datetime
    end: datetime
    cells: tuple[str, ...]
    why: str | None


def history_pages(board: Board, store: Repository, access: Access) -> APIRouter:
    """The HTML route of the history."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    @router.get("/db/{db}/history", dependencies=[Depends(access.reader)])
    def history(request: Request, db: str, begin: str = "-1h", end: str = "now") -> Response:
        watched = board.refreshed(db)
        if watched is None:
            return no_database(request, db, [known.name for known in board])
        now = datetime.now(UTC)
        try:
            chosen = window(begin, end, now)
            asked = begin if end == "now" else ""
            return page(request, "history.html", asked=asked, **_shown(store, watched, chosen, now))
        except BadWindow as error:
            return refused(request, db, 422, str(error))
        except STORE_ERRORS:
            return refused(request, db, 503, GONE)

    return router


def _shown(store: Repository, watched: MonitoredDatabase, chosen: Window, now: datetime) -> dict[str, Any]:
    """The data of the history's template."""
    drawn = overview(store, watched.name, chosen, watched.map)
    happened = happenings(store, watched.name, chosen)
    events, axis = as_events(happened, min(now, chosen.end)), Axis(chosen)
    usual = usual_lines(store, watched.name, chosen)
    home = f"/db/{quote(watched.name)}/history"
    return {
        "database": watched.name,
        "home": home,
        "chosen": chosen,
        "drawn": drawn,
        "presets": PRESETS,
        "now": now,
        "happened": happened,
        "timeline": timeline.events(events, axis, drawn.gaps, home),
        "charts": [
            history_.chart(
                panel, axis, drawn.stretches, drawn.gaps, events, history_.least(panel), usual.get(panel.key, ())
            )
            for panel in drawn.panels
        ],
        "columns": [(panel, line) for panel in drawn.panels for line in panel.lines],
        "rows": rows(drawn),
        "spread": any(line.highs for panel in drawn.panels for line in panel.lines),
        "csv": f"/api/v1/databases/{quote(watched.name)}/history?{_asking(drawn)}",
    }


def _asking(drawn: Overview) -> str:
    """The query that returns the figures of the page over REST."""
    sleeps = "mutex_sleeps" if drawn.mutexes else "child_sleeps"
    metrics = ("share_of_db_time", sleeps, "cache_gets", "hard_parses", "executions", "cache_usage")
    named = [*(("metric", metric) for metric in metrics), ("format", "csv"), ("limit", "5000")]
    return f"{urlencode(named)}&{drawn.window.query}"


def rows(drawn: Overview) -> list[HistoryRow]:
    """The figures as a table of at most `ROWS` rows beside the gaps, oldest first."""
    by = -(-len(drawn.stretches) // ROWS) if drawn.stretches else 1
    stretches, panels = thinned(drawn.stretches, drawn.panels, by)
    lines = [line for panel in panels for line in panel.lines]
    figures = [
        HistoryRow(stretch.begin, stretch.end, tuple(reached(line, index) for line in lines), None)
        for index, stretch in enumerate(stretches)
    ]
    return sorted(
        [*figures, *(HistoryRow(gap.begin, gap.end, (), gap.why) for gap in drawn.gaps)], key=lambda row: row.begin
    )
