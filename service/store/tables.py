"""The tables of figures over time: polls, what changed in each, and roll-ups.

Times are whole milliseconds since 1970 on both engines: half the size of a text, and the same arithmetic everywhere.
A poll in `polls` without a figure of an item in `figures` saw no change of it, unless `missing` names its
view: zero is not stored, and absent is not zero.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Dialect,
    Double,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Text,
    TypeDecorator,
)
from sqlalchemy.orm import Mapped, mapped_column

from service.store.schema.poll_tables import Base, NaiveTime

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PARTITION_DAYS = {"polls": 1, "figures": 1, "figures_5m": 7, "figures_1h": 28}
"""On PostgreSQL these tables have partitions of this many days, dropped as a whole when they expire."""
NUMBER = Integer().with_variant(SmallInteger(), "sqlite")
"""The number of a database. SQLite has one kind of whole number, whatever type the columns of older stores have."""
_PARTITIONED = {"postgresql_partition_by": "RANGE (at)"}
_CLUSTERED = {"sqlite_with_rowid": False}


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
    """A watched database by a small number, which the rows of figures use."""

    __tablename__ = "databases"

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    name: Mapped[str] = mapped_column(String(63), unique=True)


class StoredItem(Base):
    """One figure that is followed: a column of a row of a view. `key` is a JSON object of the columns that name the row."""

    __tablename__ = "items"
    __table_args__ = (Index("items_by_name", "view", "key", "column", unique=True),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    view: Mapped[str] = mapped_column(String(63))
    key: Mapped[str] = mapped_column(Text)
    column: Mapped[str] = mapped_column(String(63))
    gauge: Mapped[bool] = mapped_column(Boolean)


class StoredPoll(Base):
    """One poll. `seconds` is NULL where it has no interval: `why` says it to people, `kind` to programs.

    `missing` is JSON: what is not known.
    """

    __tablename__ = "polls"
    __table_args__ = (_CLUSTERED | _PARTITIONED,)

    database_id: Mapped[int] = mapped_column(NUMBER, primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(Millis, primary_key=True)
    seconds: Mapped[float | None] = mapped_column(Double)
    severity: Mapped[str] = mapped_column(String(8))
    share: Mapped[float | None] = mapped_column(Double)
    waiting: Mapped[float | None] = mapped_column(Double)
    missing: Mapped[str] = mapped_column(Text)
    startup_time: Mapped[str | None] = mapped_column(String(40))
    why: Mapped[str | None] = mapped_column(Text)
    kind: Mapped[str | None] = mapped_column(String(16))
    """NULL too where latchscope 0.2 or older kept the poll; see queries/kinds.py."""


class StoredFigures(Base):
    """All figures of one poll: the change of each counter over its interval, the level of each gauge that changed.

    `body` is figures.codec's.
    """

    __tablename__ = "figures"
    __table_args__ = (_CLUSTERED | _PARTITIONED,)

    database_id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(Millis, primary_key=True)
    body: Mapped[bytes] = mapped_column(LargeBinary)


class FiveMinuteFigures(Base):
    """The figures of one view over an hour, by five minutes: a counter's total and its highest rate per second.

    Of a gauge it is the highest level, twice. Each view has its own row, so that its series are read alone.
    """

    __tablename__ = "figures_5m"
    __table_args__ = (_CLUSTERED | _PARTITIONED,)

    database_id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    view: Mapped[str] = mapped_column(String(63), primary_key=True)
    at: Mapped[datetime] = mapped_column(Millis, primary_key=True)
    body: Mapped[bytes] = mapped_column(LargeBinary)


class HourlyFigures(Base):
    """The same over a day, by the hour."""

    __tablename__ = "figures_1h"
    __table_args__ = (_CLUSTERED | _PARTITIONED,)

    database_id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    view: Mapped[str] = mapped_column(String(63), primary_key=True)
    at: Mapped[datetime] = mapped_column(Millis, primary_key=True)
    body: Mapped[bytes] = mapped_column(LargeBinary)


class StoredBucket(Base):
    """The content of a roll-up's bucket: how many polls and seconds, and which views were missing in any of them."""

    __tablename__ = "buckets"
    __table_args__ = (_CLUSTERED,)

    width: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    database_id: Mapped[int] = mapped_column(NUMBER, primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(Millis, primary_key=True)
    polls: Mapped[int] = mapped_column(Integer)
    seconds: Mapped[float] = mapped_column(Double)
    missing: Mapped[str] = mapped_column(Text)


class Unrolled(Base):
    """A bucket that got polls since its last roll-up. It is written with the polls, so that a crash forgets none."""

    __tablename__ = "unrolled"
    __table_args__ = (_CLUSTERED,)

    width: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    database_id: Mapped[int] = mapped_column(NUMBER, primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(Millis, primary_key=True)
    times: Mapped[int] = mapped_column(Integer)


class StoredFrame(Base):
    """The first snapshot of each day, in the form of `snapshots`: it names the rows whose figures are kept."""

    __tablename__ = "frames"

    database: Mapped[str] = mapped_column(String(63), primary_key=True)
    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    body: Mapped[bytes] = mapped_column()
