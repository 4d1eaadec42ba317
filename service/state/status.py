"""Messages between replicas: the state of a database from its owner, and requests to its owner."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from service.state.board import Failure, MonitoredDatabase
from service.state.confirmations import Confirmed
from service.state.summary import DatabaseSummary


class DatabaseStatus(BaseModel):
    """The latest report of a database's owner. Times are Unix times by the owner's clock."""

    model_config = ConfigDict(frozen=True)

    database: str
    pace: float
    polled_at: float | None
    """The last good poll; None before the first."""
    ahead: float
    """Seconds the owner's clock is ahead of the database's. 0 if the database gave no time."""
    failure: Failure | None
    summary: DatabaseSummary | None


class OwnerRequest(BaseModel):
    """A request to the replica that polls a database, from one that does not."""

    model_config = ConfigDict(frozen=True)

    database: str
    do: Literal["samples", "resume", "confirmed"]
    confirmed: Confirmed | None = None
    """A result of the other replica, to use in the next diagnoses."""


def status_of(watched: MonitoredDatabase) -> DatabaseStatus:
    """The state of a database, from the replica that polls it."""
    published = watched.published
    taken_at = published.snapshot.taken_at if published else None
    return DatabaseStatus(
        database=watched.name,
        pace=watched.pace,
        polled_at=published.clock if published else None,
        ahead=published.clock - taken_at.timestamp() if published and taken_at else 0.0,
        failure=watched.failure,
        summary=watched.summary,
    )
