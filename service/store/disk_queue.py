"""Polls that wait on disk while the store does not take them: one file each, in order, up to a limit of bytes.

Any trouble of the disk (full, read-only, damaged, stuck, foreign files in the folder) is reported and survived. Only writers
wait for the disk; counts and names never do.
"""

import fcntl
import logging
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Condition, Lock, RLock, Thread, get_ident
from time import monotonic

from service.background import SupervisedThread
from service.store.engine import StoreError, close_path
from service.store.record import IngestRecord, from_bytes, to_bytes

log = logging.getLogger("latchscope.store")

_UNREADABLE = (ValueError, KeyError, TypeError, OSError, zlib.error)
_POLL = re.compile(r"0\d{15}-[A-Za-z0-9][\w.-]*\.poll", re.ASCII)
"""The name of a poll: its place in the order of all, and its database."""
_OURS = (".refused", ".draft")
SAY_AGAIN_SECONDS = 60.0
STUCK_SECONDS = 5.0
"""A disk that does not answer for this long is reported as in trouble."""


class DiskQueue:
    """A folder of polls. Each is written whole, synced to disk and then named, so a crash leaves no half file."""

    def __init__(self, directory: Path, max_bytes: int) -> None:
        self.directory = directory
        self._max_bytes = max_bytes
        self._lock = RLock()
        self._writing = Lock()
        self._asked: dict[int, float] = {}
        """time.monotonic() of the disk operation that has not finished."""
        self._files: dict[str, int] = {}
        self._written: list[str] = []
        """Polls that the store has taken and whose files cannot be deleted."""
        self._unusable: str | None = None
        self._said, self._said_at = False, float("-inf")
        """Whether the log has the trouble, and since when."""
        self._why, self._why_at, self._unsaid = "", 0.0, 0
        """Why polls are lost, since when the log has it, and how many of them it has not."""
        self._refused_bytes = 0
        """The size of the last poll that the disk did not take."""
        self.lost = 0
        """Polls dropped because the spool was full, could not be written, or lost them."""
        self._take_stock()
        self._bytes = sum(self._files.values())
        self._number = max((int(name.partition("-")[0]) for name in self._files), default=0)

    def __len__(self) -> int:
        return len(self._files)

    @property
    def size(self) -> int:
        """The size of the waiting polls on disk."""
        return self._bytes

    @property
    def trouble(self) -> str | None:
        """Why the disk does not take or delete polls, in one line. None while it does."""
        since = min(self._asked.copy().values(), default=monotonic())
        if monotonic() - since > STUCK_SECONDS:
            return f"the spool {self.directory} has not answered for {monotonic() - since:.0f} s"
        if self._unusable is not None:
            return f"the spool {self.directory} cannot be used: {self._unusable}"
        if self._written:
            return f"the spool {self.directory} cannot delete {len(self._written)} polls that the store has taken"
        return None

    def next_number(self) -> int:
        """The place of the next poll in the order of all."""
        with self._lock:
            self._number += 1
            return self._number

    def append(self, number: int, record: IngestRecord) -> bool:
        """Put a poll at its place, once. False, logged once, if the disk does not take it."""
        name = _name(number, record)
        with self._writing, self._asking_the_disk():
            if name in self._files:
                return True
            try:
                data = to_bytes(record)
            except (ValueError, TypeError) as error:
                self.lose(1, f"a poll of {record.database} cannot be put into a file ({error})")
                return True
            self._make_room(len(data))
            try:
                self._write(name, data)
            except OSError as error:
                self._refused_bytes = len(data)
                self._cannot(error)
                return False
            self._can()
            with self._lock:
                late = bool(self._files) and name < next(reversed(self._files))
                self._files[name] = len(data)
                self._bytes += len(data)
                if late:
                    self._files = dict(sorted(self._files.items()))
            return True

    @contextmanager
    def _asking_the_disk(self) -> Iterator[None]:
        """Note since when a disk operation runs."""
        mine = get_ident()
        first = self._asked.setdefault(mine, began := monotonic()) == began
        try:
            yield
        finally:
            if first:
                self._asked.pop(mine, None)

    def oldest(self, most: int) -> list[tuple[str, IngestRecord]]:
        """The oldest waiting polls, by file. An unreadable one is set aside."""
        with self._lock:
            names = list(self._files)[:most]
        found = []
        for name in names:
            try:
                found.append((name, from_bytes((self.directory / name).read_bytes())))
            except FileNotFoundError:
                self.lose(1, f"somebody removed {name}")
                self._forget(name)
            except _UNREADABLE as error:
                self.set_aside(name, f"it cannot be read ({error})")
        return found

    def newest(self, database: str) -> IngestRecord | None:
        """The latest waiting poll of a database that keeps its snapshot."""
        with self._lock:
            names = [name for name in self._files if name.partition("-")[2] == f"{database}.poll"]
        for name in reversed(names):
            with suppress(*_UNREADABLE):
                found = from_bytes((self.directory / name).read_bytes())
                if found.snapshot:
                    return found
        return None

    def done(self, names: Iterable[str]) -> None:
        """Delete polls that the store has taken. A file that cannot be deleted is tried again the next time."""
        with self._lock:
            going, self._written = [*self._written, *names], []
            for name in going:
                self._forget(name)
        kept = []
        with self._asking_the_disk():
            for name in going:
                try:
                    (self.directory / name).unlink(missing_ok=True)
                except OSError as error:
                    self._cannot(error)
                    kept.append(name)
        with self._lock:
            self._written += kept

    def set_aside(self, name: str, why: str) -> None:
        """Move a poll that the store will never take out of the way."""
        log.error("spool %s: %s is set aside as %s.refused: %s", self.directory, name, name, why)
        with self._lock:
            self._forget(name)
            try:
                (self.directory / name).rename(self.directory / f"{name}.refused")
            except OSError as error:
                self._cannot(error)

    def refuse(self, number: int, record: IngestRecord) -> None:
        """Set a poll aside that the store refused before it was on disk."""
        if self.append(number, record):
            self.set_aside(_name(number, record), "the store refuses it")
        else:
            self.lose(1, f"the store refuses a poll of {record.database}, and the disk does not take it either")

    def lose(self, polls: int, why: str) -> None:
        """Count and log what is gone for good; for one reason once a minute, because the log may be on the same full disk."""
        self.lost += polls
        self._unsaid += polls
        if why != self._why or monotonic() - self._why_at > SAY_AGAIN_SECONDS:
            log.error("spool %s: %d polls are lost: %s", self.directory, self._unsaid, why)
            self._why, self._why_at, self._unsaid = why, monotonic(), 0

    def take_over(self, folder: Path) -> int:
        """Take over the polls of another folder on this disk, after all others. Returns their number."""
        taken = 0
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
                if not (_POLL.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)):
                    continue
                name = f"{self.next_number():016d}-{entry.name.partition('-')[2]}"
                size = entry.stat(follow_symlinks=False).st_size
                os.rename(entry, self.directory / name)
                with self._lock:
                    self._files[name] = size
                    self._bytes += size
                taken += 1
        except OSError as error:
            self._cannot(error)
        return taken

    def look_again(self) -> None:
        """After trouble with the disk: test whether it still exists."""
        if self.trouble is None:
            return
        with self._writing, self._asking_the_disk():
            try:
                self._write("probe", bytes(self._refused_bytes))  # a full disk still takes an empty file
                (self.directory / "probe").unlink()
            except OSError as error:
                self._cannot(error)
                return
            self._can()
            self.done(())

    def _take_stock(self) -> None:
        """Find the polls of the last run. Foreign files are set aside and named; drafts of a killed process are deleted."""
        try:
            entries = sorted(os.scandir(self.directory), key=lambda entry: entry.name)
        except FileNotFoundError:
            return
        except OSError as error:
            self._cannot(error)
            return
        close_path(self.directory)
        for entry in entries:
            try:
                if _POLL.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    self._files[entry.name] = entry.stat(follow_symlinks=False).st_size
                elif entry.name.endswith(".draft"):
                    os.unlink(entry)
                elif not entry.name.endswith(_OURS):
                    self.set_aside(entry.name, "it is not a poll of latchscope")
            except OSError as error:
                log.warning("spool %s: %s cannot be read: %s", self.directory, entry.name, _reason(error))

    def _forget(self, name: str) -> None:
        with self._lock:
            size = self._files.pop(name, 0)
            if size:
                self._bytes -= size

    def _cannot(self, error: OSError) -> None:
        """Note the trouble. A disk that is almost full changes its mind at each poll, and the log may be on it."""
        self._unusable = _reason(error)
        if not self._said and monotonic() - self._said_at > SAY_AGAIN_SECONDS:
            self._said, self._said_at = True, monotonic()
            log.error("spool %s cannot be used: %s", self.directory, self._unusable)

    def _can(self) -> None:
        if self._said:
            log.warning("spool %s can be used again", self.directory)
        self._said, self._unusable = False, None

    def _make_room(self, size: int) -> None:
        """Drop the oldest polls until one of this size fits."""
        taken, dropped = self.size, []
        for name, each in self._files.items():
            if taken + size <= self._max_bytes:
                break
            dropped.append(name)
            taken -= each
        if dropped:
            self.done(dropped)
            self.lose(len(dropped), f"it is full (spool.max_bytes: {self._max_bytes}), and these were the oldest")

    def _write(self, name: str, data: bytes) -> None:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self.directory / f"{name}.draft"
        try:
            draft.touch(0o600)
            with draft.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.rename(self.directory / name)
        except OSError:
            with suppress(OSError):
                draft.unlink()
            raise
        folder = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _name(number: int, record: IngestRecord) -> str:
    return f"{number:016d}-{record.database}.poll"


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__


# The spool folders of replicas on one host. Each is held by one process; another takes over the polls of one that is
# gone.


class FolderLock:
    """A lock next to a folder. It lasts as long as its process, however that ends."""

    def __init__(self, folder: Path) -> None:
        """Raises BlockingIOError if another process has it, and OSError if the disk is in trouble."""
        self.file = folder.with_name(f"{folder.name}.lock")
        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            self._open = os.fdopen(os.open(self.file, os.O_RDWR | os.O_CREAT, 0o600), "a")
            try:
                fcntl.flock(self._open, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._open.close()
                raise
            # The former owner may have removed the file that we opened.
            with suppress(FileNotFoundError):
                if os.fstat(self._open.fileno()).st_ino == self.file.stat().st_ino:
                    return
            self._open.close()

    def close(self) -> None:
        """Let others have it."""
        self._open.close()


def held_spool(root: Path, own: str, max_bytes: int) -> tuple[DiskQueue, FolderLock | None]:
    """The spool of the replica with this name below `root`, with the polls of replicas that are gone.

    Raises StoreError if another process has it. The lock is None if the disk supports none.
    """
    folder = root / own
    try:
        lock = FolderLock(folder)
    except BlockingIOError:
        way_out = "give each replica a `replica.name` of its own, or a `spool.directory`"
        raise StoreError(f"the spool {folder} is in use by another latchscope; {way_out}") from None
    except OSError as error:
        log.error("spool %s cannot be locked: %s", folder, error.strerror)
        return DiskQueue(folder, max_bytes), None
    spool = DiskQueue(folder, max_bytes)
    for other in sorted(root.iterdir()):
        if other.is_dir() and other != folder:
            _take_over(spool, other)
    return spool, lock


def _take_over(spool: DiskQueue, folder: Path) -> None:
    """Take over the polls in the folder of a replica that is gone."""
    waiting = sorted(folder.glob("*.poll"))
    if not waiting:
        return
    if not folder.with_name(f"{folder.name}.lock").exists():
        log.warning(
            "%s holds %d polls of an older latchscope, which does not say whether it still runs: start this one with "
            "`replica.name` %s once, and they are brought in",
            *(folder, len(waiting), folder.name),
        )
        return
    try:
        lock = FolderLock(folder)
    except BlockingIOError:
        return  # it lives
    except OSError as error:
        log.warning("%s cannot be looked at: %s", folder, error.strerror)
        return
    log.warning("%d polls that wait in %s are taken over: that replica is gone", spool.take_over(folder), folder)
    with suppress(OSError):
        folder.rmdir()
        lock.file.unlink()
    lock.close()


# Writes waiting polls from memory to disk, in its own thread: a slow or stuck disk delays only this thread.

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
