"""Upkeep: hours from polls, fewer snapshots as they grow old, and retention."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from time import thread_time
from typing import Any

from sqlalchemy import Connection, Engine, Table, and_, delete, func, literal, select, tuple_, union

from service.config.settings import HistorySettings
from service.store.polls import together
from service.store.rows import Partitions, batched, insert_into
from service.store.tables import (
    CONFIRMATIONS,
    DATABASE_CHANGES,
    DATABASES,
    DIAGNOSES,
    EPISODES,
    FIGURES,
    FRAMES,
    HOURS,
    MARKS,
    POLLS,
    SNAPSHOTS,
    millis,
)

HOUR, FIVE_MINUTES = 3_600_000, 300_000
"""Milliseconds."""
SILENT_FOR = 600_000
"""Milliseconds after which an hour of a silent database is closed."""
LOOK_BACK = 48 * HOUR
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
        self._due: set[tuple[int, int]] | None = None
        """Databases and hours that got polls since they were summed. None before the first round."""
        self._thinned: dict[str, datetime] = {}

    @property
    def every_snapshot(self) -> bool:
        """Whether each poll keeps its snapshot: they are to be kept for longer than latchscope does by itself."""
        return self._kept_for.snapshots > HistorySettings().snapshots

    def changed(self, polls: Iterable[tuple[int, datetime]]) -> None:
        """These polls, by database and time, are new: their hours are summed again."""
        if self._due is not None:
            self._due |= {(database, at - at % HOUR) for database, moment in polls for at in (millis(moment),)}

    def sum_hours(self, now: datetime, rest: Rest = lambda spent: False) -> int:
        """Sum each hour that is over and got polls. Returns how many. One that had more polls stays: they are gone since."""
        if self._due is None:
            self._due = set(self._unsummed())
        done = 0
        # A silent database may still send what waits on its replica's disk, so an hour is given some minutes.
        for database, hour in sorted(each for each in self._due if each[1] + HOUR + SILENT_FOR <= millis(now)):
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

    def _unsummed(self) -> Iterator[tuple[int, int]]:
        """The hours of the last days of each database that have more polls than their sum says."""
        hour = POLLS.c.at - POLLS.c.at % literal(HOUR, POLLS.c.at.type)
        with self._engine.connect() as connection:
            for database in connection.scalars(select(DATABASES.c.id)).all():
                mine = POLLS.c.database_id == database
                newest = connection.scalar(select(func.max(POLLS.c.at)).where(mine)) or 0
                kept = select(HOURS.c.at, HOURS.c.polls).where(HOURS.c.database_id == database)
                summed = dict(connection.execute(kept).all())
                since = newest - LOOK_BACK
                counted = select(hour, func.count()).where(mine, POLLS.c.at >= since - since % HOUR).group_by(hour)
                yield from (
                    (database, at) for at, polls in connection.execute(counted).all() if polls > summed.get(at, 0)
                )

    def thin(self, now: datetime, rest: Rest = lambda spent: False) -> int:
        """Leave of old snapshots the last of each five minutes, of older ones the last of each hour. Returns how many went."""
        gone = 0
        with self._engine.connect() as connection:
            names = connection.scalars(select(DATABASES.c.name).order_by(DATABASES.c.name)).all()
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
        at, kept = SNAPSHOTS.c.taken_at, self._kept_for
        mine = SNAPSHOTS.c.database == database
        old = select(at).where(mine, at < now - timedelta(seconds=kept.snapshots)).order_by(at)
        with self._engine.connect() as connection:
            times = connection.scalars(old).all()
            sides = _sides(connection, database)
        doomed = _doomed(times, now - timedelta(seconds=max(kept.five_minutes, kept.snapshots)), sides)
        for some in batched(doomed, SLICE):
            with self._engine.begin() as connection:
                connection.execute(delete(SNAPSHOTS).where(mine, at.in_(some)))
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

        kept = self._kept_for
        whole = ago(kept.hourly, kept.snapshots)
        yield SNAPSHOTS, SNAPSHOTS.c.taken_at < whole
        # The snapshots of a day need its frame, so the frame is deleted after them.
        yield FRAMES, FRAMES.c.day < whole.astimezone(UTC).date().isoformat()
        yield DIAGNOSES, DIAGNOSES.c.taken_at < ago(kept.diagnoses)
        yield POLLS, POLLS.c.at < millis(ago(kept.polls))
        yield HOURS, HOURS.c.at < millis(ago(kept.hourly))
        yield EPISODES, and_(EPISODES.c.ended.is_not(None), EPISODES.c.ended < ago(kept.episodes))
        for each in (MARKS, DATABASE_CHANGES, CONFIRMATIONS):
            yield each, each.c.at < ago(kept.episodes)

    def _sliced(self, table: Table, old: Any) -> int:
        key, count = list(table.primary_key), 0
        while True:
            with self._engine.begin() as connection:
                some = select(*key).where(old).limit(SLICE)
                gone = connection.execute(delete(table).where(tuple_(*key).in_(some))).rowcount
            count += gone
            if gone < SLICE:
                return count


def sum_hour(connection: Connection, database: int, hour: int) -> None:
    """Sum the polls of an hour, by its begin in milliseconds, into its row, unless that has more of them."""
    inside = (POLLS.c.database_id == database, POLLS.c.at >= hour, POLLS.c.at < hour + HOUR)
    slept, most = POLLS.c.hot_child, func.sum(POLLS.c.hot_child_sleeps)
    hottest = select(slept).where(*inside, slept.is_not(None)).group_by(slept).order_by(most.desc(), slept).limit(1)
    values = {
        "database_id": literal(database),
        "at": literal(hour, HOURS.c.at.type),
        "polls": func.count(),
        "seconds": func.coalesce(func.sum(POLLS.c.seconds), 0.0),
        **{name: together(name) for name in FIGURES},
        **{f"{name}_most": together(name, most=True) for name in FIGURES},
        "hot_child": hottest.scalar_subquery(),
    }
    summed = select(*values.values()).where(*inside).having(func.count() > 0)
    wanted = insert_into(connection.dialect.name, HOURS).from_select(list(values), summed)
    keys = list(HOURS.primary_key)
    changed = {name: wanted.excluded[name] for name in values if name not in HOURS.primary_key.columns}
    newer = HOURS.c.polls <= wanted.excluded.polls
    connection.execute(wanted.on_conflict_do_update(index_elements=keys, set_=changed, where=newer))


def _sides(connection: Connection, database: str) -> list[datetime]:
    """Marks, begins and ends of episodes, and restarts: the snapshots on both sides of each stay."""
    changes = select(DATABASE_CHANGES.c.at).where(
        DATABASE_CHANGES.c.database == database, DATABASE_CHANGES.c.kind.in_(SIDES)
    )
    of_episodes = (EPISODES.c.began, EPISODES.c.ended, EPISODES.c.last_seen)
    every = [select(each).where(EPISODES.c.database == database, each.is_not(None)) for each in of_episodes]
    return sorted(
        connection.scalars(union(select(MARKS.c.at).where(MARKS.c.database == database), changes, *every)).all()
    )


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
    steps = ((at, millis(at) // (HOUR if at < hourly else FIVE_MINUTES)) for at in times)
    return [at for (at, step), (_, following) in pairwise(steps) if step == following and at not in kept]
