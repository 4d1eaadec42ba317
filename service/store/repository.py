"""The store behind one URL: writes of polls, and the topics that others read. Each call is a short transaction."""

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from threading import Thread
from time import monotonic
from typing import Any

import numpy as np
from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import DatabaseError, SQLAlchemyError
from sqlalchemy.orm import Session

from collectors.model import Snapshot
from rules.model import Diagnosis
from service.config.settings import HistorySettings
from service.extras import MissingExtra
from service.state.board import PollRecord
from service.store import upkeep
from service.store.engine import (
    OutdatedStore,
    StoreError,
    UnknownSchema,
    brief,
    close_to_others,
    file_of,
    lasting_trouble,
    make_engine,
    masked,
    outdated_file,
    passfile_trouble,
    sqlite_file,
    upgrade,
)
from service.store.episodes import (
    Baselines,
    Confirmations,
    DatabaseChanges,
    Deliveries,
    EpisodeLog,
    EpisodeStore,
    Marks,
    RecentRows,
)
from service.store.figures import pack
from service.store.record import IngestRecord, changes_in, happened_in, read_diagnosis, record_of
from service.store.refused_logins import StoredRefusals
from service.store.reports import Reports
from service.store.rows import (
    Day,
    Frames,
    LostFrame,
    NameTables,
    Partitions,
    day_of,
    insert_new,
    insert_raw,
    packed,
    stored_snapshot,
    table_of,
    upsert,
)
from service.store.series import History, IntervalDeltas
from service.store.tables import StoredDatabase, StoredDiagnosis, StoredFigures, StoredPoll, StoredSnapshot, millis
from service.store.upkeep import FIVE_MINUTES, mark_unrolled

__all__ = ["Repository", "StoreError"]
log = logging.getLogger("latchscope.store")

CHECKED_AT_ONCE = 100 * 10**6
"""Bytes of a SQLite file that the start checks before anything else."""
LONGEST_AT_ONCE, LONGEST_CHECK = 5.0, 600.0
"""Seconds that a start waits for the check, and that the check may go on beside the polls."""


class Repository:
    """The store behind one SQLAlchemy URL. Raises StoreError when it cannot be opened."""

    def __init__(self, url: str, history: HistorySettings | None = None) -> None:
        self.engine = _opened(url)
        self.file = file_of(self.engine)
        self.kept_for = history or HistorySettings()
        self.names = NameTables(self.engine)
        self.frames = Frames()
        self.partitions = Partitions(self.engine)
        self.history = History(self.engine, self.names, self.kept_for)
        self.changes = IntervalDeltas(self.engine, self.names, self.history)
        self.episodes = EpisodeStore(self.engine)
        self.confirmations = Confirmations(self.engine)
        self.marks = Marks(self.engine)
        self.timeline = DatabaseChanges(self.engine)
        self.recent = RecentRows(self.engine)
        self.baselines = Baselines(self.engine, self.history)
        self.episode_log = EpisodeLog(self.engine)
        self.deliveries = Deliveries(self.engine)
        self.reports = Reports(self.engine)
        self.refusals = StoredRefusals(self.engine)
        self.lasting: str | None = None
        """What `reachable` found, in words for people."""
        self._closed = False

    def keep(self, snapshot: Snapshot, verdict: Diagnosis, poll_record: PollRecord | None = None) -> None:
        """Keep one poll at once, with its complete diagnosis. A store in trouble is logged. `Writer` loses nothing."""
        record = record_of(snapshot, verdict, poll_record)
        if record is None:
            return
        try:
            self.write([record])
        except (SQLAlchemyError, ValueError) as error:
            log.error("store: a poll of %s was not kept: %s", snapshot.database, brief(error))

    def write(self, records: Sequence[IngestRecord]) -> None:
        """Write polls in one transaction. An existing one stays. Raises SQLAlchemyError, NaiveTime."""
        if self.file is not None:
            self.file.before_polls()
        databases = self.names.databases({record.database for record in records})
        items = self.names.numbers([record.items for record in records])
        at = {millis(record.at) for record in records}
        self.partitions.ensure("polls", at)
        self.partitions.ensure("figures", at)
        changes = [change for record in records for change in changes_in(record)]
        with self.engine.begin() as connection:
            frames = self.frames.of(connection, records)
            self._write_snapshots(connection, records, frames)
            insert_raw(
                connection, table_of(StoredPoll), [_poll(databases[record.database], record) for record in records]
            )
            insert_raw(
                connection,
                table_of(StoredFigures),
                [
                    (databases[record.database], millis(record.at), _figures(numbers, record))
                    for record, numbers in zip(records, items, strict=True)
                ],
            )
            mark_unrolled(
                connection, FIVE_MINUTES, {(databases[record.database], millis(record.at)) for record in records}
            )
            self.episodes.write(connection, [row for record in records for row in record.episodes])
            self.confirmations.write(
                connection, [(record.database, row) for record in records for row in record.confirmed]
            )
            self.timeline.write(
                connection, [(record.database, change) for record in records for change in happened_in(record)]
            )
            self.episode_log.append(connection, changes)
        if self.file is not None:
            self.file.after_polls()
        self.frames.remember(frames)
        if changes:
            self.episode_log.announce()

    @staticmethod
    def _write_snapshots(connection: Connection, records: Sequence[IngestRecord], frames: Mapping[Day, bytes]) -> None:
        """The snapshot of each poll, packed with its day's frame, and the diagnoses of those that have one."""
        snapshots = [
            {
                "database": record.database,
                "taken_at": record.at,
                "body": packed(record.body, frames[day_of(record.database, record.at)]),
            }
            for record in records
        ]
        insert_new(connection, table_of(StoredSnapshot), snapshots)
        upsert(connection, table_of(StoredDiagnosis), [_diagnosis(record) for record in records if record.diagnosis])

    def latest(self, database: str, n: int = 2) -> tuple[Snapshot, ...]:
        """The newest stored snapshots of a database, newest first, up to one whose frame is lost."""
        table = StoredSnapshot
        query = select(table.taken_at, table.body).where(table.database == database)
        found: list[Snapshot] = []
        with self.engine.connect() as connection:
            try:
                for at, body in connection.execute(query.order_by(table.taken_at.desc()).limit(n)).all():
                    found.append(stored_snapshot(connection, database, at, body))
            except LostFrame as error:
                log.warning("store: a snapshot of %s cannot be read: %s", database, error)
        return tuple(found)

    def last_snapshot(self, database: str) -> Snapshot | None:
        """The newest kept snapshot of a database."""
        return next(iter(self.latest(database, 1)), None)

    def diagnoses(self, database: str, since: datetime, limit: int = 500) -> list[Diagnosis]:
        """Kept diagnoses of a database from `since` on, newest first, at most `limit`."""
        query = (
            select(StoredDiagnosis.body)
            .where(StoredDiagnosis.database == database, StoredDiagnosis.taken_at >= since)
            .order_by(StoredDiagnosis.taken_at.desc())
            .limit(limit)
        )
        with Session(self.engine) as session:
            return [read_diagnosis(body) for body in session.scalars(query)]

    def counts(self) -> dict[str, int]:
        with Session(self.engine) as session:
            return {
                table.__tablename__: session.scalar(select(func.count()).select_from(table)) or 0
                for table in (StoredSnapshot, StoredDiagnosis)
            }

    def prune(self, now: datetime) -> dict[str, int]:
        """Delete expired rows, in slices or whole partitions. Returns the number of rows or partitions, by table."""
        self.episode_log.prune(datetime.now(UTC))  # entries have the time of our own clock
        self.reports.prune(now)
        return upkeep.prune(self.engine, self.partitions, self.kept_for, now)

    def newest_polls(self) -> Mapping[str, datetime]:
        """When the newest stored poll of each database was, by its own clock."""
        newest = select(func.max(StoredPoll.at)).where(StoredPoll.database_id == StoredDatabase.id).scalar_subquery()
        with self.engine.connect() as connection:
            found = connection.execute(select(StoredDatabase.name, newest)).all()
        return {name: at for name, at in found if at is not None}

    def reachable(self) -> bool:
        """Whether the store answers, is the one that was opened, and its tables exist. If not, `lasting` may say why."""
        self.lasting = None
        try:
            if self.file is not None:
                self.file.before_polls()
            with self.engine.connect() as connection:
                connection.execute(select(StoredSnapshot.taken_at).limit(1))
            return True
        except SQLAlchemyError as error:
            self.lasting = lasting_trouble(error)
            return False

    def check_file(self) -> None:
        """Check the structure of a SQLite file at the start: at once if it is small, else in a thread of its own."""
        file = self.file
        if file is None or not file.path.exists():
            return
        if file.path.stat().st_size <= CHECKED_AT_ONCE:
            until = monotonic() + LONGEST_AT_ONCE
            if file.quick_check(lambda: monotonic() > until):
                return
        until = monotonic() + LONGEST_CHECK
        work = partial(file.quick_check, lambda: self._closed or monotonic() > until)
        Thread(target=work, name="store check", daemon=True).start()

    def close(self) -> None:
        self._closed = True
        self.engine.dispose()


def _opened(url: str) -> Engine:
    engine = None
    try:
        file = sqlite_file(url)
        if file is not None and (why := outdated_file(file)):
            raise OutdatedStore(why)
        engine = make_engine(url)
        try:
            upgrade(engine)
        except DatabaseError:
            opened = file_of(engine)
            if opened is None or opened.damage is None:
                raise  # a damaged one takes no poll, and they wait in the spool
        if file is not None:
            close_to_others(file)
        return engine
    except OutdatedStore as error:
        refusal = StoreError(f"store {masked(url)} {error}")
    except UnknownSchema as error:
        why = f"it was last used by another latchscope ({brief(error)})"
        refusal = StoreError(f"store {masked(url)} cannot be opened: {why}; use that one, or a new store")
    except ValueError:
        # Its text may contain a piece of the password.
        why = "its port is not a number; write special characters of a password as %XX"
        refusal = StoreError(f"store {masked(url)} cannot be opened: {why}")
    except MissingExtra as error:
        refusal = StoreError(f"store {masked(url)} cannot be opened: {error}")
    except (SQLAlchemyError, ModuleNotFoundError) as error:
        unread = passfile_trouble(url) if "password" in str(error) else None
        why = unread or f"{brief(error)}; correct the setting `store`"
        refusal = StoreError(f"store {masked(url)} cannot be opened: {why}")
    if engine is not None:
        engine.dispose()
    raise refusal


def _figures(items: Sequence[int], record: IngestRecord) -> bytes:
    """The figures of a poll as one value. Its items have these numbers."""
    numbers = np.array(items, np.int64)
    values = np.array(record.values, np.float64)
    order = numbers.argsort()
    return pack(numbers[order], values[order])


def _poll(database: int, record: IngestRecord) -> tuple[Any, ...]:
    values = (
        record.seconds,
        record.severity,
        record.share,
        record.waiting,
        record.missing,
        record.startup_time,
        record.why,
        record.kind,
    )
    return (database, millis(record.at), *values)


def _diagnosis(record: IngestRecord) -> dict[str, Any]:
    return {
        "database": record.database,
        "taken_at": record.at,
        "severity": record.severity,
        "headline": record.headline,
        "body": record.diagnosis,
    }
