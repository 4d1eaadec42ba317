"""Roll-ups: five minutes from polls, hours from five minutes. A bucket is computed again as a whole, whenever it gets polls.

The table `unrolled` lists the due buckets, written in the same transaction as the polls. So a crash forgets none, a
late poll from the spool makes its bucket due again, and a second run changes nothing.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from time import thread_time

import numpy as np
from sqlalchemy import BigInteger, Connection, Engine, delete, or_, select, text, type_coerce

from service.store.figures.codec import Items, Values
from service.store.figures.rows import ROLLED, FigureColumns, RolledTier, merged_buckets, read
from service.store.ingest.bulk import table_of, upsert
from service.store.ingest.names import NameTables
from service.store.ingest.partitions import Partitions
from service.store.schema.history_tables import (
    StoredBucket,
    StoredPoll,
    Unrolled,
    millis,
    moment,
)

FIVE_MINUTES = 300
HOUR = 3600
SILENT_FOR = timedelta(minutes=10)
"""A bucket of a silent database is closed this long after its end."""
AT_ONCE = 2000
"""Most buckets per run."""
LOCK = 0x1A7C5C0
"""PostgreSQL's advisory lock, per database, for changes of roll-up rows."""


def mark_unrolled(connection: Connection, width: int, polls: Iterable[tuple[int, int]]) -> None:
    """Mark the buckets of these polls (database, milliseconds) as due, within the polls' own transaction.

    The update locks the row, so that a roll-up in another process waits for these polls and sees them.
    """
    ms = width * 1000
    rows = [
        {"width": width, "database_id": database, "at": moment(at), "times": 1}
        for database, at in sorted({(database, at - at % ms) for database, at in polls})
    ]
    upsert(connection, table_of(Unrolled), rows, {"times": "unrolled.times + 1"})


def roll_up(
    engine: Engine,
    partitions: Partitions,
    names: NameTables,
    now: datetime,
    raw_since: datetime | None = None,
    *,
    rest: Callable[[float], bool] = lambda spent: False,
) -> int:
    """Roll up every closed bucket that is due. Returns their number. Each has its own transaction.

    A bucket that was rolled up and lies before `raw_since` stays as it is: its polls are gone.
    `rest` is called after each bucket with the processor seconds it took, and says whether to end early.
    """
    done = 0
    for width in (FIVE_MINUTES, HOUR):
        with engine.connect() as connection:
            due = _closed(connection, width, now)
        for database, at in due:
            began = thread_time()
            tier = ROLLED["5m" if width == FIVE_MINUTES else "1h"]
            partitions.ensure(tier.table.__tablename__, [_row_of(tier, at)])
            with engine.begin() as connection:
                alone(connection, database)
                _roll(connection, names, width, database, at, raw_since)
            done += 1
            if rest(thread_time() - began):
                return done
    return done


def _closed(connection: Connection, width: int, now: datetime) -> list[tuple[int, datetime]]:
    """Due buckets that expect no more polls: their database is past them by its own clock, or silent."""
    end = type_coerce(Unrolled.at, BigInteger) + 1000 * width
    silent = end <= millis(now - SILENT_FOR)
    later = (StoredPoll.database_id == Unrolled.database_id, type_coerce(StoredPoll.at, BigInteger) >= end)
    closed = or_(silent, select(StoredPoll.at).where(*later).exists())
    query = select(Unrolled.database_id, Unrolled.at).where(Unrolled.width == width, closed).order_by(Unrolled.at)
    return [(database, at) for database, at in connection.execute(query.limit(AT_ONCE))]


def alone(connection: Connection, database: int) -> None:
    """Until the end of the transaction no other process changes the roll-ups of a database. SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"select pg_advisory_xact_lock({LOCK}, :database)"), {"database": database})


def _roll(
    connection: Connection, names: NameTables, width: int, database: int, at: datetime, raw_since: datetime | None
) -> None:
    due = delete(Unrolled).where(Unrolled.width == width, Unrolled.database_id == database, Unrolled.at == at)
    connection.execute(due)
    if raw_since is not None and at < raw_since and _rolled(connection, width, database, at):
        return
    end = at + timedelta(seconds=width)
    if width == FIVE_MINUTES:
        _from_polls(connection, names, database, at, end)
        mark_unrolled(connection, HOUR, [(database, millis(at))])
    else:
        _from_five_minutes(connection, names, database, at, end)


def _rolled(connection: Connection, width: int, database: int, at: datetime) -> bool:
    table = StoredBucket
    query = select(table.polls).where(table.width == width, table.database_id == database, table.at == at)
    return connection.scalar(query) is not None


def _from_polls(connection: Connection, names: NameTables, database: int, at: datetime, end: datetime) -> None:
    poll = StoredPoll
    inside = (poll.database_id == database, poll.at >= at, poll.at < end)
    covered = connection.execute(select(poll.at, poll.seconds, poll.missing).where(*inside).order_by(poll.at)).all()
    missing = [row.missing for row in covered if row.seconds]
    _bucket(connection, FIVE_MINUTES, database, at, len(covered), sum(row.seconds or 0.0 for row in covered), missing)
    figures = read(connection, "poll", database, millis(at), millis(end))
    items = np.unique(figures.items)
    values, _ = figures.matrix(items, np.array([millis(row.at) for row in covered], np.int64))
    seconds = np.array([row.seconds or np.nan for row in covered])
    gauges = _gauges(names, items)
    values[np.ix_(~gauges, np.isnan(seconds))] = np.nan
    rates = np.where(gauges[:, None], values, values / seconds)
    _put(connection, names, ROLLED["5m"], database, at, _summed(items, gauges, values, rates))


def _from_five_minutes(connection: Connection, names: NameTables, database: int, at: datetime, end: datetime) -> None:
    bucket = StoredBucket
    within = (bucket.width == FIVE_MINUTES, bucket.database_id == database, bucket.at >= at, bucket.at < end)
    covered = connection.execute(select(bucket.polls, bucket.seconds, bucket.missing).where(*within)).all()
    polls, seconds = sum(row.polls for row in covered), sum(row.seconds for row in covered)
    _bucket(connection, HOUR, database, at, polls, seconds, [row.missing for row in covered])
    figures = read(connection, "5m", database, millis(at), millis(end))
    items = np.unique(figures.items)
    times = np.arange(millis(at), millis(end), ROLLED["5m"].bucket, dtype=np.int64)
    totals, mosts = figures.matrix(items, times)
    _put(connection, names, ROLLED["1h"], database, at, _summed(items, _gauges(names, items), totals, mosts))


def _gauges(names: NameTables, items: Items) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    known = names.named(items.tolist())
    return np.array([item in known and known[item][3] for item in items.tolist()], dtype=bool)


def _summed(
    items: Items, gauges: "np.ndarray[tuple[int], np.dtype[np.bool_]]", totals: Values, mosts: Values
) -> FigureColumns:
    """One figure for each item that has any: a counter's sum and its highest rate, of a gauge the highest level."""
    known = ~np.isnan(totals).all(axis=1) if totals.size else np.zeros(len(items), dtype=bool)
    items, gauges, totals, mosts = items[known], gauges[known], totals[known], mosts[known]
    if not len(items):
        return FigureColumns(items, items, np.zeros(0), np.zeros(0))
    total = np.where(gauges, np.nanmax(totals, axis=1), np.nansum(totals, axis=1))
    return FigureColumns(items, np.zeros(len(items), np.int64), total, np.nanmax(mosts, axis=1))


def _row_of(tier: RolledTier, at: datetime) -> int:
    """The start of the row of a bucket, in milliseconds."""
    return millis(at) - millis(at) % tier.row


def _put(
    connection: Connection, names: NameTables, tier: RolledTier, database: int, at: datetime, figures: FigureColumns
) -> None:
    """Put the figures of one bucket into the rows of their views. Polls only ever add, so none is left over."""
    at_once = FigureColumns(figures.items, np.full(len(figures), millis(at)), figures.totals, figures.mosts)
    put_rolled(connection, names, tier, database, at_once, over=True)


def put_rolled(
    connection: Connection,
    names: NameTables,
    tier: RolledTier,
    database: int,
    figures: FigureColumns,
    *,
    over: bool,
) -> None:
    """Put figures of any buckets into the rows of their views, each read once. `over`: replace existing ones, or go beside.

    Within `alone`, where partitions are there already.
    """
    known = names.named(np.unique(figures.items).tolist())
    views = np.array([known[item][0] if item in known else "" for item in figures.items.tolist()], dtype=object)
    rows = figures.at - figures.at % tier.row
    before = _bodies(connection, tier, database, np.unique(rows).tolist())
    made = []
    for view in sorted(set(views.tolist()) - {""}):
        of_view = views == view
        for row_at in np.unique(rows[of_view]).tolist():
            inside = of_view & (rows == row_at)
            some = FigureColumns(
                figures.items[inside], figures.at[inside], figures.totals[inside], figures.mosts[inside]
            )
            body = merged_buckets(tier, before.get((view, row_at)), row_at, some, over=over)
            made.append({"database_id": database, "view": view, "at": moment(row_at), "body": body})
    upsert(connection, table_of(tier.table), made)


def _bodies(
    connection: Connection, tier: RolledTier, database: int, rows: Sequence[int]
) -> dict[tuple[str, int], bytes]:
    """The content of these rows of a database, of every view, in one query."""
    table = tier.table
    found = {}
    for row_at in rows:
        this = (table.database_id == database, table.at == moment(row_at))
        found.update(
            {(view, row_at): body for view, body in connection.execute(select(table.view, table.body).where(*this))}
        )
    return found


def _bucket(
    connection: Connection, width: int, database: int, at: datetime, polls: int, seconds: float, unknown: list[str]
) -> None:
    """The content of the bucket. A view that was missing in one of its polls is missing in the bucket."""
    missing = sorted({json.dumps(load) for text in set(unknown) for load in json.loads(text)})
    row = {
        "width": width,
        "database_id": database,
        "at": at,
        "polls": polls,
        "seconds": seconds,
        "missing": f"[{','.join(missing)}]",
    }
    upsert(connection, table_of(StoredBucket), [row])
