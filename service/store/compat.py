"""Causes whose id has changed. Rows under an old id are read under the new one."""

from collections.abc import Mapping
from typing import Any

from rules.model import Diagnosis
from service.store.queries.stored_json import read

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
