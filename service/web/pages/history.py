"""A database over time: episodes and change marks as every page lists them, and the page of any window by its address."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Request
from markupsafe import Markup
from starlette.responses import Response

from rules.changes import MOST as MOST_CHANGES
from rules.changes import told
from rules.formatting import rough, sentence
from service.history.differences import LONGEST, Difference, Differences, differences
from service.state.board import Board, MonitoredDatabase
from service.state.episodes import Episode
from service.state.episodes import told as verdict_told
from service.state.time_window import PRESETS, Window, window
from service.store.episodes import Mark
from service.store.repository import Repository
from service.web.access import Access
from service.web.charts import history as history_
from service.web.charts import timeline
from service.web.charts.history import usual_lines
from service.web.charts.svg import Axis, Gap, WatchedStretch, reached, thinned
from service.web.charts.timeline import Event, Overview, overview
from service.web.pages.layout import page, page_router, watched_in
from service.web.pages.words import NOT_KNOWN, share, state_of

MOST = 100
SIDE = timedelta(minutes=30)
"""The longest side of a comparison that an episode leads to."""
LEAST = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class PageEvent:
    """One line of the list. `kind` is the state at the peak of an episode, or `mark`."""

    database: str
    kind: str
    begin: datetime
    end: datetime | None
    title: str
    note: str
    """The result of an episode, or who set the mark."""
    link: str
    compare: str
    comparing: str

    def event(self, now: datetime, of_many: bool) -> Event:
        """The same on the timeline. An open episode reaches to now. Among many databases each has its own name."""
        name = f"{self.database}: {self.title}" if of_many else self.title
        if self.kind == "mark":
            return Event(self.begin, None, "mark", f"{name} ({self.note})", self.compare, self.title)
        words = f"{name}{f' ({self.note})' if self.note else ''}"
        return Event(
            self.begin,
            self.end or max(now, self.begin),
            self.kind,
            words,
            self.link,
            self.database if of_many else self.title,
            lasts=self.end is None,
        )


def page_events(store: Repository, database: str | None, window: Window) -> list[PageEvent]:
    """The events of a database, or of all, the newest first: at most `MOST` episodes and as many marks."""
    episodes = store.episodes.between(database, window.begin, window.end, limit=MOST).items
    marks = store.marks.between(database, window.begin, window.end, limit=MOST).items
    events = [*(_episode(episode, window.end) for episode in episodes), *(of_mark(mark) for mark in marks)]
    return sorted(events, key=lambda event: event.begin, reverse=True)


LONGEST_WITH_CHANGES = timedelta(days=1)
"""In a longer window the changes would cover each other."""


def change_flags(store: Repository, database: str, window: Window) -> list[Event]:
    """What changed on a database within a window as flags without words, the newest `MOST_CHANGES`."""
    if window.length > LONGEST_WITH_CHANGES:
        return []
    found = store.timeline.between(database, window.begin, window.end, limit=MOST_CHANGES).items
    home = f"/db/{quote(database)}/history"
    return [
        Event(one.at, None, "change", told(one, None), f"{home}?{Window(one.at - SIDE, one.at + SIDE).query}", "")
        for one in found
    ]


def of_mark(mark: Mark) -> PageEvent:
    """A change mark. It links to the time around it, and to the comparison of before and after."""
    around = Window(mark.at - SIDE, mark.at + SIDE)
    home = f"/db/{quote(mark.database)}"
    return PageEvent(
        mark.database, "mark", mark.at, None, mark.text, f"set by {mark.who}",
        f"{home}/history?{around.query}", f"{home}/compare?mark={quote(mark.id)}", "compare before and after",
    )  # fmt: skip


def _episode(episode: Episode, now: datetime) -> PageEvent:
    until = max(episode.end or now, episode.begin + LEAST)
    around = Window(episode.begin, until).scaled(1.5)
    before, after, words = _sides(episode, now)
    home = f"/db/{quote(episode.database)}"
    return PageEvent(
        episode.database, state_of(episode.peak_severity), episode.begin, episode.end,
        f"{episode.title} on {episode.cache}" if episode.cache else episode.title, verdict_told(episode.verdict or ""),
        f"{home}/history?{around.query}",
        f"{home}/compare?before={quote(before.dots)}&after={quote(after.dots)}", words,
    )  # fmt: skip


def _sides(episode: Episode, now: datetime) -> tuple[Window, Window, str]:
    """An ended episode against the time after it, or an open one against the time before it."""
    side = min(max((episode.end or now) - episode.begin, LEAST), SIDE)
    if episode.end is None:
        since = Window(max(episode.begin, now - side), max(now, episode.begin + LEAST))
        return Window(episode.begin - side, episode.begin), since, "compare with before it"
    during = Window(max(episode.begin, episode.end - side), max(episode.end, episode.begin + LEAST))
    return during, Window(during.end, during.end + side), "compare with after it"


def as_events(events: Sequence[PageEvent], now: datetime, of_many: bool = False) -> list[Event]:
    return [event.event(now, of_many) for event in events]


ROWS = 60


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One row of the table: figures as text, or why there are none."""

    begin: datetime
    end: datetime
    cells: tuple[str, ...]
    why: str | None


MOST_MEMBERS = 3
LEAST_PART = 0.01
"""Rows of a group of differences, and the part of them that a row has at least. REST has all."""


DifferingGroup = tuple[str, Sequence[tuple[Difference, Sequence[str]]], int, str | None]
"""Title, its largest differences with their figures as text, how many more there are, and why nobody can tell."""


def differing(found: Differences) -> Iterator[DifferingGroup]:
    """The groups for the page, those without any difference left out."""
    for group in found.groups:
        members = [member for member in group.members if member.difference != 0]
        large = [member for member in members if (member.share_of_difference or 1.0) >= LEAST_PART][:MOST_MEMBERS]
        if members or group.cannot_tell:
            title = sentence(group.title) if group.unit in group.title else f"{sentence(group.title)}, {group.unit}"
            rows = [(member, _figures(member)) for member in large]
            yield title, rows, len(members) - len(rows), group.cannot_tell


def _figures(member: Difference) -> Sequence[str]:
    more = member.difference
    return (
        *(NOT_KNOWN if value is None else rough(value) for value in (member.stretch, member.rest)),
        NOT_KNOWN if more is None else f"{'+' if more > 0 else '−'}{rough(abs(more))}",
        NOT_KNOWN if member.ratio is None else f"{rough(member.ratio)}×",
        share(member.share),
        share(member.share_of_difference),
    )


def history_pages(board: Board, store: Repository, access: Access) -> APIRouter:
    router = page_router()

    @router.get("/db/{db}/history", dependencies=[Depends(access.reader)])
    def history(request: Request, db: str, begin: str = "-1h", end: str = "now") -> Response:
        watched = watched_in(board, db)
        now = datetime.now(UTC)
        asked = begin if end == "now" else ""
        return page(request, "history.html", asked=asked, **_shown(store, watched, window(begin, end, now), now))

    return router


def _shown(store: Repository, watched: MonitoredDatabase, chosen: Window, now: datetime) -> dict[str, Any]:
    drawn = overview(store, watched.name, chosen, watched.map, newest=watched.snapshot)
    happened = page_events(store, watched.name, chosen)
    events = [*as_events(happened, min(now, chosen.end)), *change_flags(store, watched.name, chosen)]
    home = f"/db/{quote(watched.name)}/history"
    found = None
    if chosen.length <= LONGEST:
        found = differences(store, watched.name, chosen, watched.map.series_names, watched.snapshot, now)
    return {
        "found": found,
        "differing": list(differing(found)) if found else (),
        "hour": Window(found.hour_begin, found.hour_end) if found else None,
        "longest": LONGEST // timedelta(minutes=1),
        "database": watched.name,
        "home": home,
        "chosen": chosen,
        "drawn": drawn,
        "presets": PRESETS,
        "now": now,
        "happened": happened,
        "timeline": timeline.events(events, Axis(chosen), drawn.gaps, home),
        "charts": charts_of(store, watched.name, drawn, chosen, drawn.gaps, events),
        "columns": [(panel, line) for panel in drawn.panels for line in panel.lines],
        "rows": rows(drawn),
        "spread": any(line.highs for panel in drawn.panels for line in panel.lines),
        "csv": f"/api/v1/databases/{quote(watched.name)}/history?{_asking(drawn)}",
    }


def charts_of(
    store: Repository, database: str, drawn: Overview, window: Window, gaps: Sequence[Gap], events: Sequence[Event]
) -> list[Markup]:
    """The charts of a window, with the usual figures of the database. Raises what the store does."""
    usual, axis = usual_lines(store, database, window), Axis(window)
    return [
        history_.chart(panel, axis, drawn.stretches, gaps, events, history_.least(panel), usual.get(panel.key, ()))
        for panel in drawn.panels
    ]


def cells_of(drawn: Overview, most: int) -> list[tuple[WatchedStretch, tuple[str, ...]]]:
    """At most so many stretches, the earliest first, with a cell for each line of each chart."""
    stretches, panels = thinned(drawn.stretches, drawn.panels, most)
    lines = [line for panel in panels for line in panel.lines]
    return [(stretch, tuple(reached(line, index) for line in lines)) for index, stretch in enumerate(stretches)]


def _asking(drawn: Overview) -> str:
    """The query that returns the figures of the page over REST."""
    sleeps = "mutex_sleeps" if drawn.mutexes else "child_sleeps"
    metrics = ("share_of_db_time", sleeps, "cache_gets", "hard_parses", "executions", "cache_usage")
    named = [*(("metric", metric) for metric in metrics), ("format", "csv"), ("limit", "5000")]
    return f"{urlencode(named)}&{drawn.window.query}"


def rows(drawn: Overview) -> list[HistoryRow]:
    """The figures as a table of at most `ROWS` rows beside the gaps, oldest first."""
    figures = [HistoryRow(stretch.begin, stretch.end, cells, None) for stretch, cells in cells_of(drawn, ROWS)]
    return sorted(
        [*figures, *(HistoryRow(gap.begin, gap.end, (), gap.why) for gap in drawn.gaps)], key=lambda row: row.begin
    )
