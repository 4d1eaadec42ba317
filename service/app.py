"""create_app(): the one place where the parts are put together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI

from rules.catalogue import catalogue
from service.audit import Audit
from service.board import Board, Watched
from service.connect import Connector
from service.jobs import jobs_of
from service.loop import Worker
from service.metrics import own_registry
from service.resume import resume
from service.settings import Settings
from service.store.chores import Chores
from service.store.engine import sqlite_file
from service.store.reports import Reports
from service.store.repository import Repository
from service.store.spool import Spool
from service.store.writer import SpoolMetrics, Writer
from service.uploads import Uploads
from service.web import problems
from service.web.access import Access, read_tokens
from service.web.actions_api import actions
from service.web.api import api, outside
from service.web.compare_pages import compare_pages
from service.web.history_api import history_api
from service.web.history_pages import history_pages
from service.web.marks_pages import marks_pages
from service.web.pages import pages, static
from service.web.reports_api import reports_api
from service.web.reports_pages import reports_pages

STOP_SECONDS = 2.0


def create_app(settings: Settings) -> FastAPI:
    """The whole service for these settings. Raises StoreError or BadSettings."""
    catalogue()  # read and checked now, so that the first diagnosis finds it ready
    store = Repository(settings.store, settings.history)
    writer, chores = Writer(store, _spool(settings)), Chores(store)
    board = Board([Watched(one, settings.interval_of(one)) for one in settings.databases])
    connector = Connector(settings.oracle)
    access = Access(read_tokens(settings.auth.tokens_file) if settings.auth.tokens_file else None)
    audit = Audit(settings.auth.audit_file)
    uploads = Uploads(Reports(store.engine), settings.reports.max_bytes)
    workers = [_worker(watched, connector, writer, settings) for watched in board]
    jobs = jobs_of(store, board, connector.began)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        writer.catch_up()
        resume(board, store, writer)
        writer.start()
        chores.start()
        for job in jobs:
            job.start()
        for worker in workers:
            worker.start()
        yield
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.join(STOP_SECONDS / max(len(workers), 1))
        for job in jobs:
            job.stop()
        chores.stop()
        writer.stop()
        store.close()

    app = FastAPI(
        title="latchscope",
        version=version("latchscope"),
        description="Why an Oracle database grinds on its dictionary cache, and what to do.",
        lifespan=lifespan,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    problems.install(app)
    own = own_registry()
    own.register(SpoolMetrics(writer.spool))
    by_name = {one.watched.name: one for one in workers}
    app.include_router(api(board, access))
    app.include_router(history_api(board, store, access, audit))
    app.include_router(actions(board, by_name, connector, access, audit))
    app.include_router(reports_api(uploads, access, audit))
    app.include_router(outside(board, own, writer.trouble, access))
    app.include_router(pages(board, access, uploads, store))
    app.include_router(history_pages(board, store, access))
    app.include_router(compare_pages(board, store, access))
    app.include_router(marks_pages(board, store, access, audit))
    app.include_router(reports_pages(board, uploads, access, audit))
    app.mount("/static", static, name="static")
    return app


def _spool(settings: Settings) -> Spool:
    """Where polls wait for the store: as set, else next to a SQLite file, else in the folder latchscope runs in."""
    file = sqlite_file(settings.store)
    beside = file.with_name(f"{file.name}-spool") if file else Path("latchscope-spool")
    return Spool(settings.spool.directory or beside, settings.spool.max_bytes)


def _worker(watched: Watched, connector: Connector, writer: Writer, settings: Settings) -> Worker:
    """A database's worker; a scripted one costs nobody anything, so its polls never slow down."""
    budget = 1.0 if watched.settings.scripted else settings.defaults.budget
    return Worker(watched, connector, writer, budget, settings.defaults.confirm == "once_per_episode")
