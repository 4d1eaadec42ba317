"""REST for before against after."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query

from rules.comparison.changes import Comparison
from service.history.comparison import SETTLE, CannotCompare, NoMark, at_mark, comparison
from service.state.board import Board
from service.state.window import BadWindow, parse_duration, parse_window
from service.store.repository import Repository
from service.web.access import Access
from service.web.api.databases import watched_in
from service.web.api.problems import NOT_FOUND
from service.web.api.store_router import store_router

UNTOLD: dict[int | str, dict[str, Any]] = {
    409: {"description": "The two sides cannot be compared, or not yet; `detail` says why."}
}


def compare_api(board: Board, store: Repository, access: Access) -> APIRouter:
    """GET …/compare."""
    router = store_router(access)

    @router.get("/databases/{db}/compare", responses=NOT_FOUND | UNTOLD)
    def get_comparison(
        db: str,
        before: Annotated[str | None, Query(description="a window, begin/end; each RFC 3339 or relative")] = None,
        after: Annotated[str | None, Query(description="a window, begin/end")] = None,
        mark: Annotated[str | None, Query(description="last, or the id of a mark, instead of two windows")] = None,
        span: Annotated[str | None, Query(description="length of the windows of a mark; chosen by default")] = None,
        settle: Annotated[str | None, Query(description="time after a mark to leave out; default 20s")] = None,
    ) -> Comparison:
        """Before against after, per unit of work: two windows, or both sides of a change mark."""
        watched_in(board, db)
        try:
            if mark is not None and before is None and after is None:
                length = None if span is None else parse_duration("span", span)
                return at_mark(store, db, mark, length, SETTLE if settle is None else parse_duration("settle", settle))
            if mark is None and before is not None and after is not None and span is None and settle is None:
                now = datetime.now(UTC)
                return comparison(store, db, parse_window(before, now), parse_window(after, now))
        except BadWindow as error:
            raise HTTPException(422, str(error)) from None
        except NoMark as error:
            raise HTTPException(404, str(error)) from None
        except CannotCompare as error:
            raise HTTPException(409, str(error)) from None
        raise HTTPException(
            422, "give before and after, or mark (last or an id) with span and settle where they matter"
        )

    return router
