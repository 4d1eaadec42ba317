"""Routes that need no store: /healthz, /readyz, /metrics, /probe, and episode changes as server-sent events.

A stream costs a connection and no thread.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from prometheus_client import CollectorRegistry, Gauge
from starlette.types import Message, Receive, Scope, Send

from service.config.settings import BadSettings
from service.metrics.exposition import in_parts, probe
from service.metrics.families import FAMILIES
from service.notify.feed import EpisodeFeed, TooManyListeners
from service.state.board import Board, Readiness
from service.store.engine import StoreUnavailable
from service.store.episodes import LoggedChange
from service.web.access import Access, Caller
from service.web.api.common import NOT_FOUND, PROBLEM_JSON, REFUSED
from service.web.api.databases import operation_id, watched_in
from service.web.http import Bulkhead, squeezed, squeezed_parts
from service.web.schemas import Health

# Routes for monitoring: /healthz, /readyz, /metrics and /probe, outside the versioned API. A store that hangs stops
# none.

THREADS = 4
"""For scrapes, and as many for /readyz, which may ask the store."""
LEVEL = 1
"""It saves three quarters of what the best level saves on /metrics, in a tenth of the time."""


def health(ready: Callable[[], Readiness]) -> APIRouter:
    """For programs that restart the service or send it requests."""
    router = APIRouter(generate_unique_id_function=operation_id, tags=["service"])

    @router.get("/healthz")
    async def get_health() -> Health:
        """Whether the process runs; touches nothing else."""
        return Health(status="ok")

    @router.get("/readyz", response_model=Health, responses={503: {"model": Health}})
    @Bulkhead(THREADS)
    def get_readiness() -> Response:
        """Whether the store answers and our threads run; also whether polls come late. A database that is down does not count."""
        now = ready()
        return JSONResponse(Health(status=now.status).model_dump(), status_code=200 if now.ready else 503)

    return router


def scrapes(board: Board, own: CollectorRegistry, access: Access) -> APIRouter:
    """For Prometheus."""
    readers = [Depends(access.reader)]
    router = APIRouter(
        generate_unique_id_function=operation_id, tags=["service"], dependencies=readers, responses=REFUSED
    )
    family = FAMILIES["latchscope_exposition_bytes"]
    size = Gauge(family.name, family.help, registry=own)
    in_own_thread = Bulkhead(THREADS)

    @router.get("/metrics", response_class=PlainTextResponse)
    @in_own_thread
    def get_metrics(request: Request) -> Response:
        """Prometheus metrics of every database this process polls, and of the process. OpenMetrics on request."""
        parts, content_type = in_parts(board.own(), own, request.headers.get("accept", ""))
        length = sum(len(piece) for part in parts for piece in part)
        size.set(length)
        body, headers = squeezed_parts(parts, length, request, LEVEL)
        return Response(body, media_type=content_type, headers=headers)

    @router.get("/probe", response_class=PlainTextResponse, responses=NOT_FOUND)
    @in_own_thread
    def get_probe(request: Request, target: str) -> Response:
        """Metrics of one database by its configured name. Never by address, so no caller can make us connect elsewhere."""
        found = board.get(target)
        if found is None:
            raise HTTPException(404, f"no database named {target} is configured; a target is a name, not an address")
        if not found.owned:
            raise HTTPException(
                404, f"{target} is polled by {found.polled_by or 'no replica'}; only its metrics are exported"
            )
        page, content_type = probe(found, request.headers.get("accept", ""))
        body, headers = squeezed(page, request, LEVEL)
        return Response(body, media_type=content_type, headers=headers)

    return router


def reload_api(reload: Callable[[str], str], access: Access) -> APIRouter:
    """The route that reads the configuration again."""
    router = APIRouter(generate_unique_id_function=operation_id, tags=["service"], responses=REFUSED)

    @router.post("/-/reload", response_class=PlainTextResponse, responses={422: REFUSED[403]})
    def run_reload(caller: Annotated[Caller, Depends(access.operator)]) -> str:
        """Read databases, receivers and tokens of the configuration again, as SIGHUP does. A wrong file changes nothing."""
        try:
            return reload(caller.name)
        except BadSettings as error:
            raise HTTPException(422, f"nothing changed: {error}") from None

    return router


HEARTBEAT_SECONDS = 15.0
"""Proxies cut connections that are silent for a minute, and only a send shows that a client is gone."""
RETRY_MILLISECONDS = 3000
SEND_SECONDS = 30.0
"""A client that accepts nothing for this long loses its place to others."""
BUSY: dict[int | str, dict[str, Any]] = {
    503: {
        "description": "There are too many streams, or the store does not answer.",
        "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}


def streams(board: Board, feed: EpisodeFeed, access: Access) -> APIRouter:
    """The route of the stream."""
    router = APIRouter(
        prefix="/api/v1",
        tags=["diagnosis"],
        generate_unique_id_function=operation_id,
        dependencies=[Depends(access.reader)],
        responses=REFUSED | NOT_FOUND | BUSY,
    )

    @router.get("/episodes/stream", status_code=200, response_class=EventStream)
    def stream_episodes(
        database: Annotated[str | None, Query(description="changes on this database only")] = None,
        last_event_id: Annotated[
            int | None, Header(ge=0, lt=2**63, description="continue after this event; default: with the next one")
        ] = None,
    ) -> EventStream:
        """Episode changes as they happen, as server-sent events, until either side ends it.

        Each event has the number of the change as its id, `begin`, `worse` or `end` as its name, and the change as JSON.
        """
        if database is not None:
            watched_in(board, database)
        try:
            newest = feed.newest()
        except StoreUnavailable:
            raise HTTPException(503, "the store does not answer; try again later") from None
        # A number from the future belongs to another store. To wait for it would be silence without a reason.
        after = newest if last_event_id is None else min(last_event_id, newest)
        return EventStream(feed, after, database)

    return router


class EventStream(StreamingResponse):
    """One client: its position in the log, and the changes it wants."""

    media_type = "text/event-stream"

    def __init__(self, feed: EpisodeFeed, after: int, database: str | None = None) -> None:
        super().__init__((), headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        self._feed = feed
        self._after = after
        self._database = database

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a place, stream, and always give the place back. Raises HTTPException if all are taken."""
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(news.set)

        async def timely(message: Message) -> None:
            async with asyncio.timeout(SEND_SECONDS):
                await send(message)

        try:
            with self._feed.listening(wake):
                self.body_iterator = self._events(news)
                await super().__call__(scope, receive, timely)
        except TooManyListeners:
            detail = "there are too many streams; end one, or follow several databases in one"
            raise HTTPException(503, detail, headers={"Retry-After": "30"}) from None
        except TimeoutError:
            return

    async def _events(self, news: asyncio.Event) -> AsyncIterator[str]:
        yield f"retry: {RETRY_MILLISECONDS}\n\n"
        while not self._feed.stopped:
            news.clear()
            try:
                changes = await self._next()
            except StoreUnavailable:
                return  # the client reconnects and continues where it was
            for change in changes:
                self._after = change.seq
                if self._database in (None, change.database):
                    yield event(change)
            if not changes and not await _within(news, HEARTBEAT_SECONDS):
                yield ": still here\n\n"

    async def _next(self) -> list[LoggedChange]:
        """The next changes for this client: from memory, or from the store outside the event loop."""
        remembered = self._feed.remembered(self._after)
        return await run_in_threadpool(self._feed.read, self._after) if remembered is None else remembered


def event(change: LoggedChange) -> str:
    """A change as one server-sent event."""
    return f"id: {change.seq}\nevent: {change.what}\ndata: {json.dumps(change.document(), ensure_ascii=False)}\n\n"


async def _within(event: asyncio.Event, seconds: float) -> bool:
    """Whether it happens within that time."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False
