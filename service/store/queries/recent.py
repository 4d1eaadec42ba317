"""Store queries for rows of the fleet, for all databases at once: the last marks, the last hour, earlier episodes."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from sqlalchemy import Engine, bindparam, func, select, text
from sqlalchemy.exc import SQLAlchemyError

from service.state.episodes import MarkVerdict
from service.store.ingest.bulk import table_of
from service.store.probe import Probe
from service.store.queries.aliases import current, former
from service.store.queries.kinds import verdict_kind
from service.store.queries.marks import Mark
from service.store.schema.episode_tables import StoredEpisode, StoredMark
from service.store.schema.history_tables import millis

T = TypeVar("T")
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
