"""Change marks: somebody changed something on a database, in their own words."""

from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from sqlalchemy import Engine, and_, or_, select

from service.store.ingest.bulk import insert_new, table_of
from service.store.queries.episodes import EpisodePage, paged, split
from service.store.schema.episode_tables import StoredMark


@dataclass(frozen=True, slots=True)
class Mark:
    """One change mark."""

    id: str
    database: str
    at: datetime
    text: str
    who: str


class Marks:
    """The marks of every database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, database: str, at: datetime, text: str, who: str) -> Mark:
        """Keep a new mark. Raises SQLAlchemyError, with a ValueError inside for a time without a zone."""
        mark = Mark(uuid4().hex, database, at, text, who)
        row = {"id": mark.id, "database": database, "at": at, "text": text, "who": who}
        with self._engine.begin() as connection:
            insert_new(connection, table_of(StoredMark), [row])
        return mark

    def get(self, database: str, which: str) -> Mark | None:
        """The mark of this id, or the `last` one. None if the database has no such mark."""
        table = StoredMark
        query = (
            select(*table_of(table).c).where(table.database == database).order_by(table.at.desc(), table.id).limit(1)
        )
        with self._engine.connect() as connection:
            row = connection.execute(query if which == "last" else query.where(table.id == which)).first()
        return None if row is None else Mark(row.id, row.database, row.at, row.text, row.who)

    def between(
        self, database: str | None, begin: datetime, end: datetime, cursor: str | None = None, limit: int = 100
    ) -> EpisodePage[Mark]:
        """Marks of a database, or of all, the newest first. Raises BadCursor."""
        table = StoredMark
        query = select(*table_of(table).c).where(table.at >= begin, table.at < end)
        if database is not None:
            query = query.where(table.database == database)
        if cursor is not None:
            at, id = split(cursor, 2)
            query = query.where(or_(table.at < at, and_(table.at == at, table.id > id)))
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(table.at.desc(), table.id).limit(limit + 1))
            found = [Mark(row.id, row.database, row.at, row.text, row.who) for row in rows]
        return paged(found, limit, lambda last: (last.at, last.id))
