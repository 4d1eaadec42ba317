"""create_app(): the one place where the parts are put together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI

from rules.catalogue import catalogue
from service.config.settings import Settings
from service.fleet.build import build_fleet
from service.fleet.coordinator import FleetMetrics
from service.history.jobs import build_jobs
from service.metrics.exposition import own_registry
from service.notify.build import Notifiers, build_notifiers
from service.periodic import PeriodicJob
from service.state.board import Board, MonitoredDatabase
from service.store.build import build_store
from service.store.writer import SpoolMetrics
from service.watch.connect import Connector
from service.web.build import build_web

STOP_SECONDS = 2.0


def create_app(settings: Settings) -> FastAPI:
    """The whole service for these settings. Raises StoreError or BadSettings."""
    catalogue()  # read and checked now, so that the first diagnosis finds it ready
    board = Board([MonitoredDatabase(database, settings.interval_of(database)) for database in settings.databases])
    connector = Connector(settings.oracle, settings.defaults)
    registry = own_registry()
    store = build_store(settings)
    registry.register(SpoolMetrics(store.writer.spool))
    jobs = build_jobs(store.repository, board, connector.began)
    notifiers = build_notifiers(settings, store.repository, registry)
    fleet = build_fleet(settings, store, board, connector)
    registry.register(FleetMetrics(fleet.coordinator))

    def close() -> None:
        fleet.backend.close()
        store.repository.close()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        background: list[Notifiers | PeriodicJob] = [notifiers, *jobs]
        store.start()
        for part in background:
            part.start()
        fleet.coordinator.start()
        yield
        for part in background:
            part.stop()
        fleet.coordinator.stop(STOP_SECONDS)
        notifiers.join(STOP_SECONDS)
        store.stop()
        close()

    app = FastAPI(
        title="latchscope",
        version=version("latchscope"),
        description="Why an Oracle database grinds on its dictionary cache, and what to do.",
        lifespan=lifespan,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.feed, app.state.close = notifiers.feed, close
    build_web(app, settings, board, store, notifiers.feed, fleet.actions, registry)
    return app
