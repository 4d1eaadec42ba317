"""Episodes, confirmations, marks and usual figures: every query of these tables."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import uuid4

from pydantic import TypeAdapter
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Engine,
    Row,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.exc import SQLAlchemyError

from rules.cause import catalogue
from rules.changes import Change
from rules.model import Severity
from rules.remedy import PredictionScore
from service.state.board import KEEP as KEEP_DAY
from service.state.board import MOST_KEPT
from service.state.episodes import KEEP, OF_ONE_POLL, VALID_SECONDS, Confirmed, Episode, EpisodeChange, MarkVerdict
from service.store.engine import Probe, unavailable_as_one_line
from service.store.polls import after
from service.store.record import current, former, known_members, read, verdict_kind
from service.store.rows import insert_into, insert_new, upsert
from service.store.tables import (
    BASELINES,
    CONFIRMATIONS,
    DATABASE_CHANGES,
    DELIVERIES,
    EPISODE_CHANGES,
    EPISODES,
    MARKS,
    millis,
)

# The log of episode changes. Every sender reads it, in this process and in its replicas.

KEEP_CHANGES = timedelta(days=30)
APPENDING = 0x6C61746368
"""Key of the advisory lock for appends on PostgreSQL. No other lock of the store has it."""
OF_OUTAGES = ("outage", "back")
"""Changes for people alone: they are no episodes, and are in no stream."""
_EPISODE = TypeAdapter(Episode)


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """A change as it was logged; `at` is UTC by latchscope's clock, the times of `episode` are the database's."""

    seq: int
    at: datetime
    database: str
    what: str
    episode: dict[str, Any]
    """The episode in JSON's types, as it was right after the change."""

    def document(self) -> dict[str, Any]:
        """The change in JSON's types, as streams and webhooks show it."""
        at = self.at.isoformat().replace("+00:00", "Z")
        return {"seq": self.seq, "event": self.what, "database": self.database, "at": at, "episode": self.episode}


def logged(row: Any) -> LoggedChange:
    """A row of episode_changes as an object."""
    return LoggedChange(row.seq, row.at, row.database, row.what, json.loads(row.episode))


class EpisodeLog:
    """Every query of the log. Reading raises StoreUnavailable."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.recipients: list[Callable[[EpisodeChange], Iterable[str]]] = []
        """Each returns the targets of a change. They are written in the same transaction, so that no crash can come between."""
        self.on_news: list[Callable[[], None]] = []
        """Called after changes were committed by this process; must return at once."""

    @property
    def shared(self) -> bool:
        """Whether another process may write to it. Nobody else has a SQLite file open beside a service."""
        return self._engine.dialect.name == "postgresql"

    def append(self, connection: Connection, changes: Sequence[EpisodeChange]) -> None:
        """Log changes within the caller's transaction, as its last step. An existing change stays as it is.

        Numbers must become visible in order. Otherwise a reader would skip one that was committed late. SQLite has
        one writer at a time; on PostgreSQL a lock until the commit ensures the order.
        """
        if not changes:
            return
        _one_at_a_time(connection)
        at = datetime.now(UTC)
        wanted = (
            insert_into(connection.dialect.name, EPISODE_CHANGES)
            .on_conflict_do_nothing()
            .returning(EPISODE_CHANGES.c.seq)
        )
        for change in changes:
            episode = change.episode
            row = {
                "at": at,
                "database": episode.database,
                "cause": episode.cause,
                "began": episode.begin,
                "what": change.what,
                "severity": episode.peak_severity.value,
                "episode": _EPISODE.dump_json(episode, exclude=OF_ONE_POLL).decode(),
            }
            seq = connection.execute(wanted, row).scalar_one_or_none()  # None if the change was there
            targets = [] if seq is None else [target for recipient in self.recipients for target in recipient(change)]
            if targets:
                waiting = {"seq": seq, "at": at, "attempts": 0, "outcome": "waiting"}
                connection.execute(insert(DELIVERIES), [{**waiting, "target": target} for target in targets])

    def announce(self) -> None:
        """Wake the waiting readers in this process, after the commit."""
        for tell in self.on_news:
            tell()

    def since(self, seq: int, limit: int) -> list[LoggedChange]:
        """Changes of episodes after that number, the earliest first, at most `limit`."""
        query = select(EPISODE_CHANGES).where(EPISODE_CHANGES.c.seq > seq, EPISODE_CHANGES.c.what.not_in(OF_OUTAGES))
        with unavailable_as_one_line(), self._engine.connect() as connection:
            return [logged(row) for row in connection.execute(query.order_by(EPISODE_CHANGES.c.seq).limit(limit))]

    def open_outages(self) -> dict[str, Episode]:
        """The outages that people know of and that have not ended, by database."""
        with unavailable_as_one_line(), self._engine.connect() as connection:
            return _open_outages(connection)

    def add_outages(self, changes: Sequence[EpisodeChange]) -> None:
        """Log that outages began or ended, unless another process was first."""
        with unavailable_as_one_line(), self._engine.begin() as connection:
            _one_at_a_time(connection)
            known = _open_outages(connection)
            self.append(
                connection, [each for each in changes if (each.what == "back") == (each.episode.database in known)]
            )
        self.announce()

    def newest(self) -> int:
        """The number of the newest change. 0 without one."""
        with unavailable_as_one_line(), self._engine.connect() as connection:
            return connection.scalar(select(func.max(EPISODE_CHANGES.c.seq))) or 0

    def prune(self, now: datetime) -> None:
        """Delete changes past their retention, with their deliveries."""
        old = EPISODE_CHANGES.c.at < now - KEEP_CHANGES
        with self._engine.begin() as connection:
            connection.execute(delete(DELIVERIES).where(DELIVERIES.c.seq.in_(select(EPISODE_CHANGES.c.seq).where(old))))
            connection.execute(delete(EPISODE_CHANGES).where(old))


def _one_at_a_time(connection: Connection) -> None:
    """Keep other writers of the log waiting until the commit. SQLite does so by itself."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": APPENDING})


def _open_outages(connection: Connection) -> dict[str, Episode]:
    of = EPISODE_CHANGES.c
    latest = select(func.max(of.seq)).where(of.what.in_(OF_OUTAGES)).group_by(of.database)
    began = select(of.database, of.episode).where(of.seq.in_(latest), of.what == "outage")
    return {database: _EPISODE.validate_json(episode) for database, episode in connection.execute(began)}


# Which receiver must get which change, and the state of each delivery, so that a restart loses nothing.
#
# Several processes may serve one target. Before each attempt one of them claims it: a row changes only if it is still
# as the claimer read it, so of two that read the same only one sends.

OPEN = ("waiting", "sending")


@dataclass(frozen=True, slots=True)
class Delivery:
    """One change for one target: `outcome` is waiting, sending, told, skipped or gave up, since `at` (UTC)."""

    target: str
    change: LoggedChange
    at: datetime
    attempts: int
    outcome: str


class Deliveries:
    """Every query of the deliveries. Raises StoreUnavailable."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def next_of(self, target: str) -> list[Delivery]:
        """What is due next, the earliest first: the first open change of each database, so that order is kept."""
        of = DELIVERIES.c
        first = select(func.min(of.seq)).join(EPISODE_CHANGES, EPISODE_CHANGES.c.seq == of.seq)
        mine = first.where(of.target == target, of.outcome.in_(OPEN)).group_by(EPISODE_CHANGES.c.database)
        return self._read(of.target == target, of.seq.in_(mine))

    def open_of(self, target: str, limit: int) -> list[Delivery]:
        """Everything that is due, the earliest first, up to a limit: for receivers that take many changes in one message."""
        return self._read(DELIVERIES.c.target == target, DELIVERIES.c.outcome.in_(OPEN), limit=limit)

    def of(self, database: str, cause: str, began: datetime) -> list[Delivery]:
        """The receivers of an episode, in the order of its changes."""
        of = EPISODE_CHANGES.c
        return self._read(of.database == database, of.cause == cause, of.began == began)

    def claim(self, delivery: Delivery, now: datetime) -> Delivery | None:
        """Claim the next attempt. None if another process claimed it first."""
        taken = replace(delivery, at=now, attempts=delivery.attempts + 1, outcome="sending")
        return taken if self._becomes(delivery, taken) else None

    def settle(self, delivery: Delivery, outcome: str, now: datetime) -> None:
        """Record the result of an attempt: waiting for the next, told, skipped, or gave up."""
        self._becomes(delivery, replace(delivery, at=now, outcome=outcome))

    def _becomes(self, delivery: Delivery, other: Delivery) -> bool:
        """Change a row if it is still as it was read."""
        of = DELIVERIES.c
        same = (of.seq == delivery.change.seq, of.target == delivery.target)
        unchanged = (of.attempts == delivery.attempts, of.outcome == delivery.outcome)
        change = update(DELIVERIES).where(*same, *unchanged)
        with unavailable_as_one_line(), self._engine.begin() as connection:
            done = connection.execute(change.values(at=other.at, attempts=other.attempts, outcome=other.outcome))
            return done.rowcount == 1

    def _read(self, *conditions: Any, limit: int | None = None) -> list[Delivery]:
        of = DELIVERIES.c
        query = select(of.target, of.at.label("since"), of.attempts, of.outcome, EPISODE_CHANGES)
        query = query.join(EPISODE_CHANGES, EPISODE_CHANGES.c.seq == of.seq).where(*conditions)
        with unavailable_as_one_line(), self._engine.connect() as connection:
            rows = connection.execute(query.order_by(of.seq, of.target).limit(limit)).all()
        return [Delivery(row.target, logged(row), row.since, row.attempts, row.outcome) for row in rows]


T = TypeVar("T")
_TIMES = ("began", "ended", "last_seen", "peak_at")


@dataclass(frozen=True, slots=True)
class EpisodePage(Generic[T]):
    """Part of a result. `cursor` asks for the rest, None if that is all."""

    items: tuple[T, ...]
    cursor: str | None


def read_page(
    engine: Engine,
    columns: Sequence[Column[Any]],
    wanted: Sequence[ColumnElement[bool]],
    keys: Sequence[Column[Any]],
    item: Callable[[Any], T],
    cursor: str | None,
    limit: int,
) -> EpisodePage[T]:
    """Some columns of a table, the newest rows first. `keys`: their time, and what orders those of one time. Raises BadCursor."""
    query = select(*columns).where(*wanted)
    if cursor is not None:
        since, *rest = split(cursor, len(keys))
        later = tuple_(*keys[1:]) > tuple_(*rest)
        query = query.where(or_(keys[0] < since, and_(keys[0] == since, later)))
    with engine.connect() as connection:
        rows = connection.execute(query.order_by(keys[0].desc(), *keys[1:]).limit(limit + 1)).all()
    found = paged(rows, limit, lambda last: [last._mapping[key] for key in keys])
    return EpisodePage(tuple(item(row) for row in found.items), found.cursor)


def paged(found: Sequence[T], limit: int, key: Callable[[T], Sequence[Any]]) -> EpisodePage[T]:
    """A page of the result, from one row more than the limit."""
    if len(found) <= limit:
        return EpisodePage(tuple(found), None)
    parts = [member.isoformat() if isinstance(member, datetime) else str(member) for member in key(found[limit - 1])]
    return EpisodePage(tuple(found[:limit]), "~".join(parts))


def split(cursor: str, parts: int) -> tuple[Any, ...]:
    """A cursor's time and the rest of it. Raises BadCursor."""
    members = cursor.split("~", parts - 1)
    return (after(cursor, members[0] if len(members) == parts else ""), *members[1:])


@dataclass(frozen=True, slots=True)
class Baseline:
    """The usual value of a metric in one hour of the week. 0 is Monday 00:00 UTC; beyond 167 see service/history/baselines.py."""

    database: str
    metric: str
    hour_of_week: int
    median: float
    low: float
    high: float
    n: int


class EpisodeStore:
    """Episodes of every database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def write(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        """Store episodes after a poll. An older state never replaces a newer one, and an ended one stays ended."""
        typed = [row | {name: datetime.fromisoformat(row[name]) for name in _TIMES if row[name]} for row in rows]
        upsert(connection, EPISODES, typed, _newer)

    def open(self, database: str | None = None) -> tuple[Episode, ...]:
        """Open episodes, of one database or of all, the earliest first."""
        of = EPISODES.c
        query = select(EPISODES).where(of.ended.is_(None)).order_by(of.began, of.database, of.cause)
        return self._read(query if database is None else query.where(of.database == database))

    def between(
        self, database: str | None, begin: datetime, end: datetime, cursor: str | None = None, limit: int = 100
    ) -> EpisodePage[Episode]:
        """Episodes that were open at any time in between, the newest first. Raises BadCursor."""
        of = EPISODES.c
        wanted = [of.began < end, or_(of.ended.is_(None), of.ended >= begin), *_of(EPISODES, database)]
        return read_page(self._engine, [*of], wanted, (of.began, of.database, of.cause), _episode, cursor, limit)

    def recent(self, database: str) -> tuple[Episode, ...]:
        """As many of one database as are in memory: open ones, and the last ended ones, the newest first."""
        of = EPISODES.c
        query = select(EPISODES).where(of.database == database).order_by(of.began.desc())
        ended = query.where(of.ended.is_not(None)).limit(KEEP)
        return (*self._read(query.where(of.ended.is_(None))), *self._read(ended))

    def verdict(
        self,
        database: str,
        cause: str,
        begin: datetime,
        kind: MarkVerdict,
        text: str,
        prediction: PredictionScore | None = None,
    ) -> bool:
        """Record what a change did about an episode, and its prediction's result. False if there is no such episode."""
        scored = None if prediction is None else prediction.model_dump_json()
        values = {"verdict": text, "verdict_kind": kind, "prediction": scored}
        with self._engine.begin() as connection:
            return (
                connection.execute(update(EPISODES).where(*_this(database, cause, begin)).values(**values)).rowcount > 0
            )

    def _read(self, query: Select[Any]) -> tuple[Episode, ...]:
        with self._engine.connect() as connection:
            return tuple(_episode(row) for row in connection.execute(query))


def _newer(table: Table, new: Any) -> ColumnElement[bool]:
    return and_(table.c.ended.is_(None), table.c.last_seen <= new.last_seen)


def _this(database: str, cause: str, begin: datetime) -> tuple[ColumnElement[bool], ...]:
    of = EPISODES.c
    return of.database == database, of.cause.in_(former(cause)), of.began == begin


def _of(table: Table, database: str | None) -> list[ColumnElement[bool]]:
    """Nothing, or only a database."""
    return [] if database is None else [table.c.database == database]


class Confirmations:
    """Results of confirming queries."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def write(self, connection: Connection, rows: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Store results. An existing one stays."""
        blank: dict[str, Any] = {"details": None}
        values = [blank | row | {"database": name, "at": datetime.fromtimestamp(row["at"], UTC)} for name, row in rows]
        insert_new(connection, CONFIRMATIONS, values)

    def live(self, now: datetime) -> dict[str, dict[str, Confirmed]]:
        """Results that are still valid, by database and cause."""
        at, since = CONFIRMATIONS.c.at, now - timedelta(seconds=VALID_SECONDS)
        query = select(CONFIRMATIONS).where(at > since, at <= now).order_by(at)
        found: dict[str, dict[str, Confirmed]] = {}
        with self._engine.connect() as connection:
            for row in connection.execute(query):
                left = VALID_SECONDS - (now - row.at).total_seconds()
                cause = current(row.cause)
                found.setdefault(row.database, {})[cause] = Confirmed(
                    row.value,
                    **_details(row.details),
                    cause=cause,
                    sql=row.sql,
                    startup_time=row.startup_time,
                    at=row.at.timestamp(),
                    expires=time.monotonic() + left,
                )
        return found


class Baselines:
    """Usual figures by hour of the week."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, rows: Sequence[Baseline]) -> None:
        """Replace the usual figures."""
        with self._engine.begin() as connection:
            upsert(connection, BASELINES, [asdict(row) for row in rows])

    def at(self, database: str, hours: Sequence[int]) -> tuple[Baseline, ...]:
        """The usual figures in some hours of the week, for every metric."""
        return self._read(BASELINES.c.database == database, BASELINES.c.hour_of_week.in_(hours))

    def of(self, database: str, metric: str) -> dict[int, Baseline]:
        """The usual figures of a metric, by hour of the week."""
        found = self._read(BASELINES.c.database == database, BASELINES.c.metric == metric)
        return {baseline.hour_of_week: baseline for baseline in found}

    def _read(self, *wanted: ColumnElement[bool]) -> tuple[Baseline, ...]:
        with self._engine.connect() as connection:
            return tuple(Baseline(**row) for row in connection.execute(select(BASELINES).where(*wanted)).mappings())


def _details(text: str | None) -> dict[str, Any]:
    """Members of a result beside its number. Empty for one of an older release."""
    members = known_members(Confirmed, json.loads(text)) if text else {}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in members.items()}


def _episode(row: Any) -> Episode:
    cause = current(row.cause)
    known = catalogue().get(cause)
    return Episode(
        database=row.database,
        cause=cause,
        cache=row.cache,
        title=known.name if known else row.title,
        begin=row.began,
        last_seen=row.last_seen,
        end=row.ended,
        severity=Severity(row.severity),
        peak_severity=Severity(row.peak_severity),
        peak_at=row.peak_at,
        peak_share_of_db_time=row.peak_share,
        headline=row.headline,
        verdict=row.verdict,
        verdict_kind=verdict_kind(row.verdict_kind, row.verdict),
        prediction=read(PredictionScore, row.prediction) if row.prediction else None,
    )


# Change marks: somebody changed something on a database, in their own words.


@dataclass(frozen=True, slots=True)
class Mark:
    """One change mark."""

    id: str
    database: str
    at: datetime
    text: str
    who: str


class Marks:
    """The marks of every database."""

    def __init__(self, engine: Engine, *on_mark: Callable[[str], None]) -> None:
        """`on_mark`: each is called with the database of a mark that this process set, and must return at once."""
        self._engine, self.on_mark = engine, [*on_mark]

    def add(self, database: str, at: datetime, text: str, who: str) -> Mark:
        """Keep a new mark. Raises SQLAlchemyError, with a ValueError inside for a time without a zone."""
        mark = Mark(uuid4().hex, database, at, text, who)
        with self._engine.begin() as connection:
            insert_new(connection, MARKS, [asdict(mark)])
        for call in self.on_mark:
            call(database)
        return mark

    def get(self, database: str, which: str) -> Mark | None:
        """The mark of this id, or the `last` one. None if the database has no such mark."""
        query = select(MARKS).where(MARKS.c.database == database).order_by(MARKS.c.at.desc(), MARKS.c.id).limit(1)
        with self._engine.connect() as connection:
            row = connection.execute(query if which == "last" else query.where(MARKS.c.id == which)).first()
        return None if row is None else Mark(**row._mapping)

    def between(
        self, database: str | None, begin: datetime, end: datetime, cursor: str | None = None, limit: int = 100
    ) -> EpisodePage[Mark]:
        """Marks of a database, or of all, the newest first. Raises BadCursor."""
        of = MARKS.c
        wanted = [of.at >= begin, of.at < end, *_of(MARKS, database)]
        return read_page(self._engine, [*of], wanted, (of.at, of.id), lambda row: Mark(**row._mapping), cursor, limit)

    def newest(self, begin: datetime, end: datetime) -> dict[str, datetime]:
        """When each database with a mark in this span had its last one, in one query."""
        of = MARKS.c
        query = select(of.database, func.max(of.at)).where(of.at >= begin, of.at < end).group_by(of.database)
        with self._engine.connect() as connection:
            return dict(connection.execute(query).all())


# The timeline of each database: what changed on it, as the polls and the readings of changes found it.


class DatabaseChanges:
    """What changed on every database, without the marks."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def write(self, connection: Connection, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Keep changes in JSON's types by database, within the caller's transaction. One that is there stays as it is."""
        read = [(name, Change.model_validate(members, extra="ignore")) for name, members in rows]
        insert_new(connection, DATABASE_CHANGES, [{"database": name} | dict(change) for name, change in read])

    def between(
        self, database: str, begin: datetime, end: datetime, cursor: str | None = None, limit: int = 100
    ) -> EpisodePage[Change]:
        """Changes of a database, the newest first. Raises BadCursor."""
        of = DATABASE_CHANGES.c
        wanted = [of.database == database, of.at >= begin, of.at < end]
        keys = (of.at, of.kind, of.text)

        def change(row: Row[Any]) -> Change:
            return Change(**{name: row._mapping[name] for name in Change.model_fields})

        return read_page(self._engine, [*of], wanted, keys, change, cursor, limit)

    def last_day(self, database: str) -> Sequence[Change]:
        """The newest changes of a database, up to a day before the last one, for memory."""
        now = datetime.now(UTC)
        return self.between(database, now - KEEP_DAY, now + KEEP_DAY, limit=MOST_KEPT).items


# Store queries for rows of the fleet, for all databases at once: the last marks, the last hour, earlier episodes.

LASTING_AT_ONCE = 6
"""Episodes that began before a mark and may have been open at it. If there are more on one database, the latest count."""
_MINUTES = text(
    "select d.name, p.at / 60000 as minute, sum(p.share * p.seconds) / sum(p.seconds) as share "
    "from databases d join polls p on p.database_id = d.id and p.at >= :since "
    "where d.name in :names and p.share is not null and p.seconds > 0 group by d.name, p.at / 60000"
).bindparams(bindparam("names", expanding=True))


@dataclass(frozen=True, slots=True)
class LastMark:
    """The last mark of a database, the troubles that began before it, and causes that began after it."""

    mark: Mark
    before: tuple[Episode, ...]
    after: frozenset[str]


class RecentRows:
    """Reads for the fleet. While the store is down or hangs its figures are missing, and the fleet is drawn without them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._probe = Probe(self._answers)

    def last_marks(self, database: str | None = None) -> Mapping[str, LastMark]:
        """The last mark of each database that has one, or of a single database."""
        return self._or_nothing(lambda: self._last_marks(database), {})

    def minutes(self, databases: Sequence[str], since: datetime) -> Mapping[str, Mapping[int, float]] | None:
        """Share of DB time lost by database and minute since 1970. None if the store does not answer."""
        return self._or_nothing(lambda: self._minutes(databases, since), None)

    def earlier(self, database: str, cause: str, begin: datetime) -> int | None:
        """How many episodes of a cause began before. None if the store does not answer."""
        of = EPISODES.c
        query = select(func.count()).where(of.database == database, of.cause.in_(former(cause)), of.began < begin)

        def count() -> int | None:
            with self._engine.connect() as connection:
                return connection.scalar(query)

        return self._or_nothing(count, None)

    def _or_nothing(self, read: Callable[[], T], otherwise: T) -> T:
        try:
            return read() if self._probe.answers() else otherwise
        except SQLAlchemyError:
            return otherwise

    def _answers(self) -> bool:
        try:
            with self._engine.connect() as connection:
                return connection.scalar(select(1)) == 1
        except SQLAlchemyError:
            return False

    def _last_marks(self, database: str | None) -> Mapping[str, LastMark]:
        latest = select(MARKS.c.database, func.max(MARKS.c.at).label("at")).where(*_of(MARKS, database))
        last = latest.group_by(MARKS.c.database).subquery()
        marks = select(MARKS).join(last, (MARKS.c.database == last.c.database) & (MARKS.c.at == last.c.at))
        of = EPISODES.c
        place = func.row_number().over(partition_by=of.database, order_by=of.began.desc()).label("place")
        begun = (
            select(EPISODES, place).join(last, (of.database == last.c.database) & (of.began <= last.c.at)).subquery()
        )
        later = select(of.database, of.cause).join(last, (of.database == last.c.database) & (of.began > last.c.at))
        before, after = defaultdict[str, list[Episode]](list), defaultdict[str, set[str]](set)
        with self._engine.connect() as connection:
            found = {row.database: Mark(**row._mapping) for row in connection.execute(marks)}
            for row in connection.execute(select(begun).where(begun.c.place <= LASTING_AT_ONCE)) if found else ():
                before[row.database].append(_episode(row))
            for name, cause in connection.execute(later.distinct()) if found else ():
                after[name].add(current(cause))
        return {name: LastMark(mark, tuple(before[name]), frozenset(after[name])) for name, mark in found.items()}

    def _minutes(self, databases: Sequence[str], since: datetime) -> Mapping[str, Mapping[int, float]]:
        found: dict[str, dict[int, float]] = {name: {} for name in databases}
        with self._engine.connect() as connection:
            for name, minute, share in connection.execute(_MINUTES, {"names": list(databases), "since": millis(since)}):
                found[name][int(minute)] = float(share)
        return found
