"""Failures on purpose, in the manner of SQLite's own tests: the n-th packet, the n-th write or the n-th start of a thread fails.

`Nth` stands between the product and the system while it is switched on. It counts calls of one kind and lets the n-th fail,
or the n-th and all after it. `Held` is what a process holds, to find what an operation leaves behind.
"""

import errno
import io
import os
import socket
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from collectors.deadline import ReusedThreads
from tests.service.standin import becomes

KINDS = ("packet", "write", "thread")
NOT_OURS = ("standin", "deadline", "pytest", "execnet")
"""Threads of the tests themselves."""
WRITES = ("insert", "update", "delete", "replace", "create", "alter", "drop", "begin immediate")


class Nth:
    """The switch. One of it per test, because it replaces functions of the standard library."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        """`folder`: only files below it fail."""
        self._folder = os.fspath(folder)
        self._lock = threading.Lock()
        self._kind: str | None = None
        self._number, self._lasting = 0, False
        self.counted = 0
        self._packets(monkeypatch)
        self._statements(monkeypatch)
        self._files(monkeypatch)
        self._threads(monkeypatch)

    def switch_on(self, kind: str, number: int, *, lasting: bool) -> None:
        """From now on count this kind, and fail the call with this number; if `lasting`, all after it too."""
        self._kind, self._number, self._lasting, self.counted = kind, number, lasting, 0

    def switch_off(self) -> bool:
        """Let everything pass. Returns whether anything failed."""
        self._kind = None
        return self.counted >= self._number

    def fails(self, kind: str) -> bool:
        """Count one call, and say whether it fails."""
        if kind != self._kind:
            return False
        with self._lock:
            self.counted += 1
            return self.counted == self._number or (self._lasting and self.counted > self._number)

    def _packets(self, monkeypatch: pytest.MonkeyPatch) -> None:
        nth = self

        class Socket(socket.socket):
            """Only sockets that connect to somebody count; those of the listener do not."""

            ours = False

            def connect(self, address: Any) -> None:
                self.ours = True
                self._passes()
                super().connect(address)

            def send(self, *given: Any) -> int:
                self._passes()
                return super().send(*given)

            def recv(self, *given: Any) -> bytes:
                self._passes()
                return super().recv(*given)

            def _passes(self) -> None:
                if self.ours and nth.fails("packet"):
                    with suppress(OSError):
                        self.shutdown(socket.SHUT_RDWR)  # the other side sees the end too, as after a reset
                    raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))

        Socket.__module__, Socket.__qualname__ = "socket", "socket"  # as warnings name it
        monkeypatch.setattr("socket.socket", Socket)

    def _statements(self, monkeypatch: pytest.MonkeyPatch) -> None:
        nth, connect = self, sqlite3.connect

        def passes() -> None:
            if nth.fails("write"):
                raise sqlite3.OperationalError("database or disk is full")

        class Cursor(sqlite3.Cursor):
            def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
                if sql.lstrip().lower().startswith(WRITES):
                    passes()
                return super().execute(sql, *given)

            def executemany(self, sql: str, *given: Any) -> sqlite3.Cursor:
                passes()
                return super().executemany(sql, *given)

        class Connection(sqlite3.Connection):
            def cursor(self, factory: type[sqlite3.Cursor] = Cursor) -> sqlite3.Cursor:
                return super().cursor(factory)

            def commit(self) -> None:
                if self.in_transaction:
                    passes()
                super().commit()

        def opened(*given: Any, **more: Any) -> sqlite3.Connection:
            made: sqlite3.Connection = connect(*given, **{"factory": Connection, **more})
            return made

        monkeypatch.setattr("sqlite3.connect", opened)
        monkeypatch.setattr("sqlite3.dbapi2.connect", opened)

    def _files(self, monkeypatch: pytest.MonkeyPatch) -> None:
        nth, opens, low = self, io.open, os.open

        def passes(path: object) -> None:
            below = isinstance(path, str | os.PathLike) and os.fspath(path).startswith(nth._folder)
            if (below or isinstance(path, int)) and nth.fails("write"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path if below else None)

        class Raw(io.FileIO):
            def write(self, data: Any) -> int | None:
                passes(self.fileno())
                return super().write(data)

        def open_file(file: Any, mode: str = "r", buffering: int = -1, *text: Any, **more: Any) -> Any:
            ours = isinstance(file, str | os.PathLike) and os.fspath(file).startswith(nth._folder)
            if not ours or not set(mode) & set("wax") or "+" in mode:
                return opens(file, mode, buffering, *text, **more)
            passes(file)
            raw = io.BufferedWriter(Raw(file, mode.replace("b", "").replace("t", "")))
            return raw if "b" in mode else io.TextIOWrapper(raw, *text, **more)

        def open_low(path: Any, flags: int, *given: Any, **more: Any) -> int:
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                passes(path)
            return low(path, flags, *given, **more)

        def wrapped(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(path: Any, *given: Any, **more: Any) -> Any:
                passes(path)
                return real(path, *given, **more)

            return call

        monkeypatch.setattr("io.open", open_file)
        monkeypatch.setattr("builtins.open", open_file)
        monkeypatch.setattr("os.open", open_low)
        for name in ("fsync", "rename", "replace", "unlink", "mkdir", "chmod", "link"):
            monkeypatch.setattr(f"os.{name}", wrapped(getattr(os, name)))

    def _threads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        nth, start = self, threading.Thread.start

        def begin(thread: threading.Thread) -> None:
            if not thread.name.startswith(NOT_OURS) and nth.fails("thread"):
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr("threading.Thread.start", begin)
        # No thread is kept for the next job, so that each job needs a start.
        for module in ("collectors.deadline", "service.watch.scheduler"):
            monkeypatch.setattr(f"{module}.THREADS", ReusedThreads(spare=0))


class Held:
    """What this process holds now: descriptors, and threads of the product."""

    def __init__(self) -> None:
        self.descriptors = self._descriptors()
        self.threads = self._threads()

    def is_all(self) -> None:
        """Nothing more is held, as soon as what ends by itself has ended."""
        becomes(lambda: not self._threads() - self.threads, f"no thread is left: {self._threads() - self.threads}")
        becomes(
            lambda: len(self._descriptors()) <= len(self.descriptors),
            f"no descriptor is left open: {[self._target(each) for each in self._descriptors() - self.descriptors]}",
        )

    @staticmethod
    def _target(descriptor: str) -> str:
        try:
            return os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:
            return descriptor

    @staticmethod
    def _descriptors() -> set[str]:
        return set(os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"))

    @staticmethod
    def _threads() -> set[threading.Thread]:
        return {one for one in threading.enumerate() if not one.name.startswith((*NOT_OURS, "asyncio"))}
