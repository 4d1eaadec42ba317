"""The fleet: every database in one table, those in trouble first."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from rules.cause import catalogue
from rules.explain.story import LABELS, eased, screen
from rules.formatting import within
from service.state.board import LAST_HOUR, Board
from service.state.time_window import Window
from service.store.engine import STORE_ERRORS
from service.store.repository import Repository
from service.web.access import Access
from service.web.charts import sparklines, timeline
from service.web.charts.svg import Axis
from service.web.pages import words
from service.web.pages.history import as_events, page_events
from service.web.pages.layout import page, page_router
from service.web.presenters import FleetRows
from service.web.schemas import DatabaseOut

# One row of the fleet per database: its state and since when, what is wrong, its cost, its last hour and last change.

RANK = {state: place for place, state in enumerate(words.STATES)}


@dataclass(frozen=True, slots=True)
class FleetRow:
    """A database in the fleet, as it is `now`. The last hours of all have one `top`."""

    out: DatabaseOut
    now: datetime
    top: float
    name: str
    state: str
    about: str
    what: str
    do: str
    cache: str
    words: str
    """What it is found by."""

    @property
    def share(self) -> float | None:
        """What it costs, of DB time. None if unknown."""
        return self.out.impact.share_of_db_time if self.out.impact else None

    @property
    def waiting(self) -> float:
        """Sessions that wait, on average."""
        return (self.out.impact.waiting_sessions if self.out.impact else None) or 0.0

    @property
    def new(self) -> bool:
        """Whether its state is younger than an hour."""
        return self.out.since is not None and self.now - self.out.since < LAST_HOUR

    @property
    def bar(self) -> Markup:
        return sparklines.bar(self.share or 0.0, self.state)

    @property
    def spark(self) -> Markup:
        """The last hour as a line. Drawn only for visible rows."""
        percents = [None if value is None else 100 * value for value in self.out.last_hour]
        title = f"{self.name}, share of DB time lost in the last hour: {words.spoken(percents)}"
        begun = None if self.out.since is None else min(max(self._place(self.out.since), 0.0), 1.0)
        marked = [self._place(self.out.last_mark.at)] if self.out.last_mark else []
        marks = sparklines.SparkMarks(self.state, begun, tuple(place for place in marked if 0 <= place <= 1))
        return sparklines.spark(percents, title, marks, self.top)

    def _place(self, at: datetime) -> float:
        """Where a moment lies in the last hour: 0 to 1, and beyond for one before or after it."""
        return 1 - (self.now - at) / LAST_HOUR

    @property
    def link(self) -> str:
        """The page of the database."""
        return f"/db/{quote(self.name)}"

    def order(self, sort: str) -> tuple[object, ...]:
        """Its sort key within its group."""
        if sort == "name":
            return (self.name,)
        if sort == "cache":
            return (not self.cache, self.cache, self.name)
        if sort == "since":
            return (self.out.since is None, -(self.out.since.timestamp() if self.out.since else 0.0), self.name)
        return (RANK[self.state], -self.percents, self.name)

    @property
    def percents(self) -> int:
        """What it costs, as people compare it: rows with next to the same cost must not swap at each poll."""
        return 0 if self.state in words.CALM else round(100 * (self.share or 0.0))


def fleet_table(databases: Iterable[DatabaseOut], now: datetime) -> Sequence[FleetRow]:
    """Every database, their last hours on one scale."""
    listed = list(databases)
    top = sparklines.spark_top([[100 * max(known)] for out in listed if (known := _known(out.last_hour))])
    return [_row(out, top, now) for out in listed]


def _known(hour: Sequence[float | None]) -> Sequence[float]:
    return [value for value in hour if value is not None]


def _row(out: DatabaseOut, top: float, now: datetime) -> FleetRow:
    state = words.state_word(out.state)
    guard = out.surface if out.surface and state not in words.CALM else out.mechanism
    about = " · ".join(
        part for part in (out.release, guard and guard.replace("-", " "), out.cluster, *out.labels.values()) if part
    )
    what, do = _what(out, state)
    cache = (out.cache or ("result cache" if out.surface == "result-cache" else "")) if state not in words.CALM else ""
    sought = f"{out.name} {words.STATES[state]} {about} {what} {cache}".casefold()
    return FleetRow(out, now, top, out.name, state, about, what, do, cache, sought)


def _what(out: DatabaseOut, state: str) -> tuple[str, str]:
    """What is wrong, and what to do."""
    cause = catalogue().get(out.cause) if out.cause else None
    if state == "none":
        if out.failure is None:
            return screen("nothing known").title, ""
        state = "login stopped" if out.failure.next_attempt is None else "no answer"
        return screen(state, why="", database=out.name).title, out.failure.why
    if out.easing and (state in words.CALM or out.easing.waits):
        last_seen = f"Last seen {out.easing.until:%H:%M:%S}"
        return eased(out.easing).title, f"{last_seen}; change nothing else yet" if out.easing.waits else last_seen
    if state == "elsewhere":
        return cause.name if cause else screen("elsewhere", event=out.other_wait or "", together="").title, ""
    if state == "quiet":
        return screen("quiet").title, ""
    if state == "fine":
        return cause.name if cause else screen("nothing").title, ""
    if cause is None:
        return screen("unexplained").title, ""
    if out.confidence == "low":
        return f"{LABELS['likely']}: {within(cause.name)}", LABELS["look"]
    return cause.name, f"{LABELS['do']}: {out.do_now or cause.do_now}"


DAY = timedelta(days=1)
PER_PAGE = 100
GROUPS = (
    ("Act now", ("critical", "warning"), False),
    ("No data", ("none",), False),
    ("Worth knowing", ("notice", "elsewhere"), False),
    ("Fine", ("fine",), True),
)
SORTS = ("cost", "since", "name", "cache")
LISTED = 3


Sentence = tuple[str, Sequence[tuple[str, str]], str]
"""A sentence of the summary: its begin, links as words and address, and its end."""


@dataclass(frozen=True, slots=True)
class FleetView:
    """The fleet as its page shows it: the request, and the matching rows."""

    sentence: str
    title: str
    lines: Sequence[Sentence]
    total: int
    tally: Sequence[tuple[str, int]]
    groups: Sequence[tuple[str, Sequence[FleetRow], bool]]
    sort: str
    state: str
    q: str
    page: int
    pages: int

    def address(self, **changed: object) -> str:
        """The address of this page with other parameters. Those left out keep their default."""
        asked = {"state": self.state, "sort": self.sort, "q": self.q} | changed
        kept = {
            name: value
            for name, value in asked.items()
            if value not in ("", 1, None) and (name, value) != ("sort", "cost")
        }
        return f"/?{urlencode(kept)}" if kept else "/"


def fleet_pages(board: Board, store: Repository, access: Access) -> APIRouter:
    router = page_router(access.reader)

    known = FleetRows(store)

    @router.get("/")
    def watched(request: Request, sort: str = "cost", state: str = "", q: str = "") -> Response:
        now = datetime.now(UTC)
        rows = fleet_table(known.all(board.all_refreshed()), now)
        number = request.query_params.get("page", "1")
        view = fleet_view(rows, sort, state, q, int(number) if number.isdecimal() and len(number) < 6 else 1)
        return page(request, "fleet.html", view=view, **_lately(store, now))

    return router


def fleet_view(rows: Sequence[FleetRow], sort: str, state: str, q: str, number: int) -> FleetView:
    """The matching rows, in the requested order. An invalid parameter counts as absent."""
    sort = sort if sort in SORTS else "cost"
    state = state if state in words.STATES else ""
    counts = Counter(row.state for row in rows)
    fitting = [row for row in rows if state in ("", row.state) and q.strip().casefold() in row.words]
    ordered = [
        row
        for _, states, _ in GROUPS
        for row in sorted((row for row in fitting if row.state in states), key=lambda row: row.order(sort))
    ]
    pages = max(-(-len(ordered) // PER_PAGE), 1)
    number = min(max(number, 1), pages)
    shown = ordered[(number - 1) * PER_PAGE : number * PER_PAGE]
    groups = [(name, [row for row in shown if row.state in states], calm) for name, states, calm in GROUPS]
    return FleetView(
        sentence=_sentence(rows, counts),
        title=_title(counts),
        lines=list(_lines(rows)),
        total=len(rows),
        tally=[(kind, counts[kind]) for kind in words.STATES if counts[kind]],
        groups=[group for group in groups if group[1]],
        sort=sort,
        state=state,
        q=q,
        page=number,
        pages=pages,
    )


def _title(counts: Mapping[str, int]) -> str:
    bad = next((kind for kind in ("critical", "warning", "none", "notice", "elsewhere") if counts[kind]), None)
    return f"Fleet: {counts[bad]} {words.STATES[bad].lower()}" if bad else "Fleet: all fine"


def _sentence(rows: Sequence[FleetRow], counts: Mapping[str, int]) -> str:
    """The state of the fleet, in one sentence."""
    total, acting = len(rows), [row for row in rows if row.state in ("critical", "warning")]
    if not rows:
        return "No database is watched"
    if not acting:
        if counts["none"]:
            return f"{_of(counts['none'], total)} give{'s' if counts['none'] == 1 else ''} no data"
        fine = counts["fine"]
        if fine == total:
            return (
                "The database is fine"
                if total == 1
                else "Both databases are fine"
                if total == 2
                else f"All {total:,} databases are fine"
            )
        return f"{_of(total - fine, total)} worth a look, none with a problem"
    lost = sorted(row.share for row in acting if row.share is not None)
    lose = "loses" if len(acting) == 1 else "lose"
    if not lost:
        return f"{_of(len(acting), total)} {'needs' if len(acting) == 1 else 'need'} you now"
    low, high = (f"{100 * share:.{0 if share >= 0.0995 else 1}f}" for share in (lost[0], lost[-1]))
    span = f"{low}{words.TIED}%" if low == high else f"{low} to {high}{words.TIED}%"
    return f"{_of(len(acting), total)} {lose} {span} of DB time to cache waits"


def _of(some: int, total: int) -> str:
    return f"{some:,} of {total:,} databases" if total > 1 else "The database"


def _lines(rows: Sequence[FleetRow]) -> Sequence[Sentence]:
    """The worst database, those new within the last hour, and those without data."""
    lines = []
    costly = sorted(
        (row for row in rows if row.share and row.state in ("critical", "warning")), key=lambda row: row.order("cost")
    )
    if costly:
        worst = [row for row in costly if row.percents == costly[0].percents][:LISTED]
        cost = (
            f"{worst[0].percents}{words.TIED}% of DB time each"
            if len(worst) > 1
            else f"{words.share(worst[0].share)} of DB time"
        )
        lines.append(("Worst: ", _linked(worst), f", {cost}."))
    new = [row for row in rows if row.new and row.state in ("critical", "warning")]
    if new and len(new) < len([row for row in rows if row.state in ("critical", "warning")]):
        lines.append(("New in the last hour: ", _linked(new[:LISTED]), "."))
    silent = [row for row in rows if row.state == "none"]
    if silent and len(silent) < len(rows):
        lines.append(("No data from ", _linked(silent[:LISTED]), "."))
    return lines


def _linked(rows: Sequence[FleetRow]) -> Sequence[tuple[str, str]]:
    return [(row.name, row.link) for row in rows]


def _lately(store: Repository, now: datetime) -> dict[str, Any]:
    """The events of any database within a day. The page works without it if the store does not answer."""
    window = Window(now - DAY, now)
    try:
        events = page_events(store, None, window)
    except STORE_ERRORS:
        return {"happened": None}
    drawn = timeline.events(as_events(events, now, of_many=True), Axis(window))
    return {"happened": events, "timeline": drawn}
