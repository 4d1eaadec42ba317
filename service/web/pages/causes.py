"""Pages of the knowledge base: the causes of the catalogue, where each is found now, and the runbooks of its alerts."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from starlette.responses import Response

from rules.base import bound_of
from rules.cause import AnyOf, Cause, Condition, catalogue
from rules.formatting import sentence
from rules.model import Evidence
from rules.signals import SIGNALS
from service.state.board import Board, MonitoredDatabase
from service.store.repository import Repository
from service.store.schema.engine import STORE_ERRORS
from service.web.access import Access
from service.web.charts import small
from service.web.fleet_rows import database_out, is_troubled
from service.web.pages import runbooks, words
from service.web.pages.firing import firing
from service.web.pages.fleet_table import FleetRow, fleet_table
from service.web.pages.layout import missing, page

EPISODES_SINCE = timedelta(days=90)
MOST_EPISODES = 1000


LISTED = 5
"""Databases named beside an alert that fires for them."""


@dataclass(frozen=True, slots=True)
class CauseSign:
    """A condition of a cause with its bound, and its value on a database that has it."""

    signal: str
    of: str
    because: str
    needs: str
    usual: str
    now: str
    picture: Markup
    either: bool


def causes_pages(board: Board, store: Repository, access: Access) -> APIRouter:
    """The HTML routes below /causes and /runbooks."""
    router = APIRouter(
        include_in_schema=False, default_response_class=HTMLResponse, dependencies=[Depends(access.reader)]
    )

    @router.get("/causes")
    def causes(request: Request) -> Response:
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for out in filter(is_troubled, map(database_out, board)):
            found[str(out.cause)].append((out.name, words.state_word(out.state)))
        return page(request, "causes.html", causes=catalogue().values(), found=found)

    @router.get("/causes/{id}")
    def cause(request: Request, id: str) -> Response:
        known = catalogue().get(id)
        if known is None:
            names = {name: f"/causes/{name}" for name in catalogue()}
            return missing(request, f"There is no cause {id}.", names, ("All causes", "/causes"), id)
        return page(request, "cause.html", cause=known, **_shown(board, store, known))

    @router.get("/runbooks")
    def runbooks_list(request: Request) -> Response:
        now = firing(board)
        books = sorted(runbooks.books(), key=lambda book: not now.get(book.name))
        active = [alert for alert, held in now.items() if held]
        return page(request, "runbooks.html", books=books, firing=now, active=active, shown=LISTED)

    @router.get("/runbooks/{name}")
    def runbook(request: Request, name: str) -> Response:
        text = runbooks.runbook(name)
        if text is None:
            known = {known: f"/runbooks/{known}" for known in runbooks.names()}
            return missing(request, f"There is no runbook {name}.", known, ("All runbooks", "/runbooks"), name)
        return page(request, "runbook.html", name=name, text=text)

    return router


def _shown(board: Board, store: Repository, cause: Cause) -> Mapping[str, Any]:
    now = datetime.now(UTC)
    having = [out for out in map(database_out, board) if is_troubled(out) and out.cause == cause.id]
    rows: Sequence[FleetRow] = fleet_table(having, now)
    ordered = sorted(rows, key=lambda row: row.order("cost"))
    example = board.get(ordered[0].name) if ordered else None
    return {
        "found": ordered,
        "databases": len(board),
        "example": example.name if example else "",
        "signs": _signs(cause, example),
        "scale": _scale(cause),
        "before": _episodes(store, cause, now),
    }


def _episodes(store: Repository, cause: Cause, now: datetime) -> int | None:
    """How often it was found in the last 90 days. None if the store does not answer."""
    try:
        found = store.episodes.between(None, now - EPISODES_SINCE, now, limit=MOST_EPISODES).items
    except STORE_ERRORS:
        return None
    return sum(1 for episode in found if episode.cause == cause.id)


def _signs(cause: Cause, example: MonitoredDatabase | None) -> Sequence[CauseSign]:
    """The conditions, with the values of a database that has the cause."""
    seen: Mapping[str, Evidence] = {}
    if example is not None and example.current is not None:
        findings = example.current.whole.findings
        seen = {sign.signal: sign for finding in findings if finding.cause == cause.id for sign in finding.evidence}
    listed = [
        (condition, isinstance(each, AnyOf))
        for each in cause.when
        for condition in (each.any_of if isinstance(each, AnyOf) else (each,))
    ]
    return [_sign(condition, seen.get(condition.signal), either) for condition, either in listed]


def _sign(condition: Condition, seen: Evidence | None, either: bool) -> CauseSign:
    signal, bound = SIGNALS[condition.signal], bound_of(condition.needs)
    held = bound.value if bound else 0.0
    value = seen.value if seen else 0.0
    needs = words.bound(bound, signal.unit) or condition.needs
    now = words.whole(seen.value, signal.unit) if seen else words.NOT_KNOWN
    usual = seen.usual if seen else None
    said = f"{needs}{f'; now {now}' if seen else ''}"
    spell = (words.whole(held, signal.unit).partition(words.TIED + signal.unit)[0], "")
    limits = (usual.low, usual.high) if usual else condition.usual
    kind = "critical" if seen else "s5"
    return CauseSign(
        signal=condition.signal,
        of=signal.of,
        because=sentence(condition.because),
        needs=needs,
        usual=words.usual(usual, signal.unit),
        now=now,
        picture=small.bullet(value, held, limits, said, kind, spell, 300),
        either=either,
    )


def _scale(cause: Cause) -> Markup | None:
    query = cause.confirm
    if query is None or not query.bands:
        return None
    bands = [(band.value, band.meaning) for band in query.bands]
    said = "; ".join(f"from {words.amount(value)}: {meaning}" for value, meaning in bands)
    return small.scale(None, bands, small.band_kinds(len(bands)), said, "")
