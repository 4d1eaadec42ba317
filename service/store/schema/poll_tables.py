"""The tables of the store. Times are UTC; a naive time is refused before it reaches the database."""

import zlib
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, Index, LargeBinary, String, Text, TypeDecorator
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


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
    """One poll, compressed in the form of a capture file's snapshot; keyed by database and the database's clock."""

    __tablename__ = "snapshots"

    database: Mapped[str] = mapped_column(String(63), primary_key=True)
    taken_at: Mapped[datetime] = mapped_column(UtcTime, primary_key=True)
    body: Mapped[bytes] = mapped_column(LargeBinary)


class StoredDiagnosis(Base):
    """A Diagnosis as JSON, stored when the verdict changes and every few minutes while it does not."""

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
