"""Builds the store of a service: repository, writer with its disk queue, maintenance."""

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

from sqlalchemy.exc import SQLAlchemyError

from service.background import PeriodicJob, SupervisedThread
from service.config.settings import Settings
from service.store.disk_queue import DiskQueue, held_spool
from service.store.engine import StoreError, sqlite_file
from service.store.repository import Repository
from service.store.writer import Writer

# The store's background work: hours, retention, tomorrow's partitions. What is over is deleted by our clock, and a host has a
# wrong one for a minute after it starts without a battery, or for good. So deleting asks twice.

log = logging.getLogger("latchscope.store")

FAR = timedelta(days=1)
EVERY_SECONDS = 20.0
PRUNE_SECONDS = 600.0
REST = 2.0
"""Seconds of rest per second of processor time of a bucket. All buckets of a fleet close at one moment, and polls go on."""
WITNESSES = 2
NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class ClockCheck:
    """Whether our clock may say what is over: not while it is more than a day beyond the newest poll that was stored before this
    start and the time since by the monotonic clock, until the clocks of two databases agree with it.
    """

    def __init__(self, store: Repository, real: Sequence[str], monotonic: Callable[[], float] = time.monotonic) -> None:
        """`real`: databases with a clock of their own. A scripted one has ours."""
        self._store, self._real, self._monotonic = store, real, monotonic
        self._waits = False
        try:
            newest = max(store.newest_polls().values(), default=NEVER if real else datetime.now(UTC))
        except SQLAlchemyError:
            newest = NEVER
        self._sure = newest - timedelta(seconds=monotonic())
        """Together with the monotonic clock, a time that our clock has passed for sure."""

    def right(self, now: datetime) -> bool:
        """Whether it may. The log says both clocks, once. Raises what the store does."""
        passed = timedelta(seconds=self._monotonic())
        polls: Mapping[str, datetime] = {}
        right = now <= self._sure + passed + FAR
        if not right:
            polls = self._store.newest_polls()
            agree = sum(abs(at - now) <= FAR for name, at in polls.items() if name in self._real)
            if right := agree >= min(WITNESSES, len(self._real)) > 0:
                self._sure = now - passed
        doubtful = (
            bool(polls) and abs(max(polls.values()) - now) > FAR
        )  # a new store has too few witnesses, and nothing to delete
        if not right and doubtful and not self._waits:
            log.warning(
                "nothing is deleted from the store: our clock says %s UTC, and the newest poll is of %s UTC by its database's "
                "clock; it goes on when the clock%s with ours, and at once by `latchscope store prune`",
                f"{now:%Y-%m-%d %H:%M}",
                f"{max(polls.values()):%Y-%m-%d %H:%M}",
                "s of two databases agree" if len(self._real) > 1 else " of a database agrees",
            )
        elif right and self._waits:
            log.info("the store deletes again what is over: our clock, %s UTC, is right", f"{now:%Y-%m-%d %H:%M}")
        self._waits = not right and (self._waits or doubtful)
        return right


class Maintenance:
    """Keeps a store in order; `do` is a round of the job that calls it."""

    def __init__(self, store: Repository, stopping: Event | None = None, clock: ClockCheck | None = None) -> None:
        """`stopping`: set when a long round should end early; `clock`: else that of a store without databases."""
        self._store = store
        self._stopping = stopping or Event()
        self._clock = clock or ClockCheck(store, ())
        self._pruned = float("-inf")

    def do(self, now: datetime) -> None:
        """One round: sum the hours that are over, then delete what is old. Raises what the store does."""
        store = self._store
        store.partitions.ahead(now)
        right = self._clock.right(now)
        store.upkeep.sum_hours(now, self._rest)
        if right and not self._stopping.is_set() and time.monotonic() - self._pruned >= PRUNE_SECONDS:
            store.prune(now, self._rest)
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
    clock = ClockCheck(repository, [database.name for database in settings.databases if database.scripted is None])
    maintenance = Maintenance(repository, stopping, clock)
    job = PeriodicJob("hours and retention", EVERY_SECONDS, maintenance.do, stopping)
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
