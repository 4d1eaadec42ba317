"""Which receiver must get which change, and the state of each delivery, so that a restart loses nothing.

Several processes may serve one target. Before each attempt one of them claims it: a row changes only if it is still
as the claimer read it, so of two that read the same only one sends.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, func, select, update

from service.store.queries.episode_log import LoggedChange, logged
from service.store.schema.change_tables import StoredChange, StoredDelivery
from service.store.schema.engine import unavailable_as_one_line

OPEN = ("waiting", "sending")


@dataclass(frozen=True, slots=True)
class Delivery:
    """One change for one target: `outcome` is waiting, sending, told, skipped or gave up, since `at` (UTC)."""

    target: str
    change: LoggedChange
    at: datetime
    attempts: int
    outcome: str


class Deliveries:
    """Every query of the deliveries. Raises StoreUnavailable."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def next_of(self, target: str) -> list[Delivery]:
        """What is due next, the earliest first: the first open change of each database, so that order is kept."""
        first = (
            select(func.min(StoredDelivery.seq))
            .join(StoredChange, StoredChange.seq == StoredDelivery.seq)
            .where(StoredDelivery.target == target, StoredDelivery.outcome.in_(OPEN))
            .group_by(StoredChange.database)
        )
        return self._read(StoredDelivery.target == target, StoredDelivery.seq.in_(first))

    def open_of(self, target: str, limit: int) -> list[Delivery]:
        """Everything that is due, the earliest first, up to a limit: for receivers that take many changes in one message."""
        query = (StoredDelivery.target == target, StoredDelivery.outcome.in_(OPEN))
        return self._read(*query, limit=limit)

    def of(self, database: str, cause: str, began: datetime) -> list[Delivery]:
        """The receivers of an episode, in the order of its changes."""
        episode = (StoredChange.database == database, StoredChange.cause == cause, StoredChange.began == began)
        return self._read(*episode)

    def claim(self, delivery: Delivery, now: datetime) -> Delivery | None:
        """Claim the next attempt. None if another process claimed it first."""
        taken = Delivery(delivery.target, delivery.change, now, delivery.attempts + 1, "sending")
        return taken if self._becomes(delivery, taken) else None

    def settle(self, delivery: Delivery, outcome: str, now: datetime) -> Delivery:
        """Record the result of an attempt: waiting for the next, told, skipped, or gave up."""
        settled = Delivery(delivery.target, delivery.change, now, delivery.attempts, outcome)
        self._becomes(delivery, settled)
        return settled

    def _becomes(self, delivery: Delivery, other: Delivery) -> bool:
        """Change a row if it is still as it was read."""
        same = (
            StoredDelivery.seq == delivery.change.seq,
            StoredDelivery.target == delivery.target,
            StoredDelivery.attempts == delivery.attempts,
            StoredDelivery.outcome == delivery.outcome,
        )
        change = update(StoredDelivery).where(*same)
        with unavailable_as_one_line(), self._engine.begin() as connection:
            done = connection.execute(change.values(at=other.at, attempts=other.attempts, outcome=other.outcome))
            return done.rowcount == 1

    def _read(self, *conditions: Any, limit: int | None = None) -> list[Delivery]:
        fields = StoredDelivery.__table__.c
        columns = (fields.target, fields.at.label("since"), fields.attempts, fields.outcome)
        query = (
            select(*columns, StoredChange.__table__)
            .join(StoredChange, StoredChange.seq == StoredDelivery.seq)
            .where(*conditions)
            .order_by(StoredDelivery.seq, StoredDelivery.target)
            .limit(limit)
        )
        with unavailable_as_one_line(), self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return [Delivery(row.target, logged(row), row.since, row.attempts, row.outcome) for row in rows]
