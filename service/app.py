"""create_app(): the one place where the parts are put together."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI

from rules.catalogue import catalogue
from service.config.audit import Audit
from service.config.settings import Settings
from service.fleet.backend import sharing
from service.fleet.coordinator import FleetCoordinator, FleetMetrics
from service.fleet.remote import RemoteDatabases
from service.fleet.status_exchange import StatusExchange
from service.fleet.worker_factory import WorkerFactory
from service.history.jobs import Job, jobs_of
from service.intake.uploads import Uploads
from service.metrics.exposition import own_registry
from service.notify.feed import EpisodeFeed
from service.notify.webhooks import Webhooks
from service.state.board import Board, MonitoredDatabase
from service.store.ingest.disk_queue import DiskQueue
from service.store.maintenance import Chores
from service.store.repository import Repository
from service.store.schema.engine import STORE_ERRORS, sqlite_file
from service.store.writer import SpoolMetrics, Writer
from service.watch.actions import OperatorActions
from service.watch.connect import Connector
from service.watch.resume import resume
from service.web.access import Access, read_tokens
from service.web.api import problems
from service.web.api.actions import actions
from service.web.api.databases import api, outside
from service.web.api.history import history_api
from service.web.api.reports import reports_api
from service.web.api.stream import streams
from service.web.pages.compare import compare_pages
from service.web.pages.database import pages, static
from service.web.pages.history import history_pages
from service.web.pages.marks import marks_pages
from service.web.pages.reports import reports_pages

STOP_SECONDS = 2.0


def create_app(settings: Settings) -> FastAPI:
    """The whole service for these settings. Raises StoreError or BadSettings."""
    catalogue()  # read and checked now, so that the first diagnosis finds it ready
    store = Repository(settings.store, settings.history)
    writer, chores = Writer(store, _spool(settings)), Chores(store)
    board = Board([MonitoredDatabase(database, settings.interval_of(database)) for database in settings.databases])
    connector = Connector(settings.oracle)
    access = Access(read_tokens(settings.auth.tokens_file) if settings.auth.tokens_file else None)
    audit = Audit(settings.auth.audit_file)
    own = own_registry()
    own.register(SpoolMetrics(writer.spool))
    uploads = Uploads(store.reports, settings.reports.max_bytes)
    feed = EpisodeFeed(store.episode_log)
    webhooks = Webhooks(settings, store, own)
    jobs = jobs_of(store, board, connector.began)
    shared = sharing(settings.store, store, settings.replica_name, settings.replica.url, settings.shortest_interval)
    crew = WorkerFactory(
        connector, writer, settings, lambda taken: resume(taken, store, writer), shared.archive, STORE_ERRORS
    )
    herald = StatusExchange(shared.words, STORE_ERRORS) if shared.words else None
    fleet = FleetCoordinator(board, shared.leases, crew.hire, herald)
    own.register(FleetMetrics(fleet))
    if shared.archive is not None:
        board.follow_others(RemoteDatabases(shared.archive, fleet.every, STORE_ERRORS).follow)

    def close() -> None:
        shared.close()
        store.close()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        writer.catch_up()
        writer.start()
        chores.start()
        parts: list[EpisodeFeed | Webhooks | Job] = [feed, webhooks, *jobs]
        for part in parts:
            part.start()
        fleet.start()
        yield
        for part in parts:
            part.stop()
        fleet.stop(STOP_SECONDS)
        feed.join(STOP_SECONDS)
        webhooks.join(STOP_SECONDS)
        chores.stop()
        writer.stop()
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
    app.state.feed, app.state.close = feed, close
    problems.install(app)
    can = OperatorActions(connector, shared.leases, fleet.worker, shared.words, STORE_ERRORS)
    app.include_router(api(board, access))
    app.include_router(streams(board, feed, access))
    app.include_router(history_api(board, store, access, audit))
    app.include_router(actions(board, can, access, audit))
    app.include_router(reports_api(uploads, access, audit))
    app.include_router(outside(board, own, writer.trouble, access))
    app.include_router(pages(board, access, uploads, store))
    app.include_router(history_pages(board, store, access))
    app.include_router(compare_pages(board, store, access))
    app.include_router(marks_pages(board, store, access, audit))
    app.include_router(reports_pages(board, uploads, access, audit))
    app.mount("/static", static, name="static")
    return app


def _spool(settings: Settings) -> DiskQueue:
    """Where polls wait for the store: as set, else next to a SQLite file, else in the folder latchscope runs in.

    Replicas on one host, with one configuration, have a folder each below it.
    """
    file = sqlite_file(settings.store)
    if file is not None:
        return DiskQueue(settings.spool.directory or file.with_name(f"{file.name}-spool"), settings.spool.max_bytes)
    own = re.sub(r"[^\w.-]", "_", settings.replica_name)
    return DiskQueue((settings.spool.directory or Path("latchscope-spool")) / own, settings.spool.max_bytes)
