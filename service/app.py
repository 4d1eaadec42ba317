"""create_app(): the only place where the parts are put together."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from importlib.metadata import version

from fastapi import FastAPI

from rules.cause import catalogue
from service.background import CollectsAfterScrapes, PeriodicJob, ThreadMetrics
from service.config.settings import Settings
from service.fleet.build import Fleet, build_fleet
from service.fleet.coordinator import FleetMetrics
from service.history.marks import build_jobs
from service.metrics.exposition import own_registry
from service.notify.build import Notifiers, build_notifiers
from service.state.board import Board, MonitoredDatabase, readiness
from service.store.build import Store, build_store
from service.store.writer import StoreMetrics
from service.watch.connect import Connector
from service.watch.scheduler import QueueMetrics
from service.web.http import ScrapesFirst
from service.web.routes import build_web

BackgroundPart = Notifiers | PeriodicJob
STOP_SECONDS = 1.2
"""Seconds for polls and their receivers to end. Web and store have a second or two more."""


def create_app(settings: Settings, scripted_until: datetime | None = None) -> FastAPI:
    """The whole service; the store may have a scripted history `scripted_until`. Raises StoreError or BadSettings."""
    catalogue()  # read and checked now, so that the first diagnosis does not wait for it
    board = Board([MonitoredDatabase(database, settings.interval_of(database)) for database in settings.databases])
    connector = Connector(settings.oracle, settings.defaults, scripted_until)
    registry = own_registry()
    store = build_store(settings)
    registry.register(StoreMetrics(store.writer))
    jobs = build_jobs(store.repository, board, connector.began, registry)
    notifiers = build_notifiers(settings, store.repository, board, registry)
    fleet = build_fleet(settings, store, board, connector)
    registry.register(FleetMetrics(fleet.coordinator))
    registry.register(QueueMetrics(fleet.scheduler))
    threads = ThreadMetrics(
        [
            *store.threads,
            *notifiers.threads,
            *(job.thread for job in jobs),
            fleet.coordinator.thread,
            fleet.scheduler.thread,
        ]
    )
    registry.register(threads)

    app = FastAPI(
        title="latchscope",
        version=version("latchscope"),
        description="Why an Oracle database grinds on its dictionary cache, and what to do.",
        lifespan=lambda _: _running(store, [notifiers, *jobs], fleet),
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.feed, app.state.registry, app.state.scripted_until = notifiers.feed, registry, scripted_until
    app.state.close, app.state.secure = partial(_close, store, fleet), store.writer.secure
    build_web(
        app,
        settings,
        board,
        store,
        notifiers.feed,
        fleet.actions,
        registry,
        lambda: readiness(store.writer.trouble() or threads.trouble(), fleet.scheduler.queue_seconds),
    )
    first, scraped = fleet.scheduler.right_of_way.first, CollectsAfterScrapes().scraped
    app.add_middleware(ScrapesFirst, first=first, scraped=scraped)
    return app


@asynccontextmanager
async def _running(store: Store, background: Sequence[BackgroundPart], fleet: Fleet) -> AsyncIterator[None]:
    """Start the threads, and stop them after the service in an order that loses nothing."""
    store.start()
    for part in background:
        part.start()
    fleet.coordinator.start()
    yield
    for part in (*background, store.maintenance):
        part.stop()
    fleet.coordinator.stop(STOP_SECONDS)
    fleet.scheduler.stop()
    until = time.monotonic() + STOP_SECONDS / 4
    for part in background:
        part.join(max(0.0, until - time.monotonic()))
    store.stop()
    _close(store, fleet)


def _close(store: Store, fleet: Fleet) -> None:
    fleet.backend.close()
    store.close()
