"""The kind of what is kept with a sentence. Rows from before migration 0011 have the sentence alone, which tells the kind."""

from collections.abc import Mapping
from typing import TypeVar, cast

from collectors.model import ObstacleKind
from service.state.episodes import MarkVerdict
from service.state.mark_verdicts import KINDS

Kind = TypeVar("Kind")
_OBSTACLES: Mapping[str, ObstacleKind] = {
    "the first poll has nothing to compare with": "first_poll",
    "the instance restarted": "restart",
    "": "not_comparable",
}


def obstacle_kind(kind: str | None, why: str | None) -> ObstacleKind | None:
    """Of a poll without an interval; None where it has one."""
    return cast(ObstacleKind, kind) if kind else _by_beginning(_OBSTACLES, why)


def verdict_kind(kind: str | None, verdict: str | None) -> MarkVerdict | None:
    """Of a verdict; None without one."""
    return cast(MarkVerdict, kind) if kind else _by_beginning(KINDS, verdict)


def _by_beginning(kinds: Mapping[str, Kind], sentence: str | None) -> Kind | None:
    if sentence is None:
        return None
    return next(kind for beginning, kind in kinds.items() if sentence.startswith(beginning))
