"""The tables of the store: polls with a few chosen figures, their hours, whole snapshots now and then, and what is about people.

Times of polls and hours are whole milliseconds since 1970 on both engines: half the size of a text, and the same arithmetic
everywhere. Other times are UTC, and a naive one is refused before it reaches the database. A figure that is unknown is NULL,
never zero.
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
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)


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


METADATA = MetaData()
NAME = String(63)
"""Of a database, or of a cause."""
SHORT, KIND, MARK, START = String(8), String(16), String(64), String(40)
SEQ = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows automatically only if the key is a plain integer."""
NUMBER = Integer().with_variant(SmallInteger(), "sqlite")
"""The number of a database. SQLite has one kind of whole number, whatever type the columns of older stores have."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400_000
"""Milliseconds. On PostgreSQL `polls` has a partition for each day, dropped as a whole when it expires."""


def millis(at: datetime) -> int:
    """An aware time as milliseconds since 1970. Raises NaiveTime."""
    if at.tzinfo is None:
        raise NaiveTime(f"{at} has no time zone; the store keeps UTC")
    return (at - EPOCH) // timedelta(milliseconds=1)


def moment(at: int) -> datetime:
    """Milliseconds since 1970 as an aware time."""
    return EPOCH + timedelta(milliseconds=at)


def keys(**kinds: Any) -> list[Column[Any]]:
    """The columns of a primary key, by their names, in its order."""
    return [Column(name, kind, primary_key=True, autoincrement=False) for name, kind in kinds.items()]


def always(**kinds: Any) -> list[Column[Any]]:
    """Columns that every row has, by their names."""
    return [Column(name, kind, nullable=False) for name, kind in kinds.items()]


def maybe(**kinds: Any) -> list[Column[Any]]:
    """Columns that may be NULL, by their names."""
    return [Column(name, kind) for name, kind in kinds.items()]


# The chosen figures. A new one needs its name here, its value in record.py, and perhaps a name in history/curves.py. The next
# start adds its columns.

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
FIGURES = dict.fromkeys((*MEANS, *SUMS), Double)
NUMBERS = (*FIGURES, "hot_child")
"""The 21 figures of a poll, in the order of its record."""

DATABASES = Table(
    "databases", METADATA, Column("id", Integer, primary_key=True), Column("name", NAME, nullable=False, unique=True)
)
"""A watched database by a small number, which polls and hours use."""

POLLS = Table(
    "polls",
    METADATA,
    *keys(database_id=NUMBER, at=BigInteger),
    *always(severity=SHORT, missing=Text),
    *maybe(seconds=Double, startup_time=START, why=Text, kind=KIND, **FIGURES, hot_child=Integer),
    postgresql_partition_by="RANGE (at)",
    sqlite_with_rowid=False,
)
"""A row for each poll. `seconds` is NULL where it has no interval: `why` says it to people, `kind` to programs (NULL too where
latchscope 0.2 or older kept the poll, see record.py). `missing` is JSON: the views of its figures that could not be read."""

HOURS = Table(
    "hours",
    METADATA,
    *keys(database_id=NUMBER, at=BigInteger),
    *always(polls=Integer, seconds=Double),
    *maybe(**FIGURES, hot_child=Integer, **{f"{name}_most": kind for name, kind in FIGURES.items()}),
    sqlite_with_rowid=False,
)
"""The polls of an hour together: means and sums, and in `…_most` the highest of a single poll, of sums per second. A figure that
one of its polls lacks is NULL."""

SNAPSHOTS = Table("snapshots", METADATA, *keys(database=NAME, taken_at=UtcTime), *always(body=LargeBinary))
"""A whole poll in the form of a capture file's snapshot, packed (snapshots.py); keyed by the database's clock."""

FRAMES = Table("frames", METADATA, *keys(database=NAME, day=String(10)), *always(body=LargeBinary))
"""The first snapshot of each day that is kept, as a zlib stream: those of the day are packed with it."""

DIAGNOSES = Table(
    "diagnoses",
    METADATA,
    *keys(database=NAME, taken_at=UtcTime),
    *always(severity=SHORT, headline=Text, body=LongText),
    Index("diagnoses_by_severity", "severity", "taken_at"),
)
"""A Diagnosis as JSON, stored when the verdict changes and once an hour while it does not."""

REPORTS = Table(
    "reports",
    METADATA,
    *keys(id=MARK),
    *always(uploaded_at=UtcTime, name=Text, size=BigInteger, who=Text, databases=Text),
    *always(severity=SHORT, headline=Text, told=Text, body=LargeBinary),
    Index("reports_by_time", "uploaded_at"),
)
"""An uploaded report: in `body` the original, compressed, in `told` its diagnosis as JSON; the id is the content's SHA-256."""

EPISODES = Table(
    "episodes",
    METADATA,
    *keys(database=NAME, cause=NAME, began=UtcTime),
    *always(last_seen=UtcTime, title=Text, severity=SHORT, peak_severity=SHORT, peak_at=UtcTime, headline=Text),
    *maybe(ended=UtcTime, cache=Text, peak_share=Double, verdict=Text, prediction=Text, verdict_kind=KIND),
    Index("episodes_by_time", "began"),
    Index("episodes_by_end", "ended"),
)
"""One trouble on one database. `ended` is NULL while it is open. `verdict` is the effect of a mark on it; `verdict_kind` says it
to programs (NULL too in rows before schema 0011, see record.py). `prediction` is JSON: the result of the one before the mark."""

EPISODE_CHANGES = Table(
    "episode_changes",
    METADATA,
    Column("seq", SEQ, primary_key=True),
    *always(at=UtcTime, database=NAME, cause=NAME, began=UtcTime, what=KIND, severity=SHORT, episode=Text),
    UniqueConstraint("database", "cause", "began", "what", "severity", name="episode_changes_once"),
    Index("episode_changes_by_time", "at"),
    sqlite_autoincrement=True,
)
"""One change of one episode. `seq` grows in the order of commits and is never reused, not even after pruning.

An episode begins once, ends once, and grows worse once per severity, that of its peak so far, so a repeated change is recognised.
"""

DELIVERIES = Table(
    "deliveries",
    METADATA,
    *keys(seq=SEQ, target=NAME),
    *always(at=UtcTime, attempts=Integer, outcome=SHORT),
    Index("deliveries_by_outcome", "target", "outcome"),
)
"""One change for one target: waiting, sending, told or gave up, since `at`."""

CONFIRMATIONS = Table(
    "confirmations",
    METADATA,
    *keys(database=NAME, cause=NAME, at=UtcTime),
    *always(sql=Text),
    *maybe(value=Double, startup_time=START, details=Text),
)
"""The result of a confirming query: `value`, NULL if it was refused, and JSON of its container and names."""

MARKS = Table(
    "marks",
    METADATA,
    *keys(id=String(32)),
    *always(database=NAME, at=UtcTime, text=Text, who=Text),
    Index("marks_by_time", "database", "at"),
)
"""Somebody changed something: when, where, and what, in their own words."""

DATABASE_CHANGES = Table(
    "database_changes",
    METADATA,
    *keys(database=NAME, at=UtcTime, kind=KIND, text=Text),
    *always(source=NAME),
    *maybe(con_id=Integer, not_before=UtcTime, unsure=Text),
    Index("database_changes_by_time", "at"),
)
"""What changed on a database, such as a table by DDL. The same change read twice is one row."""

BASELINES = Table(
    "baselines",
    METADATA,
    *keys(database=NAME, metric=String(120), hour_of_week=SmallInteger),
    *always(median=Double, low=Double, high=Double, n=Integer),
)
"""The usual value of a metric of a database in one hour of the week (0 is Monday 00:00 UTC)."""

REPLICAS = Table("replicas", METADATA, *keys(id=String(32)), *always(name=Text), *maybe(url=Text))
"""A latchscope. It is alive while its session holds the lock of its id (replicas.py)."""

STANDINGS = Table("standings", METADATA, *keys(database=NAME), *always(body=Text))
"""The latest state of a database from its owner, a DatabaseStatus as JSON."""

REQUESTS = Table(
    "requests",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("database", NAME, nullable=False, index=True),
    *always(body=Text, asked_at=UtcTime),
)
"""A request from another replica to the owner of a database; an OwnerRequest as JSON."""

SECRETS = Table("secrets", METADATA, *keys(name=KIND), *always(secret=LargeBinary))
"""A random key of this store. It is in no export."""

REFUSED_LOGINS = Table(
    "refused_logins",
    METADATA,
    *keys(account=MARK, credential=MARK),
    *always(database=NAME, why=Text, at=Double),
)
"""A login that a database refused: the mark of the account and that of the password. `at` is a Unix time."""
