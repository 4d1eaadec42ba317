"""The spool folders of replicas on one host. Each is held by one process; another takes over the polls of one that is gone."""

import fcntl
import logging
import os
from contextlib import suppress
from pathlib import Path

from service.store.ingest.disk_queue import DiskQueue
from service.store.schema.engine import StoreError

log = logging.getLogger("latchscope.store")


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
