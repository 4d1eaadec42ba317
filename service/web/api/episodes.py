"""REST for episodes: troubles from start to end, of one database or of all."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from service.state.board import Board, MonitoredDatabase
from service.state.window import Window
from service.store.repository import Repository
from service.web import presenters
from service.web.access import Access
from service.web.api.databases import watched_in
from service.web.api.problems import NOT_FOUND
from service.web.api.store_router import store_router
from service.web.query_params import (
    BeginQuery,
    CursorQuery,
    EndQuery,
    LimitQuery,
    link_next,
    requested_window,
    understood,
)
from service.web.schemas import EpisodeOut


def episodes_api(board: Board, store: Repository, access: Access) -> APIRouter:
    """GET /episodes and GET …/episodes."""
    router = store_router(access)

    @router.get("/databases/{db}/episodes", responses=NOT_FOUND)
    def list_episodes(
        request: Request,
        response: Response,
        db: str,
        begin: BeginQuery = "-90d",
        end: EndQuery = "now",
        cursor: CursorQuery = None,
        limit: LimitQuery = 200,
    ) -> list[EpisodeOut]:
        """Troubles from start to end, newest first. Open ones have no end. `Link` names the page of older ones."""
        watched = watched_in(board, db)
        return _page(store, request, response, [watched], db, requested_window(begin, end), cursor, limit)

    @router.get("/episodes", responses=NOT_FOUND)
    def list_all_episodes(
        request: Request,
        response: Response,
        database: Annotated[str | None, Query(description="episodes of this database only")] = None,
        begin: BeginQuery = "-7d",
        end: EndQuery = "now",
        cursor: CursorQuery = None,
        limit: LimitQuery = 200,
    ) -> list[EpisodeOut]:
        """Troubles of every database, or of one, newest first. `Link` names the page of older ones."""
        watched = list(board) if database is None else [watched_in(board, database)]
        return _page(store, request, response, watched, database, requested_window(begin, end), cursor, limit)

    return router


def _page(
    store: Repository,
    request: Request,
    response: Response,
    watched: list[MonitoredDatabase],
    db: str | None,
    within: Window,
    cursor: str | None,
    limit: int,
) -> list[EpisodeOut]:
    page = understood(lambda: presenters.episode_page(store, watched, db, within, cursor, limit))
    link_next(request, response, within, page.cursor)
    return [presenters.episode_out(episode) for episode in page.items]
