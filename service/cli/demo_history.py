"""The history behind the demo: polls of its scripted databases, one a minute, played into its own store at the start."""

from datetime import UTC, datetime, timedelta

from collectors.groups.grouping import Grouping
from collectors.model import Snapshot
from collectors.scenarios import scenarios
from collectors.simulator.database import ScriptedDatabase
from rules.model import Diagnosis
from service.config.settings import Settings
from service.history.demo_marks import WHO
from service.history.verifier import Verifier
from service.state.board import MonitoredDatabase, PollRecord
from service.state.episodes import Episode
from service.store.ingest.record import IngestRecord, record_of
from service.store.repository import Repository
from service.store.writer import AT_ONCE
from service.watch.pipeline import run_poll

EVERY = timedelta(minutes=1)


class _Kept:
    """The keeper of the played polls: a list, because a transaction for each would take most of the time."""

    def __init__(self) -> None:
        self.records: list[IngestRecord] = []

    def keep(self, snapshot: Snapshot, diagnosis: Diagnosis, poll_record: PollRecord | None = None) -> None:
        """Keep one poll in memory."""
        record = record_of(snapshot, diagnosis, poll_record)
        if record is not None:
            self.records.append(record)


def play(settings: Settings, began: datetime, minutes: int = 60) -> Episode | None:
    """Poll the scripted databases once a minute of the time before their loops `began`, and once now; store polls and marks.

    Every poll takes the service's own path, on state that is then thrown away: the service goes on from the store, as after a
    restart. Returns the worst of the episodes that ended before `began`. Raises StoreError.
    """
    since = began - minutes * EVERY
    store = Repository(settings.store, settings.history)
    try:
        kept = _Kept()
        for database in settings.databases:
            _poll(MonitoredDatabase(database, EVERY.total_seconds()), since, began, kept)
        kept.records.sort(key=lambda record: record.at)
        for first in range(0, len(kept.records), AT_ONCE):
            store.write(kept.records[first : first + AT_ONCE])
        for database in settings.databases:
            for seconds, text in scenarios()[database.scripted or ""].past_marks:
                at = began - timedelta(seconds=seconds)
                if at > since:
                    store.marks.add(database.name, at, text, WHO)
        Verifier(store).do(began)
        found = store.episodes.between(None, since, began).items
        ended = (episode for episode in found if episode.end is not None)
        return max(ended, key=lambda episode: episode.peak_severity.rank, default=None)
    finally:
        store.close()


def _poll(watched: MonitoredDatabase, since: datetime, began: datetime, kept: _Kept) -> None:
    """The polls of one database. The last is made now, so that the first poll of the service is a short while after it."""
    now = [0.0]
    connection = ScriptedDatabase(scenarios()[watched.settings.scripted or ""], began, lambda: now[0])
    grouping = Grouping(watched.name)
    at = since
    while at < began:
        now[0] = (at - began).total_seconds()
        run_poll(watched, connection, kept, grouping=grouping)
        at += EVERY
    now[0] = (datetime.now(UTC) - began).total_seconds()
    run_poll(watched, connection, kept, grouping=grouping)
