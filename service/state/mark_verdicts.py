"""What a change mark did about a trouble: the form that the store and REST have, and the words that people read."""

from collections.abc import Mapping

from service.state.episodes import MarkVerdict

VERIFIED = "verified: "
NOT_YET = "not verified yet: "
NOT_VERIFIED = "not verified because "
"""The beginnings of a stored verdict."""
_WORDS: Mapping[str, str] = {VERIFIED: "Verified", NOT_YET: "Not verified yet", NOT_VERIFIED: "Not verified"}
KINDS: Mapping[str, MarkVerdict] = {VERIFIED: "verified", NOT_YET: "too_early", "": "not_verified"}
"""The kind of a verdict that was stored without one, by its beginning."""


def in_words(verdict: str) -> tuple[str, str]:
    """The result and why, for people: `verified: after the change …` → "Verified" and "After the change …"."""
    found = next((beginning for beginning in _WORDS if verdict.startswith(beginning)), None)
    if found is None:
        return "", verdict
    why = verdict.removeprefix(found)
    return _WORDS[found], f"{why[:1].upper()}{why[1:]}"


def told(verdict: str) -> str:
    """A verdict as it reads in lists and messages."""
    return ". ".join(part for part in in_words(verdict) if part)
