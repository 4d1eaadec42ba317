"""Routes for monitoring: /healthz, /readyz, /metrics and /probe, outside the versioned API. A store that hangs stops none."""

from collections.abc import Callable

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client import CollectorRegistry, Gauge

from service.metrics.exposition import exposition, probe
from service.metrics.families import EXPOSITION_BYTES
from service.state.board import Board
from service.state.readiness import Readiness
from service.web.access import Access
from service.web.api.databases import operation_id
from service.web.api.http import squeezed
from service.web.api.problems import NOT_FOUND, REFUSED
from service.web.bulkhead import Bulkhead
from service.web.schemas import Health

THREADS = 4
"""For scrapes, and as many for /readyz, which may ask the store."""
LEVEL = 1
"""It saves three quarters of what the best level saves on /metrics, in a tenth of the time."""


def monitoring(board: Board, own: CollectorRegistry, ready: Callable[[], Readiness], access: Access) -> APIRouter:
    """Its routes."""
    router = _health(ready)
    router.routes.extend(_scrapes(board, own, access).routes)
    return router


def _health(ready: Callable[[], Readiness]) -> APIRouter:
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


def _scrapes(board: Board, own: CollectorRegistry, access: Access) -> APIRouter:
    """For Prometheus."""
    readers = [Depends(access.reader)]
    router = APIRouter(
        generate_unique_id_function=operation_id, tags=["service"], dependencies=readers, responses=REFUSED
    )
    size, in_own_thread = Gauge(EXPOSITION_BYTES.name, EXPOSITION_BYTES.help, registry=own), Bulkhead(THREADS)

    @router.get("/metrics", response_class=PlainTextResponse)
    @in_own_thread
    def get_metrics(request: Request) -> Response:
        """Prometheus metrics of every database this process polls, and of the process. OpenMetrics on request."""
        page, content_type = exposition(board.own(), own, request.headers.get("accept", ""))
        size.set(len(page))
        return _squeezed(page, content_type, request)

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
        return _squeezed(page, content_type, request)

    return router


def _squeezed(page: bytes, content_type: str, request: Request) -> Response:
    """An answer, in gzip if the caller accepts it."""
    body, headers = squeezed(page, request, LEVEL)
    return Response(body, media_type=content_type, headers=headers)
