"""JSON in the store that another release may have written: a replica beside this one, or a newer one before it.

Newer releases add members. They are left out, at any depth, and everything else is read as it is.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)


def read(kind: type[Model], body: str) -> Model:
    """A stored value. Raises ValidationError if a member that this release needs is missing."""
    return kind.model_validate_json(body, extra="ignore")


def known_members(kind: type, members: Mapping[str, Any]) -> dict[str, Any]:
    """The members that a dataclass of this release has."""
    names = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in members.items() if name in names}
