"""Episodes, confirmations and usual figures: every query of these tables."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

import numpy as np
from sqlalchemy import Connection, Engine, and_, or_, select, update

from rules.cause import catalogue
from rules.model import Severity
from rules.remedy import PredictionScore
from service.state.confirmations import VALID_SECONDS, Confirmed
from service.state.episodes import KEEP, Episode, MarkVerdict
from service.store.ingest.bulk import insert_new, table_of, upsert
from service.store.queries.aliases import current, former
from service.store.queries.history import BadCursor, History
from service.store.queries.kinds import verdict_kind
from service.store.queries.series import SeriesSelector
from service.store.queries.spans import moments
from service.store.queries.stored_json import known_members, read
from service.store.schema.episode_tables import StoredBaseline, StoredConfirmation, StoredEpisode

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
    """Usual figures by hour of the week, and the samples to compute them."""

    def __init__(self, engine: Engine, history: History) -> None:
        self._engine = engine
        self._history = history

    def samples(
        self,
        database: str,
        metric: str,
        since: datetime,
        until: datetime,
        match: Mapping[str, object] | None = None,
    ) -> tuple[tuple[datetime, float], ...]:
        """A metric, as "view.column" summed over its rows, by the hour: its rate per second. Hours unknown are left out."""
        view, _, column = metric.rpartition(".")
        wanted = [SeriesSelector(view, column, match or {})]
        points = self._history.points(database, wanted, since, until, "1h", limit=100_000)
        known = ~np.isnan(points.covered(view, "{}", column))
        rates = [np.nan_to_num(points.rates(series)) for series in points.series]
        sums = np.sum(rates, axis=0) if rates else np.zeros(len(known))
        return tuple(zip(moments(points.spans.times[known]), sums[known].tolist(), strict=True))

    def put(self, rows: Sequence[Baseline]) -> None:
        """Replace the usual figures."""
        with self._engine.begin() as connection:
            upsert(connection, table_of(StoredBaseline), [_members(row, Baseline) for row in rows])

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
    try:
        at = datetime.fromisoformat(members[0])
    except ValueError:
        at = None
    if at is None or at.tzinfo is None or len(members) != parts:
        raise BadCursor(f"{cursor!r} is not a cursor; use the one from the last answer")
    return (at, *members[1:])


def _members(row: Any, kind: type) -> dict[str, Any]:
    return {name: getattr(row, name) for name in kind.__slots__}  # type: ignore[attr-defined]


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
