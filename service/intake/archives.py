"""Unpacks gzip, zip, tar and mail within limits. Nothing is written to disk; names are only labels.

The sizes that an archive claims are checked first, and the output is counted as it comes. So an
archive that lies costs no more memory than an honest one.
"""

import gzip
import io
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from email import message_from_bytes, policy
from typing import IO, cast

from collectors.capture import LIMIT_BYTES
from collectors.errors import InputError

GZIP = b"\x1f\x8b"
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
OTHERS = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"7z\xbc\xaf": "7-Zip", b"Rar!": "RAR", b"\x28\xb5\x2f\xfd": "zstd"}
"""The first bytes of archives that are not read, and their names."""
_TAR_AT = 257
_MAIL = re.compile(rb"\s{0,9}[A-Z][A-Za-z-]{1,40}: ?[^\r\n]*\r?\n")
_MIME = re.compile(rb"^(MIME-Version|Content-Type):", re.IGNORECASE | re.MULTILINE)
MOST_OF_A_HEAD = 2000
"""Characters of what a part of a mail says of its kind or its name."""
MIB = 2**20
_ENTRY = b"PK\x01\x02"
_CHUNK = MIB
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The other methods cannot be unpacked piece by piece here, so nothing would limit them."""
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, OverflowError, struct.error)


class TooLarge(InputError):
    """An input beyond a limit. The text says which."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may come out of one input."""

    per_input: int = LIMIT_BYTES
    """Most bytes of a file, and of each member of an archive."""
    total: int = 512 * MIB
    """Most bytes of all members of an archive together."""
    members: int = 1000
    ratio: int = 200
    """Most unpacked bytes per packed byte; reports have 10 or 20. Not checked for the first few MiB."""
    unasked: int = 8 * MIB


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Member:
    """A file within an archive: its label and its bytes, or why it was not unpacked."""

    label: str
    data: bytes | InputError


def label(name: str) -> str:
    """A name in the form that may be shown: one line of printable characters, not too long."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in name)
    return shown if len(shown) <= 300 else f"{shown[:200]}…{shown[-60:]}"


def mib(size: int) -> str:
    """Bytes as MiB for a sentence: 64, 1.5, 0.38."""
    return f"{size / MIB:,.0f}" if size >= 10 * MIB else f"{size / MIB:.2g}"


def is_gzip(data: bytes) -> bool:
    """Whether the first bytes are those of gzip."""
    return data.startswith(GZIP)


def is_zip(data: bytes) -> bool:
    """Whether the first bytes are those of a zip archive."""
    return data.startswith(ZIP)


def is_container(data: bytes) -> bool:
    """Whether a zip or tar archive begins so, or a mail: what a browser saves as .mht, or a message as .eml."""
    return is_zip(data) or _is_tar(data) or is_mail(data)


def _is_tar(data: bytes) -> bool:
    return data[_TAR_AT : _TAR_AT + 5] == b"ustar"


def is_mail(data: bytes) -> bool:
    """Whether the file begins with the head of a mail that says of what its parts are."""
    head = re.split(rb"\r?\n\r?\n", data[:16_384].lstrip(), maxsplit=1)[0]
    return _MAIL.match(head + b"\n") is not None and _MIME.search(head) is not None


def unread_kind(data: bytes) -> str | None:
    """The kind of an archive that is not read."""
    return next((name for sign, name in OTHERS.items() if data.startswith(sign)), None)


def sized(data: bytes, name: str, limits: Limits = LIMITS) -> bytes:
    """The bytes themselves, if there are not too many. Raises TooLarge."""
    if len(data) > limits.per_input:
        raise TooLarge(f"{name} is more than {mib(limits.per_input)} MiB; an input is at most that")
    return data


def gunzipped(data: bytes, name: str, limits: Limits = LIMITS) -> bytes:
    """The content of a gzipped file. Raises InputError."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return _within(cast(IO[bytes], file), len(data), name, limits)
    except _BROKEN as error:
        raise damaged(name, error) from None


def unpacked_member(member: Member, limits: Limits = LIMITS) -> bytes:
    """The bytes of a member, which may be gzipped once more. Raises InputError."""
    if isinstance(member.data, InputError):
        raise member.data
    return gunzipped(member.data, member.label, limits) if is_gzip(member.data) else member.data


def damaged(name: str, error: Exception) -> InputError:
    """The error for a file that cannot be unpacked or read to its end."""
    return InputError(f"{name} is damaged ({_brief(error)}); copy it again")


def members(data: bytes, name: str, limits: Limits = LIMITS) -> Iterator[Member]:
    """The files of an archive or mail in order, without hidden ones. Raises InputError if none may be unpacked."""
    if not is_mail(data):  # checked before a million entries are read into memory
        _counted(data.count(_ENTRY), name, limits)
    kind, read = (
        ("mail", _of_mail) if is_mail(data) else ("tar archive", _of_tar) if _is_tar(data) else ("zip archive", _of_zip)
    )
    try:
        yield from read(data, name, limits)
    except (*_BROKEN, tarfile.TarError) as error:
        raise InputError(f"{name} is a damaged {kind} ({_brief(error)}); copy it again") from None


def _of_zip(data: bytes, name: str, limits: Limits) -> Iterator[Member]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir() and not _hidden(entry.filename)]
        _claimed(entries, name, limits)
        for entry in entries:
            yield _member(archive, entry, label(f"{name}!{entry.filename}"), limits)


def _of_tar(data: bytes, name: str, limits: Limits) -> Iterator[Member]:
    """Its plain files. A tar archive packs nothing, so it holds at most its own size."""
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for number, entry in enumerate(archive, 1):
            _counted(number, name, limits)
            if entry.isreg() and not entry.sparse and not _hidden(entry.name) and (file := archive.extractfile(entry)):
                shown = label(f"{name}!{entry.name}")
                try:
                    yield Member(shown, _within(file, entry.size, shown, limits))
                except InputError as error:
                    yield Member(shown, error)


class _Heads(policy.Compat32):
    """Of a part of a mail. The parser of its parameters takes the square of their length."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        if name.lower().startswith("content-") and len(value) > MOST_OF_A_HEAD:
            raise ValueError(f"a line {label(name)} of {len(value):,} characters")
        return name, value


def _of_mail(data: bytes, name: str, limits: Limits) -> Iterator[Member]:
    """The body of a mail and what is attached, in UTF-8 where they are text; pictures and styles left out."""
    for number, part in enumerate(message_from_bytes(data.lstrip(), policy=_Heads()).walk(), 1):
        _counted(number, name, limits)
        kind, body = part.get_content_type(), part.get_payload(decode=True)
        if part.is_multipart() or not isinstance(body, bytes) or not body.strip():
            continue
        if kind.startswith("image/") or kind in ("text/css", "application/javascript"):
            continue
        if (charset := part.get_content_charset()) and kind.startswith("text/"):
            with suppress(LookupError, ValueError):  # a charset that nobody knows, or that is none of text
                body = body.decode(charset, "replace").encode(errors="replace")
        page = kind == "text/html" and not part.get_filename()  # the mail itself, so it keeps its name
        yield Member(label(name if page else f"{name}!{part.get_filename() or f'part {number}'}"), body)


def _counted(members: int, name: str, limits: Limits) -> None:
    if members > limits.members:
        raise TooLarge(f"{name} has more than {limits.members:,} members; pack fewer reports into one archive")


def _claimed(entries: list[zipfile.ZipInfo], name: str, limits: Limits) -> None:
    """Refuse an archive that claims to contain too much. No member can give more than it claims."""
    total, packed = sum(entry.file_size for entry in entries), sum(entry.compress_size for entry in entries)
    if total > limits.total:
        raise TooLarge(f"{name} unpacks to {mib(total)} MiB; at most {mib(limits.total)} MiB are unpacked")
    if _swollen(total, packed, limits):
        raise TooLarge(_bomb(name, limits))


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str, limits: Limits) -> Member:
    try:
        if entry.flag_bits & 0x1:
            raise InputError(f"{name} is encrypted; unpack the archive and name the files")
        if entry.compress_type not in _METHODS:
            raise InputError(f"{name} is packed by a method other than deflate; unpack the archive and name the files")
        if entry.file_size > limits.per_input:
            raise TooLarge(f"{name} is {mib(entry.file_size)} MiB; an input is at most {mib(limits.per_input)} MiB")
        with archive.open(entry) as file:
            return Member(name, _within(file, entry.compress_size, name, limits))
    except InputError as error:
        return Member(name, error)
    except _BROKEN as error:
        return Member(name, InputError(f"{name} is damaged ({_brief(error)}); pack it again"))


def _within(file: IO[bytes], packed: int, name: str, limits: Limits) -> bytes:
    """Read to the end in pieces, and stop if there is too much."""
    pieces: list[bytes] = []
    total = 0
    while piece := file.read(_CHUNK):
        total += len(piece)
        if total > limits.per_input:
            raise TooLarge(f"{name} unpacks to more than {mib(limits.per_input)} MiB; an input is at most that")
        if _swollen(total, packed, limits):
            raise TooLarge(_bomb(name, limits))
        pieces.append(piece)
    return b"".join(pieces)


def _swollen(unpacked: int, packed: int, limits: Limits) -> bool:
    return unpacked > limits.unasked and unpacked > packed * limits.ratio


def _bomb(name: str, limits: Limits) -> str:
    return (
        f"{name} unpacks to more than {limits.ratio} times its size, which no report does; unpack it and name the files"
    )


def _hidden(path: str) -> bool:
    return any(part.startswith(".") and part not in (".", "..") for part in path.split("/")) or path.startswith(
        "__MACOSX/"
    )


def _brief(error: Exception) -> str:
    return label(str(error).splitlines()[0] if str(error) else type(error).__name__)
