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
from collections.abc import Iterable, Iterator, Sequence
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
    and_,
    func,
    literal,
    or_,
    select,
    text,
    type_coerce,
)

from service.store.migrations import to_0015
from service.store.migrations.old_exports import OldFigures, is_old
from service.store.repository import Repository
from service.store.rows import insert_new, insert_raw
from service.store.snapshots import HEAD, WITH_FRAME, Day, LostFrame, day_of, frame_of, head_of, packed, plain_body
from service.store.tables import HOURS, POLLS, SUMS, Base, Millis, StoredDatabase, StoredSnapshot, UtcTime, moment

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
            f"{name}: {_gap(gap)} before {_time(at)}" for name, at, gap in connection.execute(text(_GAPS)).all()
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
    table = StoredSnapshot
    head = func.substr(table.body, 1, HEAD)
    rows = connection.execute(select(table.database, table.taken_at, head).order_by(table.database, table.taken_at))
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
    at = type_coerce(POLLS.c.at, BigInteger)
    hour = at - at % literal(3_600_000, BigInteger)
    # An hour of 0.2.0 has the sleeps of one child latch, one of ours those of the hottest of each poll.
    names_summed = [name for name in ("seconds", *SUMS) if name != "hot_child_sleeps"]
    sums = {name: func.sum(POLLS.c[name]).label(name) for name in names_summed}
    polls = select(POLLS.c.database_id, hour.label("at"), func.count().label("polls"), *sums.values())
    summed = polls.group_by(POLLS.c.database_id, hour).subquery()
    of = type_coerce(HOURS.c.at, BigInteger)
    same = and_(HOURS.c.database_id == summed.c.database_id, of == summed.c.at)
    wrong = {
        name: func.abs(HOURS.c[name] - summed.c[name]) > literal(1e-6) + literal(1e-9) * func.abs(summed.c[name])
        for name in sums
    }
    names = StoredDatabase.name
    query = select(names, summed.c.at, *(column for name in sums for column in (HOURS.c[name], summed.c[name])))
    joined = query.join(StoredDatabase, StoredDatabase.id == summed.c.database_id).join(HOURS, same)
    for name, begun, *pairs in connection.execute(joined.where(HOURS.c.polls == summed.c.polls, or_(*wrong.values()))):
        for figure, kept, told in zip(sums, pairs[::2], pairs[1::2], strict=True):
            if None not in (kept, told) and abs(kept - told) > 1e-6 + 1e-9 * abs(told):
                yield f"{name}: the hour of {_time(begun)} has {kept:g} of {figure}, its polls sum to {told:g}"
    newest = select(func.max(at)).where(POLLS.c.database_id == summed.c.database_id).scalar_subquery()
    never = (
        select(names, summed.c.at)
        .join(StoredDatabase, StoredDatabase.id == summed.c.database_id)
        .outerjoin(HOURS, same)
    )
    for name, begun in connection.execute(never.where(of.is_(None), summed.c.at + 7_200_000 < newest)):
        yield f"{name}: the polls of {_time(begun)} are in no hour"


def _shortened(lines: Iterator[str]) -> Iterator[str]:
    """The first problems of a kind, and how many more there are."""
    for shown, line in enumerate(lines):
        if shown >= MOST:
            yield f"… and {1 + sum(1 for _ in lines)} more of this kind"
            return
        yield line


def _gap(milliseconds: float) -> str:
    if milliseconds > 0:
        return f"{milliseconds / 1000:.1f} s are missing"
    return f"{-milliseconds / 1000:.1f} s count twice"


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
    return counts


def _unframed(connection: Connection, rows: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Snapshots that need no frame. One whose frame is lost is left out."""
    frames: dict[Day, bytes | None] = {}
    for database, at, body in rows:
        day = day_of(database, at)
        if day not in frames:
            frames = {day: frame_of(connection, day)}
        with suppress(LostFrame):
            yield database, at, zlib.compress(plain_body(body, frames[day]))


def read_history(store: Repository, path: Path) -> dict[str, int]:
    """Import a file of `write_history`. Returns rows read, by table. Raises TransferError, OSError, SQLAlchemyError."""
    counts: dict[str, int] = {}
    databases: dict[int, int] = {}
    store.names.forget()
    store.frames.forget()
    old = False
    for name, columns, rows in _chunks(path):
        counts[name] = counts.get(name, 0) + len(rows)
        found = [dict(zip(columns, row, strict=True)) for row in rows]
        if name == "databases":
            known = store.names.databases(row["name"] for row in found)
            databases |= {row["id"]: known[row["name"]] for row in found}
        elif is_old(name, columns):
            old = True
        else:
            _put(store, name, columns, found, databases)
    if old:
        figures = OldFigures(store.engine, databases)
        for name, columns, rows in _chunks(path):
            if is_old(name, columns):
                figures.take(name, [dict(zip(columns, row, strict=True)) for row in rows])
        figures.put()
    return counts


def _put(
    store: Repository, name: str, columns: Sequence[str], rows: list[dict[str, Any]], databases: dict[int, int]
) -> None:
    for row in rows:
        if "database_id" in row:
            row["database_id"] = databases[row["database_id"]]
    table = Base.metadata.tables[name]
    if table is POLLS:
        store.partitions.ensure({row["at"] for row in rows})
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
    """Every table. The one that others refer to comes first."""
    kept = (table for table in Base.metadata.tables.values() if table.name not in OWN)
    return sorted(kept, key=lambda table: (table.name != "databases", table.name))


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
    if database is None:
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


def _chunks(path: Path) -> Iterator[tuple[str, list[str], list[list[Any]]]]:
    """Rows of a file by table, some thousands at once."""
    table: str | None = None
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
            raise TransferError(f"{path}, line {number}: not a row of {table or 'any table'}")
        else:
            rows.append(line)
            if len(rows) >= CHUNK:
                yield table, columns, rows
                rows = []
    if table is not None and rows:
        yield table, columns, rows


def _header(path: Path, number: int, line: dict[str, Any]) -> str:
    name = str(line.get("table"))
    table = Base.metadata.tables.get(name)
    columns = line.get("columns")
    known = isinstance(columns, list) and (
        is_old(name, columns) or (table is not None and set(columns) <= set(table.columns.keys()))
    )
    if not known:
        raise TransferError(
            f"{path}, line {number}: this latchscope does not know this table; use the version that wrote it"
        )
    return name


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
