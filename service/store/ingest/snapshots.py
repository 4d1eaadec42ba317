"""Snapshots in the store. Each is packed with the first of its day as dictionary, which has nearly all of its content.

A body of this form starts with a special byte, then the checksum of the dictionary. Any other is a snapshot without
a dictionary: the first of a day, one of an older release, or one of a store that lost the frame.
"""

import zlib
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache

from sqlalchemy import Connection, select

from collectors.model import Snapshot
from service.store.ingest.bulk import insert_new, table_of
from service.store.ingest.record import IngestRecord, unpack
from service.store.schema.history_tables import StoredFrame

WITH_FRAME = b"\x01"
"""No zlib stream starts with it."""
HEAD = 5
"""Bytes before the stream: the one above, and the checksum of the dictionary."""
REACH = 32_768
"""zlib looks back this far, so more of a frame is useless."""
OPEN_FRAMES = 512
"""Frames that a writer keeps ready, some 10 kB each: as many as one process polls on a core."""
Day = tuple[str, str]
"""Database and UTC date."""


class LostFrame(ValueError):
    """A snapshot whose frame is missing, or is not the one it was packed with."""


def day_of(database: str, at: datetime) -> Day:
    """The day whose frame a snapshot is packed with."""
    return database, at.astimezone(UTC).date().isoformat()


class Frames:
    """The current day's frame of each database, from the store."""

    def __init__(self) -> None:
        self._bodies: dict[str, tuple[str, bytes]] = {}

    def of(self, connection: Connection, records: Iterable[IngestRecord]) -> dict[Day, bytes]:
        """The frames of these polls. The first poll of a day becomes its frame, within the current transaction."""
        first: dict[Day, bytes] = {}
        for record in records:
            first.setdefault(day_of(record.database, record.at), record.body)
        found = {
            (database, day): known[1]
            for database, day in first
            if (known := self._bodies.get(database)) and known[0] == day
        }
        new = {key: zlib.compress(body) for key, body in first.items() if key not in found}
        rows = [{"database": database, "day": day, "body": body} for (database, day), body in new.items()]
        insert_new(connection, table_of(StoredFrame), rows)
        for key, body in new.items():
            found[key] = frame_of(connection, key) or body
        return found

    def remember(self, frames: dict[Day, bytes]) -> None:
        """After the commit: the newest day of each database."""
        for (database, day), body in sorted(frames.items()):
            self._bodies[database] = (day, body)

    def forget(self) -> None:
        """Forget everything: an import may have brought others."""
        self._bodies.clear()


def frame_of(connection: Connection, day: Day) -> bytes | None:
    """The frame of a day, or None."""
    of = (StoredFrame.database == day[0], StoredFrame.day == day[1])
    body: bytes | None = connection.scalar(select(StoredFrame.body).where(*of))
    return body


def packed(plain: bytes, frame: bytes) -> bytes:
    """A snapshot, given as JSON, packed with a frame. The first of a day is its frame, and needs no other."""
    first, head = _opened(frame)
    if plain == first:
        return frame
    squeezer = zlib.compressobj(zdict=first[-REACH:])
    return head + squeezer.compress(plain) + squeezer.flush()


@lru_cache(OPEN_FRAMES)
def _opened(frame: bytes) -> tuple[bytes, bytes]:
    """The plain frame, and the head of snapshots packed with it."""
    first = zlib.decompress(frame)
    return first, WITH_FRAME + _sum(first[-REACH:])


def self_contained(body: bytes, frame: bytes | None) -> bytes:
    """A stored body without its frame. Raises LostFrame."""
    if body[:1] != WITH_FRAME:
        return body
    if frame is None:
        raise LostFrame("the first snapshot of its day is missing")
    dictionary = _dictionary(frame)
    if _sum(dictionary) != body[1:HEAD]:
        raise LostFrame("the first snapshot of its day is another than the one it was packed with")
    return zlib.compress(zlib.decompressobj(zdict=dictionary).decompress(body[HEAD:]))


def stored_snapshot(connection: Connection, database: str, at: datetime, body: bytes) -> Snapshot:
    """A row of `snapshots` as it was. Raises LostFrame, and what `unpack` does."""
    frame = frame_of(connection, day_of(database, at)) if body[:1] == WITH_FRAME else None
    return unpack(self_contained(body, frame), database)


def checksum(frame: bytes | None) -> bytes | None:
    """The frame's checksum in the head of a body, after the first byte. None without a frame."""
    return None if frame is None else _sum(_dictionary(frame))


def _sum(dictionary: bytes) -> bytes:
    return zlib.crc32(dictionary).to_bytes(HEAD - 1, "big")


def _dictionary(frame: bytes) -> bytes:
    return zlib.decompress(frame)[-REACH:]
