"""Which databases this replica polls: the share loop, and a worker for each owned database.

Every quarter of an interval it checks which replicas are alive and which databases are unowned, claims its fair share,
and releases the surplus.
"""

import hashlib
import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from service.background import SupervisedThread
from service.config.logs import Audit
from service.config.settings import Settings
from service.fleet.exchange import StatusExchange
from service.metrics.families import metric
from service.state.board import Board, MonitoredDatabase, PeerReport
from service.state.replicas import Lease, Leases, LeasesLost, Ownership
from service.store.engine import STORE_ERRORS
from service.store.replicas import FleetStatusTable
from service.watch.connect import ConnectionOpener
from service.watch.follow_up import BlockerLook, ChangesLook, FollowUp
from service.watch.pipeline import PollKeeper
from service.watch.scheduler import PollScheduler
from service.watch.worker import Worker

log = logging.getLogger("latchscope.fleet")

LONGEST_ROUND = 5.0
PATIENCE = 5.0
"""Seconds after which a free database is claimed beyond the fair share, because no other replica claimed it."""
HANDOVER_SECONDS = 0.2
"""How long a round waits for workers between two polls, so that their databases change hands at once."""
REJOIN_ROUNDS = 3
"""Rounds for which a replica that had to join again assumes as many others as before."""
SHED_AGAIN = 120.0
"""Seconds after which surplus is offered again if no replica took it and the fleet did not change."""


@dataclass
class _Assignment:
    """An owned database and its worker."""

    lease: Lease
    worker: Worker
    watched: MonitoredDatabase


class FleetCoordinator:
    """The share loop. `step` is one round; tests call it directly."""

    def __init__(
        self,
        board: Board,
        leases: Leases,
        make_workers: Callable[[Sequence[tuple[MonitoredDatabase, Lease]]], Sequence[Worker]],
        status_exchange: StatusExchange | None = None,
    ) -> None:
        self._board = board
        self._watched = board.by_name
        """Those of this round."""
        self._leases = leases
        self._make_workers = make_workers
        self._status_exchange = status_exchange
        self._claimed: dict[str, Lease] = {}
        """Claimed in the last round; see `_begin`."""
        self._assignments: dict[str, _Assignment] = {}
        self._leaving: dict[str, _Assignment] = {}
        self._free_since: dict[str, float] = {}
        self._last_shed: tuple[frozenset[str], float] = (frozenset(), 0.0)
        self._me = ""
        self._cautious_rounds = 0
        self._replica_count = 1
        self._share = 0
        self.lost = False
        """Whether nothing is polled here, because the store gives no leases."""
        self._said = 0
        """How many databases the log says that are polled here."""
        self._stopping = False
        self._news = threading.Event()
        self.thread = SupervisedThread("fleet", self._run)

    def worker(self, database: str) -> Worker | None:
        """The worker of a database here. None if this process does not poll it."""
        assignment = self._assignments.get(database)
        return assignment.worker if assignment else None

    @property
    def every(self) -> float:
        """Seconds between two rounds."""
        return min([LONGEST_ROUND, *(database.interval / 4 for database in self._board)])

    @property
    def owned(self) -> int:
        """How many databases this replica polls."""
        return len(self._assignments)

    @property
    def unowned(self) -> int:
        """How many databases no replica has polled for two intervals, as far as this replica can see."""
        now = time.monotonic()
        free, known = self._free_since.copy(), self._board.by_name
        return sum(name in known and now - since > 2 * known[name].interval for name, since in free.items())

    def start(self) -> None:
        """Join the fleet: the first round at once, the others in their own thread."""
        self.step()
        self.thread.start()

    def stop(self, seconds: float) -> None:
        """Stop every worker, wait for them at most this long, and hand everything over."""
        self.thread.stop()
        self._stopping = True
        self.look_now()
        self.thread.join(seconds / 2)
        assignments = [*self._assignments.values(), *self._leaving.values()]
        for assignment in assignments:
            assignment.worker.stop()
        until = time.monotonic() + seconds / 2
        for assignment in assignments:
            assignment.worker.join(max(0.0, until - time.monotonic()))
        self._publish_statuses()

    def look_now(self) -> None:
        """Begin the next round at once: the databases are others."""
        self._news.set()

    def _run(self) -> None:
        while not self._stopping:
            if self._news.wait(self.every / 4 if self.lost else self.every):
                self._news.clear()
            if not self._stopping:
                self.step()

    def step(self) -> None:
        """One round. Our own errors end only that round."""
        try:
            self._reap()
            self._leave_removed()
            ownership = self._leases.look(self._watched)
            self._work_out_share(ownership)
            self._leave_lost(ownership)
            self._start_claimed(ownership)
            self._shed_surplus(ownership)
            self._claim_free(ownership)
            self._note_owners(ownership)
            if self.lost:
                log.info("polling goes on: the store gives leases again", extra={"event": "leases back"})
            self.lost = False
            if self.owned != self._said and not self._leases.alone:
                known, others = len(self._watched), len(ownership.replicas) - 1
                log.info("polls %d of %d databases, beside %d other replicas", self.owned, known, others)
                self._said = self.owned
        except LeasesLost as error:
            self._fence(error)
        except Exception:
            log.exception("a round of sharing failed")
        self._publish_statuses()

    def _reap(self) -> None:
        """Give back what workers have left, whether on request or because they saw that the lease was lost."""
        for name, assignment in self._assignments.copy().items():
            if not assignment.worker.alive:
                self._release(name)
        for name, assignment in self._leaving.copy().items():
            if not assignment.worker.alive:
                del self._leaving[name]
                with assignment.watched.ownership_lock:
                    assignment.watched.forget()
                self._leases.give(assignment.lease)

    def _release(self, name: str) -> None:
        """Remove it from /metrics at once. The lease is given back when the worker has ended, because a poll may be running."""
        assignment = self._leaving[name] = self._assignments.pop(name)
        assignment.worker.stop()
        with assignment.watched.ownership_lock:
            assignment.watched.owned, assignment.watched.polled_by = False, None

    def _leave_removed(self) -> None:
        """Databases that are no longer on the board, or have another user or address there."""
        self._watched = self._board.by_name
        for name, assignment in list(self._assignments.items()):
            if self._watched.get(name) is not assignment.watched:
                self._release(name)
        # A claim of the last round has no worker yet, so nobody else would give its lease back.
        for name in self._claimed.keys() - self._watched.keys():
            self._leases.give(self._claimed.pop(name))

    def _fence(self, error: LeasesLost) -> None:
        """Without leases nothing may be polled, because another replica may poll it."""
        if not self.lost:
            log.error("polling stops, because the leases are lost: %s", error, extra={"event": "leases lost"})
        self.lost = True
        for name in list(self._assignments):
            self._release(name)
        self._claimed.clear()
        self._note_free(self._watched)

    def _work_out_share(self, ownership: Ownership) -> None:
        """Compute our share. A replica that just lost its session is hardly the only one, and leaves the others their share."""
        if self._leases.me.id != self._me:
            self._me, self._cautious_rounds = self._leases.me.id, REJOIN_ROUNDS
        living = len(ownership.replicas)
        self._replica_count = max(living, self._replica_count) if self._cautious_rounds else living
        self._cautious_rounds = max(0, self._cautious_rounds - 1)
        self._share = math.ceil(len(self._watched) / self._replica_count)

    def _leave_lost(self, ownership: Ownership) -> None:
        """Databases that the store says we no longer own."""
        for name in list(self._assignments):
            owner = ownership.owners.get(name)
            if owner is None or owner.id != self._leases.me.id:
                self._release(name)

    def _shed_surplus(self, ownership: Ownership) -> None:
        """Give up the surplus, once per change of the fleet and then rarely, so that databases do not go to and fro."""
        surplus = len(self._assignments) + len(self._claimed) - self._share
        living = frozenset(replica.id for replica in ownership.replicas)
        before, at = self._last_shed
        if living == before and time.monotonic() - at < SHED_AGAIN:
            return
        self._last_shed = (living, time.monotonic())
        if surplus <= 0:
            return
        log.info("%d of %d databases are offered to other replicas", surplus, len(self._assignments))
        for name in (given := self._by_preference(self._assignments)[-surplus:]):
            self._release(name)
        until = time.monotonic() + HANDOVER_SECONDS
        for name in given:
            self._leaving[name].worker.join(max(0.0, until - time.monotonic()))
        self._reap()

    def _claim_free(self, ownership: Ownership) -> None:
        """Fill our share from free databases. Beyond it, claim what has been free for too long."""
        free = [name for name in self._watched if name not in ownership.owners]
        self._note_free(free)
        wanted = self._by_preference(name for name in free if name not in self._leaving)
        now = time.monotonic()
        overdue = [
            name for name in wanted if now - self._free_since[name] > max(PATIENCE, self._watched[name].interval)
        ]
        room = self._share - len(self._assignments) - len(self._claimed)
        chosen = dict.fromkeys([*wanted[: max(0, room)], *overdue])
        if chosen:
            self._claimed |= {lease.database: lease for lease in self._leases.take(list(chosen))}
        if self._leases.alone:
            self._start_claimed(self._leases.look(self._watched))

    def _start_claimed(self, ownership: Ownership) -> None:
        """Poll what was claimed a round ago. By now the last poll of the former owner has reached the store."""
        mine = {name for name, owner in ownership.owners.items() if owner and owner.id == self._leases.me.id}
        taken = [(self._watched[name], lease) for name, lease in self._claimed.items() if name in mine]
        self._claimed.clear()
        if not taken:
            return
        for watched, _ in taken:
            with watched.ownership_lock:
                watched.forget()
                watched.owned, watched.polled_by = True, self._leases.me.name
        try:
            workers = self._make_workers(taken)
        except Exception:
            self._undo(taken)
            raise
        for (watched, lease), worker in zip(taken, workers, strict=True):
            self._free_since.pop(watched.name, None)
            self._assignments[watched.name] = _Assignment(lease, worker, watched)
            worker.start()

    def _undo(self, taken: Sequence[tuple[MonitoredDatabase, Lease]]) -> None:
        for watched, lease in taken:
            with watched.ownership_lock:
                watched.owned, watched.polled_by = False, None
            self._leases.give(lease)

    def _note_owners(self, ownership: Ownership) -> None:
        """Note for all other databases which replica polls them."""
        for name, watched in self._watched.items():
            if name not in self._assignments:
                owner = ownership.owners.get(name)
                watched.polled_by = owner.name if owner else None

    def _note_free(self, free: Iterable[str]) -> None:
        now = time.monotonic()
        self._free_since = {name: self._free_since.get(name, now) for name in free}

    def _by_preference(self, names: Iterable[str]) -> list[str]:
        """Each replica in its own order, so that two that look at once try different ones."""
        me = self._leases.me.name
        return sorted(names, key=lambda name: hashlib.blake2b(f"{me} {name}".encode()).digest())

    def _publish_statuses(self) -> None:
        if self._status_exchange is not None:
            self._status_exchange.publish([each.watched for each in self._assignments.values()], self.worker)


class FleetMetrics(Collector):
    """How the databases are shared, as this replica sees it, for /metrics."""

    def __init__(self, fleet: FleetCoordinator) -> None:
        self._fleet = fleet

    def collect(self) -> Iterator[Metric]:
        """Databases that we own, and those that no replica polls."""
        yield metric("latchscope_databases_owned", float(self._fleet.owned))
        yield metric("latchscope_databases_unowned", float(self._fleet.unowned))


# Workers for databases that have just become ours. They continue where the former owner stopped.


@dataclass(frozen=True, slots=True)
class WorkerFactory:
    """Makes workers."""

    opener: ConnectionOpener
    keeper: PollKeeper
    settings: Settings
    resume: Callable[[Sequence[MonitoredDatabase]], None]
    """Restores the known state of databases."""
    status_table: FleetStatusTable | None
    """What others say of their databases. None if nobody shares the store."""
    scheduler: PollScheduler

    def make_workers(self, taken: Sequence[tuple[MonitoredDatabase, Lease]]) -> list[Worker]:
        """A worker for each. None of them polls sooner than the interval after the last poll of another replica."""
        ours = [watched for watched, _ in taken]
        self.resume(ours)
        polled = self._polled(ours)
        return [self._worker(watched, lease, polled.get(watched.name)) for watched, lease in taken]

    def _polled(self, ours: Sequence[MonitoredDatabase]) -> dict[str, float]:
        """time.time() of the last poll of each, as far as the store knows."""
        if self.status_table is None or not ours:
            return {}
        try:
            statuses, polls = self.status_table.all(), self.status_table.store.newest_polls()
        except STORE_ERRORS as error:
            log.warning("the time of the others' last polls is unknown, so polls start at once: %s", error)
            return {}
        for watched in ours:
            if (status := statuses.get(watched.name)) is not None:
                watched.peer_report = PeerReport(status.polled_at, status.summary)
        ahead = {name: status.ahead for name, status in statuses.items()}
        names = [watched.name for watched in ours if watched.name in polls]
        return {name: polls[name].timestamp() + ahead.get(name, 0.0) for name in names}

    def _worker(self, watched: MonitoredDatabase, lease: Lease, polled: float | None) -> Worker:
        """A scripted database costs nothing, so its polls never slow down."""
        wanted, audit = self.settings.defaults, Audit(self.settings.auth.audit_file)
        look = BlockerLook(audit, wanted.look_for_blocker == "on", wait_chains=wanted.wait_chains == "on")
        changes = ChangesLook(audit, wanted.look_for_changes == "on")
        wait = 0.0 if polled is None else min(watched.interval, max(0.0, polled + watched.interval - time.time()))
        return Worker(
            watched,
            self.opener,
            self.keeper,
            1.0 if watched.settings.scripted else wanted.budget,
            follow_up=FollowUp(
                watched,
                look,
                changes,
                confirms=wanted.confirm == "once_per_episode",
                each_judged=wanted.judge == "each_poll",
            ),
            holds=lease.held,
            first=time.monotonic() + wait,
            scheduler=self.scheduler,
            grouped=self.settings.oracle.statements == "grouped",
        )
