"""Column and bind values in the database's own formats, both ways.

Encoders return the value without its length; decoders take it the same way. `None` never comes here: NULL is a length of
zero, and the code for lengths handles it.
"""

import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from functools import lru_cache

# A NUMBER is a base-100 exponent and base-100 digits. Reading the decimal digits as hexadecimal puts one pair
# into each byte, and one table turns such bytes into digits + 1 (or 101 - digits for negative numbers).
_PAIRS = [(byte >> 4) * 10 + (byte & 15) for byte in range(256)]
_POSITIVE = bytes((pair + 1) % 256 for pair in _PAIRS)
_NEGATIVE = bytes((101 - pair) % 256 for pair in _PAIRS)
_MOST_PAIRS = 20
_PRECISION = Context(prec=38)


@lru_cache(maxsize=8192)
def encode_number(value: int | float | Decimal) -> bytes:
    """NUMBER: a value that rounds to zero below 1e-130 becomes zero.

    ValueError from 1e126 on and for a value that is not a number.
    """
    negative, digits, exponent = _parts(value)
    if not digits:
        return b"\x80"
    digits, exponent = (digits + "0", exponent - 1) if exponent % 2 else (digits, exponent)
    digits = digits if len(digits) % 2 == 0 else "0" + digits
    power = (exponent + len(digits)) // 2 - 1
    if power > 62:
        raise ValueError(f"{value} is too large for NUMBER")
    if power < -65:
        return b"\x80"
    pairs = bytes.fromhex(digits)
    if not negative:
        return bytes((193 + power,)) + pairs.translate(_POSITIVE)
    sentinel = b"\x66" if len(pairs) < _MOST_PAIRS else b""
    return bytes((62 - power,)) + pairs.translate(_NEGATIVE) + sentinel


def _parts(value: int | float | Decimal) -> tuple[bool, str, int]:
    """Sign, significant digits without zeros at the end, power of ten of the last digit."""
    if isinstance(value, int) and abs(value) < 10**38:
        text = str(abs(value))
        digits = text.rstrip("0")
        return value < 0, digits, len(text) - len(digits)
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not exact.is_finite():
        raise ValueError(f"{value} is no NUMBER")
    sign, numerals, exponent = _PRECISION.plus(exact).as_tuple()
    text = "".join(map(str, numerals)).lstrip("0")
    digits = text.rstrip("0")
    return sign == 1, digits, int(exponent) + len(text) - len(digits)


def decode_number(data: bytes) -> int | float:
    """NUMBER to int, or to float when it has a fraction."""
    positive = data[0] >= 128
    if len(data) == 1:
        return 0 if positive else -(10**126)
    power = data[0] - 193 if positive else 62 - data[0]
    body = data[1:] if positive else data[1:].removesuffix(b"\x66")
    pairs = [byte - 1 if positive else 101 - byte for byte in body]
    digits = int("".join(f"{pair:02d}" for pair in pairs)) * (1 if positive else -1)
    exponent = 2 * (power + 1 - len(pairs))
    return digits * 10**exponent if exponent >= 0 else _with_fraction(digits, exponent)


def _with_fraction(digits: int, exponent: int) -> int | float:
    exact = Decimal(digits).scaleb(exponent, Context(prec=45))
    return int(exact) if exact == exact.to_integral_value() else float(exact)


def encode_date(value: date) -> bytes:
    """DATE: seven bytes to the second."""
    clock = (value.hour, value.minute, value.second) if isinstance(value, datetime) else (0, 0, 0)
    century, year = divmod(value.year, 100)
    return bytes((century + 100, year + 100, value.month, value.day, *(part + 1 for part in clock)))


def encode_timestamp(value: date) -> bytes:
    """TIMESTAMP: a DATE, and nanoseconds only where there is a fraction."""
    micros = value.microsecond if isinstance(value, datetime) else 0
    return encode_date(value) + (struct.pack(">I", micros * 1000) if micros else b"")


def encode_timestamp_tz(value: datetime) -> bytes:
    """TIMESTAMP WITH TIME ZONE: the moment in UTC and the offset; a value without a zone counts as UTC."""
    offset = value.utcoffset() or timedelta()
    moment = value.astimezone(UTC) if value.tzinfo else value
    minutes = int(offset.total_seconds()) // 60
    sign = -1 if minutes < 0 else 1
    hours, rest = divmod(abs(minutes), 60)
    zone = bytes((20 + sign * hours, 60 + sign * rest))
    return encode_date(moment) + struct.pack(">I", moment.microsecond * 1000) + zone


def decode_moment(data: bytes) -> datetime:
    """DATE, TIMESTAMP or TIMESTAMP WITH TIME ZONE (then in UTC) to a datetime without a zone."""
    micros = int.from_bytes(data[7:11], "big") // 1000
    year = (data[0] - 100) * 100 + data[1] - 100
    clock = (data[4] - 1, data[5] - 1, data[6] - 1, micros)
    return datetime(year, data[2], data[3], *clock)  # noqa: DTZ001 - these types have no zone


def decode_double(data: bytes) -> float:
    """BINARY_DOUBLE and BINARY_FLOAT: the sign bit is flipped, negative values are flipped throughout."""
    flipped = bytes((data[0] & 0x7F,)) + data[1:] if data[0] & 0x80 else bytes(byte ^ 0xFF for byte in data)
    return float(struct.unpack(">d" if len(data) == 8 else ">f", flipped)[0])


def _text(data: bytes) -> str:
    return data.decode()


DECODERS: dict[int, Callable[[bytes], object]] = {
    1: _text,  # VARCHAR2
    2: decode_number,
    3: decode_number,  # BINARY_INTEGER travels as NUMBER
    8: _text,  # LONG
    12: decode_moment,  # DATE
    23: bytes,  # RAW
    24: bytes,  # LONG RAW
    96: _text,  # CHAR
    100: decode_double,
    101: decode_double,
    180: decode_moment,  # TIMESTAMP
    181: decode_moment,  # TIMESTAMP WITH TIME ZONE
    231: decode_moment,  # TIMESTAMP WITH LOCAL TIME ZONE
    252: lambda data: data[0] == 1,  # BOOLEAN
}
