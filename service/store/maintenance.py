"""The store's background work: roll-ups, retention, tomorrow's partitions, rows of an older release."""

import time
from datetime import datetime, timedelta
from threading import Event

from service.store.repository import Repository
from service.store.upkeep.conversion import convert_slice
from service.store.upkeep.rollup import roll_up

EVERY_SECONDS = 20.0
PRUNE_SECONDS = 600.0
CONVERT_SECONDS = 5.0
REST = 2.0
"""Seconds of rest per second of processor time of a bucket. All buckets of a fleet close at one moment, and polls go on."""


class Maintenance:
    """Keeps a store in order; `do` is a round of the job that calls it."""

    def __init__(self, store: Repository, stopping: Event | None = None) -> None:
        """`stopping`: set when a long round should end early."""
        self._store = store
        self._stopping = stopping or Event()
        self._pruned = float("-inf")

    def do(self, now: datetime) -> None:
        """One round: roll up what is due, then delete what is over; never the other way round. Raises what the store does."""
        store = self._store
        store.partitions.ahead(now)
        raw_since = now - timedelta(seconds=store.kept_for.polls)
        while roll_up(store.engine, store.partitions, store.names, now, raw_since, rest=self._rest):
            if self._stopping.is_set():
                return
        if time.monotonic() - self._pruned >= PRUNE_SECONDS:
            store.prune(now)
            self._pruned = time.monotonic()
        self.convert()

    def _rest(self, spent: float) -> bool:
        """Leave the processor to the polls for a while. Returns whether the round should end."""
        return self._stopping.wait(REST * spent)

    def convert(self) -> None:
        """Move some rows of an older release, for a part of the round. The polls have the store in between."""
        store, until = self._store, time.monotonic() + CONVERT_SECONDS
        while (began := time.monotonic()) < until:
            if not convert_slice(store.engine, store.partitions, store.names):
                return
            if self._stopping.wait(max(0.05, time.monotonic() - began)):
                return
