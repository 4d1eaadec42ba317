"""The tables through which replicas know of each other."""

from datetime import datetime

from sqlalchemy import String, Text
from sqlalchemy.orm import Mapped, mapped_column

from service.store.schema.poll_tables import Base, UtcTime


class StoredReplica(Base):
    """A latchscope that lives, or lived: it lives while its session holds the lock of its id (leases.py)."""

    __tablename__ = "replicas"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    url: Mapped[str | None] = mapped_column(Text)


class StoredStatus(Base):
    """The last word of a database's owner about it, a Standing as JSON."""

    __tablename__ = "standings"

    database: Mapped[str] = mapped_column(String(63), primary_key=True)
    body: Mapped[str] = mapped_column(Text)


class StoredRequest(Base):
    """Something that the owner of a database is asked to do, by another replica; a Request as JSON."""

    __tablename__ = "requests"

    id: Mapped[int] = mapped_column(primary_key=True)
    database: Mapped[str] = mapped_column(String(63), index=True)
    body: Mapped[str] = mapped_column(Text)
    asked_at: Mapped[datetime] = mapped_column(UtcTime)
