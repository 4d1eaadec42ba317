"""Whether a store is whole; exports and imports of the whole history as lines of JSON, between any engines.

In a file, a line with a table's name and columns comes before its rows, which are lists. Numbers of databases belong to the file;
the import assigns new ones. A row whose key exists stays as it is. Snapshots are complete, so the file does not depend on how a
store packs them.
"""

import base64
import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic_core import to_json
from sqlalchemy import Column, Connection, Engine, LargeBinary, Table, func, literal, select, text

from service.store.migrations import to_0015
from service.store.migrations.old_exports import OldFigures, is_old
from service.store.repository import Repository
from service.store.rows import insert_new
from service.store.snapshots import HEAD, WITH_FRAME, Day, LostFrame, day_of, frame_of, head_of, unpacked
from service.store.tables import DATABASES, EPISODES, HOURS, METADATA, POLLS, SNAPSHOTS, SUMS, UtcTime, moment

# Whether a store is undamaged: the engine's own check, orphaned rows, gaps between polls, hours that are not the sum of theirs.

MOST = 20
"""Problems of one kind that are listed separately."""

_ORPHANS = """
    select count(*) from (select distinct database_id from {table}) d
     where database_id not in (select id from databases)"""

_GAPS = """
    select d.name, p.at, p.gap
      from (select database_id, at, at - seconds * 1000 - lag(at) over (partition by database_id order by at) as gap,
                   coalesce(lag(kind) over (partition by database_id order by at), kind, '') as kind
              from polls) p
      join databases d on d.id = p.database_id
     where abs(p.gap) > 5 and p.kind <> 'five minutes'
     order by p.at"""
"""Every interval starts where the poll before it ended, to the millisecond. Otherwise a poll was lost, or counts twice."""


def problems(engine: Engine) -> Iterator[str]:
    """The store's problems, one line each. Empty if it is undamaged. Raises SQLAlchemyError."""
    with engine.connect() as connection:
        yield from _sqlite(connection) if engine.dialect.name == "sqlite" else _postgresql(connection)
        for table in ("polls", "hours"):
            if count := connection.scalar(text(_ORPHANS.format(table=table))):
                yield f"{count} databases of {table} are not in databases"
        yield from _shortened(
            f"{name}: {abs(gap) / 1000:.1f} s {'are missing' if gap > 0 else 'count twice'} before {_time(at)}"
            for name, at, gap in connection.execute(text(_GAPS)).all()
        )
        yield from _frames(connection)
        yield from _shortened(_hours(connection))


def left_over(engine: Engine) -> str | None:
    """How to drop the tables of an older release, if they are still there. None without any."""
    with engine.connect() as connection:
        if not to_0015.left_over(connection):
            return None
    return (
        "the figures of 0.2.0 are still there for reading, as tables old_…; 0.4.0 drops them. To drop them at once, when no "
        f"older latchscope runs: {to_0015.DROP}"
    )


def _frames(connection: Connection) -> Iterator[str]:
    """Snapshots that cannot be read, because their frame is missing."""
    of = SNAPSHOTS.c
    head = func.substr(of.body, 1, HEAD)
    rows = connection.execute(select(of.database, of.taken_at, head).order_by(of.database, of.taken_at))
    lost: Counter[Day] = Counter()
    heads: dict[Day, bytes | None] = {}
    for database, at, begun in rows.all():
        day = day_of(database, at)
        if bytes(begun[:1]) == WITH_FRAME:
            if day not in heads:
                heads[day] = head_of(frame_of(connection, day))
            lost[day] += bytes(begun) != heads[day]
    yield from _shortened(
        f"{database}: {count} snapshots of {day} cannot be read, their frame is gone"
        for (database, day), count in lost.items()
        if count
    )


def _sqlite(connection: Connection) -> Iterator[str]:
    for (said,) in connection.exec_driver_sql("pragma integrity_check"):
        if said != "ok":
            yield f"SQLite: {said}"
    for row in connection.exec_driver_sql("pragma foreign_key_check"):
        yield f"SQLite: a row of {row[0]} refers to nothing"


def _postgresql(connection: Connection) -> Iterator[str]:
    for (name,) in connection.execute(text("select conname from pg_constraint where not convalidated")):
        yield f"PostgreSQL: constraint {name} is not validated"
    for (name,) in connection.execute(text("select indexrelid::regclass::text from pg_index where not indisvalid")):
        yield f"PostgreSQL: index {name} is not valid"


def _hours(connection: Connection) -> Iterator[str]:
    """Hours that differ from the sum of their polls, if all of those are there; and hours that were never summed."""
    hour = (POLLS.c.at - POLLS.c.at % literal(3_600_000, POLLS.c.at.type)).label("at")
    # An hour of 0.2.0 has the sleeps of one child latch, one of ours those of the hottest of each poll.
    names = [name for name in ("seconds", *SUMS) if name != "hot_child_sleeps"]
    sums = [func.sum(POLLS.c[name]).label(name) for name in names]
    summed = select(hour, func.count().label("polls"), *sums).group_by(hour).order_by(hour)
    for number, database in connection.execute(select(DATABASES)).all():
        hours = connection.execute(select(HOURS).where(HOURS.c.database_id == number))
        kept = {row.at: row._asdict() for row in hours}
        told = connection.execute(summed.where(POLLS.c.database_id == number)).mappings().all()
        for row in told:
            known = kept.get(row["at"], {})
            if not known and row["at"] + 7_200_000 < told[-1]["at"] + 3_600_000:
                yield f"{database}: the polls of {_time(row['at'])} are in no hour"
            for name in names if known and known["polls"] == row["polls"] else ():
                if None not in (a := known[name], b := row[name]) and abs(a - b) > 1e-6 + 1e-9 * abs(b):
                    yield f"{database}: the hour of {_time(row['at'])} has {a:g} of {name}, its polls sum to {b:g}"


def _shortened(lines: Iterator[str]) -> Iterator[str]:
    """The first problems of a kind, and how many more there are."""
    for shown, line in enumerate(lines):
        if shown >= MOST:
            yield f"… and {1 + sum(1 for _ in lines)} more of this kind"
            return
        yield line


def _time(at: int) -> str:
    return f"{moment(int(at)):%Y-%m-%d %H:%M:%S} UTC"


FORMAT, VERSION = "latchscope-history", 1
CHUNK = 5000
OWN = ("episode_changes", "deliveries", "replicas", "standings", "requests", "secrets", "refused_logins")
"""Tables about this store only: the log for streams and webhooks, the state of replicas, and refused logins."""


class TransferError(Exception):
    """A file that is not a history: which line, and why."""


def write_history(engine: Engine, path: Path, database: str | None = None) -> dict[str, int]:
    """Write a store's history, or one database's, compressed. Returns rows by table. Raises OSError, SQLAlchemyError.

    It shows one moment, and only one row at a time is in memory.
    """
    counts: dict[str, int] = {}
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=4) as file, engine.connect() as connection:
        # All of it as it is now, whatever is written meanwhile.
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("begin")
        else:
            connection.execute(text("set transaction isolation level repeatable read read only"))
        file.write(json.dumps({"format": FORMAT, "version": VERSION, "database": database}) + "\n")
        kept = (table for table in METADATA.tables.values() if table.name not in OWN)
        for table in sorted(kept, key=lambda table: (table is not DATABASES, table.name)):  # others refer to it
            query = _rows_of(table, database)
            if query is None:
                continue
            file.write(json.dumps({"table": table.name, "columns": [column.name for column in table.columns]}) + "\n")
            rows = connection.execution_options(stream_results=True, yield_per=CHUNK).execute(query)
            counts[table.name] = 0
            for row in rows if table.name != "snapshots" else _unframed(connection, rows):
                file.write(json.dumps([_plain(cell) for cell in row]) + "\n")
                counts[table.name] += 1
    return counts


def _unframed(connection: Connection, rows: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Snapshots that need no frame. One whose frame is lost is left out."""
    frames: dict[Day, bytes | None] = {}
    for database, at, body in rows:
        day = day_of(database, at)
        if day not in frames:
            frames = {day: frame_of(connection, day)}
        with suppress(LostFrame):
            yield database, at, zlib.compress(to_json(unpacked(body, frames[day])))


def read_history(store: Repository, path: Path) -> dict[str, int]:
    """Import a file of `write_history`. Returns rows read, by table. Raises TransferError, OSError, SQLAlchemyError."""
    counts: Counter[str] = Counter()
    databases: dict[int, int] = {}
    store.names.forget()
    store.frames.forget()
    old = False
    for name, columns, rows in _chunks(path):
        counts[name] += len(rows)
        if name == "databases":
            known = store.names.databases(row["name"] for row in rows)
            databases |= {row["id"]: known[row["name"]] for row in rows}
        elif is_old(name, columns):
            old = True
        else:
            _put(store, METADATA.tables[name], rows, databases)
    if old:
        figures = OldFigures(store.engine, databases)
        for name, columns, rows in _chunks(path):
            if is_old(name, columns):
                figures.take(name, rows)
        figures.put()
    return counts


def _put(store: Repository, table: Table, rows: list[dict[str, Any]], databases: dict[int, int]) -> None:
    typed = [{name: _typed(table.columns[name], value) for name, value in row.items()} for row in rows]
    for row in typed if "database_id" in table.columns else ():
        row["database_id"] = databases[row["database_id"]]
    if table is POLLS:
        store.partitions.ensure({row["at"] for row in typed})
    with store.engine.begin() as connection:
        if table is EPISODES:
            store.episodes.write(connection, rows)
            return
        if table is SNAPSHOTS:
            whole = ((row["database"], row["taken_at"], json.loads(zlib.decompress(row["body"]))) for row in typed)
            insert_new(connection, table, store.frames.rows(connection, whole))
        else:
            insert_new(connection, table, typed)


def _rows_of(table: Table, database: str | None) -> Any:
    """What to write of a table. None if it does not belong to the requested database."""
    query = select(table)
    if database is None:
        return query
    if table is DATABASES:
        return query.where(DATABASES.c.name == database)
    if "database_id" in table.columns:
        number = select(DATABASES.c.id).where(DATABASES.c.name == database).scalar_subquery()
        return query.where(table.columns.database_id == number)
    return query.where(table.columns.database == database) if "database" in table.columns else None


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


def _chunks(path: Path) -> Iterator[tuple[str, list[str], list[dict[str, Any]]]]:
    """Rows of a file by table and column, some thousands at once."""
    name, columns = "", list[str]()
    rows: list[dict[str, Any]] = []
    for number, line in _lines(path):
        if number == 1:
            if not isinstance(line, dict) or (line.get("format"), line.get("version")) != (FORMAT, VERSION):
                raise TransferError(
                    f"{path} is not a history of version {VERSION}; write one with `latchscope store export`"
                )
        elif isinstance(line, dict):
            if rows:
                yield name, columns, rows
            name, columns, rows = str(line.get("table")), line.get("columns", []), []
            known = METADATA.tables[name].columns.keys() if name in METADATA.tables else ()
            if not isinstance(columns, list) or not (is_old(name, columns) or (known and {*columns} <= {*known})):
                raise TransferError(
                    f"{path}, line {number}: this latchscope does not know this table; use the version that wrote it"
                )
        elif not isinstance(line, list) or len(line) != len(columns):
            raise TransferError(f"{path}, line {number}: not a row of {name or 'any table'}")
        else:
            rows.append(dict(zip(columns, line, strict=True)))
            if len(rows) >= CHUNK:
                yield name, columns, rows
                rows = []
    if rows:
        yield name, columns, rows


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
