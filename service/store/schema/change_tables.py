"""The tables of episode changes: their log, and the receivers of each."""

from datetime import datetime

from sqlalchemy import BigInteger, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from service.store.schema.poll_tables import Base, UtcTime

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
