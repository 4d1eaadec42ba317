"""Upkeep: hours from polls, fewer snapshots as they grow old, and retention."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from time import thread_time
from typing import Any

from sqlalchemy import BigInteger, Connection, Engine, Table, and_, delete, func, literal, select, tuple_, type_coerce
from sqlalchemy.dialects import postgresql, sqlite

from service.config.settings import HistorySettings
from service.store.polls import together
from service.store.rows import Partitions, batched, table_of
from service.store.tables import (
    HOURS,
    MEANS,
    POLLS,
    SUMS,
    StoredConfirmation,
    StoredDatabase,
    StoredDatabaseChange,
    StoredDiagnosis,
    StoredEpisode,
    StoredFrame,
    StoredMark,
    StoredSnapshot,
    moment,
)

HOUR = timedelta(hours=1)
FIVE_MINUTES = timedelta(minutes=5)
SILENT_FOR = timedelta(minutes=10)
"""An hour of a silent database is closed this long after its end."""
LOOK_BACK = timedelta(days=2)
"""After a start the hours of so many days are compared with their polls, because a crash forgets which were to be summed."""
THIN_EVERY = timedelta(hours=1)
SLICE = 2000
SIDES = ("instance_start", "patch")
"""Changes of a database whose both sides keep their snapshots."""
Rest = Callable[[float], bool]
"""Called after each part with the processor seconds that it took; says whether to end early."""


class Upkeep:
    """Keeps the tables of one store in order."""

    def __init__(self, engine: Engine, partitions: Partitions, kept_for: HistorySettings) -> None:
        self._engine, self._partitions, self._kept_for = engine, partitions, kept_for
        self._due: set[tuple[int, datetime]] | None = None
        """Databases and hours that got polls since they were summed. None before the first round."""
        self._thinned: dict[str, datetime] = {}

    @property
    def every_snapshot(self) -> bool:
        """Whether each poll keeps its snapshot: they are to be kept for longer than latchscope does by itself."""
        return self._kept_for.snapshots > HistorySettings().snapshots

    def changed(self, polls: Iterable[tuple[int, datetime]]) -> None:
        """These polls, by database and time, are new: their hours are summed again."""
        hours = {(database, hour_of(at)) for database, at in polls}
        if self._due is not None:
            self._due |= hours

    def sum_hours(self, now: datetime, rest: Rest = lambda spent: False) -> int:
        """Sum each hour that is over and got polls. Returns how many. One that had more polls stays: they are gone since."""
        if self._due is None:
            self._due = set(self._unsummed())
        done = 0
        # A silent database may still send what waits on its replica's disk, so an hour is given some minutes.
        for database, hour in sorted(each for each in self._due if each[1] + HOUR + SILENT_FOR <= now):
            began = thread_time()
            self._due.discard((database, hour))
            try:
                with self._engine.begin() as connection:
                    sum_hour(connection, database, hour)
            except BaseException:
                self._due.add((database, hour))
                raise
            done += 1
            if rest(thread_time() - began):
                break
        return done

    def _unsummed(self) -> Iterator[tuple[int, datetime]]:
        """The hours of the last days of each database that have more polls than their sum says."""
        at = type_coerce(POLLS.c.at, BigInteger)
        hour = at - at % literal(3_600_000, BigInteger)
        with self._engine.connect() as connection:
            for database in connection.scalars(select(StoredDatabase.id)).all():
                mine = POLLS.c.database_id == database
                newest = connection.scalar(select(func.max(POLLS.c.at)).where(mine))
                if newest is not None:
                    kept = select(HOURS.c.at, HOURS.c.polls).where(HOURS.c.database_id == database)
                    summed = dict(connection.execute(kept).all())
                    counted = select(hour, func.count()).where(mine, POLLS.c.at >= hour_of(newest - LOOK_BACK))
                    for begin, polls in connection.execute(counted.group_by(hour)).all():
                        if polls > summed.get(moment(begin), 0):
                            yield database, moment(begin)

    def thin(self, now: datetime, rest: Rest = lambda spent: False) -> int:
        """Leave of old snapshots the last of each five minutes, of older ones the last of each hour. Returns how many went."""
        gone = 0
        with self._engine.connect() as connection:
            names = list(connection.scalars(select(StoredDatabase.name).order_by(StoredDatabase.name)))
        for name in names:
            if now - self._thinned.get(name, now - THIN_EVERY) < THIN_EVERY:
                continue
            began = thread_time()
            self._thinned[name] = now
            gone += self._thin(name, now)
            if rest(thread_time() - began):
                break
        return gone

    def _thin(self, database: str, now: datetime) -> int:
        table, kept = StoredSnapshot, self._kept_for
        ages = [timedelta(seconds=each) for each in (kept.snapshots, max(kept.five_minutes, kept.snapshots))]
        old = select(table.taken_at).where(table.database == database, table.taken_at < now - ages[0])
        with self._engine.connect() as connection:
            times = list(connection.scalars(old.order_by(table.taken_at)))
            sides = _sides(connection, database)
        doomed = _doomed(times, now - ages[1], sides)
        for some in batched(doomed, SLICE):
            with self._engine.begin() as connection:
                connection.execute(delete(table).where(table.database == database, table.taken_at.in_(some)))
        return len(doomed)

    def prune(self, now: datetime, rest: Rest = lambda spent: False) -> dict[str, int]:
        """Delete what is too old: whole partitions on PostgreSQL, slices everywhere else, so that nothing blocks for long.

        Returns what was deleted, by table: rows, and partitions as rows of one.
        """
        done = {"snapshots": self.thin(now, rest)}
        for table, old in self._tiers(now):
            if table is POLLS and self._engine.dialect.name == "postgresql":
                count = self._partitions.drop_before(now - timedelta(seconds=self._kept_for.polls))
            else:
                count = self._sliced(table, old)
            done[table.name] = done.get(table.name, 0) + count
        return done

    def _tiers(self, now: datetime) -> Iterator[tuple[Table, Any]]:
        """Each table, and what of it is old."""

        def ago(*seconds: float) -> datetime:
            return now - timedelta(seconds=max(seconds))

        kept, episode = self._kept_for, StoredEpisode
        whole = ago(kept.hourly, kept.snapshots)
        yield table_of(StoredSnapshot), StoredSnapshot.taken_at < whole
        # The snapshots of a day need its frame, so the frame is deleted after them.
        yield table_of(StoredFrame), StoredFrame.day < whole.astimezone(UTC).date().isoformat()
        yield table_of(StoredDiagnosis), StoredDiagnosis.taken_at < ago(kept.diagnoses)
        yield POLLS, POLLS.c.at < ago(kept.polls)
        yield HOURS, HOURS.c.at < ago(kept.hourly)
        yield table_of(episode), and_(episode.ended.is_not(None), episode.ended < ago(kept.episodes))
        for each in (StoredMark, StoredDatabaseChange, StoredConfirmation):
            yield table_of(each), table_of(each).c.at < ago(kept.episodes)

    def _sliced(self, table: Table, old: Any) -> int:
        key, count = list(table.primary_key), 0
        while True:
            with self._engine.begin() as connection:
                some = select(*key).where(old).limit(SLICE)
                gone = connection.execute(delete(table).where(tuple_(*key).in_(some))).rowcount
            count += gone
            if gone < SLICE:
                return count


def hour_of(at: datetime) -> datetime:
    """The begin of its hour, UTC."""
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def sum_hour(connection: Connection, database: int, hour: datetime) -> None:
    """Sum the polls of an hour into its row, unless that has more of them."""
    inside = (POLLS.c.database_id == database, POLLS.c.at >= hour, POLLS.c.at < hour + HOUR)
    slept, most = POLLS.c.hot_child, func.sum(POLLS.c.hot_child_sleeps)
    hottest = select(slept).where(*inside, slept.is_not(None)).group_by(slept).order_by(most.desc(), slept).limit(1)
    figures = {name: together(name) for name in (*MEANS, *SUMS)} | {"hot_child": hottest.scalar_subquery()}
    figures |= {f"{name}_most": together(name, most=True) for name in (*MEANS, *SUMS)}
    known = {
        "database_id": literal(database),
        "at": literal(hour, HOURS.c.at.type),
        "polls": func.count(),
        "seconds": func.coalesce(func.sum(POLLS.c.seconds), 0.0),
    }
    values = known | figures
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    insert: Any = dialect.insert(HOURS).from_select(
        list(values), select(*values.values()).where(*inside).having(func.count() > 0)
    )
    changed = {name: insert.excluded[name] for name in values if name not in ("database_id", "at")}
    keys = ["database_id", "at"]
    connection.execute(
        insert.on_conflict_do_update(index_elements=keys, set_=changed, where=HOURS.c.polls <= insert.excluded.polls)
    )


def _sides(connection: Connection, database: str) -> list[datetime]:
    """Marks, begins and ends of episodes, and restarts: the snapshots on both sides of each stay."""
    episode, change, mark = StoredEpisode, StoredDatabaseChange, StoredMark
    found: set[datetime] = set(connection.scalars(select(mark.at).where(mark.database == database)))
    found.update(connection.scalars(select(change.at).where(change.database == database, change.kind.in_(SIDES))))
    for row in connection.execute(
        select(episode.began, episode.ended, episode.last_seen).where(episode.database == database)
    ):
        found.update(at for at in row if at is not None)
    return sorted(found)


def _doomed(times: Sequence[datetime], hourly: datetime, sides: Sequence[datetime]) -> list[datetime]:
    """Those of old snapshots that are neither the last of their five minutes, or before `hourly` of their hour, nor beside one
    of the `sides`."""
    # What a comparison at a mark or an episode needs lies beside it, however old both are.
    kept = set[datetime]()
    for at in sides:
        place = bisect_left(times, at)
        kept.update(times[max(place - 1, 0) : place + 1])
        if place < len(times) and times[place] == at:
            kept.update(times[place : place + 2])
    numbers = [at.timestamp() // (HOUR if at < hourly else FIVE_MINUTES).total_seconds() for at in times]
    steps = zip(times, numbers, strict=True)
    return [at for (at, step), (_, following) in pairwise(steps) if step == following and at not in kept]
