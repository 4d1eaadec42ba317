"""Polls that wait on disk while the store cannot take them: a file each, in order, and never more than so many bytes."""

import logging
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from threading import RLock

from service.store.ingest.record import IngestRecord, from_bytes, to_bytes

log = logging.getLogger("latchscope.store")

_UNREADABLE = (ValueError, KeyError, TypeError, zlib.error)


class DiskQueue:
    """A folder of polls. Each is written whole, synced to disk and then given its name, so a crash leaves no half of one."""

    def __init__(self, directory: Path, max_bytes: int) -> None:
        self.directory = directory
        self._max_bytes = max_bytes
        self._lock = RLock()
        self._files = {path.name: path.stat().st_size for path in sorted(directory.glob("*.poll"))}
        self._bytes = sum(self._files.values())
        self._number = max((int(name.partition("-")[0]) for name in self._files), default=0)
        self.lost = 0
        """Polls dropped because the spool was full or could not be written."""

    def __len__(self) -> int:
        return len(self._files)

    @property
    def size(self) -> int:
        """What the waiting polls take on disk."""
        return self._bytes

    def next_number(self) -> int:
        """The place of the next poll in the order of all."""
        with self._lock:
            self._number += 1
            return self._number

    def append(self, number: int, record: IngestRecord) -> bool:
        """Put a poll at its place, once; False, and an error in the log, when the disk does not take it."""
        name = f"{number:016d}-{record.database}.poll"
        with self._lock:
            if name in self._files:
                return True
            data = to_bytes(record)
            self._make_room(len(data))
            try:
                self._write(name, data)
            except OSError as error:
                self.lost += 1
                log.error(
                    "spool %s: a poll of %s is lost: %s", self.directory, record.database, error.strerror or error
                )
                return False
            late = bool(self._files) and name < next(reversed(self._files))
            self._files[name] = len(data)
            self._bytes += len(data)
            if late:
                self._files = dict(sorted(self._files.items()))
            return True

    def oldest(self, most: int) -> list[tuple[str, IngestRecord]]:
        """The polls that wait the longest, by file. One that cannot be read is set aside."""
        with self._lock:
            names = list(self._files)[:most]
        found = []
        for name in names:
            try:
                found.append((name, from_bytes((self.directory / name).read_bytes())))
            except FileNotFoundError:
                self.done([name])
            except _UNREADABLE as error:
                self.set_aside(name, f"it cannot be read ({error})")
        return found

    def newest(self, database: str) -> IngestRecord | None:
        """The latest waiting poll of a database."""
        with self._lock:
            names = [name for name in self._files if name.partition("-")[2] == f"{database}.poll"]
        for name in reversed(names):
            try:
                return from_bytes((self.directory / name).read_bytes())
            except (OSError, *_UNREADABLE):
                continue
        return None

    def done(self, names: Iterable[str]) -> None:
        """Forget polls that the store has taken."""
        with self._lock:
            for name in names:
                (self.directory / name).unlink(missing_ok=True)
                self._bytes -= self._files.pop(name, 0)

    def set_aside(self, name: str, why: str) -> None:
        """Keep a poll that the store will never take out of the way of the others."""
        log.error("spool %s: %s is set aside as %s.refused: %s", self.directory, name, name, why)
        with self._lock:
            (self.directory / name).rename(self.directory / f"{name}.refused")
            self._bytes -= self._files.pop(name, 0)

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
            self.lost += len(dropped)
            log.error(
                "spool %s is full (spool.max_bytes: %d): the oldest %d polls are lost",
                self.directory,
                self._max_bytes,
                len(dropped),
            )

    def _write(self, name: str, data: bytes) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        draft = self.directory / f"{name}.draft"
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(self.directory / name)
        folder = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
