"""Moves the hours of an older release, a row per figure, into rows per view and day, a few items at a time.

A slice is one transaction: it writes the figures and deletes the old rows. So a process killed in the middle
leaves all of them where they were, and the next one continues. Figures not moved yet are read in their old place.
"""

from sqlalchemy import BigInteger, Connection, Engine, delete, select, type_coerce

from service.store.figures.rows import ROLLED, FigureColumns, as_columns
from service.store.ingest.names import NameTables
from service.store.ingest.partitions import Partitions
from service.store.schema.old_tables import OldHours
from service.store.upkeep.rollup import alone, put_rolled

ITEMS = 20
"""Items of a slice: of 400 days that makes 192,000 rows."""


def convert_slice(engine: Engine, partitions: Partitions, names: NameTables) -> int:
    """Move the next items of one database. Returns the number of rows, 0 if there is nothing left."""
    with engine.connect() as connection:
        slice = _next(connection)
        times = [] if slice is None else _times(connection, *slice)
    if slice is None:
        return 0
    database, items = slice
    tier = ROLLED["1h"]
    partitions.ensure(tier.table.__tablename__, {at - at % tier.row for at in times})
    table = OldHours
    these = (table.database_id == database, table.item_id.in_(items))
    with engine.begin() as connection:
        alone(connection, database)
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("begin immediate")
        old = _old(connection, database, items)
        put_rolled(connection, names, tier, database, old, over=False)
        connection.execute(delete(table).where(*these))
    return len(old)


def _next(connection: Connection) -> tuple[int, list[int]] | None:
    """The first database with old hours, and its first item. Found by the key, one step each."""
    table = OldHours
    database = connection.scalar(select(table.database_id).order_by(table.database_id).limit(1))
    if database is None:
        return None
    items: list[int] = []
    while len(items) < ITEMS:
        query = select(table.item_id).where(table.database_id == database, table.item_id > (items[-1] if items else -1))
        item = connection.scalar(query.order_by(table.item_id).limit(1))
        if item is None:
            break
        items.append(item)
    return database, items


def _times(connection: Connection, database: int, items: list[int]) -> list[int]:
    table = OldHours
    query = select(type_coerce(table.at, BigInteger)).distinct()
    return list(connection.scalars(query.where(table.database_id == database, table.item_id.in_(items))))


def _old(connection: Connection, database: int, items: list[int]) -> FigureColumns:
    table = OldHours
    query = select(table.item_id, type_coerce(table.at, BigInteger), table.total, table.most)
    rows = connection.execute(query.where(table.database_id == database, table.item_id.in_(items))).all()
    return as_columns(rows)
