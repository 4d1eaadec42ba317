"""Deletes expired rows: whole partitions on PostgreSQL, slices everywhere else, so that nothing blocks for long."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine, and_, delete, select, tuple_
from sqlalchemy.orm import DeclarativeBase

from service.config.settings import HistorySettings
from service.store.figures.rows import ROLLED
from service.store.ingest.bulk import table_of
from service.store.ingest.partitions import Partitions
from service.store.schema.episode_tables import StoredConfirmation, StoredEpisode, StoredMark
from service.store.schema.history_tables import (
    FiveMinuteFigures,
    HourlyFigures,
    StoredBucket,
    StoredFigures,
    StoredFrame,
    StoredPoll,
)
from service.store.schema.old_tables import OldDelta, OldFiveMinutes, OldHours
from service.store.schema.poll_tables import StoredDiagnosis, StoredSnapshot
from service.store.upkeep.rollup import FIVE_MINUTES, HOUR

SLICE = 2000
HOUR_ROW, DAY_ROW = (timedelta(milliseconds=ROLLED[tier].row) for tier in ("5m", "1h"))
"""A row of roll-ups goes when its last bucket is over."""
OLD_DAYS = {"old_deltas": 1, "old_five_minutes": 7, "old_hours": 28}
"""The days per partition of the tables of an older release."""


def prune(engine: Engine, partitions: Partitions, kept_for: HistorySettings, now: datetime) -> dict[str, int]:
    """Delete what is older than its tier keeps. Returns what was deleted, by table: rows, and partitions as rows of one."""
    done: dict[str, int] = {}
    for table, key, old, before in _tiers(kept_for, now):
        name = table.__tablename__
        if before is not None and engine.dialect.name == "postgresql":
            count = partitions.drop_before(name, before, OLD_DAYS.get(name))
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
        (OldDelta, OldDelta.at < raw, raw),
        (OldFiveMinutes, OldFiveMinutes.at < fine, fine),
        (OldHours, OldHours.at < coarse, coarse),
        (bucket, and_(bucket.width == FIVE_MINUTES, bucket.at < fine), None),
        (bucket, and_(bucket.width == HOUR, bucket.at < coarse), None),
        (StoredFrame, StoredFrame.day < first_day, None),
        (episode, over, None),
        (StoredMark, StoredMark.at < long_ago, None),
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
