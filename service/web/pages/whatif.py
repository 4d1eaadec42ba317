"""The value of a change, as a form: sliders for the load, and the resulting figures of the hot child latch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from starlette.responses import Response

from rules.contention.holds import NotPredictable
from service.history.whatif import EstimateOut, WhatIfIn, WhatIfOut, answer, of_store
from service.state.board import Board
from service.store.engine import STORE_ERRORS
from service.store.repository import Repository
from service.web.access import Access
from service.web.pages import words
from service.web.pages.layout import GONE, no_database, page, refused


@dataclass(frozen=True, slots=True)
class WhatIfSlider:
    """A slider: its bounds, its value, and the neutral value."""

    name: str
    label: str
    unit: str
    least: float
    most: float
    step: float
    neutral: float
    value: float = 0.0

    @property
    def shown(self) -> str:
        """The value, without a fraction if that is zero."""
        return f"{self.value:g}"


@dataclass(frozen=True, slots=True)
class WhatIfRow:
    """A figure now and after the change."""

    name: str
    now: str
    value: str
    between: str


SLIDERS = (
    WhatIfSlider("gets", "Gets per unit of work", " %", 5, 300, 5, 100),
    WhatIfSlider("children", "Latches instead of one", "", 1, 16, 1, 1),
    WhatIfSlider("batch", "Units of work per get", "", 1, 16, 1, 1),
    WhatIfSlider("hold", "Hold time", " %", 20, 400, 5, 100),
    WhatIfSlider("processes", "Active sessions", " %", 25, 400, 5, 100),
)
SHARES = ("gets", "hold", "processes")
"""Sliders are in percent of now; the model takes factors."""


def whatif_pages(board: Board, store: Repository, access: Access) -> APIRouter:
    """GET /db/{db}/whatif. It changes nothing and reads nothing from the database."""
    router = APIRouter(
        include_in_schema=False, default_response_class=HTMLResponse, dependencies=[Depends(access.reader)]
    )

    @router.get("/db/{db}/whatif")
    def what_if(request: Request, db: str) -> Response:
        if board.refreshed(db) is None:
            return no_database(request, db, [known.name for known in board])
        sliders = [_set(slider, request.query_params.get(slider.name, "")) for slider in SLIDERS]
        cache = request.query_params.get("cache") or None
        found: WhatIfOut | None = None
        why = None
        try:
            if asked := _asked(sliders, cache):
                found = answer(of_store(store, db, cache, datetime.now(UTC)), asked)
        except NotPredictable as error:
            why = str(error)
        except STORE_ERRORS:
            return refused(request, db, 503, GONE)
        home = f"/db/{quote(db)}"
        rows = list(_rows(found)) if found else []
        values = {
            "database": db,
            "home": home,
            "sliders": sliders,
            "cache": cache,
            "found": found,
            "why": why,
            "rows": rows,
        }
        return page(request, "whatif.html", 200, **values)

    return router


def _set(slider: WhatIfSlider, text: str) -> WhatIfSlider:
    """The slider at the requested value. An invalid value leaves it as it is."""
    try:
        value = float(text)
    except ValueError:
        value = slider.neutral
    value = value if slider.least <= value <= slider.most else slider.neutral
    return replace(slider, value=value)


def _asked(sliders: Sequence[WhatIfSlider], cache: str | None) -> WhatIfIn | None:
    """The change in the model's terms. None if no slider moved."""
    moved = {slider.name: slider.value for slider in sliders if slider.value != slider.neutral}
    if not moved:
        return None
    factors = {name: value / 100 if name in SHARES else value for name, value in moved.items()}
    return WhatIfIn.model_validate({"cache": cache, **factors})


def _rows(found: WhatIfOut) -> Sequence[WhatIfRow]:
    shares = (("Gets that miss", found.miss_ratio), ("Latch in use", found.utilisation))
    factors = (("Work done", found.work), ("Misses a second", found.misses))
    rows = [_row(name, estimate, words.share) for name, estimate in shares if estimate]
    rows += [_row(name, estimate, _factor) for name, estimate in factors if estimate]
    if found.sleeps_per_second:
        rows.append(_row("Sleeps a second", found.sleeps_per_second, words.amount))
    return rows


def _factor(value: float | None) -> str:
    return words.NOT_KNOWN if value is None else f"{value:.2f} ×"


def _row(name: str, estimate: EstimateOut, spell: Callable[[float | None], str]) -> WhatIfRow:
    between = f"{spell(estimate.low)} to {spell(estimate.high)}"
    return WhatIfRow(name, spell(estimate.now), spell(estimate.value), between)
