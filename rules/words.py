"""Sentences with slots, as the YAML files have them: fills in names, numbers and plurals. Every such sentence is filled here."""

import re
from collections.abc import Mapping

from rules.formatting import count

Value = str | int | float

_SLOT = re.compile(r"\{(\w+)(?:(:)? ?([^{}|:]+)(?:\|([^{}|]+))?)?\}")


def say(sentence: str, values: Mapping[str, Value]) -> str:
    """The sentence with its slots filled. KeyError for a slot without a value.

    `{holder}` is the value, a number with its thousands separated. `{waiting session}` is "1 session" or "1,204 sessions", and
    `{entries entry|entries}` names a plural of its own. `{waiting: waits|wait}` is the word alone that fits the number.
    """
    return _SLOT.sub(lambda slot: _filled(values[slot[1]], slot[2], slot[3], slot[4]), sentence)


def slots(*sentences: str | None) -> frozenset[str]:
    """The names of the slots in some sentences."""
    return frozenset(slot[1] for sentence in sentences if sentence for slot in _SLOT.finditer(sentence))


def _filled(value: Value, alone: str | None, one: str | None, many: str | None) -> str:
    told = value if isinstance(value, str) else count(value)
    if one is None:
        return told
    word = one if value == 1 else many or f"{one}s"
    return word if alone else f"{told} {word}"
