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
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    LargeBinary,
    Table,
    func,
    literal,
    select,
    text,
    type_coerce,
)

from service.store.figures import ROLLED, DamagedFigures, FigureColumns, Tier, once, read, unpack, unpack_buckets
from service.store.repository import Repository
from service.store.rows import (
    HEAD,
    WITH_FRAME,
    Day,
    LostFrame,
    NameTables,
    checksum,
    day_of,
    frame_of,
    insert_new,
    insert_raw,
    packed,
    self_contained,
)
from service.store.tables import (
    PARTITION_DAYS,
    Base,
    FiveMinuteFigures,
    HourlyFigures,
    Millis,
    StoredFigures,
    StoredSnapshot,
    UtcTime,
    moment,
)
from service.store.upkeep import LINES, figure_lines, put_figure_lines

# Whether a store is undamaged: the engine's own check, orphaned rows, gaps between polls, wrong roll-ups.

DAY = 86_400_000
MOST = 20
"""Problems of one kind that are listed separately."""

_ORPHANS = {
    "rows of figures have no poll": """
        select count(*) from figures f
         where not exists (select 1 from polls p where p.database_id = f.database_id and p.at = f.at)""",
    "databases of polls are not in databases": """
        select count(*) from (select distinct database_id from polls) d
         where database_id not in (select id from databases)""",
    "databases of buckets are not in databases": """
        select count(*) from (select distinct database_id from buckets) d
         where database_id not in (select id from databases)""",
}

_GAPS = """
    select d.name, p.at, p.gap
      from (select database_id, at, at - seconds * 1000 - lag(at) over (partition by database_id order by at) as gap
              from polls) p
      join databases d on d.id = p.database_id
     where abs(p.gap) > 5
     order by p.at"""
"""Every interval starts where the poll before it ended, to the millisecond. Otherwise a poll was lost, or counts twice."""

_WHOLE = """
    select b.database_id, b.at from buckets b
     where b.width = {width}
       and b.polls = (select {count} from {source} s where s.database_id = b.database_id
                         and s.at >= b.at and s.at < b.at + {ms} {only})
       and not exists (select 1 from unrolled u where u.database_id = b.database_id
                          and (u.width = {width} and u.at = b.at
                               or u.width < {width} and u.at >= b.at and u.at < b.at + {ms}))
     order by b.database_id, b.at"""
"""Buckets with all their input still in the store."""

_NOT_ROLLED = """
    select d.name, p.bucket
      from (select database_id, at - at % 300000 as bucket, count(*) as polls from polls group by 1, 2) p
      join databases d on d.id = p.database_id
      left join buckets b on b.width = 300 and b.database_id = p.database_id and b.at = p.bucket
      left join unrolled u on u.width = 300 and u.database_id = p.database_id and u.at = p.bucket
     where u.at is null and p.polls > coalesce(b.polls, 0)"""


def problems(engine: Engine) -> Iterator[str]:
    """The store's problems, one line each. Empty if it is undamaged. Raises SQLAlchemyError."""
    names = NameTables(engine)
    with engine.connect() as connection:
        yield from _sqlite(connection) if engine.dialect.name == "sqlite" else _postgresql(connection)
        for said, query in _ORPHANS.items():
            count = connection.scalar(text(query))
            if count:
                yield f"{count} {said}"
        yield from _shortened(
            f"{name}: {_gap(gap)} before {_time(at)}" for name, at, gap in connection.execute(text(_GAPS)).all()
        )
        yield from _frames(connection)
        yield from _figures(connection, names)
        yield from _rollups(connection, names)


def _frames(connection: Connection) -> Iterator[str]:
    """Snapshots that cannot be read, because their frame is missing."""
    table = StoredSnapshot
    head = func.substr(table.body, 1, HEAD)
    rows = connection.execute(select(table.database, table.taken_at, head).order_by(table.database, table.taken_at))
    lost: Counter[Day] = Counter()
    sums: dict[Day, bytes | None] = {}
    for database, at, begun in rows.all():
        day = day_of(database, at)
        if bytes(begun[:1]) == WITH_FRAME:
            if day not in sums:
                sums[day] = checksum(frame_of(connection, day))
            lost[day] += bytes(begun[1:]) != sums[day]
    yield from _shortened(
        f"{database}: {count} snapshots of {day} cannot be read, their frame is gone"
        for (database, day), count in lost.items()
        if count
    )


def _figures(connection: Connection, names: NameTables) -> Iterator[str]:
    """Rows that cannot be unpacked, and items without a name."""
    tables: Sequence[tuple[type[StoredFigures | FiveMinuteFigures | HourlyFigures], Callable[[bytes], Any]]] = (
        (StoredFigures, unpack),
        (FiveMinuteFigures, unpack_buckets),
        (HourlyFigures, unpack_buckets),
    )
    for table, read_one in tables:
        damaged, items = 0, set[int]()
        query = select(table.body).execution_options(stream_results=True, yield_per=1000)
        for body in connection.scalars(query):
            try:
                items.update(read_one(body)[0].tolist())
            except DamagedFigures:
                damaged += 1
        if damaged:
            yield f"{damaged} rows of {table.__tablename__} cannot be unpacked"
        if unknown := len(items) - len(names.named(items)):
            yield f"{unknown} items of {table.__tablename__} are not in items"


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


def _rollups(connection: Connection, names: NameTables) -> Iterator[str]:
    five = {"width": 300, "ms": 300_000, "count": "count(*)", "source": "polls", "only": ""}
    hour = {"width": 3600, "ms": 3_600_000, "count": "sum(s.polls)", "source": "buckets", "only": "and s.width = 300"}
    databases = names.all_databases()
    tiers: Sequence[tuple[dict[str, Any], Tier, Tier]] = ((five, "poll", "5m"), (hour, "5m", "1h"))
    for members, finer, coarser in tiers:
        whole: dict[tuple[int, int], set[int]] = defaultdict(set)
        for database, at in connection.execute(text(_WHOLE.format(**members))):
            whole[database, at - at % DAY].add(at)
        yield from _shortened(
            f"{databases.get(database, database)}: {coarser} at {_time(at)} has {rolled:g} of item {item}, "
            f"{finer} sum to {fine:g}"
            for (database, day), buckets in sorted(whole.items())
            for at, item, fine, rolled in _wrong(connection, names, database, day, buckets, finer, coarser)
        )
    late = connection.execute(text(_NOT_ROLLED)).all()
    yield from _shortened(f"{name}: polls of {_time(at)} are in no roll-up and not due for one" for name, at in late)


def _wrong(
    connection: Connection, names: NameTables, database: int, day: int, buckets: set[int], finer: Tier, coarser: Tier
) -> Iterator[tuple[int, int, float, float]]:
    """Counters of a day whose roll-up differs from the sum of its input: bucket, item, that sum, and the roll-up."""
    width = ROLLED[coarser].bucket
    try:
        sides = [_sums(once(read(connection, tier, database, day, day + DAY)), width) for tier in (finer, coarser)]
    except DamagedFigures:
        return
    items = names.named({item for side in sides for item, _ in side})
    for item, at in sorted({key for side in sides for key in side}, key=lambda key: (key[1], key[0])):
        fine, rolled = (side.get((item, at), 0.0) for side in sides)
        counter = item in items and not items[item][3]
        if counter and at in buckets and abs(fine - rolled) > 1e-6 + 1e-9 * abs(fine):
            yield at, item, fine, rolled


def _sums(figures: FigureColumns, width: int) -> dict[tuple[int, int], float]:
    """Totals by item and bucket."""
    keys, place = np.unique(np.stack((figures.items, figures.at - figures.at % width)), axis=1, return_inverse=True)
    totals = np.bincount(place.reshape(-1), figures.totals, keys.shape[1])
    return dict(zip(zip(*keys.tolist(), strict=True), totals.tolist(), strict=True))


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
_FIRST = ("databases", "items")
_PACKED = ("figures", "figures_5m", "figures_1h")
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
        for name, (_, columns) in LINES.items():
            file.write(json.dumps({"table": name, "columns": columns}) + "\n")
            counts[name] = 0
            for line in figure_lines(connection, name, database):
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
    for name, columns, rows in _chunks(path):
        counts[name] = counts.get(name, 0) + len(rows)
        found = [dict(zip(columns, row, strict=True)) for row in rows]
        if name == "databases":
            known = store.names.databases(row["name"] for row in found)
            databases |= {row["id"]: known[row["name"]] for row in found}
        elif name == "items":
            named = {row["id"]: (row["view"], row["key"], row["column"], bool(row["gauge"])) for row in found}
            numbers = store.names.items(set(named.values()))
            items |= {id: numbers[item] for id, item in named.items()}
        else:
            _put(store, name, columns, found, databases, items)
    return counts


def _put(
    store: Repository,
    name: str,
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
    if name in LINES:
        put_figure_lines(store.engine, store.partitions, store.names, LINES[name][0], rows)
        return
    table = Base.metadata.tables[name]
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
    known = LINES[name][1] if name in LINES else () if table is None else table.columns.keys()
    columns = line.get("columns")
    if not known or not isinstance(columns, list) or not set(columns) <= set(known):
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
