"""Reads the inputs of `latchscope diagnose` and of uploads into Diagnoses, one clear error, or a reason to skip them.

The content of an input decides what it is, never its name: a capture, a report, a script's output, a log, or an archive of
them. A log is read as a stream, whatever its size; everything else is read whole, up to a limit.
"""

import codecs
import gzip
import io
import os
import re
import sys
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import IO, cast

import yaml

from collectors.capture import delta_of, is_json, load, looks_like_capture
from collectors.errors import InputError
from collectors.logs import alert, trace
from collectors.model import ROW_CACHE_LATCH, Delta, DeltaSource, NotComparable, Row, number
from collectors.reports.read import NOTE as PERIODS_NOTE
from collectors.reports.read import looks_like_report, opened, read_opened
from collectors.sqlplus import spool
from rules.base import Frozen
from rules.engine import cannot_tell, diagnose
from rules.model import CANNOT_TELL, Diagnosis
from service.intake.archives import (
    GZIP,
    LIMITS,
    MIB,
    Limits,
    TooLarge,
    damaged,
    gunzipped,
    is_container,
    is_gzip,
    is_mail,
    is_zip,
    label,
    members,
    mib,
    sized,
    unpacked_member,
    unread_kind,
)

HEAD_BYTES = alert.HEAD_BYTES
"""Bytes of the begin of a file that show what it is."""
DEEPEST = 3
"""The levels of directories below the named one that are looked through for files, and of mails within mails."""
MOST_FILES = 1000
"""The most files that are read of directories below the named one."""
LOOKED_THROUGH = 1000
"""Names of a folder that are compared with a missing name."""
STDIN = "-"
OURS = "an AWR or Statspack report, an alert log, a trace file, the output of `latchscope script`, or a capture"
READABLE = "give the right to read it, or name another file"
NESTED = "is an archive within an archive; unpack it first"
MANY_FOREIGN = 5
"""From this number on, unrecognised files share one line."""
NAMED_FOREIGN = 100


@dataclass(frozen=True, slots=True)
class Window:
    """From when to when lines of a log count. A bound without a zone is by the clock of the log; None: no bound."""

    since: datetime | None = None
    until: datetime | None = None

    def __bool__(self) -> bool:
        return self.since is not None or self.until is not None


EVERYTHING = Window()


class UnknownFormat(InputError):
    """Content that latchscope does not read."""


class EmptyFile(UnknownFormat):
    """A file without content."""


class ForeignFile(UnknownFormat):
    """Another program's file, which may well be next to ours."""


@dataclass(frozen=True, slots=True)
class DiagnosedInput:
    """One Diagnosis, the change it is about, and its input."""

    name: str
    change: Delta | NotComparable
    diagnosis: Diagnosis

    @property
    def source(self) -> DeltaSource:
        """Whether the figures are from Oracle's views or from a printed report."""
        return self.change.source if isinstance(self.change, Delta) else "views"

    @property
    def graded(self) -> str:
        """The severity, which nobody knows where nothing was judged."""
        return "unknown" if self.diagnosis.standing == CANNOT_TELL else self.diagnosis.severity

    @property
    def told(self) -> str:
        """The severity as people read it: elsewhere in place of info where another wait has most of DB time."""
        return "elsewhere" if self.diagnosis.state == "Elsewhere" else self.graded


def short_names(diagnosed: Sequence[DiagnosedInput]) -> list[DiagnosedInput]:
    """The inputs by the last part of their names, or in full if two are equal."""
    short = [re.split(r"[/\\\\!]", entry.name)[-1] for entry in diagnosed]
    return [
        replace(entry, name=name) if short.count(name) == 1 else entry
        for entry, name in zip(diagnosed, short, strict=True)
    ]


@dataclass(slots=True)
class InputResults:
    """The result for each input, in order. `read` counts the files that were ours to read, with or without success.

    `foreign` has the names of unrecognised files, `passed` the reasons for skipped ones, `notes` what was looked at instead.
    """

    diagnosed: list[DiagnosedInput] = field(default_factory=list)
    errors: list[InputError] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    read: int = 0
    foreign: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    window: Window = EVERYTHING
    """The time of the lines of logs that count."""

    def failed(self, error: InputError, passed: bool = False) -> None:
        """An input gives an error, or where it came with others, a reason to pass it over."""
        if passed:
            self.passed.append(str(error))
        else:
            self.read += 1
            self.errors.append(error)

    @property
    def skipped(self) -> list[str]:
        """What was not read, one line each. Many foreign files share one line."""
        if len(self.foreign) < MANY_FOREIGN:
            return [*(f"{name} is not {OURS}" for name in self.foreign), *self.passed]
        names = [re.split(r"[/!]", name)[-1] for name in self.foreign]
        more = f" and {len(names) - NAMED_FOREIGN} more" if len(names) > NAMED_FOREIGN else ""
        return [
            f"{len(names)} files that latchscope does not read: {', '.join(names[:NAMED_FOREIGN])}{more}",
            *self.passed,
        ]


def diagnose_all(
    names: Sequence[str], step: Callable[[str], object] = bool, window: Window = EVERYTHING
) -> InputResults:
    """Every file, directory and archive among `names`. `step` receives the name of each file before it is read. `window`: the
    time of the lines of logs that count.
    """
    outcome = InputResults(window=window)
    files = [(name, file) for name in names for file in _files(name, outcome)]
    ours = {name: 0 for name, (_, contained) in files if contained}
    for name, (file, contained) in files:
        shown = "standard input" if file == STDIN else label(file)
        step(shown)
        before = outcome.read
        _file(file, shown, contained, outcome)
        if contained:
            ours[name] += outcome.read - before
    outcome.errors += [
        UnknownFormat(f"{label(name)} is a directory without {OURS}; give it one")
        for name, read in ours.items()
        if not read
    ]
    return outcome


def diagnose_data(data: bytes, name: str, limits: Limits = LIMITS) -> InputResults:
    """The same for bytes already in memory, such as an upload."""
    outcome = InputResults()
    _data(data, label(name), outcome, limits)
    return outcome


def _files(name: str, outcome: InputResults) -> Iterator[tuple[str, bool]]:
    """The input itself, or the files of a directory, each with whether it came from one."""
    if name == STDIN or not os.path.isdir(name):
        yield name, False
        return
    try:
        found = files_of(name, outcome)
    except OSError as error:
        outcome.errors.append(InputError(f"{label(name)} cannot be read: {error.strerror}; {READABLE}"))
        return
    if not found:
        outcome.errors.append(UnknownFormat(f"{label(name)} is a directory without files; give it {OURS}"))
    yield from ((path, True) for path in found)


def files_of(folder: str, outcome: InputResults) -> list[str]:
    """Its files, or those below it. Hidden ones are left out. `outcome` gets what is passed over, and what was looked at instead.

    Raises OSError if the directory cannot be read.
    """
    homes = [home for home in _homes(folder, outcome.passed, 0) if home]
    found = [path for home in homes for path in home]
    if not homes or os.path.dirname(homes[0][0]) == folder.rstrip(os.sep):
        return found
    if len(found) > MOST_FILES:
        outcome.passed.append(
            f"only the first {MOST_FILES:,} files below {label(folder)} are read; name its directories one by one"
        )
        found = found[:MOST_FILES]
    files = "1 file" if len(found) == 1 else f"{len(found):,} files"
    places = "1 directory" if len(homes) == 1 else f"{len(homes):,} directories"
    outcome.notes.append(f"{label(folder)} holds directories alone: looked at {files} in {places} below it")
    return found


def _homes(folder: str, passed: list[str], depth: int) -> Iterator[list[str]]:
    """The files of each directory that has some: this one, else those below it."""
    entries = sorted(
        (entry for entry in os.scandir(folder) if not entry.name.startswith(".")), key=lambda each: each.name
    )
    files = [entry.path for entry in entries if entry.is_file()]
    yield files
    for entry in entries:
        if entry.is_dir() and not files and depth < DEEPEST:
            try:
                yield from _homes(entry.path, passed, depth + 1)
            except OSError as error:
                passed.append(f"{label(entry.path)} cannot be read: {error.strerror}")
        elif not entry.is_file():
            within = "is a folder within a folder; name it to have its files read"
            passed.append(f"{label(entry.path)} {within if entry.is_dir() else 'is neither a file nor a folder'}")


def _file(name: str, shown: str, contained: bool, outcome: InputResults) -> None:
    try:
        with _opened(name) as stream:
            head = stream.read(HEAD_BYTES)
            if log := read_log(head, stream, shown, outcome.window):
                outcome.diagnosed += _diagnosed((log,), shown)
                outcome.read += 1
                return
            data = _rest(name, head, stream, shown)
    except InputError as error:
        outcome.failed(error, contained and isinstance(error, TooLarge))
    else:
        _data(data, shown, outcome, LIMITS, contained)


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    """A file or standard input. Raises InputError, also where it breaks while it is read."""
    path, shown = Path(name), label(name)
    try:
        if name == STDIN:
            yield sys.stdin.buffer
            return
        with path.open("rb") as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"{shown} does not exist; {_instead(path)}") from None
    except (OSError, ValueError) as error:  # ValueError: an impossible file name
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{shown} cannot be read: {why}; {READABLE}") from None


def _rest(name: str, head: bytes, stream: IO[bytes], shown: str) -> bytes:
    """All bytes of a file that is no log, never more than the limit. Raises InputError."""
    if name != STDIN and (size := os.stat(name).st_size) > LIMITS.per_input:
        raise TooLarge(f"{shown} is {mib(size)} MiB; an input is at most {mib(LIMITS.per_input)} MiB")
    return sized(head + stream.read(max(0, LIMITS.per_input + 1 - len(head))), shown)  # a device has no size


def _instead(path: Path) -> str:
    """The probable file, or where to look."""
    folder = path.parent
    if not folder.is_dir():
        return f"there is no folder {label(str(folder))} either; give the whole path of the file"
    near = get_close_matches(path.name, sorted(each.name for each in folder.iterdir())[:LOOKED_THROUGH], 1)
    return f"did you mean {label(str(folder / near[0]))}?" if near else "give the path of a file or a folder"


def _data(
    data: bytes, name: str, outcome: InputResults, limits: Limits, contained: bool = False, depth: int = 0
) -> None:
    """One file's bytes, and in how many archives and mails it was. What comes with others is skipped if it is not ours."""
    try:
        plain = gunzipped(data, name, limits) if is_gzip(data) and not depth else sized(data, name, limits)
        if kind := unread_kind(plain):
            raise UnknownFormat(f"{name} is a {kind} archive; unpack it, or give it as .gz, .zip or .tar")
        if is_gzip(plain) or (depth and is_container(plain) and (depth > DEEPEST or not is_mail(plain))):
            raise UnknownFormat(f"{name} {NESTED}")
        said = named(plain)
        if is_zip(plain) and said is not None:
            raise ForeignFile(f"{name} is {said}")
        if is_container(plain):
            _members(plain, name, outcome, limits, contained, depth + 1)
            return
        changes = _changes(plain, name, outcome.window, strict=not contained)
    except InputError as error:
        if contained and isinstance(error, ForeignFile):
            outcome.foreign.append(name)
        else:
            outcome.failed(error, contained and isinstance(error, UnknownFormat))
    else:
        outcome.diagnosed += _diagnosed(changes, name)
        outcome.read += 1


def _members(data: bytes, name: str, outcome: InputResults, limits: Limits, contained: bool, depth: int) -> None:
    before, unpacked = outcome.read, 0
    try:
        for member in members(data, name, limits):
            try:
                inner = unpacked_member(member, limits)
            except InputError as error:
                outcome.failed(error)
                continue
            unpacked += len(inner)
            if unpacked > limits.total:
                raise TooLarge(
                    f"{name} unpacks to more than {mib(limits.total)} MiB; pack fewer reports into one archive"
                )
            _data(inner, member.label, outcome, limits, contained=True, depth=depth)
    except InputError as error:
        outcome.failed(error)
    if outcome.read == before:
        nothing = f"{name} is {'a mail' if is_mail(data) else 'an archive'} without {OURS}"
        (outcome.passed.append(nothing) if contained else outcome.errors.append(UnknownFormat(nothing)))


def _diagnosed(changes: tuple[Delta | NotComparable, ...], name: str) -> list[DiagnosedInput]:
    return [
        DiagnosedInput(
            part,
            change,
            cannot_tell(change, more_to_come=False) if isinstance(change, NotComparable) else diagnose(change),
        )
        for part, change in zip(_names(name, changes), changes, strict=True)
    ]


def _names(name: str, changes: Sequence[Delta | NotComparable]) -> list[str]:
    """A name for each change of a file: two periods by their number, the instances of a cluster by their database."""
    if len(changes) == 1:
        return [name]
    what = "period" if any(PERIODS_NOTE in change.notes for change in changes if isinstance(change, Delta)) else "part"
    databases = [change.database for change in changes]
    if len(set(databases)) == len(changes) and all("/" in database for database in databases):
        return [f"{name}, {database}" for database in databases]
    return [f"{name}, {what} {i} of {len(changes)}" for i in range(1, len(changes) + 1)]


def _changes(data: bytes, name: str, window: Window, *, strict: bool) -> tuple[Delta | NotComparable, ...]:
    """The changes in an input. `strict`: the sender says that it is ours, so a JSON file gets an error that names its mistake."""
    text = without_utf16(data)
    if looks_like_capture(text):
        return (delta_of(load(text, name)),)
    if spool.looks_like_spool(text):
        return (delta_of(spool.load(text, name)),)
    if looks_like_report(data):
        file = opened(data, name)
        beside = file.rest.encode()
        log = read_log(beside[:HEAD_BYTES], io.BytesIO(beside[HEAD_BYTES:]), name, window) if beside.strip() else None
        return (*((log,) if log else ()), *read_opened(file, name))
    if log := read_log(data[:HEAD_BYTES], io.BytesIO(data[HEAD_BYTES:]), name, window):
        return (log,)
    if not data.strip():
        raise EmptyFile(f"{name} is empty; give it {OURS}")
    if said := named(data):
        raise ForeignFile(f"{name} is {said}")
    if strict and is_json(text):
        load(text, name)  # raises, and says what is missing to a capture
    raise ForeignFile(f"{name} is not {OURS}")


# Log files: which reader takes them, the window of time, and streams that are never read whole.


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
    if spool.looks_like_spool(head) or looks_like_report(head):
        return None
    if trace.looks_like_trace(head):
        return trace.read
    return alert.read if alert.looks_like_alert_log(head) else None


# Streams.


class _Rejoined:
    """A whole stream again whose begin was read already. `taken`: bytes that were read of it."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head, self._rest, self.taken = head, rest, 0

    def read(self, size: int = -1) -> bytes:
        """At most so many bytes; all of them without a size."""
        if self._head and size >= 0:
            piece, self._head = self._head[:size], self._head[size:]
        else:
            piece, self._head = self._head + self._rest.read(size), b""
        self.taken += len(piece)
        return piece


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


def read_log(head: bytes, rest: IO[bytes], name: str, window: Window = EVERYTHING) -> Delta | None:
    """What a log says, plain or gzipped. None if it is none, or cannot be unpacked. Raises InputError."""
    stream, inner = _Rejoined(head, rest), head
    if packed := head.startswith(GZIP):
        try:
            inner = zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
        except zlib.error:
            return None
    reader = log_reader(inner)
    if reader is None:
        return None
    whole = cast(IO[bytes], _Gunzipped(stream, name) if packed else stream)
    try:
        return reader(whole, name, window.since, window.until)
    except (OSError, EOFError, zlib.error) as error:
        raise damaged(name, error) from None


CUT = (
    "cut a log by time first, such as with sed -n '/2026-03-01T14:/,/2026-03-01T15:/p' FILE, or give it to "
    "`latchscope diagnose` with --since and --until, which reads a log of any size"
)
"""What to do with a log that is too large to upload."""


# What files are that latchscope does not diagnose, by foreign.yaml: each is called by its name, with what to send instead.

SEEN = 64 * 1024
"""Bytes of the begin and of the end of a file that are looked at. An archive lists its files at its end."""


@cache
def _kinds() -> tuple[tuple[re.Pattern[str], str], ...]:
    listed = yaml.safe_load((Path(__file__).parent / "foreign.yaml").read_text(encoding="utf-8"))
    return tuple((re.compile(each["sign"], re.MULTILINE), f"{each['what']}; {each['send']}") for each in listed)


def named(data: bytes) -> str | None:
    """`a PDF; send …` of a file of another program. None for one that nobody knows."""
    seen = data if len(data) <= 2 * SEEN else data[:SEEN] + data[-SEEN:]
    text = seen.decode("latin-1")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data[:SEEN].decode("utf-16", "replace")
    return next((said for sign, said in _kinds() if sign.search(text)), None)


def without_utf16(data: bytes) -> bytes:
    """The same text in UTF-8, if it is UTF-16 with its mark, as PowerShell writes it."""
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16", "replace").encode("utf-8", "replace") if utf16 else data


# The figures of one change that are drawn beside its Diagnosis: gets by cache, sleeps by location.

MOST_BARS = 12
"""Bars of one chart. The others are too small to see."""


class Bar(Frozen):
    """One bar: its name and its value."""

    label: str
    value: float


class Bars(Frozen):
    """Bars of one chart, highest first; `left_out` counts the smaller ones that are not drawn."""

    title: str
    unit: str
    bars: tuple[Bar, ...]
    left_out: int = 0


def figures(change: Delta | NotComparable) -> tuple[Bars, ...]:
    """The charts for which the change has figures."""
    if isinstance(change, NotComparable):
        return ()
    holders = [row for row in change.rows("v$latch_misses") if row.get("parent_name") == ROW_CACHE_LATCH]
    held, mutexes = "Row cache latch: sleeps by the location that held it", "Row cache mutexes: sleeps by location"
    return (
        *_bars("Dictionary cache gets", "gets", change.rows("v$rowcache"), "parameter", "gets"),
        *_bars(held, "sleeps", holders, "location", "sleep_count"),
        *_bars(mutexes, "sleeps", change.rows("v$mutex_sleep"), "location", "sleeps"),
    )


def _bars(title: str, unit: str, rows: Iterable[Row], key: str, column: str) -> Iterator[Bars]:
    """One chart, if any value is above zero. Rows of the same name, such as a cache's subordinates, are added up."""
    sums: dict[str, float] = defaultdict(float)
    for row in rows:
        sums[str(row.get(key))] += number(row.get(column)) or 0.0
    highest = sorted(((name, value) for name, value in sums.items() if value > 0), key=lambda pair: (-pair[1], pair[0]))
    if highest:
        drawn = tuple(Bar(label=name, value=value) for name, value in highest[:MOST_BARS])
        yield Bars(title=title, unit=unit, bars=drawn, left_out=max(0, len(highest) - MOST_BARS))
