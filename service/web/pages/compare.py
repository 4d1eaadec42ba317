"""The page of before against after: around a change mark, or of two windows by their address."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from rules.cause import catalogue
from rules.comparison.changes import ChangeVerification, Comparison, FigureChange, NotVerified
from rules.comparison.compare import LEADING, verified
from rules.formatting import number as spelled
from rules.formatting import rough, sentence
from service.history.comparison import CannotCompare, ComparedWindows, NoMark, around, comparison
from service.state.board import Board, MonitoredDatabase
from service.state.time_window import BadWindow, parse_window
from service.store.episodes import Mark
from service.store.repository import Repository
from service.web.access import Access
from service.web.charts import history, sparklines, timeline
from service.web.charts.svg import HALF, NARROW, Axis, ChartPanel, round_up, together
from service.web.pages import words
from service.web.pages.history import as_events, of_mark, page_events
from service.web.pages.layout import page, page_router, watched_in

# A comparison in pictures: the figure that decides, and each change as an arrow from before to after.

WORK_NAMES = ("executions", "transactions", "hard_parses", "logons", "db_time")
SAME = (0.95, 1.05)
Verdicts = Sequence[tuple[str, ChangeVerification | NotVerified]]


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One figure before and after."""

    title: str
    of: str
    before: str
    after: str
    unit: str
    words: str
    arrow: Markup


@dataclass(frozen=True, slots=True)
class LeadingCard:
    """The first card: the figure that decides, how much it changed, and whether the change was the reason."""

    state: str
    words: str
    load: str
    row: ComparedRow
    ratio: tuple[str, str]


def leading(compared: Comparison, verdicts: Verdicts) -> LeadingCard:
    """The content of the card. The figure is the one in the sentence of the comparison, which is its title."""
    top = min(
        (change for change in compared.changes if change.name in LEADING),
        key=lambda change: (change.verdict == "cannot tell", change.verdict != "changed", LEADING.index(change.name)),
    )
    changed = "warning" if top.direction == "rose" else "notice"
    if any(isinstance(verdict, ChangeVerification) for _, verdict in verdicts):
        state, words = "fine", "Verified: the change helped"
    else:
        state, words = changed if top.verdict == "changed" else "none", "Not verified" if verdicts else ""
    return LeadingCard(state, words, _load(compared), _row(top, 0.0, 0.0), _times(top))


def compared_rows(changes: Sequence[FigureChange]) -> Sequence[ComparedRow]:
    """Figures as rows, the greatest change first, their arrows on one scale."""
    values = [value for change in changes for value in (change.before, change.after) if value]
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    return [_row(change, low, high) for change in sorted(changes, key=_greatest)]


def _greatest(change: FigureChange) -> float:
    factor = change.factor or 0.0
    return -max(factor, 1 / factor) if factor else -1e9 if change.before or change.after else 0.0


def _row(change: FigureChange, low: float, high: float) -> ComparedRow:
    before, after = _value(change, change.before), _value(change, change.after)
    drawn = Markup("")
    if change.before is not None and change.after is not None:
        drawn = sparklines.arrow(
            change.before, change.after, low, high, f"{change.title}: {before} before, {after} after"
        )
    times, direction = _times(change)
    same = change.direction == "same" or change.verdict != "changed"
    effect = (
        "same"
        if change.direction == "same" or times == "1×"
        else f"{times.rstrip('×')} times {direction}"
        if times[:1].isdigit()
        else f"{times} {direction}".strip()
    )
    if same and effect != "same":
        effect = f"within {'the usual' if change.verdict == 'within the usual' else 'noise'}"
    if change.outside_usual:
        effect += ", outside the usual here"
    of = change.of if change.of and change.of not in change.title else ""
    return ComparedRow(sentence(change.title), of, before, after, change.unit, effect, drawn)


def _times(change: FigureChange) -> tuple[str, str]:
    """137×, fewer."""
    if change.factor is None or not change.factor:
        if change.before and not change.after and change.after is not None:
            return "all", "gone"
        return ("new", "from none") if change.after and change.before == 0 else ("–", "")
    factor = change.factor if change.factor >= 1 else 1 / change.factor
    if SAME[0] <= change.factor <= SAME[1]:
        return "1×", "the same"
    times = f"{factor:.1f}" if factor < 9.95 else rough(round(factor))
    return f"{times}×", "more" if change.factor > 1 else "fewer"


def _load(compared: Comparison) -> str:
    """Whether the work went on, which separates a cure from a quiet hour."""
    known = [
        (name, compared.before.work[name], compared.after.work[name])
        for name in ("executions", "transactions")
        if compared.before.work.get(name) and compared.after.work.get(name)
    ]
    if not known:
        return ""
    if all(SAME[0] <= after / before <= SAME[1] for _, before, after in known):
        load = " and ".join(f"{rough(after)} {name}" for name, _, after in known)
        return f"The load is not the reason: {load} a second, before and after."
    load = " and ".join(f"{name} from {rough(before)} to {rough(after)} a second" for name, before, after in known)
    return f"The load changed too: {load}."


def _value(change: FigureChange, value: float | None) -> str:
    if value is None:
        return words.NOT_KNOWN
    return words.share(value) if change.is_share else rough(value) if value % 1 else spelled(value)


LISTED = 20
MARKS_SINCE = timedelta(days=90)
DRAWN = ("share", "sleeps", "gets", "hard", "executions")
EVERY_LINE = 1000


def compare_pages(board: Board, store: Repository, access: Access) -> APIRouter:
    router = page_router(access.reader)

    @router.get("/db/{db}/compare")
    def compare(request: Request, db: str, before: str = "", after: str = "", mark: str = "") -> Response:
        watched = watched_in(board, db)
        now = datetime.now(UTC)
        shown: dict[str, Any] = {
            "database": db,
            "before": before,
            "after": after,
            "mark": None,
            "comparison": None,
            "why": None,
        }
        status, marks = 200, store.marks.between(db, now - MARKS_SINCE, now, limit=LISTED)
        shown["marks"] = [of_mark(mark) for mark in marks.items]
        try:
            shown |= _asked(store, watched, before, after, mark, now)
        except (BadWindow, NoMark, CannotCompare) as error:
            # "Cannot tell" is an answer, not an error of the caller.
            status = 200 if isinstance(error, CannotCompare) else 404 if isinstance(error, NoMark) else 422
            shown["why"] = str(error)
        return page(request, "compare.html", status, **shown)

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
    compared = comparison(store, watched.name, windows, text)
    # For each trouble of the window before, whether its end is verified.
    episodes = store.episodes.between(watched.name, windows.before.begin, windows.before.end).items
    causes = {episode.cause: episode.title for episode in episodes if episode.cause in catalogue()}
    verdicts = [(title, verified(compared, catalogue()[cause])) for cause, title in causes.items()]
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


def _pairs(store: Repository, watched: MonitoredDatabase, windows: ComparedWindows) -> Iterator[tuple[Markup, Markup]]:
    """Charts of both windows, the same lines on the same scale."""
    sides = [
        timeline.overview(store, watched.name, window, watched.map, DRAWN, EVERY_LINE, newest=watched.snapshot)
        for window in (windows.before, windows.after)
    ]
    events = [
        as_events(page_events(store, watched.name, window), window.end) for window in (windows.before, windows.after)
    ]
    by_title = {panel.title: panel for panel in sides[1].panels}
    for panel in sides[0].panels:
        if panel.title not in by_title:
            continue
        both = together((panel, sides[0].stretches), (by_title[panel.title], sides[1].stretches))
        scale = _scale(both)
        drawn = [
            history.chart(panel, Axis(side.window), side.stretches, side.gaps, lane, scale, frames=(HALF, NARROW))
            for panel, side, lane in zip(both, sides, events, strict=True)
        ]
        yield drawn[0], drawn[1]


def _scale(both: Sequence[ChartPanel]) -> float:
    values = (value for panel in both for line in panel.lines for value in line.values if value is not None)
    return round_up(max(values, default=0.0))
