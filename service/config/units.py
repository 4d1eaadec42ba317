"""Durations and sizes as people write them in a configuration."""

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator

_DURATION = re.compile(r"^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$")
_SIZE = re.compile(r"^(\d+)\s*(KiB|MiB)?$")
_SIZES = {"KiB": 2**10, "MiB": 2**20, None: 1}
EXAMPLES = "write 500ms, 15s, 2m, 1h or 90d"
_WORD = re.compile(r"^(\d+(?:\.\d+)?)\s*([a-z]+)\.?$", re.IGNORECASE)
_WORDS = {"d": "days", "h": "hours hrs", "ms": "milliseconds msecs millis", "m": "minutes mins", "s": "seconds secs"}
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}


def seconds(value: object) -> object:
    """'15s', '500ms', '2m', '90d' or a plain number, as seconds."""
    if not isinstance(value, str):
        return value
    match = _DURATION.match(value.strip())
    if match is None:
        raise ValueError(f"{value!r} is not a duration; {_written(value)}")
    return float(match[1]) * _UNITS[match[2]]


def _written(value: str) -> str:
    """How to write a duration, with the unit that a word means."""
    word = _WORD.match(value.strip())
    names = {name: unit for unit, words in _WORDS.items() for name in (unit, *words.split())}
    unit = word and next((names[name] for name in (word[2].lower(), f"{word[2].lower()}s") if name in names), None)
    return f"did you mean {word[1]}{unit}?" if word and unit else EXAMPLES


def size(value: object) -> object:
    """'16MiB', '500KiB' or a plain number, as bytes."""
    match = _SIZE.match(value.strip()) if isinstance(value, str) else None
    if isinstance(value, str) and match is None:
        raise ValueError(f"{value!r} is not a size; write 16MiB or 500KiB")
    return int(match[1]) * _SIZES[match[2]] if match else value


Seconds = Annotated[float, BeforeValidator(seconds)]
Bytes = Annotated[int, BeforeValidator(size)]


def on_or_off(value: object) -> object:
    """`on` and `off` as people write them. YAML reads them as true and false."""
    return ("on" if value else "off") if isinstance(value, bool) else value


Switch = Annotated[Literal["on", "off"], BeforeValidator(on_or_off)]
