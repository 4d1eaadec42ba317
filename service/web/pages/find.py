"""GET /find: one list of databases, causes and runbooks, by name, title, wait event or cache.

The dialog that Ctrl-K opens asks this page for each letter and shows its list, so there is one place that matches, and it
shows a reader only what the page may. Without script the button is a link to it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from rules.base import State
from rules.cause import Cause, catalogue
from rules.waits import SURFACE_EVENTS
from service.state.board import Board, MonitoredDatabase
from service.web.access import Access
from service.web.pages.causes import runbook_lines
from service.web.pages.layout import page, page_router
from service.web.presenters import ORDER

Kind = Literal["Database", "Cause", "Runbook"]
MOST = 12
"""Of one kind in a list."""
LONGEST = 200


@dataclass(frozen=True, slots=True)
class Place:
    """Something that has a page. `keys` and `words` are in lower case, and what it is found by beside its name."""

    kind: Kind
    name: str
    line: str
    link: str
    keys: str = ""
    """Names that Oracle or latchscope give it: id, caches, wait events."""
    words: str = ""
    """Sentences about it."""
    state: State | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The best places of each kind, the best of all first, and how many there are in all."""

    places: tuple[Place, ...]
    count: int


def find(places: Iterable[Place], asked: str) -> Found:
    """The places that have every word of `asked` somewhere, at most `MOST` of a kind. An empty question finds all."""
    wanted = asked.casefold().split()
    ranked = [(rank, order, place) for order, place in enumerate(places) if (rank := _rank(place, wanted)) is not None]
    shown: list[Place] = []
    taken: Counter[Kind] = Counter()
    for _, _, place in sorted(ranked, key=lambda one: one[:2]):
        taken[place.kind] += 1
        if taken[place.kind] <= MOST:
            shown.append(place)
    return Found(tuple(shown), len(ranked))


def _rank(place: Place, wanted: Sequence[str]) -> int | None:
    """How well a place fits, 0 is best. None if a word is nowhere."""
    name = place.name.casefold()
    whole = " ".join(wanted)
    if not wanted or name == whole:
        return 0
    if name.startswith(whole):
        return 1
    for rank, text in enumerate((name, f"{name} {place.keys}", f"{name} {place.keys} {place.words}"), 2):
        if all(word in text for word in wanted):
            return rank
    return None


def _database(watched: MonitoredDatabase) -> Place:
    summary = watched.summary if watched.up else None
    state: State = summary.state if summary else "No data"
    line = (summary.title or "") if summary else ""
    keys = (
        watched.settings.cluster,
        *watched.settings.labels.values(),
        summary and summary.release,
        summary and summary.cause,
        summary and summary.cache,
    )
    event = SURFACE_EVENTS.get(summary.surface, "") if summary and summary.surface else ""
    return Place(
        "Database",
        watched.name,
        line,
        f"/db/{quote(watched.name)}",
        " ".join([*(key for key in keys if key), event]).casefold(),
        f"{line} {state}".casefold(),
        state,
    )


@cache
def fixed_places() -> Sequence[Place]:
    """Causes and runbooks, which do not change while the service runs."""
    books = (
        Place("Runbook", book.name, book.line, f"/runbooks/{book.name}", "", book.line.casefold())
        for book in runbook_lines()
    )
    return [*map(_cause, catalogue().values()), *books]


def _cause(cause: Cause) -> Place:
    events = [SURFACE_EVENTS[surface] for surface in cause.surfaces if surface in SURFACE_EVENTS]
    keys = " ".join([cause.id, cause.kb, *cause.caches, *events]).casefold()
    words = " ".join([cause.title, cause.lede, cause.do_now, cause.explanation]).casefold()
    return Place("Cause", cause.name, cause.title, f"/causes/{cause.id}", keys, words)


def find_pages(board: Board, access: Access) -> APIRouter:
    """GET /find, for those who may read."""
    router = page_router()

    @router.get("/find", dependencies=[Depends(access.reader)])
    def found(request: Request, q: str = Query("", max_length=LONGEST)) -> Response:
        watched = sorted(map(_database, board.all_refreshed()), key=lambda place: ORDER.index(place.state or "No data"))
        return page(request, "find.html", q=q, found=find(chain(watched, fixed_places()), q))

    return router
