"""Every route of the service: REST, pages, /metrics, static files."""

from collections.abc import Callable
from functools import partial

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from service.config.logs import Audit
from service.config.settings import Settings
from service.intake.uploads import Uploads
from service.notify.feed import EpisodeFeed
from service.state.board import Board, Readiness
from service.store.build import Store
from service.store.repository import Repository
from service.watch.actions import OperatorActions
from service.web.access import Access, Admission
from service.web.api import common
from service.web.api.databases import actions_api, api
from service.web.api.history import changes_api, compare_api, differences_api, episodes_api, history_api, marks_api
from service.web.api.live import health, reload_api, scrapes, streams
from service.web.api.reports import reports_api
from service.web.http import AnswersHead, SafeHeaders
from service.web.pages.causes import causes_pages, runbook_pages
from service.web.pages.compare import compare_pages
from service.web.pages.database import operate_pages, pages, static
from service.web.pages.docs import Documentation, api_pages
from service.web.pages.export import export_pages
from service.web.pages.find import find_pages
from service.web.pages.fleet import fleet_pages
from service.web.pages.history import history_pages
from service.web.pages.layout import error_pages, problems_pages, sign_in_pages
from service.web.pages.reports import reports_pages
from service.web.server import AnswersInTime


def build_web(
    app: FastAPI,
    settings: Settings,
    board: Board,
    store: Store,
    feed: EpisodeFeed,
    actions: OperatorActions,
    registry: CollectorRegistry,
    ready: Callable[[], Readiness],
    access: Access,
    reload: Callable[[str], str],
) -> None:
    """Give the app its routes. `reload` reads the configuration again for a caller, or raises BadSettings."""
    audit = Audit(settings.auth.audit_file)
    repository = store.repository
    uploads = Uploads(repository.reports, settings.reports.max_bytes)
    routers = (
        api(board, repository, access),
        streams(board, feed, access),
        history_api(board, repository, access),
        differences_api(board, repository, access),
        episodes_api(board, repository, access),
        changes_api(board, repository, access),
        marks_api(board, repository, access, audit),
        compare_api(board, repository, access),
        actions_api(board, actions, access, audit),
        reports_api(uploads, access, audit),
        health(ready),
        scrapes(board, registry, access),
        reload_api(reload, access),
        causes_pages(board, repository, access),
        runbook_pages(),
        pages(board, access, uploads, repository),
        history_pages(board, repository, access),
        compare_pages(board, repository, access),
        operate_pages(board, repository, actions, access, audit),
        export_pages(board, repository, access),
        sign_in_pages(access, audit),
        reports_pages(board, uploads, access, audit),
        fleet_pages(board, repository, access),
        find_pages(board, access),
        problems_pages(),
        api_pages(access),
    )
    # Their routes are complete already. include_router would build each again, at the first request.
    for router in routers:
        app.router.routes.extend(router.routes)
    app.mount("/static", static, name="static")
    app.mount("/docs", Documentation(), name="docs")
    _admitting(app, access, repository, error_pages(board))


def _admitting(app: FastAPI, access: Access, repository: Repository, as_page: common.ErrorPage) -> None:
    """Admit requests by their head, let none wait long for a store that hangs, answer HEAD, and answer errors."""
    common.install(app, as_page)
    # The last one added is the first that a request meets.
    away, refused = partial(common.store_away, as_page), partial(common.error_answer, as_page)
    app.add_middleware(AnswersInTime, reachable=repository.reachable, refused=away)
    app.add_middleware(Admission, access=access, routes=app.router.routes, refused=refused)
    app.add_middleware(AnswersHead)
    app.add_middleware(SafeHeaders)
