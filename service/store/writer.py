"""The writer: takes polls from the workers at once, and makes sure that each reaches the store, if necessary through the disk.

Memory has at most one waiting poll of each database. If a second comes before the first is written, or the store does
not answer, polls go to the spool, in order. While anything is there, new polls queue behind it. If the disk is slow
or stuck too, they wait in memory.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from threading import Condition
from time import monotonic

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from collectors.capture import load_snapshot
from collectors.model import Snapshot
from rules.model import Diagnosis
from service.background import SupervisedThread
from service.state.board import PollRecord
from service.store.disk_queue import PATIENCE, DiskQueue, QueuedRecord, Spooler
from service.store.engine import STORE_ERRORS, Probe, brief, lasting_trouble, out_of_order
from service.store.record import CompleteDiagnoses, IngestRecord, record_of
from service.store.repository import Repository

log = logging.getLogger("latchscope.store")

AT_ONCE = 100
"""Most polls per transaction."""
MOST_IN_MEMORY = 1000
"""Most polls in memory while neither the store nor the disk takes them."""
LONGEST_GATHERING, GATHERING = 1.0, 1 / 15
"""Polls wait for others this many seconds from the last transaction on, because most of the cost of a transaction is fixed.
A poll waits no longer than this share of its interval, so that it is written long before the next of its database comes."""
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
"""Seconds between attempts at a store in trouble."""
STUCK_SECONDS = 10.0
"""A transaction that has not ended after this time is a trouble."""


class Writer:
    """The keeper of the service: one thread between the workers and the store."""

    def __init__(self, store: Repository, spool: DiskQueue) -> None:
        self._store = store
        self.spool = spool
        self._queue: list[QueuedRecord] = []
        self._in_flight: list[QueuedRecord] = []
        self._awake = Condition()
        self._stopping = False
        self._complete = CompleteDiagnoses()
        self._trouble: str | None = None
        self._lasting: str | None = None
        """The trouble in words for people, if it does not pass by itself."""
        self._pause = FIRST_PAUSE
        self._gathered_until = 0.0
        """time.monotonic() until which polls wait for others."""
        self._asked_at: float | None = None
        """time.monotonic() when the store got what it has not answered yet."""
        self._probe = Probe(store.reachable)
        self.thread = SupervisedThread("store writer", self._run)
        self.spooler = Spooler(spool, self._awake, lambda: [*self._in_flight, *self._queue], self._copied)

    @property
    def threads(self) -> list[SupervisedThread]:
        """The trouble of the store, and that of the disk."""
        return [self.thread, self.spooler.thread]

    def start(self) -> None:
        self.spooler.start()
        self.thread.start()

    def catch_up(self) -> None:
        """Before the start: write what the last run left in the spool, while the store takes it."""
        while len(self.spool) and self._drain():
            pass

    def stop(self, timeout: float = 1.5) -> None:
        """Write what waits, or leave it in the spool for the next start."""
        self.thread.stop()
        with self._awake:
            self._stopping = True
            self._awake.notify_all()
        self.thread.join(timeout)
        self.secure()
        self.spooler.stop()

    def secure(self) -> None:
        """Save polls that are only in memory to disk, for the next start. A disk that is not quick never gets them."""
        with self._awake:
            self._back_to_queue(self._in_flight)
            if self._queue:
                self.spooler.ask()
            if self._queue:
                self.spool.lose(len(self._queue), "latchscope stops, and neither the store nor the disk takes them")
                self._queue = []

    def keep(self, snapshot: Snapshot, verdict: Diagnosis, poll_record: PollRecord | None = None) -> None:
        """Take a poll. Never raises, never waits for the store, and waits for a disk only if that is usually quick."""
        try:
            complete = self._complete.due(snapshot, verdict)
            record = record_of(snapshot, verdict, poll_record, complete=complete, kept=self._store.kept)
            if record is not None:
                self._take(record)
        except Exception:  # an error of ours must cost only this poll's history
            log.exception("store: a poll of %s was not kept", snapshot.database)

    def _take(self, record: IngestRecord) -> None:
        with self._awake:
            waiting = {record.database for _, record in (*self._queue, *self._in_flight)}
            self._queue.append((self.spool.next_number(), record))
            at_the_latest = monotonic() + GATHERING * record.seconds if record.seconds else self._gathered_until
            if self._stopping or len(self.spool) or record.database in waiting:
                self.spooler.ask(0 if self.spooler.slow else PATIENCE)
                if self.spooler.slow:
                    self._bound_memory()
            if len(self._queue) == 1 or len(self._queue) >= AT_ONCE or at_the_latest < self._gathered_until:
                self._gathered_until = min(self._gathered_until, at_the_latest)
                self._awake.notify_all()  # nobody waits for any other poll

    def last_snapshot(self, database: str) -> Snapshot | None:
        """The last stored poll of a database, from the spool or the store. None if neither knows."""
        waiting = self.spool.newest(database)
        if waiting is not None:
            return load_snapshot(waiting.snapshot, database, f"spool, {database}")
        try:
            return self._store.last_snapshot(database)
        except STORE_ERRORS as error:
            log.warning("store: the last poll of %s cannot be read: %s", database, brief(error))
            return None

    @property
    def waiting(self) -> int:
        """How many polls wait in memory."""
        return len(self._queue) + len(self._in_flight)

    def takes_polls(self) -> bool:
        """Whether the store took the last poll, and answers. It may wait two seconds for a store that hangs."""
        asked_at = self._asked_at
        stuck = asked_at is not None and monotonic() - asked_at > STUCK_SECONDS
        return not stuck and self._trouble is None and self._probe.answers()

    def trouble(self) -> str | None:
        """The store's trouble, in one line. None while all is well."""
        disk = self.spool.trouble
        if not self.takes_polls():
            why = self._lasting or self._store.lasting or "the store does not answer"
            waiting = f"{why}; {len(self.spool)} polls wait in the spool"
            return f"{waiting}, {len(self._queue)} in memory; {disk}" if disk else waiting
        return disk

    def _copied(self, on_disk: set[int], all_of_them: bool) -> None:
        """Forget what is on disk. What the disk does not take stays in memory."""
        self._queue = [each for each in self._queue if each[0] not in on_disk]
        if not all_of_them:
            self._bound_memory()

    def _bound_memory(self) -> None:
        if (over := len(self._queue) - MOST_IN_MEMORY) > 0:
            self._queue = self._queue[over:]
            self.spool.lose(over, "neither the store nor the disk takes them, and memory is full")

    def _back_to_queue(self, records: Sequence[QueuedRecord]) -> None:
        """Put polls in flight back before all others."""
        self._queue, self._in_flight = [*records, *self._queue], []

    def _run(self) -> None:
        with self._awake:
            self._back_to_queue(self._in_flight)  # from a run that died
        while not self._stopping:
            if len(self.spool):
                if not self._drain():
                    self._wait(self._pause)
                continue
            with self._awake:
                if not self._queue and not self._stopping:
                    self._awake.wait(1.0)
                self._gather()
                if len(self.spool):
                    continue  # polls went to the disk meanwhile, and are older than those in memory
                self._in_flight, self._queue = self._queue[:AT_ONCE], self._queue[AT_ONCE:]
            self._gathered_until = monotonic() + LONGEST_GATHERING
            if not self._write_in_flight():
                self._wait(self._pause)
        with self._awake:
            self._in_flight, self._queue = self._queue, []
        self._write_in_flight()

    def _gather(self) -> None:
        """Let polls wait for others to share their transaction."""
        while not self._stopping and len(self._queue) < AT_ONCE and (rest := self._gathered_until - monotonic()) > 0:
            self._awake.wait(rest)

    def _wait(self, seconds: float) -> None:
        with self._awake:
            if not self._stopping:
                self._awake.wait_for(lambda: self._stopping, seconds)

    def _write_in_flight(self) -> bool:
        """Write polls from the queue. Polls that the store does not take go to the spool, and the result is False."""
        flight = self._in_flight
        settled = self._settled([record for _, record in flight], lambda place: self.spool.refuse(*flight[place]))
        with self._awake:
            self._back_to_queue(flight[settled:])
            if settled < len(flight):
                self.spooler.ask(0)
            return settled == len(flight)

    def _drain(self) -> bool:
        """Write the oldest polls of the spool. False while the store takes none."""
        waiting = self.spool.oldest(AT_ONCE)
        names = [name for name, _ in waiting]
        settled = self._settled(
            [record for _, record in waiting], lambda place: self.spool.set_aside(names[place], "the store refuses it")
        )
        self.spool.done(names[:settled])
        return settled == len(waiting)

    def _settled(self, records: Sequence[IngestRecord], refuse: Callable[[int], None]) -> int:
        """How many from the first on are done: the store took them, or refuses them for good."""
        if not records or self._written(records):
            return len(records)
        if self._trouble is not None:
            return 0
        for place, record in enumerate(records):
            if self._written([record]):
                continue
            if self._trouble is not None:
                return place
            refuse(place)
        return len(records)

    def _written(self, records: Sequence[IngestRecord]) -> bool:
        """Whether the store took these polls. A refusal of the polls themselves is logged, and is not a trouble of the store."""
        self._asked_at = monotonic()
        try:
            self._store.write(records)
        except Exception as error:  # noqa: BLE001  a bug of ours must not end the writer
            if out_of_order(error):
                self._lasting = lasting_trouble(error)
                self._in_trouble(self._lasting or brief(error))
            else:
                self._answers()
                log.error("store: %d polls are refused: %s", len(records), brief(error))
            return False
        finally:
            self._asked_at = None
        self._answers()
        return True

    def _answers(self) -> None:
        if self._trouble is not None:
            log.warning("store: it answers again; %d polls wait in the spool", len(self.spool))
        self._trouble, self._lasting, self._pause = None, None, FIRST_PAUSE

    def _in_trouble(self, why: str) -> None:
        if self._trouble is None:
            log.error("store: polls go to the spool %s: %s", self.spool.directory, why)
        self._trouble, self._pause = why, min(2 * self._pause, LONGEST_PAUSE)


class StoreMetrics(Collector):
    """The state of the store and of what waits for it, for /metrics."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def collect(self) -> Iterator[Metric]:
        """Whether the store takes polls; waiting polls, their size, and polls lost."""
        writer, spool = self._writer, self._writer.spool
        for name, what, value in (
            ("latchscope_store_up", "1 while the store takes polls.", writer.takes_polls()),
            ("latchscope_memory_polls", "Polls that wait in memory for the store or its disk.", writer.waiting),
            ("latchscope_spool_polls", "Polls that wait on disk for the store.", len(spool)),
            ("latchscope_spool_bytes", "Size of the polls that wait on disk.", spool.size),
        ):
            yield GaugeMetricFamily(name, what, value=float(value))
        lost = CounterMetricFamily("latchscope_spool_lost_polls", "Polls dropped by a full or unwritable spool.")
        lost.add_metric([], float(spool.lost))
        yield lost
