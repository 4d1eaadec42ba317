"""Whether a store is undamaged: the engine's own check, orphaned rows, gaps between polls, wrong roll-ups."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, Engine, func, select, text

from service.store.figures.buckets import unpack_buckets
from service.store.figures.codec import DamagedFigures, unpack
from service.store.figures.rows import ROLLED, FigureColumns, Tier, once, read
from service.store.ingest.names import NameTables
from service.store.ingest.snapshots import HEAD, WITH_FRAME, Day, checksum, day_of, frame_of
from service.store.schema.history_tables import FiveMinuteFigures, HourlyFigures, StoredFigures, StoredItem, moment
from service.store.schema.old_tables import OldDelta, OldFiveMinutes, OldHours
from service.store.schema.poll_tables import StoredSnapshot

DAY = 86_400_000
MOST = 20
"""Problems of one kind that are listed separately."""

_ORPHANS = {
    "rows of figures have no poll": """
        select count(*) from figures f
         where not exists (select 1 from polls p where p.database_id = f.database_id and p.at = f.at)""",
    "rows of old_deltas have no poll": """
        select count(*) from (select distinct database_id, at from old_deltas) d
         where not exists (select 1 from polls p where p.database_id = d.database_id and p.at = d.at)""",
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
    for old in (OldDelta, OldFiveMinutes, OldHours):
        known = select(StoredItem.id)
        count = connection.scalar(select(func.count(old.item_id.distinct())).where(old.item_id.not_in(known)))
        if count:
            yield f"{count} items of {old.__tablename__} are not in items"


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
