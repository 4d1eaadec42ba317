"""Whether several processes share a store, and how: PostgreSQL by leases, a SQLite file never."""

import fcntl
import os
from collections.abc import Callable
from dataclasses import dataclass

from service.state.leases import Leases, SoleLeases
from service.store.fleet_status import FleetReader, FleetStatusTable
from service.store.queries.leases import SharedLeases
from service.store.repository import Repository
from service.store.schema.engine import StoreError, masked, sqlite_file

SHORTEST_SILENCE = 5.0
"""Seconds. A process on a busy machine must not count as dead."""


@dataclass(frozen=True, slots=True)
class FleetBackend:
    """How this process shares its databases. `status_table` and `reader` are None if no other process shares them."""

    leases: Leases
    status_table: FleetStatusTable | None
    reader: FleetReader | None
    close: Callable[[], None]


def fleet_backend(url: str, store: Repository, name: str, address: str | None, interval: float) -> FleetBackend:
    """The backend for this store. `interval`: seconds between the polls of the quickest database. Raises StoreError."""
    if store.engine.dialect.name != "postgresql":
        lock = _alone(url)
        return FleetBackend(SoleLeases(name), None, None, lambda: None if lock is None else os.close(lock))
    leases = SharedLeases(url, name, address, max(SHORTEST_SILENCE, interval / 2))
    status_table = FleetStatusTable(store.engine)
    return FleetBackend(leases, status_table, FleetReader(store, status_table), leases.close)


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
