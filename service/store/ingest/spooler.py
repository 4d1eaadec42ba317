"""Writes waiting polls from memory to disk, in its own thread: a slow or stuck disk delays only this thread."""

from collections.abc import Callable, Sequence
from threading import Condition, Thread
from time import monotonic

from service.store.ingest.disk_queue import DiskQueue
from service.store.ingest.record import IngestRecord
from service.threads import SupervisedThread

QueuedRecord = tuple[int, IngestRecord]
"""A poll with its place in the order of all."""
PATIENCE = 1.0
"""The most seconds that a caller waits for the disk. After a slower disk nobody waits until it is faster again."""
LOOK_SECONDS = 1.0
"""Seconds between two tests of a disk in trouble."""


class Spooler:
    """Copies polls from memory to the disk queue on request, in order, up to the first that the disk does not take.

    A poll must never be safer than the one before it: if that one were lost, its change would be lost too. A poll in
    flight may be written twice, which changes nothing.
    """

    def __init__(
        self,
        spool: DiskQueue,
        awake: Condition,
        waiting: Callable[[], Sequence[QueuedRecord]],
        copied: Callable[[set[int], bool], None],
    ) -> None:
        """`waiting` and `copied` (which polls, and whether those are all) are called while `awake` is held."""
        self._spool, self._awake, self._waiting, self._copied = spool, awake, waiting, copied
        self._asked = self._answered = 0
        self._since: float | None = None
        self._slow = False
        self._stopping = False
        self.thread = SupervisedThread("spooler", self._run)

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        """End after all requests so far. Later requests are still done."""
        self.thread.stop()
        with self._awake:
            self._stopping = True
            self._awake.notify_all()

    @property
    def slow(self) -> bool:
        """Whether the disk takes longer than a caller waits."""
        return self._slow or (self._since is not None and monotonic() - self._since > PATIENCE)

    def ask(self, seconds: float = PATIENCE) -> None:
        """Copy everything in memory, and wait for it for at most this long. Called while `awake` is held."""
        self._asked += 1
        mine = self._asked
        self._awake.notify_all()
        if not self.thread.alive:
            try:
                Thread(target=self._copy, name="spooler for once", daemon=True).start()
            except RuntimeError:  # there may be no more threads
                self._copy()
        if seconds:
            self._awake.wait_for(lambda: self._answered >= mine, seconds)

    def _run(self) -> None:
        while True:
            with self._awake:
                self._awake.wait_for(lambda: self._answered < self._asked or self._stopping, LOOK_SECONDS)
                asked = self._answered < self._asked
                if self._stopping and not asked:
                    return
            self._spool.look_again()
            if asked:
                self._copy()

    def _copy(self) -> None:
        with self._awake:
            asked, waiting = self._asked, list(self._waiting())
            began = self._since = monotonic()
        taken: set[int] = set()
        for number, record in waiting:
            if not self._spool.append(number, record):
                break
            taken.add(number)
        with self._awake:
            self._slow, self._since = monotonic() - began > PATIENCE, None
            self._copied(taken, len(taken) == len(waiting))
            self._answered = max(self._answered, asked)
            self._awake.notify_all()
