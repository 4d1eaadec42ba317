"""A new store's tables, and those of 0.2.0 and later made today's, in one transaction that a killed process leaves undone.

Six tables of packed figures become polls with columns, and hours. They stay for reading until 0.4.0 as `old_…`, below views of
their names that refuse writes: a replica of an older release that still runs keeps its polls on disk, where this one reads them.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, bindparam, inspect, text, update

from service.store.migrations.old_figures import (
    VIEWS,
    DamagedFigures,
    figures_of_buckets,
    figures_of_poll,
    numbers,
    wanted,
)
from service.store.rows import batched, insert_new
from service.store.tables import DAY, EPISODES, HOURS, MEANS, METADATA, NUMBERS, POLLS, moment

log = logging.getLogger("latchscope.store")

NEWEST = "0015"
FROM = ("0010", "0011", "0012", "0013", "0014")
"""The schemas that are made today's: that of 0.2.0, and what was on main before 0.3.0."""
PACKED = ("figures", "figures_5m", "figures_1h", "items", "buckets", "unrolled")
OF_FIRST = ("old_deltas", "old_five_minutes", "old_hours")
"""Empty tables that 0.2.0 left of 0.1.0."""
AT_ONCE = 2000
"""Polls per statement."""
DROP = "; ".join(f"drop view {name}; drop table old_{name}" for name in PACKED)
"""How to drop the old tables before 0.4.0 does."""
_CHOSEN = NUMBERS[len(MEANS) :]
CHANGE = (
    update(POLLS)
    .where(POLLS.c.database_id == bindparam("of"), POLLS.c.at == bindparam("when"))
    .values({name: bindparam(f"to_{name}") for name in _CHOSEN})
)
ROLLED_UP = "five minutes"
"""The kind of polls that are five minutes of an older release together."""
Figure = tuple[tuple[int, float, int], float, float]
"""What `wanted` says of an item, its total and its highest rate."""
Chosen = Mapping[int, tuple[int, float, int]]
"""Number of an item → what `wanted` says of it."""


def create(connection: Connection) -> None:
    """Every table of today in an empty store."""
    METADATA.create_all(connection)
    connection.exec_driver_sql("create table alembic_version (version_num varchar(32) not null primary key)")
    connection.exec_driver_sql(f"insert into alembic_version values ('{NEWEST}')")


def migrate(connection: Connection) -> None:
    """Make the tables of an older schema those of today, within the caller's transaction."""
    log.warning(
        "store: its tables are upgraded to schema %s, once; this may take a minute for each ten databases", NEWEST
    )
    postgresql = connection.dialect.name == "postgresql"
    # First, because PostgreSQL kept the names of their keys, which `hours` needs.
    for name in OF_FIRST:
        connection.exec_driver_sql(f"drop table if exists {name}")
    for name in PACKED:
        connection.exec_driver_sql(f"alter table {name} rename to old_{name}")
        # PostgreSQL writes through a view of one table, and not through a union.
        union = f" union all select * from old_{name} where false" if postgresql else ""
        connection.exec_driver_sql(f"create view {name} as select * from old_{name}{union}")
    METADATA.create_all(connection)
    add_columns(connection)
    known = connection.exec_driver_sql('select id, view, "key", "column" from old_items')
    chosen = {number: found for number, *item in known if (found := wanted(*item)) is not None}
    for (database,) in connection.exec_driver_sql("select id from databases order by id").all():
        damaged = _fill_polls(connection, chosen, database) + _fill_steps(connection, chosen, database)
        if damaged:
            log.warning("store: %d rows of old figures of database %d are damaged and left out", damaged, database)
    connection.exec_driver_sql(f"update alembic_version set version_num = '{NEWEST}'")
    log.warning("store: its tables are those of today")


def left_over(connection: Connection) -> bool:
    """Whether the old tables are still there."""
    return inspect(connection).has_table("old_figures")


def add_columns(connection: Connection) -> None:
    """Columns that this release has more than the store: a new one that may be NULL needs no migration."""
    for table in (POLLS, HOURS, EPISODES):
        there = {column["name"] for column in inspect(connection).get_columns(table.name)}
        for column in table.columns:
            if column.name not in there:
                kind = column.type.compile(connection.dialect)
                connection.exec_driver_sql(f"alter table {table.name} add column {column.name} {kind}")


def _fill_polls(connection: Connection, chosen: Chosen, database: int) -> int:
    """The columns of the polls whose figures were kept. Returns how many are damaged."""
    query = text(
        "select p.at, p.seconds, p.missing, f.body from polls p join old_figures f on f.database_id = p.database_id "
        "and f.at = p.at where p.database_id = :database and p.at > :at order by p.at limit :most"
    )
    at, damaged = -1, 0
    while rows := connection.execute(query, {"database": database, "at": at, "most": AT_ONCE}).all():
        changes = []
        for at, seconds, missing, body in rows:
            try:
                items, values = figures_of_poll(bytes(body))
            except DamagedFigures:
                damaged += 1
                continue
            found = zip(items.tolist(), values.tolist(), strict=True)
            figures = [(chosen[item], value, 0.0) for item, value in found if item in chosen]
            changes.append(changed_to(database, at, seconds, missing, figures))
        if changes:
            connection.execute(CHANGE, changes)
    return damaged


def changed_to(
    database: int,
    at: int,
    seconds: float | None,
    missing: str,
    figures: Sequence[Figure],
) -> dict[str, Any]:
    """The parameters of CHANGE for a poll with these figures."""
    told, _ = numbers(figures, missing, seconds)
    return {"of": database, "when": at} | {
        f"to_{name}": value for name, value in zip(_CHOSEN, told[len(MEANS) :], strict=True)
    }


def _fill_steps(connection: Connection, chosen: Chosen, database: int) -> int:
    """Hours, and before the first poll that is left five minutes as polls. Returns how many rows are damaged."""
    damaged: list[int] = []
    hours = ((database, *step[:3], *step[4], *step[5]) for step in _steps(connection, chosen, database, 3600, damaged))
    for some in batched(list(hours), AT_ONCE):
        insert_new(connection, HOURS, [dict(zip(HOURS.c.keys(), hour, strict=True)) for hour in some])
    query = text("select min(at) from polls where database_id = :database")
    first = connection.scalar(query, {"database": database}) or 2**62
    steps = (step for step in _steps(connection, chosen, database, 300, damaged) if step[0] + 300_000 <= first)
    put_steps(connection, database, [(at, seconds, missing, told) for at, _, seconds, missing, told, _ in steps])
    return len(damaged)


def put_steps(
    connection: Connection, database: int, steps: Sequence[tuple[int, float, str, Sequence[float | None]]]
) -> None:
    """Five minutes that were rolled up, by their begin, as polls that cover them."""
    rows = [
        (database, at + 299_999, seconds, "info", "[]", ROLLED_UP, *told) for at, seconds, _, told in steps if seconds
    ]
    days = {at - at % DAY for at, *_ in steps}
    for day in sorted(days) if connection.dialect.name == "postgresql" else ():
        bounds = f"for values from ({day}) to ({day + DAY})"
        connection.exec_driver_sql(f"create table if not exists polls_{moment(day):%Y%m%d} partition of polls {bounds}")
    names = ("database_id", "at", "seconds", "severity", "missing", "kind", *NUMBERS)
    for some in batched(rows, AT_ONCE):
        insert_new(connection, POLLS, [dict(zip(names, row, strict=True)) for row in some])


def _steps(
    connection: Connection, chosen: Chosen, database: int, width: int, damaged: list[int]
) -> Iterator[tuple[int, int, float, str, Sequence[float | None], Sequence[float | None]]]:
    """The roll-ups of a width, oldest first: begin, polls, seconds, what is missing, the figures and the highest of each."""
    of = {"database": database, "width": width}
    buckets = text(
        "select at, polls, seconds, missing from old_buckets where width = :width and database_id = :database"
    )
    known = {at: rest for at, *rest in connection.execute(buckets, of)}
    views = ", ".join(f"'{view}'" for view in VIEWS)
    table = "old_figures_1h" if width == 3600 else "old_figures_5m"
    query = text(f"select at, body from {table} where database_id = :database and view in ({views}) order by at")
    figures: dict[int, list[Figure]] = defaultdict(list)
    options = {"stream_results": True, "yield_per": 100}
    for row_at, body in connection.execute(query, {"database": database}, execution_options=options):
        try:
            items, totals, mosts = figures_of_buckets(bytes(body))
        except DamagedFigures:
            damaged.append(row_at)
            continue
        for row, item in enumerate(items.tolist()):
            for place in np.flatnonzero(~np.isnan(totals[row])).tolist() if item in chosen else ():
                figure = chosen[item], float(totals[row, place]), float(mosts[row, place])
                figures[row_at + 1000 * width * place].append(figure)
    for at, (polls, seconds, missing) in sorted(known.items()):
        yield at, polls, seconds, missing, *numbers(figures.get(at, ()), missing, seconds)
