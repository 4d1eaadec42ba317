"""What the store needs done in the background: roll-ups, retention, and on PostgreSQL the partitions of tomorrow."""

import logging
import time
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

from service.store.repository import Repository
from service.store.schema.engine import brief
from service.store.upkeep.rollup import roll_up

log = logging.getLogger("latchscope.store")

EVERY_SECONDS = 20.0
PRUNE_SECONDS = 600.0


class Chores:
    """One thread that keeps a store in order. `do` is one round; a test may call it in its own time."""

    def __init__(self, store: Repository) -> None:
        self._store = store
        self._stopping = Event()
        self._pruned = float("-inf")
        self._last_error: str | None = None
        self._thread = Thread(target=self._run, name="store chores", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """End after the step at hand."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def do(self, now: datetime) -> None:
        """One round: roll up what is due, then delete what is over; never the other way round. Raises what the store does."""
        store = self._store
        store.partitions.ahead(now)
        while roll_up(store.engine, store.partitions, now, now - timedelta(seconds=store.kept_for.polls)):
            if self._stopping.is_set():
                return
        if time.monotonic() - self._pruned >= PRUNE_SECONDS:
            store.prune(now)
            self._pruned = time.monotonic()

    def _run(self) -> None:
        while not self._stopping.wait(EVERY_SECONDS):
            try:
                self.do(datetime.now(UTC))
                self._last_error = None
            except Exception as error:  # noqa: BLE001  the store may be down; the next round tries again
                if (said := brief(error)) != self._last_error:
                    log.warning("store: roll-ups and retention wait: %s", said)
                self._last_error = said
