"""The tables of figures of releases before schema 0009: a row per figure. They are read, never written.

Retention empties the first two, `upkeep.conversion` the third.
"""

from datetime import datetime

from sqlalchemy import Double, Integer, SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from service.store.schema.history_tables import Millis
from service.store.schema.poll_tables import Base

_CLUSTERED = {"sqlite_with_rowid": False}


class OldDelta(Base):
    """The change of one counter over one poll's interval, or the level of a gauge when it changed."""

    __tablename__ = "old_deltas"
    __table_args__ = (_CLUSTERED,)

    database_id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(Millis, primary_key=True)
    item_id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    value: Mapped[float] = mapped_column(Double)


class OldFiveMinutes(Base):
    """An item over five minutes: a counter's total and its highest rate per second; of a gauge the highest level, twice."""

    __tablename__ = "old_five_minutes"
    __table_args__ = (_CLUSTERED,)

    database_id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(Millis, primary_key=True)
    item_id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    total: Mapped[float] = mapped_column(Double)
    most: Mapped[float] = mapped_column(Double)


class OldHours(Base):
    """The same over an hour."""

    __tablename__ = "old_hours"
    __table_args__ = (_CLUSTERED,)

    database_id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    item_id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(Millis, primary_key=True)
    total: Mapped[float] = mapped_column(Double)
    most: Mapped[float] = mapped_column(Double)
