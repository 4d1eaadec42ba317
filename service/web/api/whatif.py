"""REST for what a change is worth."""

from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, HTTPException

from rules.contention.holds import NotPredictable
from service.history.whatif import WhatIfIn, WhatIfOut, answer, of_store
from service.state.board import Board
from service.store.repository import Repository
from service.web.access import Access
from service.web.api.common import NOT_FOUND
from service.web.api.databases import watched_in
from service.web.api.history import store_router

NO_PREDICTION: dict[int | str, dict[str, Any]] = {409: {"description": "No prediction is possible; `detail` says why."}}


def whatif_api(board: Board, store: Repository, access: Access) -> APIRouter:
    """POST …/whatif. It changes nothing and reads nothing from the database, so readers may use it."""
    router = store_router(access)

    @router.post("/databases/{db}/whatif", responses=NOT_FOUND | NO_PREDICTION)
    def run_what_if(db: str, asked: WhatIfIn) -> WhatIfOut:
        """The effect of a change on a child latch, by a model calibrated on its last intervals."""
        watched_in(board, db)
        if (problem := asked.problem()) is not None:
            raise HTTPException(422, problem)
        try:
            return answer(of_store(store, db, asked.cache, datetime.now(UTC)), asked)
        except NotPredictable as error:
            raise HTTPException(409, str(error)) from None

    return router
