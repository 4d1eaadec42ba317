"""The store behind one URL: writes of polls, and the topics that others read. Each call is a short transaction."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Thread
from time import monotonic
from typing import Any

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from collectors.model import Snapshot
from service.config.settings import HistorySettings
from service.extras import MissingExtra
from service.store.engine import (
    StoreError,
    brief,
    close_to_others,
    file_of,
    lasting_trouble,
    make_engine,
    masked,
    passfile_trouble,
    refused_file,
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
from service.store.polls import Curves
from service.store.record import (
    EPISODE_CHANGES_IN,
    Document,
    IngestRecord,
    KeptSnapshots,
)
from service.store.refused_logins import StoredRefusals
from service.store.reports import Reports
from service.store.rows import NameTables, Partitions, insert_new, upsert
from service.store.snapshots import Frames, Snapshots
from service.store.tables import DATABASES, DIAGNOSES, FIGURES, MEANS, NUMBERS, POLLS, SNAPSHOTS, millis, moment
from service.store.upkeep import Rest, Upkeep

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
        self.history = Curves(self.engine, self.names, self.kept_for)
        self.snapshots = Snapshots(self.engine)
        self.upkeep = Upkeep(self.engine, self.partitions, self.kept_for)
        self.episodes = EpisodeStore(self.engine)
        self.confirmations = Confirmations(self.engine)
        self.kept = KeptSnapshots(self.upkeep.every_snapshot)
        self.marks = Marks(self.engine, self.kept.mark)
        self.timeline = DatabaseChanges(self.engine)
        self.recent = RecentRows(self.engine)
        self.baselines = Baselines(self.engine)
        self.episode_log = EpisodeLog(self.engine)
        self.deliveries = Deliveries(self.engine)
        self.reports = Reports(self.engine)
        self.refusals = StoredRefusals(self.engine)
        self.lasting: str | None = None
        """What `reachable` found, in words for people."""
        self._closed = False
        self._last: dict[str, datetime] = {}
        """Database → its last poll that this process wrote."""

    def write(self, records: Sequence[IngestRecord]) -> None:
        """Write polls in one transaction. An existing one stays. Raises SQLAlchemyError, NaiveTime."""
        if self.file is not None:
            self.file.before_polls()
        databases = self.names.databases({record.database for record in records})
        self.partitions.ensure({millis(record.at) for record in records})
        changes = [change for record in records for change in EPISODE_CHANGES_IN.validate_python(record.changes)]
        with self.engine.begin() as connection:
            insert_new(connection, SNAPSHOTS, self.frames.rows(connection, _snapshots(records)))
            upsert(connection, DIAGNOSES, [_diagnosis(each) for each in records if each.diagnosis])
            self._write_polls(connection, databases, records)
            self.episodes.write(connection, [row for record in records for row in record.episodes])
            self.confirmations.write(
                connection, [(record.database, row) for record in records for row in record.confirmed]
            )
            self.timeline.write(
                connection, [(record.database, change) for record in records for change in record.happened]
            )
            self.episode_log.append(connection, changes)
        if self.file is not None:
            self.file.after_polls()
        self.frames.remember()
        self._last |= {record.database: record.at for record in records}
        self.upkeep.changed((databases[record.database], record.at) for record in records)
        if changes:
            self.episode_log.announce()

    def _write_polls(
        self, connection: Connection, databases: Mapping[str, int], records: Sequence[IngestRecord]
    ) -> None:
        """The row of each poll. After a start an interval begins at the last snapshot: what the polls after that counted is
        subtracted."""
        rows: list[dict[str, Any]] = []
        last = dict(self._last)
        for record in records:
            number, begin = databases[record.database], record.at - timedelta(seconds=record.seconds or 0.0)
            if record.seconds and abs(last.get(record.database, begin - 2 * _SLACK) - begin) > _SLACK:
                insert_new(connection, POLLS, rows)
                rows = []
                record = _uncounted(connection, number, begin, record)
            rows.append(_poll(number, record))
            last[record.database] = record.at
        insert_new(connection, POLLS, rows)

    def last_snapshot(self, database: str) -> Snapshot | None:
        """The newest kept snapshot of a database."""
        return next(iter(self.snapshots.latest(database, 1)), None)

    def prune(self, now: datetime, rest: Rest = lambda spent: False) -> dict[str, int]:
        """Delete expired rows, in slices or whole partitions. Returns the number of rows or partitions, by table."""
        self.episode_log.prune(datetime.now(UTC))  # entries have the time of our own clock
        self.reports.prune(now)
        return self.upkeep.prune(now, rest)

    def newest_polls(self) -> Mapping[str, datetime]:
        """When the newest stored poll of each database was, by its own clock."""
        newest = select(func.max(POLLS.c.at)).where(POLLS.c.database_id == DATABASES.c.id).scalar_subquery()
        with self.engine.connect() as connection:
            found = connection.execute(select(DATABASES.c.name, newest)).all()
        return {name: moment(at) for name, at in found if at is not None}

    def reachable(self) -> bool:
        """Whether the store answers, is the one that was opened, and its tables exist. If not, `lasting` may say why."""
        self.lasting = None
        try:
            if self.file is not None:
                self.file.before_polls()
            with self.engine.connect() as connection:
                connection.execute(select(SNAPSHOTS.c.taken_at).limit(1))
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
        if file is not None and (why := refused_file(file)):
            raise StoreError(f"store {masked(url)} {why}")
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
    except StoreError as error:
        refused = error
    except ValueError:
        # Its text may contain a piece of the password.
        refused = StoreError(
            f"store {masked(url)} cannot be opened: its port is not a number; write special characters of a password as %XX"
        )
    except (SQLAlchemyError, MissingExtra, ModuleNotFoundError) as error:
        why = passfile_trouble(url) if "password" in str(error) else None
        if why is None:
            why = str(error) if isinstance(error, MissingExtra) else f"{brief(error)}; correct the setting `store`"
        refused = StoreError(f"store {masked(url)} cannot be opened: {why}")
    if engine is not None:
        engine.dispose()
    raise refused


_SLACK = timedelta(milliseconds=50)


def _poll(database: int, record: IngestRecord) -> dict[str, Any]:
    return {
        "database_id": database,
        "at": millis(record.at),
        "seconds": record.seconds,
        "severity": record.severity,
        "missing": record.missing,
        "startup_time": None if record.seconds else record.startup_time,  # of each life once
        "why": record.why,
        "kind": record.kind,
        **dict(zip(NUMBERS, record.numbers, strict=True)),
    }


def _uncounted(connection: Connection, database: int, begin: datetime, record: IngestRecord) -> IngestRecord:
    """A poll without what the polls since the begin of its interval have counted."""
    weighed = [func.sum(POLLS.c[name] * (POLLS.c.seconds if name in MEANS else 1)) for name in FIGURES]
    since = (POLLS.c.database_id == database, POLLS.c.at > millis(begin + _SLACK), POLLS.c.at < millis(record.at))
    counted, *parts = connection.execute(select(func.sum(POLLS.c.seconds), *weighed).where(*since)).one()
    seconds = record.seconds or 0.0
    left = seconds - (counted or 0.0)
    if not counted or left <= 0:
        return record
    told: list[float | None] = []
    for name, value, part in zip(FIGURES, record.numbers, parts, strict=False):
        over, share = (seconds, left) if name in MEANS else (1.0, 1.0)
        told.append(None if value is None or part is None else max(value * over - part, 0.0) / share)
    return replace(record, seconds=left, numbers=[*told, record.numbers[-1]])


def _snapshots(records: Sequence[IngestRecord]) -> Iterator[tuple[str, datetime, Document]]:
    """The snapshots of polls that keep theirs, each after that of the poll before where that is to be kept too."""
    for record in records:
        if record.before:
            yield record.database, datetime.fromisoformat(record.before["taken_at"]), record.before
        if record.snapshot:
            yield record.database, record.at, record.snapshot


def _diagnosis(record: IngestRecord) -> dict[str, Any]:
    return {
        "database": record.database,
        "taken_at": record.at,
        "severity": record.severity,
        "headline": record.headline,
        "body": record.diagnosis,
    }
