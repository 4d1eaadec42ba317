"""The key of a row cache entry as a name, where a published layout fits it, and the query that checks the reading."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from collectors.commands import Given, WithheldError, command

# Decodes the key of a row cache entry. Oracle documents no layout. Each rule here comes from a public script, is
# checked
# against the bytes before use, and says that it reads raw bytes. A key that fits no rule stays raw.
#
# The scripts are `ora/rowcache.sql` of hyee/dbcli (12c and later) and `we.sql` of htz.pw (10g and 11g).

ByteOrder = Literal["little", "big"]

NAME = re.compile(rb"[ -~]{1,128}")
LARGEST = 1 << 24
"""Numbers of users, objects and files are smaller than this, which shows the byte order of four bytes."""
PUBLISHED = "raw bytes read as a public script for {0} does, not documented by Oracle"


@dataclass(frozen=True, slots=True)
class KeyReading:
    """The meaning of a key. `rule`: how it was read, or why it was not. `query`: how to check it."""

    object: str | None
    rule: str
    query: str | None = None


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A cache whose key starts with a number of four bytes: what it numbers, and the query that names it."""

    what: str
    query: str


_OBJECT = "select owner, object_name, object_type from dba_objects where object_id = {number} and rownum <= 20"
_COLUMN = (
    "select owner, table_name, column_name from dba_tab_cols where internal_column_id = {column} and (owner, table_name) in "
    "(select owner, object_name from dba_objects where object_id = {number}) and rownum <= 20"
)
NUMBERED: Mapping[str, _Numbered] = {
    "dc_sequences": _Numbered("object", _OBJECT),
    "dc_realtime_tabst": _Numbered("object", _OBJECT),
    "dc_realtime_colst": _Numbered("object", _OBJECT),
    "dc_histogram_defs": _Numbered("object", _OBJECT),
    "dc_tablespaces": _Numbered("tablespace", "select name from v$tablespace where ts# = {number} and rownum <= 20"),
    "dc_files": _Numbered("file", "select name from v$datafile where file# = {number} and rownum <= 20"),
    "dc_profiles": _Numbered("profile", "select name from sys.profname$ where profile# = {number} and rownum <= 20"),
}
OF_COLUMNS = ("dc_realtime_colst", "dc_histogram_defs")
"""Caches whose key continues with the number of a column."""
NO_RULE = {
    "dc_segments": "what is published of the key of dc_segments does not agree with itself",
}


def read_key(cache: str | None, key: str | None) -> KeyReading | None:
    """The meaning of an entry's key, None without a key."""
    if not key:
        return None
    try:
        raw = bytes.fromhex(key)
    except ValueError:
        return KeyReading(None, "it is not hex")
    if cache in NUMBERED:
        return _numbered(str(cache), NUMBERED[str(cache)], raw)
    if cache == "dc_objects":
        return _named_object(raw)
    if cache == "dc_users":
        return _named_user(raw)
    return KeyReading(None, NO_RULE.get(cache or "", f"no rule is published for a key of {cache}"))


def _numbered(cache: str, numbered: _Numbered, raw: bytes) -> KeyReading:
    order = _order_of(raw[:4])
    if order is None:
        return _unfit(cache, "the byte order of its first four bytes is not plain")
    number, rule = int.from_bytes(raw[:4], order), f"{PUBLISHED.format(cache)}: the first four bytes, {order}-endian"
    column = raw[4] if cache in OF_COLUMNS and order == "little" and len(raw) > 5 and raw[4] and not raw[5] else None
    if column is None:
        return KeyReading(f"{numbered.what} number {number}", rule, command(numbered.query, number=number))
    return KeyReading(
        f"column {column} of {numbered.what} number {number}",
        f"{rule}, and the byte after them",
        command(_COLUMN, number=number, column=column),
    )


def _named_object(raw: bytes) -> KeyReading:
    for name, order, width in _names(raw, 4):
        order = order or _order_of(raw[:4])
        rule = f"{PUBLISHED.format('dc_objects')}: owner in four bytes, length of the name in {width}, the name"
        text = "select owner, object_name, object_type from dba_objects where object_name = {name:text}"
        if order is None:
            return _checked(name, rule, f"{text} and rownum <= 20", name=name)
        owner = int.from_bytes(raw[:4], order)
        text += " and owner = (select username from dba_users where user_id = {owner}) and rownum <= 20"
        return _checked(f"{name} of user number {owner}", rule, text, name=name, owner=owner)
    return _unfit("dc_objects", "it has no name of the length it gives")


def _named_user(raw: bytes) -> KeyReading:
    for name, _, width in _names(raw, 0):
        rule = f"{PUBLISHED.format('dc_users')}: length of the name in {width} byte{'s' * (width > 1)}, the name"
        text = (
            "select username as name, 'user' as kind from dba_users where username = {name:text} union all "
            "select role, 'role' from dba_roles where role = {name:text}"
        )
        return _checked(f"user or role {name}", rule, text, name=name)
    return _unfit("dc_users", "it has no name of the length it gives")


def _checked(said: str, rule: str, text: str, **values: Given) -> KeyReading:
    """The meaning with the query that checks it, or why there is none."""
    try:
        return KeyReading(said, rule, command(text, **values))
    except WithheldError as reason:
        return KeyReading(said, f"{rule}; there is no query to check it, because {reason}")


def _names(raw: bytes, start: int) -> Iterator[tuple[str, ByteOrder | None, int]]:
    """A name after its length of two bytes, or one: printable, and followed by nothing, a zero or a blank."""
    orders: tuple[ByteOrder, ...] = ("little", "big")
    lengths: list[tuple[int, ByteOrder | None, int]] = [
        (int.from_bytes(raw[start : start + 2], order), order, 2) for order in orders
    ]
    lengths += [(raw[start], None, 1)] if len(raw) > start else []
    for length, order, width in lengths:
        name, after = raw[start + width :][:length], raw[start + width + length :][:1]
        if length and len(name) == length and NAME.fullmatch(name) and after in (b"", b"\0", b" "):
            yield name.decode("ascii"), order, width


def _order_of(four: bytes) -> ByteOrder | None:
    """The byte order in which four bytes are a small number. None if both are and differ, or if neither is."""
    if len(four) < 4:
        return None
    little, big = int.from_bytes(four, "little"), int.from_bytes(four, "big")
    if little == big:
        return "little"
    if (little < LARGEST) == (big < LARGEST):
        return None
    return "little" if little < LARGEST else "big"


def _unfit(cache: str, why: str) -> KeyReading:
    return KeyReading(None, f"it does not fit the published layout of a key of {cache} ({why})")
