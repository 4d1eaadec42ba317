"""The tables of the store: polls with a few chosen figures, their hours, whole snapshots now and then, and what is about people.

Times of polls and hours are whole milliseconds since 1970 on both engines: half the size of a text, and the same arithmetic
everywhere. A figure that is unknown is NULL, never zero.
"""

import zlib
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Dialect,
    Double,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

# The tables of the store. Times are UTC; a naive time is refused before it reaches the database.


class NaiveTime(ValueError):
    """A time without a zone was about to be stored."""


class UtcTime(TypeDecorator[datetime]):
    """An aware datetime, kept as UTC; SQLite and PostgreSQL give the same back."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """To the database: UTC, and never naive."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise NaiveTime(f"{value} has no time zone; the store keeps UTC")
        return value.astimezone(UTC) if dialect.name != "sqlite" else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """From the database: UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class LongText(TypeDecorator[str]):
    """A text of many kB. PostgreSQL compresses it itself; a SQLite file has it as a zlib stream, or plain from older releases."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        """To the database."""
        return value if value is None or dialect.name != "sqlite" else zlib.compress(value.encode(), 3)

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        """From the database."""
        return zlib.decompress(value).decode() if isinstance(value, bytes) else value


class Base(DeclarativeBase):
    """Where Alembic finds the tables."""


class StoredSnapshot(Base):
    """A whole poll, compressed in the form of a capture file's snapshot; keyed by database and the database's clock."""

    __tablename__ = "snapshots"

    database: Mapped[str] = mapped_column(String(63), primary_key=True)
    taken_at: Mapped[datetime] = mapped_column(UtcTime, primary_key=True)
    body: Mapped[bytes] = mapped_column(LargeBinary)


class StoredDiagnosis(Base):
    """A Diagnosis as JSON, stored when the verdict changes and once an hour while it does not."""

    __tablename__ = "diagnoses"
    __table_args__ = (Index("diagnoses_by_severity", "severity", "taken_at"),)

    database: Mapped[str] = mapped_column(String(63), primary_key=True)
    taken_at: Mapped[datetime] = mapped_column(UtcTime, primary_key=True)
    severity: Mapped[str] = mapped_column(String(8))
    headline: Mapped[str] = mapped_column(Text)
    body: Mapped[str] = mapped_column(LongText)


class StoredReport(Base):
    """An uploaded report: the original, compressed, and its diagnosis as JSON; the id is the content's SHA-256."""

    __tablename__ = "reports"
    __table_args__ = (Index("reports_by_time", "uploaded_at"),)

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    uploaded_at: Mapped[datetime] = mapped_column(UtcTime)
    name: Mapped[str] = mapped_column(Text)
    size: Mapped[int] = mapped_column(BigInteger)
    who: Mapped[str] = mapped_column(Text)
    databases: Mapped[str] = mapped_column(Text)
    severity: Mapped[str] = mapped_column(String(8))
    headline: Mapped[str] = mapped_column(Text)
    content: Mapped[str] = mapped_column("told", Text)
    body: Mapped[bytes] = mapped_column(LargeBinary)


# The tables of episode changes: their log, and the receivers of each.

SEQ = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows automatically only if the key is a plain integer."""


class StoredChange(Base):
    """One change of one episode. `seq` grows in the order of commits and is never reused, not even after pruning.

    An episode begins once, ends once, and grows worse once per severity, so a repeated change is recognised.
    """

    __tablename__ = "episode_changes"
    __table_args__ = (
        UniqueConstraint("database", "cause", "began", "what", "severity", name="episode_changes_once"),
        Index("episode_changes_by_time", "at"),
        {"sqlite_autoincrement": True},
    )

    seq: Mapped[int] = mapped_column(SEQ, primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcTime)
    database: Mapped[str] = mapped_column(String(63))
    cause: Mapped[str] = mapped_column(String(63))
    began: Mapped[datetime] = mapped_column(UtcTime)
    what: Mapped[str] = mapped_column(String(16))
    severity: Mapped[str] = mapped_column(String(8))
    """Severity of the peak so far."""
    episode: Mapped[str] = mapped_column(Text)


class StoredDelivery(Base):
    """One change for one target: waiting, sending, told or gave up, since `at`."""

    __tablename__ = "deliveries"
    __table_args__ = (Index("deliveries_by_outcome", "target", "outcome"),)

    seq: Mapped[int] = mapped_column(SEQ, primary_key=True, autoincrement=False)
    target: Mapped[str] = mapped_column(String(63), primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcTime)
    attempts: Mapped[int] = mapped_column(Integer)
    outcome: Mapped[str] = mapped_column(String(8))


# The tables of episodes, confirmations, change marks, and usual figures.


class StoredEpisode(Base):
    """One trouble on one database. `ended` is NULL while it is open. `verdict` is the effect of a mark on it."""

    __tablename__ = "episodes"
    __table_args__ = (Index("episodes_by_time", "began"), Index("episodes_by_end", "ended"))

    database: Mapped[str] = mapped_column(String(63), primary_key=True)
    cause: Mapped[str] = mapped_column(String(63), primary_key=True)
    began: Mapped[datetime] = mapped_column(UtcTime, primary_key=True)
    ended: Mapped[datetime | None] = mapped_column(UtcTime)
    last_seen: Mapped[datetime] = mapped_column(UtcTime)
    cache: Mapped[str | None] = mapped_column(Text)
    title: Mapped[str] = mapped_column(Text)
    severity: Mapped[str] = mapped_column(String(8))
    peak_severity: Mapped[str] = mapped_column(String(8))
    peak_at: Mapped[datetime] = mapped_column(UtcTime)
    peak_share: Mapped[float | None] = mapped_column(Double)
    headline: Mapped[str] = mapped_column(Text)
    verdict: Mapped[str | None] = mapped_column(Text)
    prediction: Mapped[str | None] = mapped_column(Text)
    """JSON of the result of the prediction from before that mark."""
    verdict_kind: Mapped[str | None] = mapped_column(String(16))
    """What `verdict` says, for programs; NULL too in rows before migration 0011, see record.py."""


class StoredConfirmation(Base):
    """The result of a confirming query: `value`, NULL if it was refused, and JSON of its container and names."""

    __tablename__ = "confirmations"

    database: Mapped[str] = mapped_column(String(63), primary_key=True)
    cause: Mapped[str] = mapped_column(String(63), primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcTime, primary_key=True)
    sql: Mapped[str] = mapped_column(Text)
    value: Mapped[float | None] = mapped_column(Double)
    startup_time: Mapped[str | None] = mapped_column(String(40))
    details: Mapped[str | None] = mapped_column(Text)


class StoredMark(Base):
    """Somebody changed something: when, where, and what, in their own words."""

    __tablename__ = "marks"
    __table_args__ = (Index("marks_by_time", "database", "at"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    database: Mapped[str] = mapped_column(String(63))
    at: Mapped[datetime] = mapped_column(UtcTime)
    text: Mapped[str] = mapped_column(Text)
    who: Mapped[str] = mapped_column(Text)


class StoredDatabaseChange(Base):
    """What changed on a database, such as a table by DDL. The same change read twice is one row."""

    __tablename__ = "database_changes"
    __table_args__ = (Index("database_changes_by_time", "at"),)

    database: Mapped[str] = mapped_column(String(63), primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcTime, primary_key=True)
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    text: Mapped[str] = mapped_column(Text, primary_key=True)
    source: Mapped[str] = mapped_column(String(63))
    con_id: Mapped[int | None] = mapped_column(Integer)
    not_before: Mapped[datetime | None] = mapped_column(UtcTime)
    unsure: Mapped[str | None] = mapped_column(Text)


class StoredBaseline(Base):
    """The usual value of a metric of a database in one hour of the week (0 is Monday 00:00 UTC)."""

    __tablename__ = "baselines"

    database: Mapped[str] = mapped_column(String(63), primary_key=True)
    metric: Mapped[str] = mapped_column(String(120), primary_key=True)
    hour_of_week: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    median: Mapped[float] = mapped_column(Double)
    low: Mapped[float] = mapped_column(Double)
    high: Mapped[float] = mapped_column(Double)
    n: Mapped[int] = mapped_column(Integer)


# The tables of replicas.


class StoredReplica(Base):
    """A latchscope. It is alive while its session holds the lock of its id (leases.py)."""

    __tablename__ = "replicas"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    url: Mapped[str | None] = mapped_column(Text)


class StoredStatus(Base):
    """The latest state of a database from its owner, a Standing as JSON."""

    __tablename__ = "standings"

    database: Mapped[str] = mapped_column(String(63), primary_key=True)
    body: Mapped[str] = mapped_column(Text)


class StoredRequest(Base):
    """A request from another replica to the owner of a database; a Request as JSON."""

    __tablename__ = "requests"

    id: Mapped[int] = mapped_column(primary_key=True)
    database: Mapped[str] = mapped_column(String(63), index=True)
    body: Mapped[str] = mapped_column(Text)
    asked_at: Mapped[datetime] = mapped_column(UtcTime)


# The tables of refused logins; see service/store/refused_logins.py.


class StoredSecret(Base):
    """A random key of this store. It is in no export."""

    __tablename__ = "secrets"

    name: Mapped[str] = mapped_column(String(16), primary_key=True)
    secret: Mapped[bytes] = mapped_column(LargeBinary)


class StoredRefusal(Base):
    """A login that a database refused: the mark of the account and that of the password. `at` is a Unix time."""

    __tablename__ = "refused_logins"

    account: Mapped[str] = mapped_column(String(64), primary_key=True)
    credential: Mapped[str] = mapped_column(String(64), primary_key=True)
    database: Mapped[str] = mapped_column(String(63))
    why: Mapped[str] = mapped_column(Text)
    at: Mapped[float] = mapped_column(Double)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400_000
"""Milliseconds. On PostgreSQL `polls` has a partition for each day, dropped as a whole when it expires."""
NUMBER = Integer().with_variant(SmallInteger(), "sqlite")
"""The number of a database. SQLite has one kind of whole number, whatever type the columns of older stores have."""


def millis(at: datetime) -> int:
    """An aware time as milliseconds since 1970. Raises NaiveTime."""
    if at.tzinfo is None:
        raise NaiveTime(f"{at} has no time zone; the store keeps UTC")
    return (at - EPOCH) // timedelta(milliseconds=1)


def moment(at: int) -> datetime:
    """Milliseconds since 1970 as an aware time."""
    return EPOCH + timedelta(milliseconds=at)


class Millis(TypeDecorator[datetime]):
    """An aware datetime, kept as milliseconds since 1970."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """To the database; never naive."""
        return None if value is None else millis(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """From the database: UTC."""
        return None if value is None else moment(value)


class StoredDatabase(Base):
    """A watched database by a small number, which polls and hours use."""

    __tablename__ = "databases"

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    name: Mapped[str] = mapped_column(String(63), unique=True)


# The chosen figures. A new one needs a line here, one in record.py, a migration, and perhaps a name in history/curves.py.

MEANS = ("share", "waiting")
"""Share of DB time lost in row cache waits (0 to 1), and the sessions that waited on average: means over a poll or an hour."""
TIMES = ("db_time", "db_cpu", "latch_time", "mutex_time", "lock_time", "latch_free_time")
"""Seconds within it: DB time, CPU, and the time waited by event (latch: row cache objects, row cache mutex, row cache lock,
latch free)."""
COUNTS = (
    *("gets", "getmisses", "modifications", "latch_gets", "latch_misses", "sleeps", "hot_child_sleeps"),
    *("executions", "parses", "hard_parses", "logons", "commits"),
)
"""How much each counter grew. Gets, getmisses and modifications of all dictionary caches; sleeps of the latch, or of the mutexes
where those guard the row cache; `hot_child` is the child latch with most of them."""
SUMS = (*TIMES, *COUNTS)
NUMBERS = (*MEANS, *SUMS, "hot_child")
"""The 21 figures of a poll, in the order of its record."""


def _figures(*names: str) -> list[Column[Any]]:
    return [Column(name, Integer if name == "hot_child" else Double) for name in names]


POLLS = Table(
    "polls",
    Base.metadata,
    Column("database_id", NUMBER, primary_key=True, autoincrement=False),
    Column("at", Millis, primary_key=True),
    Column("seconds", Double),
    Column("severity", String(8), nullable=False),
    *_figures(*MEANS),
    Column("missing", Text, nullable=False),
    Column("startup_time", String(40)),
    Column("why", Text),
    Column("kind", String(16)),
    *_figures(*NUMBERS[len(MEANS) :]),
    postgresql_partition_by="RANGE (at)",
    sqlite_with_rowid=False,
)
"""A row for each poll. `seconds` is NULL where it has no interval: `why` says it to people, `kind` to programs (NULL too where
latchscope 0.2 or older kept the poll, see record.py). `missing` is JSON: the views of its figures that could not be read."""

HOURS = Table(
    "hours",
    Base.metadata,
    Column("database_id", NUMBER, primary_key=True, autoincrement=False),
    Column("at", Millis, primary_key=True),
    Column("polls", Integer, nullable=False),
    Column("seconds", Double, nullable=False),
    *_figures(*NUMBERS),
    *_figures(*(f"{name}_most" for name in (*MEANS, *SUMS))),
    sqlite_with_rowid=False,
)
"""The polls of an hour together: means and sums, and in `…_most` the highest of a single poll, of sums per second. A figure that
one of its polls lacks is NULL."""


class StoredFrame(Base):
    """The first snapshot of each day that is kept, in the form of `snapshots`: the others of the day are packed with it."""

    __tablename__ = "frames"

    database: Mapped[str] = mapped_column(String(63), primary_key=True)
    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    body: Mapped[bytes] = mapped_column()
