"""One statement that latchscope can send: its exact text, and what a DBA asks about it before it runs."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from collectors.deadline import STATEMENT_SECONDS

StatementKind = Literal["login", "poll", "group", "burst", "look", "changes", "holders", "check", "confirm"]
HASH_LENGTH = 12
"""Hex digits of a hash as it is shown: with a few hundred texts two of them never agree by chance."""

_TOKEN = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"[^\"]*\"|[A-Za-z_][\w$#]*(?:\.[\w$#]+)*|:\w+|[\d.]+|<=|\S", re.DOTALL
)
_END_OF_FROM = frozenset({"where", "group", "order", "having", "connect", "start", "union", "minus", "intersect", "on"})
_SQL_ID = "0123456789abcdfghjkmnpqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Statement:
    """One text of the list. The comment that marks it is part of the text."""

    kind: StatementKind
    name: str
    """The view, group or cause it is for."""
    text: str
    why: str
    when: str
    how_often: str
    releases: str = "every release"
    deadline_seconds: float = STATEMENT_SECONDS
    """After this time latchscope cancels it, unless the configuration says otherwise."""

    @property
    def digest(self) -> str:
        """The SHA-256 of the text in UTF-8, as hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def hash(self) -> str:
        """The first digits of the digest, by which people name the statement."""
        return self.digest[:HASH_LENGTH]

    @property
    def sql_id(self) -> str:
        """The SQL_ID under which v$sql and AWR have the text: the last 64 bits of its MD5 with a zero byte, in base 32."""
        digest = hashlib.md5(self.text.encode() + b"\0", usedforsecurity=False).digest()
        number = int.from_bytes(digest[8:12], "little") << 32 | int.from_bytes(digest[12:16], "little")
        return "".join(_SQL_ID[number >> 5 * place & 31] for place in range(12, -1, -1))

    @property
    def reads(self) -> tuple[str, ...]:
        """The views and tables that the text reads, in order, without repeats."""
        return tuple(dict.fromkeys(_read(words(self.text))))

    @property
    def binds(self) -> tuple[str, ...]:
        """The names of its binds: the only part that changes from one execution to the next."""
        return tuple(dict.fromkeys(word[1:] for word in words(self.text) if len(word) > 1 and word[0] == ":"))

    @property
    def most_rows(self) -> int | None:
        """The row limit of the whole statement. None if it has none: then it gives the rows that its views have."""
        return row_limit(self.text)


# Reading SQL, as far as the list of statements needs it.


def row_limit(text: str) -> int | None:
    """The row limit of a whole statement, without those inside brackets. None if it has none."""
    depth, outside = 0, []
    for word in words(text):
        depth += (word == "(") - (word == ")")
        outside += [word] if not depth else []
    for place, word in enumerate(outside[:-2]):
        if word == "rownum" and outside[place + 1] == "<=" and outside[place + 2].isdecimal():
            return int(outside[place + 2])
    return None


def words(text: str) -> list[str]:
    """The words and signs of a statement in lower case, without comments; literals as they are."""
    tokens = (match.group() for match in _TOKEN.finditer(text))
    return [word if word[0] in "'\"" else word.lower() for word in tokens if not word.startswith(("--", "/*"))]


def _read(listed: list[str]) -> Iterator[str]:
    """What stands where SQL names a view: behind `from`, `join`, and each comma of a `from`."""
    own = {
        name
        for name, after, bracket in zip(listed, listed[1:], listed[2:], strict=False)
        if (after, bracket) == ("as", "(")
    }
    depths, expected = [False], False
    for word in listed:
        if word == "(":
            depths.append(False)
        elif word == ")":
            depths.pop()
        elif word in ("from", "join"):
            depths[-1] = True
        elif word in _END_OF_FROM:
            depths[-1] = False
        elif expected and word not in own:
            yield word
        expected = word in ("from", "join") or (word == "," and depths[-1])
