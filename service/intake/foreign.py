"""What files are that latchscope does not diagnose, by foreign.yaml: each is called by its name, with what to send instead."""

import codecs
import re
from functools import cache
from pathlib import Path

import yaml

SEEN = 64 * 1024
"""Bytes of the begin and of the end of a file that are looked at. An archive lists its files at its end."""


@cache
def _kinds() -> tuple[tuple[re.Pattern[str], str], ...]:
    listed = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
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
