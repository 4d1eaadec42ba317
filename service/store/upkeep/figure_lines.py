"""Figures one by one, from either layout and into the newer: the form of a history file."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy import BigInteger, Connection, Engine, func, select, type_coerce

from service.store.figures.rows import OLD, OLDEST, ROLLED, FigureColumns, Tier, as_columns, merged_poll, once, read
from service.store.ingest.bulk import table_of, upsert
from service.store.ingest.names import NameTables
from service.store.ingest.partitions import Partitions
from service.store.schema.history_tables import StoredDatabase, StoredFigures, moment
from service.store.upkeep.rollup import alone, put_rolled

DAY = 86_400_000


def figure_lines(connection: Connection, tier: Tier, database: str | None) -> Iterator[list[Any]]:
    """The figures of a tier, in the columns of older releases, some hours at once."""
    named = select(StoredDatabase.id).order_by(StoredDatabase.id)
    for number in connection.scalars(named if database is None else named.where(StoredDatabase.name == database)).all():
        times = list(_bounds(connection, tier, number))
        for begin in range(min(times) - min(times) % DAY, max(times) + DAY, DAY) if times else ():
            found = once(read(connection, tier, number, begin, begin + DAY))
            columns = {"database_id": [number] * len(found), "item_id": found.items.tolist(), "at": found.at.tolist()}
            columns |= {"value": found.totals.tolist(), "total": found.totals.tolist(), "most": found.mosts.tolist()}
            yield from map(list, zip(*(columns[c.name] for c in table_of(OLD[tier]).columns), strict=True))


def _bounds(connection: Connection, tier: Tier, database: int) -> Iterator[int]:
    """The first and the last time of each table with figures of a database, milliseconds."""
    new: Any = StoredFigures if tier == "poll" else ROLLED[tier].table
    for table in (new, OLD[tier]) if database <= OLDEST else (new,):
        at = type_coerce(table.at, BigInteger)
        for first, last in connection.execute(select(func.min(at), func.max(at)).where(table.database_id == database)):
            yield from () if first is None else (first, last)


def put_figure_lines(
    engine: Engine, partitions: Partitions, names: NameTables, tier: Tier, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Import figures beside the existing ones."""
    for database in sorted({row["database_id"] for row in rows}):
        mine = [row for row in rows if row["database_id"] == database]
        found = once(
            as_columns(
                [
                    (row["item_id"], row["at"], *(row.get(n, row.get("value")) for n in ("total", "most")))
                    for row in mine
                ]
            )
        )
        width = 1 if tier == "poll" else ROLLED[tier].row
        table = "figures" if tier == "poll" else ROLLED[tier].table.__tablename__
        partitions.ensure(table, set((found.at - found.at % width).tolist()))
        with engine.begin() as connection:
            alone(connection, database)
            if tier == "poll":
                _put_polls(connection, database, found)
            else:
                put_rolled(connection, names, ROLLED[tier], database, found, over=False)


def _put_polls(connection: Connection, database: int, figures: FigureColumns) -> None:
    table = StoredFigures
    for at in np.unique(figures.at).tolist():
        this = (table.database_id == database, table.at == moment(at))
        body = connection.scalar(select(table.body).where(*this))
        of_poll = figures.at == at
        body = merged_poll(body, figures.items[of_poll], figures.totals[of_poll])
        upsert(connection, table_of(table), [{"database_id": database, "at": moment(at), "body": body}])
