"""Every query about uploaded reports. A store in trouble is a StoreError of one line."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, delete, select, update
from sqlalchemy.exc import SQLAlchemyError

from service.store.engine import StoreError, brief
from service.store.episodes import EpisodePage, read_page
from service.store.rows import insert_new
from service.store.tables import REPORTS

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
        said = {"told": content, "severity": report.severity, "headline": report.headline}
        with self._connected() as connection:
            if connection.execute(update(REPORTS).where(REPORTS.c.id == report.id).values(**said)).rowcount:
                return False
            listed = "".join(f"\n{database}" for database in report.databases) + "\n"
            row = asdict(report) | said | {"databases": listed, "body": zlib.compress(body)}
            insert_new(connection, REPORTS, [row])
            newest = select(REPORTS.c.id).order_by(REPORTS.c.uploaded_at.desc(), REPORTS.c.id).limit(MOST)
            connection.execute(delete(REPORTS).where(REPORTS.c.id.not_in(newest)))
            return True

    def prune(self, now: datetime) -> None:
        """Delete reports past their retention."""
        with self._connected() as connection:
            connection.execute(delete(REPORTS).where(REPORTS.c.uploaded_at < now - KEEP))

    def newest(self, limit: int, database: str | None = None) -> list[StoredReportSummary]:
        """Reports, newest first, at most `limit`. With a database those about it, its name in any case."""
        return list(self.page(limit, None, database).items)

    def page(self, limit: int, cursor: str | None, database: str | None = None) -> EpisodePage[StoredReportSummary]:
        """The same from the position of the cursor. Raises BadCursor."""
        named = () if database is None else (REPORTS.c.databases.icontains(f"\n{database}\n", autoescape=True),)
        with _answering():
            return read_page(
                self._engine, _LISTED, named, (REPORTS.c.uploaded_at, REPORTS.c.id), _summary, cursor, limit
            )

    def get(self, id: str) -> tuple[StoredReportSummary, str] | None:
        """A report with its diagnosis, or None."""
        with self._connected() as connection:
            row = connection.execute(select(*_LISTED, REPORTS.c.told).where(REPORTS.c.id == id)).first()
            return None if row is None else (_summary(row), row.told)

    def original(self, id: str) -> bytes | None:
        """The bytes that were uploaded, or None."""
        with self._connected() as connection:
            body = connection.scalar(select(REPORTS.c.body).where(REPORTS.c.id == id))
            return None if body is None else zlib.decompress(body)

    def delete(self, id: str) -> bool:
        """Delete a report. False if there is none."""
        with self._connected() as connection:
            return connection.execute(delete(REPORTS).where(REPORTS.c.id == id)).rowcount > 0

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        with _answering(), self._engine.begin() as connection:
            yield connection


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        raise StoreError(f"the store does not answer: {brief(error)}; try again when it does") from None


_LISTED = tuple(REPORTS.c[field.name] for field in fields(StoredReportSummary))


def _summary(row: Any) -> StoredReportSummary:
    members = {column.name: row._mapping[column] for column in _LISTED}
    databases = tuple(name for name in row.databases.split("\n") if name)
    return StoredReportSummary(**members | {"databases": databases})
