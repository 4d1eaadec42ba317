"""What a number is held against: the bound of a condition, and between what it usually lies."""

from functools import cache
from typing import Literal

from pydantic import Field

from rules.frozen import Frozen

Operator = Literal[">=", "<="]


class Bound(Frozen):
    """At least, or at most, so much."""

    operator: Operator
    value: float


class UsualBetween(Frozen):
    """Between what a number usually lies; an end without a limit is null."""

    low: float | None
    high: float | None
    where: Literal["in general", "here at this hour"] = Field(
        "in general", description="on ordinary databases, or as this database's own history has it for the hour"
    )


def meets(value: float, needs: str) -> bool:
    """Whether a value satisfies a comparison as causes write it: ">= 100"."""
    bound = _comparison(needs)
    return value >= bound.value if bound.operator == ">=" else value <= bound.value


def bound_of(needs: str) -> Bound | None:
    """A comparison as operator and number; None where it is none, as of a release."""
    return _comparison(needs) if needs[:3] in (">= ", "<= ") else None


@cache
def _comparison(needs: str) -> Bound:
    sign, value = needs.split()
    return Bound(operator=">=" if sign == ">=" else "<=", value=float(value))
