"""Workers for databases that have just become ours. They continue where the former owner stopped."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from service.config.audit import Audit
from service.config.settings import Settings
from service.state.board import MonitoredDatabase, PeerReport
from service.state.leases import Lease
from service.state.status import DatabaseStatus
from service.watch.blocker_look import BlockerLook
from service.watch.connect import ConnectionOpener
from service.watch.pipeline import PollKeeper
from service.watch.scheduler import PollScheduler
from service.watch.worker import Worker

log = logging.getLogger("latchscope.fleet")


class LastPolls(Protocol):
    """What the store knows about databases that others polled. Every method raises what the store raises."""

    def statuses(self) -> Mapping[str, DatabaseStatus]:
        """The latest state of every database."""
        ...

    def polled(self, databases: Sequence[str]) -> Mapping[str, datetime]:
        """The newest kept poll of each, by the database's own clock."""
        ...


class WorkerFactory:
    """Makes workers."""

    def __init__(
        self,
        opener: ConnectionOpener,
        keeper: PollKeeper,
        settings: Settings,
        resume: Callable[[Sequence[MonitoredDatabase]], None],
        last_polls: LastPolls | None,
        errors: tuple[type[Exception], ...],
        scheduler: PollScheduler,
    ) -> None:
        """`resume` restores the known state of databases; `errors`: exceptions of a store in trouble."""
        self._opener = opener
        self._keeper = keeper
        self._settings = settings
        self._audit = Audit(settings.auth.audit_file)
        self._resume = resume
        self._last_polls = last_polls
        self._errors = errors
        self._scheduler = scheduler

    def make_workers(self, taken: Sequence[tuple[MonitoredDatabase, Lease]]) -> list[Worker]:
        """A worker for each. None of them polls sooner than the interval after the last poll of another replica."""
        ours = [watched for watched, _ in taken]
        self._resume(ours)
        polled = self._polled(ours)
        return [self._worker(watched, lease, polled.get(watched.name)) for watched, lease in taken]

    def _polled(self, ours: Sequence[MonitoredDatabase]) -> dict[str, float]:
        """time.time() of the last poll of each, as far as the store knows."""
        if self._last_polls is None or not ours:
            return {}
        try:
            statuses, newest = (
                self._last_polls.statuses(),
                self._last_polls.polled([database.name for database in ours]),
            )
        except self._errors as error:
            log.warning("the time of the others' last polls is unknown, so polls start at once: %s", error)
            return {}
        for watched in ours:
            if (status := statuses.get(watched.name)) is not None:
                watched.peer_report = PeerReport(status.polled_at, status.summary)
        ahead = {name: statuses[name].ahead if name in statuses else 0.0 for name in newest}
        return {name: at.timestamp() + ahead[name] for name, at in newest.items()}

    def _worker(self, watched: MonitoredDatabase, lease: Lease, polled: float | None) -> Worker:
        """A scripted database costs nothing, so its polls never slow down."""
        settings = self._settings
        wait = 0.0 if polled is None else min(watched.interval, max(0.0, polled + watched.interval - time.time()))
        return Worker(
            watched,
            self._opener,
            self._keeper,
            1.0 if watched.settings.scripted else settings.defaults.budget,
            settings.defaults.confirm == "once_per_episode",
            blockers=BlockerLook(
                self._audit,
                settings.defaults.look_for_blocker == "on",
                wait_chains=settings.defaults.wait_chains == "on",
            ),
            holds=lease.held,
            first=time.monotonic() + wait,
            scheduler=self._scheduler,
            grouped=settings.oracle.statements == "grouped",
        )
