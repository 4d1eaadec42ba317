"""Text of log files: their lines, decoded one by one with a bound on their length, and the moment that a line begins with."""

import codecs
import re
from collections.abc import Iterator
from datetime import datetime
from typing import IO

from collectors.reports.header import month_of

LONGEST_LINE = 64 * 1024
"""Bytes of a line that are kept; the rest of a longer one is dropped. No line that is looked for is as long."""
_BLOCK = 1024 * 1024


def lines(stream: IO[bytes]) -> Iterator[str]:
    """Each line without its end: UTF-16 by its mark, else UTF-8, and Windows-1252 for a line that is no UTF-8."""
    for block in blocks(stream):
        yield from map(decoded, block.removesuffix(b"\n").split(b"\n"))


def blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Pieces of about a MiB, each of whole lines, as they are or as UTF-8 where the file is UTF-16."""
    utf16 = None
    kept = b""
    first = True
    while block := stream.read(_BLOCK):
        if first:
            first = False
            if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                utf16 = codecs.getincrementaldecoder("utf-16")("replace")
            else:
                block = block.removeprefix(codecs.BOM_UTF8)
        if utf16 is not None:
            block = utf16.decode(block).encode("utf-8", "replace")
        end = block.rfind(b"\n") + 1
        if end:
            yield kept + block[:end]
            kept = b""
        kept = (kept + block[end:])[:LONGEST_LINE]
    if kept:
        yield kept


def decoded(line: bytes) -> str:
    """A line as text, at most `LONGEST_LINE` bytes of it."""
    line = line[:LONGEST_LINE].removesuffix(b"\r")
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


_ISO = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](\d{1,6})\d*)?(?: ?(Z|[+-]\d\d:?\d\d))?")
_WORDS = re.compile(
    r"\w{1,4}\.? +([^\W\d]\w{1,4}\.?|\d{1,2}\D) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (?:[A-Z]{3,5} )?(\d{4})\b"
)


def moment_in(line: str) -> datetime | None:
    """The moment that a line begins with: 2019-05-14T10:22:33.123456+02:00, or Tue Nov 24 14:02:20 2009. None without one.

    A trace file writes `*** ` before it; take that off first.
    """
    if iso := _ISO.match(line):
        return _iso(*iso.groups())
    if words := _WORDS.match(line):
        month, day, hour, minute, second, year = words.groups()
        number = month_of(month)
        try:
            # The host's local time; the log does not say in which zone.
            return datetime(int(year), number, int(day), int(hour), int(minute), int(second)) if number else None  # noqa: DTZ001
        except ValueError:
            return None
    return None


def _iso(moment: str, fraction: str | None, zone: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(f"{moment}.{fraction or '0':<06}{zone or ''}")
    except ValueError:
        return None
