"""Oracle release numbers: comparing them, and choosing the statement text that fits one."""

from collections.abc import Mapping
from functools import cache, lru_cache
from inspect import cleandoc

OLDEST = "11.2"


@lru_cache(maxsize=1024)
def parts(release: str) -> tuple[int, ...]:
    """'11.2.0.4.0' → (11, 2, 0, 4, 0); trailing words and the 'g', 'c', 'ai' of marketing names are ignored."""
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
    """A statement as the database sees it and a DBA finds it in v$sql: without the indentation of our source."""
    return cleandoc(statement)


def text_for(statements: Mapping[str, str], release: str | None) -> str | None:
    """The text of the nearest release at or below `release`; None when every text is for a newer one.

    An unknown release gets the oldest text: what the oldest release can answer, every newer one can.
    """
    wanted = parts(release or min(statements, key=parts))
    fitting = [floor for floor in statements if parts(floor) <= wanted]
    return as_sent(statements[max(fitting, key=parts)]) if fitting else None
