"""Builds the fleet: who may poll what, the workers, and the state of databases that other replicas poll."""

from dataclasses import dataclass

from service.config.settings import Settings
from service.fleet.backend import FleetBackend, fleet_backend
from service.fleet.coordinator import FleetCoordinator
from service.fleet.remote import RemoteDatabases
from service.fleet.status_exchange import StatusExchange
from service.fleet.worker_factory import WorkerFactory
from service.state.board import Board
from service.store.build import Store
from service.store.schema.engine import STORE_ERRORS
from service.watch.actions import OperatorActions
from service.watch.connect import ConnectionOpener
from service.watch.resume import resume
from service.watch.scheduler import PollScheduler


@dataclass(frozen=True, slots=True)
class Fleet:
    """The coordinator, its actions for operators, its backend, and the scheduler of polls."""

    coordinator: FleetCoordinator
    actions: OperatorActions
    backend: FleetBackend
    scheduler: PollScheduler


def build_fleet(settings: Settings, store: Store, board: Board, connector: ConnectionOpener) -> Fleet:
    """The fleet of this store. If it is shared, this process owns no database until it claims one. Raises StoreError."""
    backend = fleet_backend(
        settings.store, store.repository, settings.replica_name, settings.replica.url, settings.shortest_interval
    )
    scheduler = PollScheduler()
    workers = WorkerFactory(
        connector,
        store.writer,
        settings,
        lambda taken: resume(taken, store.repository, store.writer),
        backend.reader,
        STORE_ERRORS,
        scheduler,
    )
    exchange = StatusExchange(backend.status_table, STORE_ERRORS) if backend.status_table else None
    coordinator = FleetCoordinator(board, backend.leases, workers.make_workers, exchange)
    if backend.reader is not None:
        board.refresh_remote_with(RemoteDatabases(backend.reader, coordinator.every, STORE_ERRORS).refresh)
    actions = OperatorActions(connector, backend.leases, coordinator.worker, backend.status_table, STORE_ERRORS)
    return Fleet(coordinator, actions, backend, scheduler)
