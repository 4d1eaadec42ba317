"""Exports and imports the whole history as lines of JSON, between any engines.

A line with a table's name and columns comes before its rows, which are lists. Numbers of databases and items belong to
the file; the import assigns new ones. A row whose key exists stays as it is. Figures are in the
file one by one, as `deltas`, `five_minutes` and `hours`, and snapshots are complete, so the file does not depend on how a
store packs them.
"""

import base64
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    LargeBinary,
    Table,
    literal,
    select,
    text,
    type_coerce,
)

from service.store.figures.rows import OLD, Tier
from service.store.ingest.bulk import insert_new, insert_raw, table_of
from service.store.ingest.snapshots import Day, LostFrame, day_of, frame_of, packed, self_contained
from service.store.repository import Repository
from service.store.schema.history_tables import PARTITION_DAYS, Millis
from service.store.schema.poll_tables import Base, UtcTime
from service.store.upkeep.figure_lines import figure_lines, put_figure_lines

FORMAT, VERSION = "latchscope-history", 1
CHUNK = 5000
_FIRST = ("databases", "items")
FIGURES: Mapping[str, Tier] = {"deltas": "poll", "five_minutes": "5m", "hours": "1h"}
"""Figures by their name in a file."""
_TIER_OF: Mapping[str, Tier] = {OLD[tier].__tablename__: tier for tier in FIGURES.values()}
_NAME_OF = {OLD[tier].__tablename__: name for name, tier in FIGURES.items()}
_PACKED = ("figures", "figures_5m", "figures_1h", *_TIER_OF)
OWN = ("episode_changes", "deliveries", "replicas", "standings", "requests")
"""Tables about this store only: the log for streams and webhooks, and the state of replicas."""


class TransferError(Exception):
    """A file that is not a history: which line, and why."""


def write_history(engine: Engine, path: Path, database: str | None = None) -> dict[str, int]:
    """Write a store's history, or one database's, compressed. Returns rows by table. Raises OSError, SQLAlchemyError.

    It shows one moment, and only one row at a time is in memory.
    """
    counts: dict[str, int] = {}
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=4) as file, engine.connect() as connection:
        _one_moment(connection)
        file.write(json.dumps({"format": FORMAT, "version": VERSION, "database": database}) + "\n")
        for table in _tables():
            query = _rows_of(table, database)
            if query is None:
                continue
            file.write(json.dumps({"table": table.name, "columns": [column.name for column in table.columns]}) + "\n")
            rows = connection.execution_options(stream_results=True, yield_per=CHUNK).execute(query)
            counts[table.name] = 0
            for row in rows if table.name != "snapshots" else _unframed(connection, rows):
                file.write(json.dumps([_plain(cell) for cell in row]) + "\n")
                counts[table.name] += 1
        for name, tier in FIGURES.items():
            table = table_of(OLD[tier])
            file.write(json.dumps({"table": name, "columns": [column.name for column in table.columns]}) + "\n")
            counts[name] = 0
            for line in figure_lines(connection, tier, database):
                file.write(json.dumps(line) + "\n")
                counts[name] += 1
    return counts


def _unframed(connection: Connection, rows: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Snapshots that need no frame. One whose frame is lost is left out."""
    frames: dict[Day, bytes | None] = {}
    for database, at, body in rows:
        day = day_of(database, at)
        if day not in frames:
            frames = {day: frame_of(connection, day)}
        with suppress(LostFrame):
            yield database, at, self_contained(body, frames[day])


def read_history(store: Repository, path: Path) -> dict[str, int]:
    """Import a file of `write_history`. Returns rows read, by table. Raises TransferError, OSError, SQLAlchemyError."""
    counts: dict[str, int] = {}
    databases: dict[int, int] = {}
    items: dict[int, int] = {}
    store.names.forget()
    store.frames.forget()
    for table, columns, rows in _chunks(path):
        name = _NAME_OF.get(table.name, table.name)
        counts[name] = counts.get(name, 0) + len(rows)
        found = [dict(zip(columns, row, strict=True)) for row in rows]
        if table.name == "databases":
            known = store.names.databases(row["name"] for row in found)
            databases |= {row["id"]: known[row["name"]] for row in found}
        elif table.name == "items":
            named = {row["id"]: (row["view"], row["key"], row["column"], bool(row["gauge"])) for row in found}
            numbers = store.names.items(set(named.values()))
            items |= {id: numbers[item] for id, item in named.items()}
        else:
            _put(store, table, columns, found, databases, items)
    return counts


def _put(
    store: Repository,
    table: Table,
    columns: Sequence[str],
    rows: list[dict[str, Any]],
    databases: dict[int, int],
    items: dict[int, int],
) -> None:
    for row in rows:
        if "database_id" in row:
            row["database_id"] = databases[row["database_id"]]
        if "item_id" in row:
            row["item_id"] = items[row["item_id"]]
    if table.name in _TIER_OF:
        put_figure_lines(store.engine, store.partitions, store.names, _TIER_OF[table.name], rows)
        return
    if table.name in PARTITION_DAYS:
        store.partitions.ensure(table.name, {row["at"] for row in rows})
    with store.engine.begin() as connection:
        if any(isinstance(column.type, Millis) for column in table.columns):
            insert_raw(connection, table, [[row[name] for name in columns] for row in rows], columns)
        elif table.name == "episodes":
            store.episodes.write(connection, rows)
        else:
            kinds = {name: table.columns[name] for name in columns}
            typed = [{name: _typed(kinds[name], value) for name, value in row.items()} for row in rows]
            if table.name == "snapshots":
                frames: dict[Day, bytes | None] = {}
                for row in typed:
                    day = day_of(row["database"], row["taken_at"])
                    frame = frames.setdefault(day, frame_of(connection, day) if day not in frames else None)
                    row["body"] = row["body"] if frame is None else packed(zlib.decompress(row["body"]), frame)
            insert_new(connection, table, typed)


def _tables() -> list[Table]:
    """Every table. Tables that others refer to come first."""
    kept = (table for table in Base.metadata.tables.values() if table.name not in (*OWN, *_PACKED))
    return sorted(kept, key=lambda table: (table.name not in _FIRST, table.name))


def _one_moment(connection: Connection) -> None:
    """Read the store in its current state until the end, whatever is written meanwhile."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("begin")
    else:
        connection.execute(text("set transaction isolation level repeatable read read only"))


def _rows_of(table: Table, database: str | None) -> Any:
    """What to write of a table. None if it does not belong to the requested database."""
    columns = [type_coerce(c, BigInteger) if isinstance(c.type, Millis) else c for c in table.columns]
    query = select(*columns)
    if database is None or table.name == "items":
        return query
    names = Base.metadata.tables["databases"].columns
    if table.name == "databases":
        return query.where(names.name == database)
    if "database_id" in table.columns:
        number = select(names.id).where(names.name == literal(database)).scalar_subquery()
        return query.where(table.columns.database_id == number)
    if "database" in table.columns:
        return query.where(table.columns.database == database)
    return None


def _plain(cell: Any) -> Any:
    if isinstance(cell, datetime):
        return cell.isoformat()
    return base64.b64encode(cell).decode() if isinstance(cell, bytes) else cell


def _typed(column: Column[Any], value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column.type, UtcTime):
        return datetime.fromisoformat(value)
    return base64.b64decode(value) if isinstance(column.type, LargeBinary) else value


def _chunks(path: Path) -> Iterator[tuple[Table, list[str], list[list[Any]]]]:
    """Rows of a file by table, some thousands at once."""
    table: Table | None = None
    columns: list[str] = []
    rows: list[list[Any]] = []
    for number, line in _lines(path):
        if number == 1:
            if not isinstance(line, dict) or (line.get("format"), line.get("version")) != (FORMAT, VERSION):
                raise TransferError(
                    f"{path} is not a history of version {VERSION}; write one with `latchscope store export`"
                )
        elif isinstance(line, dict):
            if table is not None and rows:
                yield table, columns, rows
            table, columns, rows = _header(path, number, line), line.get("columns", []), []
        elif table is None or not isinstance(line, list) or len(line) != len(columns):
            raise TransferError(
                f"{path}, line {number}: not a row of {table.name if table is not None else 'any table'}"
            )
        else:
            rows.append(line)
            if len(rows) >= CHUNK:
                yield table, columns, rows
                rows = []
    if table is not None and rows:
        yield table, columns, rows


def _header(path: Path, number: int, line: dict[str, Any]) -> Table:
    name = str(line.get("table"))
    table = table_of(OLD[FIGURES[name]]) if name in FIGURES else Base.metadata.tables.get(name)
    columns = line.get("columns")
    if table is None or not isinstance(columns, list) or not set(columns) <= set(table.columns.keys()):
        raise TransferError(
            f"{path}, line {number}: this latchscope does not know this table; use the version that wrote it"
        )
    return table


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    number = 0
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                yield number, json.loads(line)
    except (ValueError, EOFError, zlib.error, gzip.BadGzipFile):
        why = "it is cut off or damaged; copy it again, or write it again with `latchscope store export`"
        raise TransferError(f"{path} cannot be read beyond line {number}: {why}") from None
    if number == 0:
        raise TransferError(f"{path} is empty; write one with `latchscope store export`")
