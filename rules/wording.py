"""The sentences of a cause: fills slots with measured values, and adds doubt in one place."""

import re
from collections.abc import Mapping

from collectors.model import spoken
from rules.formatting import percent, rough, within
from rules.model import Confidence

CACHE = "cache"
HOLDER = "holder"
"""Slots that are not signals: the cache of the finding, and the session that most hanging sessions wait for."""
_SLOT = re.compile(r"\{(\w+)\}")


def slots(*texts: str | None) -> frozenset[str]:
    """The names of the slots in some texts."""
    return frozenset(name for text in texts if text for name in _SLOT.findall(text))


def filled(measured: str | None, plain: str, values: Mapping[str, str]) -> str:
    """The text with slots if every one is known, else the plain one."""
    if measured is None or not slots(measured) <= set(values):
        return plain
    return _SLOT.sub(lambda slot: values[slot[1]], measured)


def in_slot(value: float, unit: str) -> str:
    """A signal's value for a sentence that names what is counted: 31.9 %, 4.2 ms, 18 seconds, 205."""
    if unit in ("ratio", "share of DB time"):
        return percent(value)
    if unit == "s":
        return spoken(value)  # how long something has lasted so far
    return f"{rough(value)} {unit}" if unit == "ms" else rough(value)


def hedged(title: str, after: str | None, confidence: Confidence, against: bool) -> str:
    """A title as sure as its finding: unchanged, with "probably" after its subject, or with "Perhaps" before it.

    `against` says that the confirming query speaks against the finding.
    """
    if against:
        return f"Perhaps {within(title)}"
    if confidence is not Confidence.LOW:
        return title
    if after is None or not title.startswith(f"{after} "):
        return f"Perhaps {within(title)}"
    return f"{after} probably{title[len(after) :]}"
