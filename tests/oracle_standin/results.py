"""The messages of an answer: description of columns, rows, the closing status or error."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .backend import OracleType, ResultColumn
from .profiles import Profile
from .values import encode_date, encode_number, encode_timestamp, encode_timestamp_tz
from .wire import prefixed, prefixed_twice, sb, ub

END_OF_ANSWER = b"\x1d"
NO_DATA_FOUND = "ORA-01403: no data found"
IN_TRANSACTION = 2
_UTF8 = 873
_ERROR, _ROW_HEADER, _ROW, _PARAMETERS, _STATUS, _DESCRIBE = 4, 6, 7, 8, 9, 16

_ENCODERS: dict[OracleType, Callable[[Any], bytes]] = {
    OracleType.NUMBER: encode_number,
    OracleType.VARCHAR2: str.encode,
    OracleType.RAW: bytes,
    OracleType.DATE: encode_date,
    OracleType.TIMESTAMP: encode_timestamp,
    OracleType.TIMESTAMP_TZ: encode_timestamp_tz,
}
# Type number, bytes a value takes (None: as the column says), scale. A NUMBER without limits has scale -127.
_SHAPES: dict[OracleType, tuple[int, int | None, int]] = {
    OracleType.NUMBER: (2, 22, -127),
    OracleType.VARCHAR2: (1, None, 0),
    OracleType.RAW: (23, None, 0),
    OracleType.DATE: (12, 7, 0),
    OracleType.TIMESTAMP: (180, 11, 6),
    OracleType.TIMESTAMP_TZ: (181, 13, 6),
}


def describe(columns: Sequence[ResultColumn], field_version: int, *, sized_scales: bool) -> bytes:
    """The descriptions of a result's columns."""
    described = b"".join(_column(column, at, field_version, sized_scales) for at, column in enumerate(columns, 1))
    # Nothing before (a cursor's hash), the longest row, the columns; then date, flags, three limits, cache key.
    return bytes((_DESCRIBE, 0)) + ub(65535) + ub(len(columns)) + b"\0" + described + bytes(6)


def _column(column: ResultColumn, position: int, field_version: int, sized_scales: bool) -> bytes:
    number, fixed, scale = _SHAPES[column.type]
    is_text = column.type is OracleType.VARCHAR2
    size = fixed or column.size
    parts = [
        bytes((number, 0, 0)) + (sb(scale) if sized_scales else bytes((scale & 0xFF,))),
        ub(size) + ub(0) + ub(0),  # bytes, array elements, flags
        ub(0) + ub(0),  # object type and its version
        (ub(_UTF8) + b"\x01") if is_text else b"\0\0",  # character set and its form
        ub(size if is_text else 0),
        ub(0) if field_version >= 8 else b"",
        b"\x01" + b"\0",  # may be NULL; the name's length as version 7 wanted it
        prefixed_twice(column.name.encode()) + ub(0) + ub(0),  # name, schema, type
        ub(position) + ub(0),
        bytes(2) if field_version >= 17 else b"",  # domain
        ub(0) if field_version >= 20 else b"",  # annotations
        bytes(3) if field_version >= 24 else b"",  # vector dimensions, format, flags
    ]
    return b"".join(parts)


def rows(columns: Sequence[ResultColumn], values: Iterable[Sequence[object]]) -> bytes:
    """Rows in full. Raises what the encoders raise for a value that its column cannot hold."""
    encoders = [_ENCODERS[column.type] for column in columns]
    # The number of columns, which go-ora reads when a statement runs again and is not described again.
    header = bytes((_ROW_HEADER, 0)) + ub(len(columns)) + ub(0) + ub(1) + bytes(3)
    return header + b"".join(_row(encoders, row) for row in values)


def _row(encoders: list[Callable[[Any], bytes]], row: Sequence[object]) -> bytes:
    cells = [b"\0" if value is None else prefixed(encode(value)) for encode, value in zip(encoders, row, strict=True)]
    return bytes((_ROW,)) + b"".join(cells)


def query_parameters() -> bytes:
    """The end of a query's rows: two numbers that nobody uses, and empty texts, pairs and registrations."""
    return bytes((_PARAMETERS,)) + ub(2) + bytes(2) + bytes(3)


def login_parameters(pairs: dict[str, str], flags: dict[str, int]) -> bytes:
    """Names and values of the login, each with its flags (zero unless given)."""
    written = (
        prefixed_twice(name.encode()) + prefixed_twice(value.encode()) + ub(flags.get(name, 0))
        for name, value in pairs.items()
    )
    return bytes((_PARAMETERS,)) + ub(len(pairs)) + b"".join(written)


def release(profile: Profile) -> bytes:
    """The release in words and in one integer."""
    return bytes((_PARAMETERS,)) + prefixed_twice(profile.banner) + ub(profile.packed_release)


def status(call_status: int = 0) -> bytes:
    """The end of a call without any other answer."""
    return bytes((_STATUS,)) + ub(call_status) + ub(0)


def outcome(
    field_version: int, code: int = 0, text: str = "", *, cursor: int = 0, affected: int = 0, call_status: int = 0
) -> bytes:
    """The end of a statement: its ORA- code (0 for success), its cursor and its number of rows."""
    parts = [
        bytes((_ERROR,)) + ub(call_status),
        bytes(2) + ub(code & 0xFFFF) + bytes(2),  # sequence, current row, the old error number, array elements
        ub(cursor),
        # Position, statement type, fatal, three flags, warnings, rowid of five, operating system error, statement
        # and call number, padding, iterations, logical rowid, and three empty arrays of batch errors.
        bytes(21),
        ub(code) + ub(affected),
        bytes(2) if field_version >= 14 else b"",  # statement type, checksum
        prefixed(f"{text}\n".encode()) if code else b"",
    ]
    return b"".join(parts)
