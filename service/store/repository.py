"""Every query of the store. One Repository per process; each call is its own short transaction."""

import json
import logging
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from alembic.util import CommandError
from sqlalchemy import Engine, create_engine, delete, event, func, make_url, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from collectors.capture import dump_snapshot, load_snapshot
from collectors.model import Snapshot
from rules.model import Diagnosis
from service.episodes import Change
from service.store.deliveries import Deliveries
from service.store.episode_log import EpisodeLog
from service.store.migrate import upgrade
from service.store.tables import StoredDiagnosis, StoredSnapshot

log = logging.getLogger("latchscope.store")

REPEAT_AFTER = timedelta(minutes=5)
"""An unchanged verdict is kept again after this time, so that its absence means something."""
KEEP_SNAPSHOTS = timedelta(days=2)
KEEP_DIAGNOSES = timedelta(days=90)
PRUNE_EVERY = 500
PRUNE_SLICE = 2000


class StoreError(Exception):
    """The store cannot be used: which, why, and the way out."""


class Repository:
    """The store behind one SQLAlchemy URL. Raises StoreError when it cannot be opened."""

    def __init__(self, url: str) -> None:
        try:
            self._engine = _engine(url)
            upgrade(self._engine)
        except CommandError as error:
            why = f"it was last used by another latchscope ({_brief(error)})"
            raise StoreError(f"store {_masked(url)} cannot be opened: {why}; use that one, or a new store") from None
        except ValueError:
            # Its text may hold a piece of the password.
            why = "its port is no number; write special characters of a password as %XX"
            raise StoreError(f"store {_masked(url)} cannot be opened: {why}") from None
        except (SQLAlchemyError, ModuleNotFoundError) as error:
            raise StoreError(
                f"store {_masked(url)} cannot be opened: {_brief(error)}; set `store` in latchscope.yaml"
            ) from None
        self.episode_log = EpisodeLog(self._engine)
        self.deliveries = Deliveries(self._engine)
        self._unlogged: dict[str, list[Change]] = {}
        self._last: dict[str, tuple[datetime, Any]] = {}
        self._kept = 0

    def keep(self, snapshot: Snapshot, diagnosis: Diagnosis, changes: Sequence[Change] = ()) -> None:
        """Keep one poll: the snapshot always, the diagnosis when its verdict is news, and what it changed about episodes.

        A store in trouble is logged; changes are kept with a later poll then, for others rely on each of them.
        """
        if snapshot.taken_at is None:
            return
        to_log = [*self._unlogged.pop(snapshot.database, ()), *changes]
        verdict = [(one.cause, one.severity, one.confidence, one.child) for one in diagnosis.findings]
        try:
            with Session(self._engine) as session, session.begin():
                session.merge(_stored(snapshot, snapshot.taken_at))
                news = self._is_news(diagnosis.database, verdict, snapshot.taken_at)
                if news:
                    session.merge(_stored_diagnosis(diagnosis, snapshot.taken_at))
                session.flush()
                self.episode_log.append(session.connection(), to_log)
            if to_log:
                self.episode_log.announce()
            if news:
                self._last[diagnosis.database] = (snapshot.taken_at, verdict)
            self._kept += 1
            if self._kept % PRUNE_EVERY == 0:
                self.prune(snapshot.taken_at)
        except SQLAlchemyError as error:
            self._unlogged[snapshot.database] = to_log
            log.error("store: a poll of %s was not kept: %s", snapshot.database, _brief(error))

    def last_snapshot(self, database: str) -> Snapshot | None:
        """The newest kept snapshot of a database."""
        query = (
            select(StoredSnapshot).where(StoredSnapshot.database == database).order_by(StoredSnapshot.taken_at.desc())
        )
        with Session(self._engine) as session:
            stored = session.scalars(query.limit(1)).first()
            return None if stored is None else _loaded(stored)

    def diagnoses(self, database: str, since: datetime, limit: int = 500) -> list[Diagnosis]:
        """Kept diagnoses of a database from `since` on, newest first, at most `limit`."""
        query = (
            select(StoredDiagnosis.body)
            .where(StoredDiagnosis.database == database, StoredDiagnosis.taken_at >= since)
            .order_by(StoredDiagnosis.taken_at.desc())
            .limit(limit)
        )
        with Session(self._engine) as session:
            return [Diagnosis.model_validate_json(body) for body in session.scalars(query)]

    def counts(self) -> dict[str, int]:
        """Rows kept, by table."""
        with Session(self._engine) as session:
            return {
                table.__tablename__: session.scalar(select(func.count()).select_from(table)) or 0
                for table in (StoredSnapshot, StoredDiagnosis)
            }

    def prune(self, now: datetime) -> None:
        """Delete what is past its retention, in slices so that nobody waits for long."""
        for table, keep in ((StoredSnapshot, KEEP_SNAPSHOTS), (StoredDiagnosis, KEEP_DIAGNOSES)):
            old = select(table.database, table.taken_at).where(table.taken_at < now - keep).limit(PRUNE_SLICE)
            while True:
                with Session(self._engine) as session, session.begin():
                    keys = session.execute(old).all()
                    for database, taken_at in keys:
                        session.execute(delete(table).where(table.database == database, table.taken_at == taken_at))
                if len(keys) < PRUNE_SLICE:
                    break
        self.episode_log.prune(datetime.now(UTC))

    def reachable(self) -> bool:
        """Whether the store answers and its tables are there; a SQLite file that was deleted still answers, and is gone."""
        if self._engine.dialect.name == "sqlite" and not Path(self._engine.url.database or "").exists():
            return False
        try:
            with self._engine.connect() as connection:
                connection.execute(select(StoredSnapshot.taken_at).limit(1))
            return True
        except SQLAlchemyError:
            return False

    def close(self) -> None:
        """Give back the store's connections."""
        self._engine.dispose()

    def _is_news(self, database: str, verdict: list[Any], at: datetime) -> bool:
        last_at, last = self._last.get(database, (None, None))
        return last != verdict or last_at is None or not timedelta(0) <= at - last_at < REPEAT_AFTER


def _engine(url: str) -> Engine:
    engine = create_engine(url, pool_pre_ping=True)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _durable_sqlite)
    return engine


def _durable_sqlite(connection: Any, record: object) -> None:
    """Write-ahead log: readers never wait for the writer, and a killed process leaves a consistent file."""
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=5000"):
        connection.execute(f"pragma {pragma}")


def _stored(snapshot: Snapshot, at: datetime) -> StoredSnapshot:
    body = zlib.compress(json.dumps(dump_snapshot(snapshot)).encode())
    return StoredSnapshot(database=snapshot.database, taken_at=at, body=body)


def _loaded(stored: StoredSnapshot) -> Snapshot:
    return load_snapshot(json.loads(zlib.decompress(stored.body)), stored.database, f"store, {stored.database}")


def _stored_diagnosis(diagnosis: Diagnosis, at: datetime) -> StoredDiagnosis:
    return StoredDiagnosis(
        database=diagnosis.database,
        taken_at=at,
        severity=diagnosis.severity,
        headline=diagnosis.headline,
        body=diagnosis.model_dump_json(),
    )


def _masked(url: str) -> str:
    """The URL without its password and its query, which may hold one; of one that cannot be read, only the scheme."""
    try:
        return make_url(url).set(query={}).render_as_string()
    except (SQLAlchemyError, ValueError):
        return f"{url.partition('://')[0]}://…" if "://" in url else "without a scheme"


def _brief(error: Exception) -> str:
    return str(getattr(error, "orig", None) or error).splitlines()[0]
