"""The log of episode changes. Every sender reads it, in this process and in its replicas."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Connection, Engine, delete, func, insert, select, text
from sqlalchemy.dialects import postgresql, sqlite

from service.state.episodes import OF_ONE_POLL, Episode, EpisodeChange
from service.store.schema.change_tables import StoredChange, StoredDelivery
from service.store.schema.engine import unavailable_as_one_line

KEEP_CHANGES = timedelta(days=30)
APPENDING = 0x6C61746368
"""Key of the advisory lock for appends on PostgreSQL. No other lock of the store has it."""
OF_OUTAGES = ("outage", "back")
"""Changes for people alone: they are no episodes, and are in no stream."""
_EPISODE = TypeAdapter(Episode)


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """A change as it was logged; `at` is UTC by latchscope's clock, the times of `episode` are the database's."""

    seq: int
    at: datetime
    database: str
    what: str
    episode: dict[str, Any]
    """The episode in JSON's types, as it was right after the change."""

    def document(self) -> dict[str, Any]:
        """The change in JSON's types, as streams and webhooks show it."""
        at = self.at.isoformat().replace("+00:00", "Z")
        return {"seq": self.seq, "event": self.what, "database": self.database, "at": at, "episode": self.episode}


def logged(row: Any) -> LoggedChange:
    """A row of episode_changes as an object."""
    return LoggedChange(row.seq, row.at, row.database, row.what, json.loads(row.episode))


class EpisodeLog:
    """Every query of the log. Reading raises StoreUnavailable."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.recipients: list[Callable[[EpisodeChange], Iterable[str]]] = []
        """Each returns the targets of a change. They are written in the same transaction, so that no crash can come between."""
        self.on_news: list[Callable[[], None]] = []
        """Called after changes were committed by this process; must return at once."""

    def append(self, connection: Connection, changes: Sequence[EpisodeChange]) -> None:
        """Log changes within the caller's transaction, as its last step. An existing change stays as it is.

        Numbers must become visible in order. Otherwise a reader would skip one that was committed late. SQLite has
        one writer at a time; on PostgreSQL a lock until the commit ensures the order.
        """
        if not changes:
            return
        _one_at_a_time(connection)
        at = datetime.now(UTC)
        for change in changes:
            seq = self._appended(connection, change, at)
            targets = [] if seq is None else [target for recipient in self.recipients for target in recipient(change)]
            if targets:
                waiting = {"seq": seq, "at": at, "attempts": 0, "outcome": "waiting"}
                connection.execute(insert(StoredDelivery), [{**waiting, "target": target} for target in targets])

    def _appended(self, connection: Connection, change: EpisodeChange, at: datetime) -> int | None:
        """The number of the new entry. None if the change was there."""
        dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
        episode = change.episode
        values = {
            "at": at,
            "database": episode.database,
            "cause": episode.cause,
            "began": episode.begin,
            "what": change.what,
            "severity": episode.peak_severity.value,
            "episode": _EPISODE.dump_json(episode, exclude=OF_ONE_POLL).decode(),
        }
        wanted = dialect.insert(StoredChange).values(values).on_conflict_do_nothing().returning(StoredChange.seq)
        return connection.execute(wanted).scalar_one_or_none()

    def announce(self) -> None:
        """Wake the waiting readers in this process, after the commit."""
        for tell in self.on_news:
            tell()

    def since(self, seq: int, limit: int) -> list[LoggedChange]:
        """Changes of episodes after that number, the earliest first, at most `limit`."""
        wanted = (StoredChange.seq > seq, StoredChange.what.not_in(OF_OUTAGES))
        query = select(StoredChange.__table__).where(*wanted).order_by(StoredChange.seq).limit(limit)
        with unavailable_as_one_line(), self._engine.connect() as connection:
            return [logged(row) for row in connection.execute(query)]

    def open_outages(self) -> dict[str, Episode]:
        """The outages that people know of and that have not ended, by database."""
        with unavailable_as_one_line(), self._engine.connect() as connection:
            return _open_outages(connection)

    def add_outages(self, changes: Sequence[EpisodeChange]) -> None:
        """Log that outages began or ended, unless another process was first."""
        with unavailable_as_one_line(), self._engine.begin() as connection:
            _one_at_a_time(connection)
            known = _open_outages(connection)
            self.append(
                connection, [each for each in changes if (each.what == "back") == (each.episode.database in known)]
            )
        self.announce()

    def newest(self) -> int:
        """The number of the newest change. 0 without one."""
        with unavailable_as_one_line(), self._engine.connect() as connection:
            return connection.scalar(select(func.max(StoredChange.seq))) or 0

    def prune(self, now: datetime) -> None:
        """Delete changes past their retention, with their deliveries."""
        old = StoredChange.at < now - KEEP_CHANGES
        with self._engine.begin() as connection:
            gone = select(StoredChange.seq).where(old)
            connection.execute(delete(StoredDelivery).where(StoredDelivery.seq.in_(gone)))
            connection.execute(delete(StoredChange).where(old))


def _one_at_a_time(connection: Connection) -> None:
    """Keep other writers of the log waiting until the commit. SQLite does so by itself."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": APPENDING})


def _open_outages(connection: Connection) -> dict[str, Episode]:
    latest = select(func.max(StoredChange.seq)).where(StoredChange.what.in_(OF_OUTAGES)).group_by(StoredChange.database)
    began = select(StoredChange.__table__).where(StoredChange.seq.in_(latest), StoredChange.what == "outage")
    return {row.database: _EPISODE.validate_json(row.episode) for row in connection.execute(began)}
