"""The base of every value that leaves this floor as JSON."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """An immutable value that refuses unknown members."""

    model_config = ConfigDict(frozen=True, extra="forbid")
