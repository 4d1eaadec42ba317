"""The tables of episodes, confirmations, change marks, and usual figures."""

from datetime import datetime

from sqlalchemy import Double, Index, Integer, SmallInteger, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from service.store.schema.poll_tables import Base, UtcTime


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
    """What `verdict` says, for programs; NULL too in rows before migration 0011, see queries/kinds.py."""


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
