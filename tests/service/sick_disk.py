"""A folder whose disk fails on request: full, read-only, failing, slow, or without any answer. It is our own file system
through FUSE (`python -m tests.service.sick_disk BELOW MOUNT STATE`). It passes everything on to the folder BELOW, and obeys
the file STATE: the name of an error (`ENOSPC`, `EROFS`, `EIO`) for every write, `slow` with seconds per write, `stuck` for
writes that wait until STATE changes, or nothing.
"""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes.util import find_library
from pathlib import Path
from typing import Any

import pytest

from tests.service.standin import becomes
from tests.started import ROOT


class SickDisk:
    """Its mount point, and its current fault."""

    def __init__(self, folder: Path) -> None:
        self.mount, self.below, self._state = folder / "disk", folder / "below", folder / "state"
        self.mount.mkdir()
        self.below.mkdir()
        self.suffer("")

    def suffer(self, state: str) -> None:
        """From now on; the empty text cures it."""
        draft = self._state.with_suffix(".draft")
        draft.write_text(state, encoding="utf-8")
        draft.rename(self._state)

    @property
    def words(self) -> list[str]:
        """The commands for the process of the file system."""
        return [str(self.below), str(self.mount), str(self._state)]


@contextmanager
def sick_disk(folder: Path) -> Iterator[SickDisk]:
    """A healthy disk at first, for the length of the block. Without FUSE the test is skipped by name."""
    if not (os.access("/dev/fuse", os.W_OK) and (find_library("fuse3") or find_library("fuse"))):
        pytest.skip("no FUSE on this machine (Debian package fuse3, and the right to use /dev/fuse)")
    disk = SickDisk(folder)
    process = subprocess.Popen([sys.executable, "-m", "tests.service.sick_disk", *disk.words], cwd=ROOT)
    try:
        becomes(disk.mount.is_mount, "the disk is mounted")
        yield disk
    finally:
        disk.suffer("")
        subprocess.run(["umount", "-l", disk.mount], check=True)
        process.wait(60)


def _mount(below: str, mount: str, state: Path) -> None:
    from mfusepy import FUSE, FuseOSError, Operations  # needs libfuse on import

    def sick() -> None:
        """Obey the state before a write."""
        while (said := state.read_text("utf-8")) == "stuck":
            time.sleep(0.05)
        if said.startswith("slow"):
            time.sleep(float(said.split()[1]))
        elif said:
            raise FuseOSError(getattr(errno, said))

    def at(path: str) -> str:
        return below + path

    def writes(do: Callable[..., Any]) -> Callable[..., Any]:
        def whole(self: object, *given: Any) -> Any:
            sick()
            return do(*given)

        return whole

    class Loopback(Operations):
        """Everything as below. Each write asks first whether it may."""

        use_ns = True

        def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
            found = os.lstat(at(path))
            times = {f"st_{name}": getattr(found, f"st_{name}_ns") for name in ("atime", "mtime", "ctime")}
            same = ("st_mode", "st_nlink", "st_size", "st_uid", "st_gid", "st_blocks")
            return times | {name: getattr(found, name) for name in same}

        def readdir(self, path: str, fh: int) -> list[str]:
            return [".", "..", *os.listdir(at(path))]

        def statfs(self, path: str) -> dict[str, int]:
            found = os.statvfs(at(path))
            return {name: getattr(found, name) for name in dir(found) if name.startswith("f_") and name != "f_fsid"}

        def open(self, path: str, flags: int) -> int:
            return os.open(at(path), flags & ~(os.O_CREAT | os.O_EXCL | os.O_APPEND))

        def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
            return os.pread(fh, size, offset)

        def release(self, path: str, fh: int) -> int:
            os.close(fh)
            return 0

        def access(self, path: str, mode: int) -> int:
            return 0 if os.access(at(path), mode) else -errno.EACCES

        create = writes(lambda path, mode, fi=None: os.open(at(path), os.O_RDWR | os.O_CREAT | os.O_TRUNC, mode))
        write = writes(lambda path, data, offset, fh: os.pwrite(fh, data, offset))
        fsync = writes(lambda path, datasync, fh: os.fdatasync(fh))
        fsyncdir = writes(lambda path, datasync, fh: 0)
        truncate = writes(lambda path, length, fh=None: os.truncate(at(path), length))
        unlink = writes(lambda path: os.unlink(at(path)))
        mkdir = writes(lambda path, mode: os.mkdir(at(path), mode))
        rmdir = writes(lambda path: os.rmdir(at(path)))
        rename = writes(lambda old, new, flags=0: os.rename(at(old), at(new)))
        chmod = writes(lambda path, mode: os.chmod(at(path), mode))
        utimens = writes(lambda path, times=None: os.utime(at(path), ns=times))

    FUSE(Loopback(), mount, foreground=True, default_permissions=True)


if __name__ == "__main__":
    _mount(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
