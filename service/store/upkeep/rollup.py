"""Roll-ups: five minutes from polls, hours from five minutes. A bucket is made anew as a whole, as often as it gets polls.

Which buckets are due stands in `unrolled`, written in the same transaction as the polls. So a crash forgets none, a
poll that comes late from the spool brings its bucket up again, and running twice changes nothing.
"""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Connection, Engine, case, delete, func, literal, select

from service.store.ingest.bulk import dialect_insert, table_of, upsert
from service.store.ingest.partitions import Partitions
from service.store.schema.history_tables import (
    FiveMinutes,
    Hours,
    StoredBucket,
    StoredDelta,
    StoredItem,
    StoredPoll,
    Unrolled,
    millis,
    moment,
)

FIVE_MINUTES = 300
HOUR = 3600
SILENT_FOR = timedelta(minutes=10)
"""A bucket of a database that says nothing more is closed so long after its end."""
AT_ONCE = 2000
"""Buckets per run at most."""


def mark_unrolled(connection: Connection, width: int, polls: Iterable[tuple[int, int]]) -> None:
    """Note the buckets of these polls (database, milliseconds) as due, within the polls' own transaction.

    The update takes the row's lock, so that a roll-up in another process waits for these polls and sees them.
    """
    ms = width * 1000
    rows = [
        {"width": width, "database_id": database, "at": moment(at), "times": 1}
        for database, at in sorted({(database, at - at % ms) for database, at in polls})
    ]
    if rows:
        table = table_of(Unrolled)
        again = {"times": table.c.times + 1}
        statement = dialect_insert(connection, table)
        connection.execute(statement.on_conflict_do_update(index_elements=table.primary_key.columns, set_=again), rows)


def roll_up(engine: Engine, partitions: Partitions, now: datetime, raw_since: datetime | None = None) -> int:
    """Roll up every closed bucket that is due; how many. Each in a transaction of its own.

    A bucket that was rolled up and lies before `raw_since` stays as it is: the polls it was made of are gone.
    """
    done = 0
    for width in (FIVE_MINUTES, HOUR):
        with engine.connect() as connection:
            due = [
                (database, at)
                for database, at in _due(connection, width)
                if _closed(connection, width, database, at, now)
            ]
        for database, at in due:
            partitions.ensure("five_minutes" if width == FIVE_MINUTES else "hours", [millis(at)])
            with engine.begin() as connection:
                _roll(connection, width, database, at, raw_since)
            done += 1
    return done


def _due(connection: Connection, width: int) -> list[tuple[int, datetime]]:
    query = select(Unrolled.database_id, Unrolled.at).where(Unrolled.width == width).order_by(Unrolled.at)
    return [(database, at) for database, at in connection.execute(query.limit(AT_ONCE))]


def _closed(connection: Connection, width: int, database: int, at: datetime, now: datetime) -> bool:
    """Whether no poll is to be expected in the bucket: its database is past it by its own clock, or silent."""
    end = at + timedelta(seconds=width)
    if now >= end + SILENT_FOR:
        return True
    later = select(StoredPoll.at).where(StoredPoll.database_id == database, StoredPoll.at >= end).limit(1)
    return connection.scalar(later) is not None


def _roll(connection: Connection, width: int, database: int, at: datetime, raw_since: datetime | None) -> None:
    due = delete(Unrolled).where(Unrolled.width == width, Unrolled.database_id == database, Unrolled.at == at)
    connection.execute(due)
    if raw_since is not None and at < raw_since and _rolled(connection, width, database, at):
        return
    end = at + timedelta(seconds=width)
    if width == FIVE_MINUTES:
        _from_polls(connection, database, at, end)
        mark_unrolled(connection, HOUR, [(database, millis(at))])
    else:
        _from_five_minutes(connection, database, at, end)


def _rolled(connection: Connection, width: int, database: int, at: datetime) -> bool:
    table = StoredBucket
    query = select(table.polls).where(table.width == width, table.database_id == database, table.at == at)
    return connection.scalar(query) is not None


def _from_polls(connection: Connection, database: int, at: datetime, end: datetime) -> None:
    poll, change, item = StoredPoll, StoredDelta, StoredItem
    inside = (poll.database_id == database, poll.at >= at, poll.at < end)
    covered = connection.execute(select(poll.seconds, poll.missing).where(*inside)).all()
    missing = [row.missing for row in covered if row.seconds]
    _bucket(connection, FIVE_MINUTES, database, at, len(covered), sum(row.seconds or 0.0 for row in covered), missing)
    rate = case((item.gauge, change.value), else_=change.value / poll.seconds)
    figures = (
        select(
            change.database_id,
            change.item_id,
            _begin(at),
            case((item.gauge, func.max(change.value)), else_=func.sum(change.value)),
            func.max(rate),
        )
        .join(poll, (poll.database_id == change.database_id) & (poll.at == change.at))
        .join(item, item.id == change.item_id)
        .where(change.database_id == database, change.at >= at, change.at < end, *inside)
        .where((poll.seconds > 0) | item.gauge)
        .group_by(change.database_id, change.item_id, item.gauge)
    )
    _put(connection, FiveMinutes, figures)


def _from_five_minutes(connection: Connection, database: int, at: datetime, end: datetime) -> None:
    finer, item, bucket = FiveMinutes, StoredItem, StoredBucket
    within = (bucket.width == FIVE_MINUTES, bucket.database_id == database, bucket.at >= at, bucket.at < end)
    covered = connection.execute(select(bucket.polls, bucket.seconds, bucket.missing).where(*within)).all()
    polls, seconds = sum(row.polls for row in covered), sum(row.seconds for row in covered)
    _bucket(connection, HOUR, database, at, polls, seconds, [row.missing for row in covered])
    figures = (
        select(
            finer.database_id,
            finer.item_id,
            _begin(at),
            case((item.gauge, func.max(finer.total)), else_=func.sum(finer.total)),
            func.max(finer.most),
        )
        .join(item, item.id == finer.item_id)
        .where(finer.database_id == database, finer.at >= at, finer.at < end)
        .group_by(finer.database_id, finer.item_id, item.gauge)
    )
    _put(connection, Hours, figures)


def _begin(at: datetime) -> Any:
    """A bucket's begin as a column of a select."""
    return literal(millis(at), BigInteger)


def _put(connection: Connection, rolled: type[FiveMinutes] | type[Hours], figures: Any) -> None:
    """Insert what a select gives; a bucket that was there takes the new figures. Polls only ever add, so no row is left over."""
    table = table_of(rolled)
    statement = dialect_insert(connection, table).from_select(
        ["database_id", "item_id", "at", "total", "most"], figures
    )
    new = {name: statement.excluded[name] for name in ("total", "most")}
    connection.execute(statement.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=new))


def _bucket(
    connection: Connection, width: int, database: int, at: datetime, polls: int, seconds: float, unknown: list[str]
) -> None:
    """What the bucket covers; a view that was missing in one of its polls is missing in the bucket."""
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
