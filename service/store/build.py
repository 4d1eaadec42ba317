"""Builds the store of a service: repository, writer with its disk queue, maintenance."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event

from service.background import PeriodicJob, SupervisedThread
from service.config.settings import Settings
from service.store.engine import StoreError, sqlite_file
from service.store.repository import Repository
from service.store.spool import DiskQueue, held_spool
from service.store.upkeep import roll_up
from service.store.writer import Writer

# The store's background work: roll-ups, retention, tomorrow's partitions.

EVERY_SECONDS = 20.0
PRUNE_SECONDS = 600.0
REST = 2.0
"""Seconds of rest per second of processor time of a bucket. All buckets of a fleet close at one moment, and polls go on."""


class Maintenance:
    """Keeps a store in order; `do` is a round of the job that calls it."""

    def __init__(self, store: Repository, stopping: Event | None = None) -> None:
        """`stopping`: set when a long round should end early."""
        self._store = store
        self._stopping = stopping or Event()
        self._pruned = float("-inf")

    def do(self, now: datetime) -> None:
        """One round: roll up what is due, then delete what is over; never the other way round. Raises what the store does."""
        store = self._store
        store.partitions.ahead(now)
        raw_since = now - timedelta(seconds=store.kept_for.polls)
        while roll_up(store.engine, store.partitions, store.names, now, raw_since, rest=self._rest):
            if self._stopping.is_set():
                return
        if time.monotonic() - self._pruned >= PRUNE_SECONDS:
            store.prune(now)
            self._pruned = time.monotonic()

    def _rest(self, spent: float) -> bool:
        """Leave the processor to the polls for a while. Returns whether the round should end."""
        return self._stopping.wait(REST * spent)


SPOOL = Path("latchscope-spool")
"""Below the folder where latchscope runs: where polls wait for a PostgreSQL store, unless a setting names another."""


@dataclass(frozen=True, slots=True)
class Store:
    """The store's interface for the rest of the service, and its threads."""

    repository: Repository
    writer: Writer
    maintenance: PeriodicJob
    release: Callable[[], None]
    """Lets another process use the spool."""

    @property
    def threads(self) -> list[SupervisedThread]:
        """The writer's threads and that of maintenance."""
        return [*self.writer.threads, self.maintenance.thread]

    def start(self) -> None:
        """Check the file, write what the last run left behind, then start."""
        self.repository.check_file()
        self.writer.catch_up()
        self.writer.start()
        self.maintenance.start()

    def stop(self) -> None:
        """Write what waits, or leave it on disk for the next start."""
        self.maintenance.stop()
        self.maintenance.join(0.5)
        self.writer.stop()

    def close(self) -> None:
        """Give back what it holds."""
        self.repository.close()
        self.release()


def build_store(settings: Settings) -> Store:
    """Open the store of these settings. Raises StoreError."""
    repository = Repository(settings.store, settings.history)
    stopping = Event()
    maintenance = Maintenance(repository, stopping)
    job = PeriodicJob("roll-ups and retention", EVERY_SECONDS, maintenance.do, stopping)
    try:
        spool, release = _spool(settings)
    except StoreError:
        repository.close()
        raise
    return Store(repository, Writer(repository, spool), job, release)


def _spool(settings: Settings) -> tuple[DiskQueue, Callable[[], None]]:
    """Where polls wait for the store: as set, else next to a SQLite file, else in the folder where latchscope runs.

    Replicas on one host, with one configuration, each have a folder below it. Raises StoreError if another process holds it.
    """
    most = settings.spool.max_bytes
    file = sqlite_file(settings.store)
    if file is not None:
        return DiskQueue(settings.spool.directory or file.with_name(f"{file.name}-spool"), most), lambda: None
    own = re.sub(r"[^\w.-]", "_", settings.replica_name)
    spool, lock = held_spool(settings.spool.directory or SPOOL, own, most)
    return spool, (lambda: None) if lock is None else lock.close
