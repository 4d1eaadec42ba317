"""create_app(): the only place where the parts are put together. Reload: takes a changed configuration while it runs."""

import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from importlib.metadata import version
from operator import attrgetter
from threading import Lock

from fastapi import FastAPI
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from rules.baseline import UsualRange
from rules.cause import catalogue
from service.background import CollectsAfterScrapes, PeriodicJob, ThreadMetrics
from service.config.settings import BadSettings, Settings, every_setting
from service.extras import release
from service.fleet.build import Fleet, build_fleet
from service.fleet.coordinator import FleetMetrics
from service.history.baselines import BaselineCache
from service.history.marks import build_jobs
from service.metrics.exposition import own_registry
from service.metrics.families import metric
from service.notify.build import Notifiers, build_notifiers, refuse_untold
from service.state.board import Board, MonitoredDatabase, readiness
from service.store.build import Store, build_store
from service.store.writer import StoreMetrics
from service.watch.connect import Connector
from service.watch.scheduler import QueueMetrics
from service.web.access import Access, tokens_of
from service.web.http import ScrapesFirst
from service.web.routes import build_web
from service.web.server import tls_of

BackgroundPart = Notifiers | PeriodicJob
STOP_SECONDS = 1.2
"""Seconds for polls and their receivers to end. Web and store have a second or two more."""


log = logging.getLogger("latchscope")

RELOADED = re.compile(
    r"databases(_dir)?|defaults\.(interval|user|password_file)|webhooks|notifications|public_url|auth\.tokens_file|"
    r"telemetry\.log_level"
)
"""Settings that a reload takes. Others need a restart."""
UNLEASED = "no database is polled: the store gives no leases; polls go on when it does"
OF_THE_SESSION = ("dsn", "user", "config_dir", "wallet_dir", "wallet_password_file")
"""Settings of a database that its session was opened with. A password is read at the next login."""


class Reload(Collector):
    """Reads the configuration again: databases, receivers, tokens. A wrong one changes nothing."""

    def __init__(
        self,
        settings: Settings,
        read: Callable[[], Settings],
        board: Board,
        fleet: Fleet,
        notifiers: Notifiers,
        access: Access,
        store: Store,
    ) -> None:
        """`read`: the settings of now, or BadSettings."""
        self._settings, self._read = settings, read
        self._board, self._fleet, self._notifiers, self._access, self._store = board, fleet, notifiers, access, store
        self._lock = Lock()
        self.tls = tls_of(settings.tls)
        self._last = (True, time.time())
        """Whether the last reload succeeded, and when one last did."""
        self._added: set[str] = set()
        self._usual = BaselineCache(store.repository, ())
        self.usual = PeriodicJob("baselines of added databases", 30.0, lambda now: self._usual.do(now))

    def __call__(self, caller: str) -> str:
        """Reload for somebody. What changed, in a line. Raises BadSettings."""
        with self._lock:
            # All that can be refused comes first, so that a wrong file changes nothing.
            try:
                chosen = self._read()
                refuse_untold(chosen)
                tokens = tokens_of(chosen)
                tls_of(chosen.tls)  # a broken pair must not reach the context that serves
                tls_of(self._settings.tls, self.tls)
            except BadSettings as error:
                self._last = (False, self._last[1])
                log.error(
                    "%s: configuration not reloaded, nothing changed: %s",
                    caller,
                    error,
                    extra={"event": "reload failed"},
                )
                raise
            told = [*self._take_databases(chosen), *self._needs_restart(chosen)]
            told += ["tokens changed"] if tokens != self._access.tokens else []
            self._notifiers.take(chosen)
            self._access.tokens = tokens
            logging.getLogger().setLevel(chosen.telemetry.log_level.upper())
            self._last = (True, time.time())
            done = f"configuration reloaded; databases: {len(self._board)}; {'; '.join(told) or 'nothing changed'}"
            log.info("%s: %s", caller, done, extra={"event": "reload"})
            return f"{done}\n"

    def _take_databases(self, chosen: Settings) -> Iterator[str]:
        before, watched = self._board.by_name, list[MonitoredDatabase]()
        words: dict[str, list[str]] = {"added": [], "changed": []}
        for database in chosen.watched:
            known, interval = before.get(database.name), chosen.interval_of(database)
            if known is None:
                words["added"].append(database.name)
            elif (known.settings, known.interval) != (database, interval):
                words["changed"].append(database.name)
            if known is None:
                known = MonitoredDatabase(database, interval, usual=partial(self._usual_of, database.name))
            elif any(getattr(known.settings, each) != getattr(database, each) for each in OF_THE_SESSION):
                known = MonitoredDatabase(database, interval, usual=known.usual)
            known.settings, known.interval = database, interval
            watched.append(known)
        # Gates before the board: a worker that begins must meet what is known of a refused login.
        self._fleet.admit(watched)
        self._added |= {*words["added"]}
        self._usual = BaselineCache(self._store.repository, self._added & {each.name for each in watched})
        self._board.watch(watched)
        self._fleet.coordinator.look_now()
        kept = {each.name for each in chosen.databases}
        for name in (name for name in before if self._board.get(name) is None):
            words.setdefault("paused" if name in kept else "no longer watched", []).append(name)
        yield from (f"{what}: {', '.join(names)}" for what, names in words.items() if names)

    def _usual_of(self, database: str, at: datetime) -> Mapping[str, UsualRange]:
        return self._usual.of(database, at)

    def _needs_restart(self, chosen: Settings) -> Iterator[str]:
        names = [name for name, _ in every_setting() if "[]" not in name and not RELOADED.fullmatch(name)]
        other = [name for name in names if attrgetter(name)(chosen) != attrgetter(name)(self._settings)]
        if other:
            yield f"needs a restart: {', '.join(other)}"

    def collect(self) -> Iterator[Metric]:
        """Which release this is, whether the last reload succeeded, and when the configuration was last taken."""
        of, _, revision = release().partition("+")
        build = metric("latchscope_build_info", labels=("version", "revision"))
        build.add_metric([of, revision], 1.0)
        yield build
        successful, taken_at = self._last
        yield metric("latchscope_config_last_reload_successful", float(successful))
        yield metric("latchscope_config_last_reload_success_timestamp_seconds", float(taken_at))


def create_app(
    settings: Settings, scripted_until: datetime | None = None, read: Callable[[], Settings] | None = None
) -> FastAPI:
    """The whole service; the store may have a scripted history `scripted_until`. Raises StoreError or BadSettings.

    `read`: the settings of a later moment, for a reload; else they never change.
    """
    access = Access(tokens_of(settings), here_only=settings.loopback)
    catalogue()  # read and checked now, so that the first diagnosis does not wait for it
    board = Board([MonitoredDatabase(database, settings.interval_of(database)) for database in settings.watched])
    connector = Connector(settings.oracle, settings.defaults, scripted_until)
    registry = own_registry()
    store = build_store(settings)
    registry.register(StoreMetrics(store.writer))
    jobs = build_jobs(store.repository, board, connector.began, registry)
    notifiers = build_notifiers(settings, store.repository, board, registry)
    fleet = build_fleet(settings, store, board, connector)
    registry.register(FleetMetrics(fleet.coordinator))
    registry.register(QueueMetrics(fleet.scheduler))
    reload = Reload(settings, read or (lambda: settings), board, fleet, notifiers, access, store)
    jobs.append(reload.usual)
    always = [*store.threads, *(job.thread for job in jobs), fleet.coordinator.thread, fleet.scheduler.thread]
    threads = ThreadMetrics(lambda: [*always, *notifiers.threads])
    registry.register(threads)
    registry.register(reload)

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
    app.state.reload = reload
    app.state.close, app.state.secure = partial(_close, store, fleet), store.writer.secure
    build_web(
        app,
        settings,
        board,
        store,
        notifiers.feed,
        fleet.actions,
        registry,
        lambda: readiness(
            UNLEASED if fleet.coordinator.lost else store.writer.trouble() or threads.trouble(),
            fleet.scheduler.queue_seconds,
        ),
        access,
        reload,
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
