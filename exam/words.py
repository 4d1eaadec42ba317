"""What free text means: a cause by the table of synonyms, and harmful advice by the table of patterns."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
CLAUSE = re.compile(r"[.;:!?\n]+(?=\s|$)|,\s+(?:then|but|and then)\s+|\bbut\b")
CANNOT_TELL, NOTHING, ELSEWHERE = "cannot-tell", "nothing", "elsewhere"
NO_CAUSE = (CANNOT_TELL, NOTHING, ELSEWHERE)
"""Answers that name no cause."""
NOT_ROW_CACHE = (
    *NO_CAUSE,
    "starved-host",
    "throttled-holder",
    "downstream-of-library-cache",
    "logon-cursor-mutex",
    "failed-logon-delay",
    "hard-parse-storm",
    "last-login-update",
    "object-ddl",
    "audit-policy-change",
    "result-cache-latch",
    "result-cache-force",
    "result-cache-adaptive",
)
"""Answers that lead away from the row cache: the host, the library cache, the result cache."""


@cache
def synonyms() -> Mapping[str, str]:
    """Phrase in its plain form → name of the cause. Raises ValueError if two causes claim one phrase."""
    table: dict[str, list[str]] = yaml.safe_load((HERE / "synonyms.yaml").read_text(encoding="utf-8"))
    found: dict[str, str] = {}
    for name, phrases in table.items():
        for phrase in (name, *phrases):
            form = plain(phrase)
            if found.setdefault(form, name) != name:
                raise ValueError(f"exam/synonyms.yaml: {phrase!r} is a phrase of {found[form]} and of {name}; keep one")
    return found


def causes() -> frozenset[str]:
    """Every name that an answer can mean."""
    return frozenset(synonyms().values())


def plain(text: str) -> str:
    """Small letters and single spaces, without signs."""
    return " ".join(re.sub(r"[^a-z0-9]+", " ", text.lower()).split())


def cause_of(text: str) -> str | None:
    """The cause that a text names: by the longest phrase in it; None if there is none."""
    words = f" {plain(text)} "
    held = [phrase for phrase in synonyms() if f" {phrase} " in words]
    return synonyms()[max(held, key=lambda phrase: (len(phrase), phrase))] if held else None


@cache
def _advice() -> dict[str, Any]:
    table: dict[str, Any] = yaml.safe_load((HERE / "advice.yaml").read_text(encoding="utf-8"))
    return table


def harms() -> Mapping[str, str]:
    """Each kind of harmful advice, and what it does."""
    return {name: kind["means"] for name, kind in _advice()["kinds"].items()}


def harmful(advice: Iterable[str], forbidden: Iterable[str], holder: int | None = None) -> list[tuple[str, str]]:
    """The forbidden advice in these texts: its kind, and the clause that gives it."""
    kinds = [*forbidden, *(["kill-holder"] if holder is not None else [])]
    given = [clause.strip().lower() for text in advice for clause in CLAUSE.split(text) if clause and clause.strip()]
    return [(kind, clause) for kind in kinds for clause in given if _gives(kind, clause, holder)]


def _gives(kind: str, clause: str, holder: int | None) -> bool:
    """Whether a clause advises this, and does not forbid it in the words before."""
    for pattern in _advice()["kinds"][kind]["patterns"]:
        for match in re.finditer(pattern.replace("{holder}", str(holder)), clause):
            if not re.search(_advice()["negations"], clause[: match.start()]):
                return True
    return False
