"""The tables of replicas."""

from datetime import datetime

from sqlalchemy import String, Text
from sqlalchemy.orm import Mapped, mapped_column

from service.store.schema.poll_tables import Base, UtcTime


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
