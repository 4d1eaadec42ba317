"""Log files among the inputs: which reader takes them, the window of time, and streams that are never read whole."""

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import IO, cast

from collectors.logs import alert, trace
from collectors.model import Delta
from collectors.reports.read import looks_like_report
from collectors.sqlplus.spool import looks_like_spool
from service.intake.archives import GZIP, MIB, TooLarge, damaged, mib

HEAD_BYTES = alert.HEAD_BYTES
"""Bytes of the begin of a file that show what it is."""


@dataclass(frozen=True, slots=True)
class Window:
    """From when to when lines of a log count. A bound without a zone is by the clock of the log; None: no bound."""

    since: datetime | None = None
    until: datetime | None = None

    def __bool__(self) -> bool:
        return self.since is not None or self.until is not None


EVERYTHING = Window()


def window_of(since: str | None, until: str | None) -> Window:
    """A window from two times as people write them. Raises ValueError with what is wrong."""
    window = Window(_moment("since", since), _moment("until", until))
    begin, end = window.since, window.until
    if begin and end and begin.replace(tzinfo=None) >= end.replace(tzinfo=None):
        raise ValueError(f"--since {since} is not before --until {until}; give the earlier time to --since")
    return window


def _moment(name: str, written: str | None) -> datetime | None:
    if written is None:
        return None
    try:
        return datetime.fromisoformat(written.strip())
    except ValueError:
        raise ValueError(
            f"--{name} {written!r} is not a time; write it as 2026-03-01T14:00, by the clock of the log, or with a zone, as "
            "2026-03-01T14:00+01:00"
        ) from None


Read = Callable[[IO[bytes], str, datetime | None, datetime | None], Delta]
"""Reads a log, by its stream, its name, and from when to when. It takes the stream in pieces and keeps a bounded part."""


def log_reader(head: bytes) -> Read | None:
    """The reader of a file with this begin. None if it is no log file."""
    if looks_like_spool(head) or looks_like_report(head):
        return None
    if trace.looks_like_trace(head):
        return trace.read
    return alert.read if alert.looks_like_alert_log(head) else None


def read_log(read: Read, stream: IO[bytes], name: str, window: Window = EVERYTHING) -> Delta:
    """The Delta of a log. `name` is its display name. Raises InputError."""
    try:
        return read(stream, name, window.since, window.until)
    except (OSError, EOFError, zlib.error) as error:
        raise damaged(name, error) from None


# Streams.


class _Rejoined:
    """A stream whose begin was read already."""

    def __init__(self, head: bytes, rest: IO[bytes], told: Callable[[int], object]) -> None:
        self._head, self._rest, self._told = head, rest, told
        self.taken = 0
        """Bytes that were read of it."""

    def read(self, size: int = -1) -> bytes:
        """At most so many bytes; all of them without a size."""
        if self._head and size >= 0:
            piece, self._head = self._head[:size], self._head[size:]
        else:
            piece, self._head = self._head + self._rest.read(size), b""
        self.taken += len(piece)
        self._told(self.taken)
        return piece


def rejoined(head: bytes, rest: IO[bytes], told: Callable[[int], object] = bool) -> IO[bytes]:
    """The whole stream again, after its begin was read. `told` hears how many bytes of it were taken."""
    return cast(IO[bytes], _Rejoined(head, rest, told))


RATIO = 200
"""Most unpacked bytes of a log for each packed one. A log that repeats itself has 100."""
_UNASKED = 64 * MIB


class _Gunzipped:
    """The content of a gzipped log, refused as soon as it swells more than any log."""

    def __init__(self, packed: _Rejoined, name: str) -> None:
        self._packed, self._name = packed, name
        self._file = gzip.GzipFile(fileobj=cast(IO[bytes], packed))
        self._unpacked = 0

    def read(self, size: int = -1) -> bytes:
        """At most so many unpacked bytes. Raises TooLarge where the log swells too much."""
        piece = self._file.read(size)
        self._unpacked += len(piece)
        if self._unpacked > max(_UNASKED, RATIO * self._packed.taken):
            raise TooLarge(
                f"{self._name} unpacks to more than {RATIO} times its size ({mib(self._unpacked)} MiB so far), which no log "
                "does; unpack it and name the file"
            )
        return piece


def gunzipped_log(
    head: bytes, rest: IO[bytes], name: str, told: Callable[[int], object] = bool
) -> tuple[Read, IO[bytes]] | None:
    """The reader and the unpacked stream of a gzipped log. None if its content is no log, or cannot be unpacked."""
    if not head.startswith(GZIP):
        return None
    try:
        inner = zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
    except zlib.error:
        return None
    reader = log_reader(inner)
    return None if reader is None else (reader, cast(IO[bytes], _Gunzipped(_Rejoined(head, rest, told), name)))


CUT = (
    "cut a log by time first, such as with sed -n '/2026-03-01T14:/,/2026-03-01T15:/p' FILE, or give it to "
    "`latchscope diagnose` with --since and --until, which reads a log of any size"
)
"""What to do with a log that is too large to upload."""
