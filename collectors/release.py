"""Oracle release numbers: how to compare them, and how to choose the statement for one."""

from collections.abc import Mapping
from functools import cache, lru_cache
from inspect import cleandoc

OLDEST = "11.2"


@lru_cache(maxsize=1024)
def parts(release: str) -> tuple[int, ...]:
    """'11.2.0.4.0' → (11, 2, 0, 4, 0). Trailing words and the 'g', 'c', 'ai' of marketing names are ignored."""
    numbers = []
    for piece in release.strip().partition(" ")[0].split("."):
        digits = "".join(ch for ch in piece if ch.isdecimal())
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)


def at_least(release: str, floor: str) -> bool:
    """Whether `release` is `floor` or newer, compared as far as `floor` goes."""
    return parts(release) >= parts(floor)


@cache
def as_sent(statement: str) -> str:
    """A statement as the database receives it and a DBA finds it in v$sql: without the indentation of our source."""
    return cleandoc(statement)


def text_for(statements: Mapping[str, str], release: str | None) -> str | None:
    """The text for the nearest release at or below `release`. None if every text is for a newer one.

    An unknown release gets the oldest text: every newer release can answer it too.
    """
    wanted = parts(release or min(statements, key=parts))
    fitting = [floor for floor in statements if parts(floor) <= wanted]
    return as_sent(statements[max(fitting, key=parts)]) if fitting else None
