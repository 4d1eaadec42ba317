"""Bytes to text: UTF-8, UTF-16 with its mark, else Windows-1252. Only a file that is not text fails."""

import codecs

from collectors.errors import InputError

LIMIT_BYTES = 64 * 1024 * 1024
_ENDINGS = str.maketrans({"\r": "\n"})


def decode(data: bytes, name: str) -> str:
    """The report as text with plain line ends. Raises InputError for an empty, binary or oversized file."""
    if len(data) > LIMIT_BYTES:
        size = f"{len(data) / 2**20:,.0f} MiB"
        raise InputError(f"{name} is {size}; a report is at most {LIMIT_BYTES // 2**20} MiB, so split it")
    if not data.strip():
        raise InputError(f"{name} is empty; copy the report again, or run awrrpt.sql or spreport.sql")
    text = as_text(data)
    if "\0" in text:
        raise InputError(f"{name} is binary, not a report; unpack it first, or save the report as HTML or text")
    return text.replace("\r\n", "\n").translate(_ENDINGS)


def as_text(data: bytes) -> str:
    """Bytes as text: by their mark, as UTF-8 if valid, else as Windows-1252 with unknown bytes replaced."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
