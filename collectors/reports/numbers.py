"""Numbers as reports print them: 1,234 · .5 · -4,018 · 20.1K · 109.72us · N/A · blank · ####. Unknown stays None."""

import re

LARGEST_CELL = 40
_NUMBER = re.compile(r"([-+]?)((?:\d[\d,]*)?(?:\.\d*)?)\s*([A-Za-z%]*)")
_SCALES = {"": 1, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000, "T": 1_000_000_000_000}
"""The reports' own legend: K is 1000, M is 1000000."""
_UNITS = {"ns": 0.001, "us": 1.0, "ms": 1e3, "cs": 1e4, "s": 1e6, "min": 6e7}


def is_overflow(cell: str) -> bool:
    """Whether the number did not fit its column and was printed as signs."""
    return bool(cell) and not cell.strip("#")


def real(cell: str) -> float | None:
    """A number with thousands separators, a sign or a scale. None for anything else, including blank and N/A."""
    parsed = _parsed(cell)
    if parsed is None or parsed[1].upper() not in _SCALES:
        return None
    return parsed[0] * _SCALES[parsed[1].upper()]


def count(value: str) -> int | float | None:
    """A number, as an int if it is printed without decimals."""
    number = real(value)
    if number is None:
        return None
    return int(number) if number.is_integer() else number


def micro(cell: str, unit: str) -> int | None:
    """A time in microseconds. A unit in the cell (109.72us) wins over `unit`, the unit of the column heading."""
    parsed = _parsed(cell)
    if parsed is None:
        return None
    number, suffix = parsed
    if suffix.lower() in _UNITS:
        return round(number * _UNITS[suffix.lower()])
    if suffix.upper() in _SCALES:
        return round(number * _SCALES[suffix.upper()] * _UNITS[unit])
    return None


def decimals(cell: str) -> int | None:
    """How many decimals a number is printed with. None if it is not a number."""
    parsed = _NUMBER.fullmatch(cell.strip()) if len(cell) <= LARGEST_CELL else None
    return len(parsed[2].partition(".")[2]) if parsed and parsed[2] else None


def _parsed(cell: str) -> tuple[float, str] | None:
    cell = cell.strip()
    match = _NUMBER.fullmatch(cell) if len(cell) <= LARGEST_CELL else None
    if not match or not any(sign.isdigit() for sign in match[2]):
        return None
    return float(match[1] + match[2].replace(",", "")), match[3]
