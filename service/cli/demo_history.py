"""The history behind the demo: polls of its scripted databases, one a minute, played into its own store at the start."""

import gc
import multiprocessing
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.model import Snapshot
from collectors.poll import Grouping
from rules.cause import catalogue
from rules.model import Diagnosis
from service.config.settings import DatabaseSettings, Settings
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


def play(settings: Settings, began: datetime, minutes: int = 60, processes: int = 1) -> Episode | None:
    """Poll the scripted databases once a minute of the time before their loops `began`, and once now; store polls and marks.

    Every poll takes the service's own path, on state that is then thrown away: the service goes on from the store, as after a
    restart. Returns the worst of the episodes that ended before `began`. Raises StoreError.
    """
    since = began - minutes * EVERY
    store = Repository(settings.store, settings.history)
    try:
        records = sorted(_polled(settings.databases, since, began, processes), key=lambda record: record.at)
        for first in range(0, len(records), AT_ONCE):
            store.write(records[first : first + AT_ONCE])
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


def _polled(
    databases: Sequence[DatabaseSettings], since: datetime, began: datetime, processes: int
) -> list[IngestRecord]:
    """The polls of all databases. They keep a core busy for seconds and need nothing of each other, so processes share them."""
    poll = partial(_polls_of, since=since, began=began)
    if processes == 1:
        return [record for database in databases for record in poll(database)]
    catalogue()  # read once, not in each process
    fork = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
    with fork.Pool(min(processes, len(databases)), _begin_process) as pool:
        return [record for records in pool.map(poll, databases, chunksize=1) for record in records]


def _begin_process() -> None:
    """Signals are for the parent, which ends us. There is little garbage, and it goes when we end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.disable()


def _polls_of(database: DatabaseSettings, since: datetime, began: datetime) -> list[IngestRecord]:
    """The polls of one database. The last is made now, so that the first poll of the service is a short while after it."""
    watched, kept = MonitoredDatabase(database, EVERY.total_seconds()), _Kept()
    now = 0.0
    connection = ScriptedDatabase(scenarios()[database.scripted or ""], began, lambda: now)
    grouping = Grouping(watched.name)
    at = since
    while at < began:
        now = (at - began).total_seconds()
        run_poll(watched, connection, kept, grouping=grouping, rendered=False)
        at += EVERY
    now = (datetime.now(UTC) - began).total_seconds()
    run_poll(watched, connection, kept, grouping=grouping, rendered=False)
    return kept.records
