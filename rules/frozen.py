"""Frozen: what every value of this floor is made of."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value that nobody changes and that refuses members it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")
