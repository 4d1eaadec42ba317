"""Every route of the service: REST, pages, /metrics, static files."""

from collections.abc import Callable
from functools import partial

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from service.cells.overview import CellsView
from service.config.audit import Audit
from service.config.settings import Settings
from service.intake.uploads import Uploads
from service.notify.feed import EpisodeFeed
from service.state.board import Board
from service.state.readiness import Readiness
from service.store.build import Store
from service.store.repository import Repository
from service.watch.actions import OperatorActions
from service.web.access import Access, read_tokens
from service.web.admission import Admission
from service.web.api import problems
from service.web.api.actions import actions_api
from service.web.api.compare import compare_api
from service.web.api.databases import api
from service.web.api.episodes import episodes_api
from service.web.api.fleet import fleet_api
from service.web.api.history import history_api
from service.web.api.http import AnswersHead
from service.web.api.marks import marks_api
from service.web.api.monitoring import monitoring
from service.web.api.reports import reports_api
from service.web.api.stream import streams
from service.web.api.whatif import whatif_api
from service.web.pages.api_page import api_pages
from service.web.pages.causes import causes_pages
from service.web.pages.compare import compare_pages
from service.web.pages.database import pages, static
from service.web.pages.documentation import Documentation
from service.web.pages.errors import error_pages
from service.web.pages.export import export_pages
from service.web.pages.fleet import fleet_pages
from service.web.pages.history import history_pages
from service.web.pages.marks import marks_pages
from service.web.pages.operate import operate_pages
from service.web.pages.problems import problems_pages
from service.web.pages.reports import reports_pages
from service.web.pages.sign_in import sign_in_pages
from service.web.pages.whatif import whatif_pages
from service.web.patience import AnswersInTime


def build_web(
    app: FastAPI,
    settings: Settings,
    board: Board,
    store: Store,
    feed: EpisodeFeed,
    actions: OperatorActions,
    registry: CollectorRegistry,
    ready: Callable[[], Readiness],
) -> None:
    """Give the app its routes. Raises BadSettings if the tokens cannot be read."""
    tokens = read_tokens(settings.auth.tokens_file) if settings.auth.tokens_file else None
    access = Access(tokens, here_only=settings.loopback)
    audit = Audit(settings.auth.audit_file)
    repository = store.repository
    uploads = Uploads(repository.reports, settings.reports.max_bytes)
    cells = CellsView(settings.fleet) if settings.fleet.prometheus else None
    routers = (
        api(board, repository, access),
        streams(board, feed, access),
        history_api(board, repository, access),
        episodes_api(board, repository, access),
        marks_api(board, repository, access, audit),
        compare_api(board, repository, access),
        whatif_api(board, repository, access),
        actions_api(board, actions, access, audit),
        reports_api(uploads, access, audit),
        fleet_api(cells, access),
        monitoring(board, registry, ready, access),
        causes_pages(board, repository, access),
        pages(board, access, uploads, repository),
        history_pages(board, repository, access),
        compare_pages(board, repository, access),
        marks_pages(board, repository, access, audit),
        operate_pages(board, repository, actions, access, audit),
        export_pages(board, repository, access),
        sign_in_pages(access, audit),
        whatif_pages(board, repository, access),
        reports_pages(board, uploads, access, audit),
        fleet_pages(board, repository, cells, access),
        problems_pages(),
        api_pages(access),
    )
    # Their routes are complete already. include_router would build each again, at the first request.
    for router in routers:
        app.router.routes.extend(router.routes)
    app.mount("/static", static, name="static")
    app.mount("/docs", Documentation(), name="docs")
    _admitting(app, access, repository, error_pages(board))


def _admitting(app: FastAPI, access: Access, repository: Repository, as_page: problems.ErrorPage) -> None:
    """Admit requests by their head, let none wait long for a store that hangs, answer HEAD, and answer errors."""
    problems.install(app, as_page)
    # The last one added is the first that a request meets.
    away, refused = partial(problems.store_away, as_page), partial(problems.error_answer, as_page)
    app.add_middleware(AnswersInTime, reachable=repository.reachable, refused=away)
    app.add_middleware(Admission, access=access, routes=app.router.routes, refused=refused)
    app.add_middleware(AnswersHead)
