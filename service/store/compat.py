"""Causes whose id has changed. Rows under an old id are read under the new one."""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from collectors.model import ObstacleKind
from rules.model import Diagnosis
from service.state.episodes import KINDS, MarkVerdict

# JSON in the store that another release may have written: a replica beside this one, or a newer one before it.
#
# Newer releases add members. They are left out, at any depth, and everything else is read as it is.

Model = TypeVar("Model", bound=BaseModel)


def read(kind: type[Model], body: str) -> Model:
    """A stored value. Raises ValidationError if a member that this release needs is missing."""
    return kind.model_validate_json(body, extra="ignore")


def known_members(kind: type, members: Mapping[str, Any]) -> dict[str, Any]:
    """The members that a dataclass of this release has."""
    names = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in members.items() if name in names}


RENAMED: dict[str, str] = {}
"""Old cause id → its current id. A released id that is renamed gets a line here, for good."""


def current(cause: str, renamed: Mapping[str, str] | None = None) -> str:
    """The current id of a cause."""
    known = RENAMED if renamed is None else renamed
    seen = {cause}
    while (newer := known.get(cause)) is not None and newer not in seen:
        cause = newer
        seen.add(cause)
    return cause


def former(cause: str) -> list[str]:
    """Every id under which rows of this cause may be stored, including the current one."""
    return [cause, *(old for old in RENAMED if current(old) == cause and old != cause)]


def read_diagnosis(body: str) -> Diagnosis:
    """A stored Diagnosis with current cause ids."""
    diagnosis = read(Diagnosis, body)
    if not RENAMED:
        return diagnosis
    names = ("findings", "ruled_out", "undetermined", "candidates")
    return diagnosis.model_copy(
        update={name: tuple(_renamed(verdict) for verdict in getattr(diagnosis, name)) for name in names}
    )


def _renamed(verdict: Any) -> Any:
    return verdict.model_copy(update={"cause": current(verdict.cause)})


# The kind of what is kept with a sentence. Rows from before migration 0011 have the sentence alone, which tells the
# kind.

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
