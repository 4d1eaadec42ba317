"""Every query about uploaded reports. A store in trouble is a StoreError of one line."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Engine, and_, delete, or_, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session, defer

from service.store.engine import StoreError
from service.store.episodes import EpisodePage, paged, split
from service.store.tables import StoredReport

KEEP = timedelta(days=365)
MOST = 1000
"""The newest reports are kept, up to this number. Each is as large as an upload may be."""


@dataclass(frozen=True, slots=True)
class StoredReportSummary:
    """A report as it is listed. Times are UTC; `severity` and `headline` are those of its worst Diagnosis.

    A severity of `unknown` means that nothing could be judged.
    """

    id: str
    uploaded_at: datetime
    name: str
    size: int
    who: str
    databases: tuple[str, ...]
    severity: str
    headline: str


class Reports:
    """Uploaded reports in the store that this engine leads to."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def keep(self, report: StoredReportSummary, content: str, body: bytes) -> bool:
        """Keep a report, and no more than the newest MOST. Known content only gets its new diagnosis, and the answer is False."""
        with self._session() as session:
            known = session.get(StoredReport, report.id, options=[defer(StoredReport.body)])
            if known is not None:
                known.content, known.severity, known.headline = content, report.severity, report.headline
                return False
            session.add(_stored(report, content, body))
            session.flush()
            newest = select(StoredReport.id).order_by(StoredReport.uploaded_at.desc(), StoredReport.id).limit(MOST)
            session.execute(delete(StoredReport).where(StoredReport.id.not_in(newest)))
            return True

    def prune(self, now: datetime) -> None:
        """Delete those past their retention."""
        with self._session() as session:
            session.execute(delete(StoredReport).where(StoredReport.uploaded_at < now - KEEP))

    def newest(self, limit: int, database: str | None = None) -> list[StoredReportSummary]:
        """Reports, newest first, at most `limit`. With a database those about it, its name in any case."""
        return list(self.page(limit, None, database).items)

    def page(self, limit: int, cursor: str | None, database: str | None = None) -> EpisodePage[StoredReportSummary]:
        """The same from the position of the cursor. Raises BadCursor."""
        query = select(StoredReport).options(defer(StoredReport.body), defer(StoredReport.content))
        if cursor is not None:
            at, id = split(cursor, 2)
            older = and_(StoredReport.uploaded_at == at, StoredReport.id > id)
            query = query.where(or_(StoredReport.uploaded_at < at, older))
        if database is not None:
            query = query.where(StoredReport.databases.icontains(f"\n{database}\n", autoescape=True))
        with self._session() as session:
            ordered = query.order_by(StoredReport.uploaded_at.desc(), StoredReport.id).limit(limit + 1)
            found = [_kept(body) for body in session.scalars(ordered)]
        return paged(found, limit, lambda last: (last.uploaded_at, last.id))

    def get(self, id: str) -> tuple[StoredReportSummary, str] | None:
        """A report with its diagnosis, or None."""
        with self._session() as session:
            found = session.get(StoredReport, id, options=[defer(StoredReport.body)])
            return None if found is None else (_kept(found), found.content)

    def original(self, id: str) -> bytes | None:
        """The bytes that were uploaded, or None."""
        with self._session() as session:
            body = session.scalar(select(StoredReport.body).where(StoredReport.id == id))
            return None if body is None else zlib.decompress(body)

    def delete(self, id: str) -> bool:
        """Delete a report. False if there is none."""
        with self._session() as session:
            gone = delete(StoredReport).where(StoredReport.id == id).returning(StoredReport.id)
            return session.scalar(gone) is not None

    @contextmanager
    def _session(self) -> Iterator[Session]:
        try:
            with Session(self._engine) as session, session.begin():
                yield session
        except SQLAlchemyError as error:
            why = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise StoreError(f"the store does not answer: {why}; try again when it does") from None


def _stored(report: StoredReportSummary, content: str, body: bytes) -> StoredReport:
    return StoredReport(
        id=report.id,
        uploaded_at=report.uploaded_at,
        name=report.name,
        size=report.size,
        who=report.who,
        databases="".join(f"\n{database}" for database in report.databases) + "\n",
        severity=report.severity,
        headline=report.headline,
        content=content,
        body=zlib.compress(body),
    )


def _kept(stored: StoredReport) -> StoredReportSummary:
    databases = tuple(name for name in stored.databases.split("\n") if name)
    return StoredReportSummary(
        stored.id,
        stored.uploaded_at,
        stored.name,
        stored.size,
        stored.who,
        databases,
        stored.severity,
        stored.headline,
    )
