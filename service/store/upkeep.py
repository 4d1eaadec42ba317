"""Roll-ups and retention."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from time import thread_time
from typing import Any

import numpy as np
from sqlalchemy import BigInteger, Connection, Engine, and_, delete, func, or_, select, text, tuple_, type_coerce
from sqlalchemy.orm import DeclarativeBase

from service.config.settings import HistorySettings
from service.store.figures import (
    ROLLED,
    FigureColumns,
    Items,
    RolledTier,
    Tier,
    Values,
    as_columns,
    merged_buckets,
    merged_poll,
    once,
    read,
)
from service.store.rows import NameTables, Partitions, table_of, upsert
from service.store.tables import (
    FiveMinuteFigures,
    HourlyFigures,
    StoredBucket,
    StoredConfirmation,
    StoredDatabase,
    StoredDatabaseChange,
    StoredDiagnosis,
    StoredEpisode,
    StoredFigures,
    StoredFrame,
    StoredMark,
    StoredPoll,
    StoredSnapshot,
    Unrolled,
    millis,
    moment,
)

# Roll-ups: five minutes from polls, hours from five minutes. A bucket is computed again as a whole, whenever it gets
# polls.
#
# The table `unrolled` lists the due buckets, written in the same transaction as the polls. So a crash forgets none, a
# late poll from the spool makes its bucket due again, and a second run changes nothing.

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
            partitions.ensure(tier.table.__tablename__, [millis(at) - millis(at) % tier.row])
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


# Figures one by one: the form of a history file.

DAY = 86_400_000
LINES: Mapping[str, tuple[Tier, tuple[str, ...]]] = {
    "deltas": ("poll", ("database_id", "at", "item_id", "value")),
    "five_minutes": ("5m", ("database_id", "at", "item_id", "total", "most")),
    "hours": ("1h", ("database_id", "item_id", "at", "total", "most")),
}
"""The tier and the columns of figures by their name in a file."""


def figure_lines(connection: Connection, name: str, database: str | None) -> Iterator[list[Any]]:
    """The figures of a tier in the columns of LINES, some hours at once."""
    tier, wanted = LINES[name]
    table: Any = StoredFigures if tier == "poll" else ROLLED[tier].table
    at = type_coerce(table.at, BigInteger)
    named = select(StoredDatabase.id).order_by(StoredDatabase.id)
    for number in connection.scalars(named if database is None else named.where(StoredDatabase.name == database)).all():
        bounds = select(func.min(at), func.max(at)).where(table.database_id == number)
        first, last = connection.execute(bounds).one()
        for begin in range(first - first % DAY, last + DAY, DAY) if first is not None else ():
            found = once(read(connection, tier, number, begin, begin + DAY))
            columns = {"database_id": [number] * len(found), "item_id": found.items.tolist(), "at": found.at.tolist()}
            columns |= {"value": found.totals.tolist(), "total": found.totals.tolist(), "most": found.mosts.tolist()}
            yield from map(list, zip(*(columns[column] for column in wanted), strict=True))


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


# Deletes expired rows: whole partitions on PostgreSQL, slices everywhere else, so that nothing blocks for long.

SLICE = 2000
HOUR_ROW, DAY_ROW = (timedelta(milliseconds=ROLLED[tier].row) for tier in ("5m", "1h"))
"""A row of roll-ups goes when its last bucket is over."""


def prune(engine: Engine, partitions: Partitions, kept_for: HistorySettings, now: datetime) -> dict[str, int]:
    """Delete what is older than its tier keeps. Returns what was deleted, by table: rows, and partitions as rows of one."""
    done: dict[str, int] = {}
    for table, key, old, before in _tiers(kept_for, now):
        name = table.__tablename__
        if before is not None and engine.dialect.name == "postgresql":
            count = partitions.drop_before(name, before)
        else:
            count = _sliced(engine, table, key, old)
        done[name] = done.get(name, 0) + count
    return done


def _tiers(kept_for: HistorySettings, now: datetime) -> list[tuple[type[DeclarativeBase], Sequence[Any], Any, Any]]:
    """Table, key, what is old, and the time before which its partitions may go, if it has any."""

    def ago(seconds: float) -> datetime:
        return now - timedelta(seconds=seconds)

    raw, fine, coarse = ago(kept_for.polls), ago(kept_for.five_minutes), ago(kept_for.hourly)
    long_ago, bucket, episode = ago(kept_for.episodes), StoredBucket, StoredEpisode
    over = and_(episode.ended.is_not(None), episode.ended < long_ago)
    # The snapshots of a day need its frame, so the frame is deleted after them.
    first_day = min(coarse, ago(kept_for.snapshots)).astimezone(UTC).date().isoformat()
    tiers: list[tuple[type[DeclarativeBase], Any, Any]] = [
        (StoredSnapshot, StoredSnapshot.taken_at < ago(kept_for.snapshots), None),
        (StoredDiagnosis, StoredDiagnosis.taken_at < ago(kept_for.diagnoses), None),
        (StoredFigures, StoredFigures.at < raw, raw),
        (StoredPoll, StoredPoll.at < raw, raw),
        (FiveMinuteFigures, FiveMinuteFigures.at < fine - HOUR_ROW, fine),
        (HourlyFigures, HourlyFigures.at < coarse - DAY_ROW, coarse),
        (bucket, and_(bucket.width == FIVE_MINUTES, bucket.at < fine), None),
        (bucket, and_(bucket.width == HOUR, bucket.at < coarse), None),
        (StoredFrame, StoredFrame.day < first_day, None),
        (episode, over, None),
        (StoredMark, StoredMark.at < long_ago, None),
        (StoredDatabaseChange, StoredDatabaseChange.at < long_ago, None),
        (StoredConfirmation, StoredConfirmation.at < long_ago, None),
    ]
    return [(table, list(table_of(table).primary_key), old, before) for table, old, before in tiers]


def _sliced(engine: Engine, table: type[DeclarativeBase], key: Sequence[Any], old: Any) -> int:
    count = 0
    while True:
        with engine.begin() as connection:
            some = select(*key).where(old).limit(SLICE)
            gone = connection.execute(delete(table_of(table)).where(tuple_(*key).in_(some))).rowcount
        count += gone
        if gone < SLICE:
            return count
