"""Builds the fleet: who may poll what, the workers, and the state of databases that other replicas poll."""

import fcntl
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from service.config.settings import Settings
from service.fleet.coordinator import FleetCoordinator, WorkerFactory
from service.fleet.exchange import RemoteDatabases, StatusExchange
from service.state.board import Board, MonitoredDatabase
from service.state.episodes import Confirmed, Episode
from service.state.login_gate import LoginGate, gates_of
from service.state.replicas import Leases, LeasesLost
from service.store.build import Store
from service.store.engine import STORE_ERRORS, StoreError, brief, masked, sqlite_file
from service.store.replicas import FleetStatusTable, SharedLeases
from service.store.repository import Repository
from service.store.writer import Writer
from service.watch.actions import OperatorActions
from service.watch.connect import ConnectionOpener
from service.watch.scheduler import PollScheduler

# Whether several processes share a store, and how: PostgreSQL by leases, a SQLite file never.

SHORTEST_SILENCE = 5.0
"""Seconds. A process on a busy machine must not count as dead."""


@dataclass(frozen=True, slots=True)
class FleetBackend:
    """How this process shares its databases. `status_table` is None if no other process shares them."""

    leases: Leases
    status_table: FleetStatusTable | None
    close: Callable[[], None]


def fleet_backend(url: str, store: Repository, name: str, address: str | None, interval: float) -> FleetBackend:
    """The backend for this store. `interval`: seconds between the polls of the quickest database. Raises StoreError."""
    if store.engine.dialect.name != "postgresql":
        lock = _alone(url)
        return FleetBackend(Leases(name), None, lambda: None if lock is None else os.close(lock))
    leases = SharedLeases(url, name, address, max(SHORTEST_SILENCE, interval / 2))
    return FleetBackend(leases, FleetStatusTable(store), leases.close)


def _alone(url: str) -> int | None:
    """A lock next to a SQLite file, held while the process lives. Raises StoreError if another process holds it."""
    file = sqlite_file(url)
    if file is None:
        return None
    lock = os.open(file.with_name(f"{file.name}-lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        way_out = "several processes share databases through PostgreSQL, see docs/scale.md"
        raise StoreError(f"store {masked(url)} is in use by another latchscope; {way_out}") from None
    return lock


# What latchscope restores at a start: the last poll of each database, open episodes, valid confirmations.

log = logging.getLogger("latchscope.store")


def resume(databases: Sequence[MonitoredDatabase], store: Repository, writer: Writer) -> None:
    """Restore the known state of these databases. The last poll is read when the first poll needs it."""
    episodes: dict[str, Sequence[Episode]] = {}
    confirmed: dict[str, dict[str, Confirmed]] = {}
    try:
        episodes = {watched.name: store.episodes.recent(watched.name) for watched in databases}
        for watched in databases:
            watched.timeline.restore(store.timeline.last_day(watched.name))
        confirmed = store.confirmations.live(datetime.now(UTC))
    except STORE_ERRORS as error:
        log.warning("store: open episodes cannot be read, so they start again: %s", brief(error))
    for watched in databases:
        watched.resume = partial(writer.last_snapshot, watched.name)
        watched.episodes.restore(episodes.get(watched.name, ()))
        watched.confirmed |= confirmed.get(watched.name, {})


@dataclass(frozen=True, slots=True)
class Fleet:
    """The coordinator, its actions for operators, its backend, and the scheduler of polls."""

    coordinator: FleetCoordinator
    actions: OperatorActions
    backend: FleetBackend
    scheduler: PollScheduler
    admit: Callable[[Sequence[MonitoredDatabase]], None]
    """Gives each database the gate of its logins. What is known of a refused one is kept."""


def build_fleet(settings: Settings, store: Store, board: Board, connector: ConnectionOpener) -> Fleet:
    """The fleet of this store. If it is shared, this process owns no database until it claims one. Raises StoreError."""
    backend = fleet_backend(
        settings.store, store.repository, settings.replica_name, settings.replica.url, settings.shortest_interval
    )
    gates: dict[str, LoginGate] = {}

    def admit(databases: Sequence[MonitoredDatabase]) -> None:
        asked, claim = [watched.settings for watched in databases], partial(_logging_in, backend.leases)
        gates.update(gates_of(asked, store.repository.refusals, claim, gates))
        for watched in databases:
            watched.login = gates[watched.name]

    admit(list(board))
    scheduler = PollScheduler()
    workers = WorkerFactory(
        connector,
        store.writer,
        settings,
        lambda taken: resume(taken, store.repository, store.writer),
        backend.status_table,
        scheduler,
    )
    table = backend.status_table
    coordinator = FleetCoordinator(
        board, backend.leases, workers.make_workers, StatusExchange(table) if table else None
    )
    if table is not None:
        board.share(RemoteDatabases(table, coordinator.every).refresh)
    actions = OperatorActions(connector, backend.leases, coordinator.worker, table)
    return Fleet(coordinator, actions, backend, scheduler, admit)


@contextmanager
def _logging_in(leases: Leases, account: str) -> Iterator[bool]:
    """Whether no other replica logs in with this account. Without the store nobody knows, and each goes by what it has met."""
    with ExitStack() as ends:
        try:
            mine = ends.enter_context(leases.logging_in(account))
        except LeasesLost:
            mine = True
        yield mine
