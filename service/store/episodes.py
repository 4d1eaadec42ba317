"""Episodes, confirmations and usual figures: every query of these tables."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import uuid4

from pydantic import TypeAdapter
from sqlalchemy import Connection, Engine, and_, bindparam, delete, func, insert, or_, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
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
from service.store.rows import insert_new, table_of, upsert
from service.store.tables import (
    StoredBaseline,
    StoredChange,
    StoredConfirmation,
    StoredDatabaseChange,
    StoredDelivery,
    StoredEpisode,
    StoredMark,
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
        for change in changes:
            seq = self._appended(connection, change, at)
            targets = [] if seq is None else [target for recipient in self.recipients for target in recipient(change)]
            if targets:
                waiting = {"seq": seq, "at": at, "attempts": 0, "outcome": "waiting"}
                connection.execute(insert(StoredDelivery), [{**waiting, "target": target} for target in targets])

    def _appended(self, connection: Connection, change: EpisodeChange, at: datetime) -> int | None:
        """The number of the new entry. None if the change was there."""
        dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
        episode = change.episode
        values = {
            "at": at,
            "database": episode.database,
            "cause": episode.cause,
            "began": episode.begin,
            "what": change.what,
            "severity": episode.peak_severity.value,
            "episode": _EPISODE.dump_json(episode, exclude=OF_ONE_POLL).decode(),
        }
        wanted = dialect.insert(StoredChange).values(values).on_conflict_do_nothing().returning(StoredChange.seq)
        return connection.execute(wanted).scalar_one_or_none()

    def announce(self) -> None:
        """Wake the waiting readers in this process, after the commit."""
        for tell in self.on_news:
            tell()

    def since(self, seq: int, limit: int) -> list[LoggedChange]:
        """Changes of episodes after that number, the earliest first, at most `limit`."""
        wanted = (StoredChange.seq > seq, StoredChange.what.not_in(OF_OUTAGES))
        query = select(StoredChange.__table__).where(*wanted).order_by(StoredChange.seq).limit(limit)
        with unavailable_as_one_line(), self._engine.connect() as connection:
            return [logged(row) for row in connection.execute(query)]

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
            return connection.scalar(select(func.max(StoredChange.seq))) or 0

    def prune(self, now: datetime) -> None:
        """Delete changes past their retention, with their deliveries."""
        old = StoredChange.at < now - KEEP_CHANGES
        with self._engine.begin() as connection:
            gone = select(StoredChange.seq).where(old)
            connection.execute(delete(StoredDelivery).where(StoredDelivery.seq.in_(gone)))
            connection.execute(delete(StoredChange).where(old))


def _one_at_a_time(connection: Connection) -> None:
    """Keep other writers of the log waiting until the commit. SQLite does so by itself."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": APPENDING})


def _open_outages(connection: Connection) -> dict[str, Episode]:
    latest = select(func.max(StoredChange.seq)).where(StoredChange.what.in_(OF_OUTAGES)).group_by(StoredChange.database)
    began = select(StoredChange.__table__).where(StoredChange.seq.in_(latest), StoredChange.what == "outage")
    return {row.database: _EPISODE.validate_json(row.episode) for row in connection.execute(began)}


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
        first = (
            select(func.min(StoredDelivery.seq))
            .join(StoredChange, StoredChange.seq == StoredDelivery.seq)
            .where(StoredDelivery.target == target, StoredDelivery.outcome.in_(OPEN))
            .group_by(StoredChange.database)
        )
        return self._read(StoredDelivery.target == target, StoredDelivery.seq.in_(first))

    def open_of(self, target: str, limit: int) -> list[Delivery]:
        """Everything that is due, the earliest first, up to a limit: for receivers that take many changes in one message."""
        query = (StoredDelivery.target == target, StoredDelivery.outcome.in_(OPEN))
        return self._read(*query, limit=limit)

    def of(self, database: str, cause: str, began: datetime) -> list[Delivery]:
        """The receivers of an episode, in the order of its changes."""
        episode = (StoredChange.database == database, StoredChange.cause == cause, StoredChange.began == began)
        return self._read(*episode)

    def claim(self, delivery: Delivery, now: datetime) -> Delivery | None:
        """Claim the next attempt. None if another process claimed it first."""
        taken = Delivery(delivery.target, delivery.change, now, delivery.attempts + 1, "sending")
        return taken if self._becomes(delivery, taken) else None

    def settle(self, delivery: Delivery, outcome: str, now: datetime) -> Delivery:
        """Record the result of an attempt: waiting for the next, told, skipped, or gave up."""
        settled = Delivery(delivery.target, delivery.change, now, delivery.attempts, outcome)
        self._becomes(delivery, settled)
        return settled

    def _becomes(self, delivery: Delivery, other: Delivery) -> bool:
        """Change a row if it is still as it was read."""
        same = (
            StoredDelivery.seq == delivery.change.seq,
            StoredDelivery.target == delivery.target,
            StoredDelivery.attempts == delivery.attempts,
            StoredDelivery.outcome == delivery.outcome,
        )
        change = update(StoredDelivery).where(*same)
        with unavailable_as_one_line(), self._engine.begin() as connection:
            done = connection.execute(change.values(at=other.at, attempts=other.attempts, outcome=other.outcome))
            return done.rowcount == 1

    def _read(self, *conditions: Any, limit: int | None = None) -> list[Delivery]:
        fields = StoredDelivery.__table__.c
        columns = (fields.target, fields.at.label("since"), fields.attempts, fields.outcome)
        query = (
            select(*columns, StoredChange.__table__)
            .join(StoredChange, StoredChange.seq == StoredDelivery.seq)
            .where(*conditions)
            .order_by(StoredDelivery.seq, StoredDelivery.target)
            .limit(limit)
        )
        with unavailable_as_one_line(), self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return [Delivery(row.target, logged(row), row.since, row.attempts, row.outcome) for row in rows]


T = TypeVar("T")
_TIMES = ("began", "ended", "last_seen", "peak_at")


@dataclass(frozen=True, slots=True)
class EpisodePage(Generic[T]):
    """Part of a result. `cursor` asks for the rest, None if that is all."""

    items: tuple[T, ...]
    cursor: str | None


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
        newer = "episodes.ended is null and episodes.last_seen <= excluded.last_seen"
        upsert(connection, table_of(StoredEpisode), typed, where=newer)

    def open(self, database: str | None = None) -> tuple[Episode, ...]:
        """Open episodes, of one database or of all, the earliest first."""
        table = StoredEpisode
        query = select(table).where(table.ended.is_(None)).order_by(table.began, table.database, table.cause)
        return self._read(query if database is None else query.where(table.database == database))

    def between(
        self, database: str | None, begin: datetime, end: datetime, cursor: str | None = None, limit: int = 100
    ) -> EpisodePage[Episode]:
        """Episodes that were open at any time in between, the newest first. Raises BadCursor."""
        table = StoredEpisode
        query = select(table).where(table.began < end, or_(table.ended.is_(None), table.ended >= begin))
        if database is not None:
            query = query.where(table.database == database)
        if cursor is not None:
            at, name, cause = split(cursor, 3)
            before = and_(
                table.began == at, or_(table.database > name, and_(table.database == name, table.cause > cause))
            )
            query = query.where(or_(table.began < at, before))
        found = self._read(query.order_by(table.began.desc(), table.database, table.cause).limit(limit + 1))
        return paged(found, limit, lambda last: (last.begin, last.database, last.cause))

    def recent(self, database: str) -> tuple[Episode, ...]:
        """As many of one database as are in memory: open ones, and the last ended ones, the newest first."""
        table = StoredEpisode
        query = select(table).where(table.database == database)
        ended = query.where(table.ended.is_not(None)).order_by(table.began.desc()).limit(KEEP)
        return (*self._read(query.where(table.ended.is_(None)).order_by(table.began.desc())), *self._read(ended))

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
        table = StoredEpisode
        these = (table.database == database, table.cause.in_(former(cause)), table.began == begin)
        with self._engine.begin() as connection:
            scored = None if prediction is None else prediction.model_dump_json()
            values = {"verdict": text, "verdict_kind": kind, "prediction": scored}
            return connection.execute(update(table).where(*these).values(**values)).rowcount > 0

    def verdict_of(self, database: str, cause: str, begin: datetime) -> str | None:
        """The recorded verdict on an episode."""
        table = StoredEpisode
        these = (table.database == database, table.cause.in_(former(cause)), table.began == begin)
        with self._engine.connect() as connection:
            return connection.scalar(select(table.verdict).where(*these))

    def _read(self, query: Any) -> tuple[Episode, ...]:
        with self._engine.connect() as connection:
            return tuple(
                _episode(row) for row in connection.execute(query.with_only_columns(*table_of(StoredEpisode).c))
            )


class Confirmations:
    """Results of confirming queries."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def write(self, connection: Connection, rows: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Store results. An existing one stays."""
        blank: dict[str, Any] = {"details": None}
        values = [blank | row | {"database": name, "at": datetime.fromtimestamp(row["at"], UTC)} for name, row in rows]
        insert_new(connection, table_of(StoredConfirmation), values)

    def live(self, now: datetime) -> dict[str, dict[str, Confirmed]]:
        """Results that are still valid, by database and cause."""
        table = StoredConfirmation
        since = now - timedelta(seconds=VALID_SECONDS)
        query = select(*table_of(table).c).where(table.at > since, table.at <= now).order_by(table.at)
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
            upsert(
                connection,
                table_of(StoredBaseline),
                [{name: getattr(row, name) for name in Baseline.__slots__} for row in rows],
            )

    def at(self, database: str, hours: Sequence[int]) -> tuple[Baseline, ...]:
        """The usual figures in some hours of the week, for every metric."""
        table = StoredBaseline
        query = select(*table_of(table).c).where(table.database == database, table.hour_of_week.in_(hours))
        with self._engine.connect() as connection:
            return tuple(Baseline(**row._mapping) for row in connection.execute(query))

    def of(self, database: str, metric: str) -> dict[int, Baseline]:
        """The usual figures of a metric, by hour of the week."""
        table = StoredBaseline
        query = select(*table_of(table).c).where(table.database == database, table.metric == metric)
        with self._engine.connect() as connection:
            return {row.hour_of_week: Baseline(**row._mapping) for row in connection.execute(query)}


def _details(text: str | None) -> dict[str, Any]:
    """Members of a result beside its number. Empty for one of an older release."""
    members = known_members(Confirmed, json.loads(text)) if text else {}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in members.items()}


def paged(found: Sequence[T], limit: int, key: Any) -> EpisodePage[T]:
    """A page of the result, from one row more than the limit."""
    if len(found) <= limit:
        return EpisodePage(tuple(found), None)
    kept = tuple(found[:limit])
    parts = [member.isoformat() if isinstance(member, datetime) else str(member) for member in key(kept[-1])]
    return EpisodePage(kept, "~".join(parts))


def split(cursor: str, parts: int) -> tuple[Any, ...]:
    """A cursor's time and the rest of it. Raises BadCursor."""
    members = cursor.split("~", parts - 1)
    return (after(cursor, members[0] if len(members) == parts else ""), *members[1:])


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
        row = {"id": mark.id, "database": database, "at": at, "text": text, "who": who}
        with self._engine.begin() as connection:
            insert_new(connection, table_of(StoredMark), [row])
        for call in self.on_mark:
            call(database)
        return mark

    def get(self, database: str, which: str) -> Mark | None:
        """The mark of this id, or the `last` one. None if the database has no such mark."""
        table = StoredMark
        query = (
            select(*table_of(table).c).where(table.database == database).order_by(table.at.desc(), table.id).limit(1)
        )
        with self._engine.connect() as connection:
            row = connection.execute(query if which == "last" else query.where(table.id == which)).first()
        return None if row is None else Mark(row.id, row.database, row.at, row.text, row.who)

    def between(
        self, database: str | None, begin: datetime, end: datetime, cursor: str | None = None, limit: int = 100
    ) -> EpisodePage[Mark]:
        """Marks of a database, or of all, the newest first. Raises BadCursor."""
        table = StoredMark
        query = select(*table_of(table).c).where(table.at >= begin, table.at < end)
        if database is not None:
            query = query.where(table.database == database)
        if cursor is not None:
            at, id = split(cursor, 2)
            query = query.where(or_(table.at < at, and_(table.at == at, table.id > id)))
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(table.at.desc(), table.id).limit(limit + 1))
            found = [Mark(row.id, row.database, row.at, row.text, row.who) for row in rows]
        return paged(found, limit, lambda last: (last.at, last.id))

    def newest(self, begin: datetime, end: datetime) -> dict[str, datetime]:
        """When each database with a mark in this span had its last one, in one query."""
        table = StoredMark
        query = select(table.database, func.max(table.at).label("at")).where(table.at >= begin, table.at < end)
        with self._engine.connect() as connection:
            return {row.database: row.at for row in connection.execute(query.group_by(table.database))}


# The timeline of each database: what changed on it, as the polls and the readings of changes found it.


class DatabaseChanges:
    """What changed on every database, without the marks."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def write(self, connection: Connection, rows: Sequence[tuple[str, Change]]) -> None:
        """Keep changes by database, within the caller's transaction. One that is there stays as it is."""
        insert_new(
            connection, table_of(StoredDatabaseChange), [{"database": name} | dict(change) for name, change in rows]
        )

    def between(
        self, database: str, begin: datetime, end: datetime, cursor: str | None = None, limit: int = 100
    ) -> EpisodePage[Change]:
        """Changes of a database, the newest first. Raises BadCursor."""
        table = StoredDatabaseChange
        query = select(*table_of(table).c).where(table.database == database, table.at >= begin, table.at < end)
        if cursor is not None:
            at, kind, words = split(cursor, 3)
            later = or_(table.kind > kind, and_(table.kind == kind, table.text > words))
            query = query.where(or_(table.at < at, and_(table.at == at, later)))
        ordered = query.order_by(table.at.desc(), table.kind, table.text).limit(limit + 1)
        with self._engine.connect() as connection:
            rows = connection.execute(ordered).mappings()
            found = [Change(**{name: row[name] for name in Change.model_fields}) for row in rows]
        return paged(found, limit, lambda last: (last.at, last.kind, last.text))

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
class EpisodeAtMark:
    """A trouble around the last mark of its database. `end` is None while it is open."""

    cause: str
    begin: datetime
    end: datetime | None
    verdict: str | None
    verdict_kind: MarkVerdict | None
    last_seen: datetime


@dataclass(frozen=True, slots=True)
class LastMark:
    """The last mark of a database, the troubles that began before it, and causes that began after it."""

    mark: Mark
    before: tuple[EpisodeAtMark, ...]
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
        table = StoredEpisode
        query = select(func.count()).where(
            table.database == database, table.cause.in_(former(cause)), table.began < begin
        )

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
        mark, episode = StoredMark, StoredEpisode
        latest = select(mark.database, func.max(mark.at).label("at")).group_by(mark.database)
        last = (latest if database is None else latest.where(mark.database == database)).subquery()
        marks = select(*table_of(mark).c).join(last, (mark.database == last.c.database) & (mark.at == last.c.at))
        of = (
            episode.database,
            episode.cause,
            episode.began,
            episode.ended,
            episode.verdict,
            episode.verdict_kind,
            episode.last_seen,
        )
        place = func.row_number().over(partition_by=episode.database, order_by=episode.began.desc()).label("place")
        begun = select(*of, place).join(last, (episode.database == last.c.database) & (episode.began <= last.c.at))
        begun_last = begun.subquery()
        before = select(begun_last).where(begun_last.c.place <= LASTING_AT_ONCE)
        after = (
            select(episode.database, episode.cause)
            .join(last, (episode.database == last.c.database) & (episode.began > last.c.at))
            .distinct()
        )
        with self._engine.connect() as connection:
            found = {
                row.database: Mark(row.id, row.database, row.at, row.text, row.who) for row in connection.execute(marks)
            }
            if not found:
                return {}
            lasting: dict[str, list[EpisodeAtMark]] = defaultdict(list)
            for row in connection.execute(before):
                kind = verdict_kind(row.verdict_kind, row.verdict)
                told = EpisodeAtMark(current(row.cause), row.began, row.ended, row.verdict, kind, row.last_seen)
                lasting[row.database].append(told)
            later: dict[str, set[str]] = defaultdict(set)
            for row in connection.execute(after):
                later[row.database].add(current(row.cause))
        return {name: LastMark(mark, tuple(lasting[name]), frozenset(later[name])) for name, mark in found.items()}

    def _minutes(self, databases: Sequence[str], since: datetime) -> Mapping[str, Mapping[int, float]]:
        found: dict[str, dict[int, float]] = {name: {} for name in databases}
        with self._engine.connect() as connection:
            for name, minute, share in connection.execute(_MINUTES, {"names": list(databases), "since": millis(since)}):
                found[name][int(minute)] = float(share)
        return found
