"""What a number is compared with: the bound of a condition, and the usual range."""

from functools import cache
from typing import Literal

from pydantic import Field

from rules.frozen import Frozen

Operator = Literal[">=", "<="]


class Bound(Frozen):
    """At least, or at most, this number."""

    operator: Operator
    value: float


class UsualBetween(Frozen):
    """The usual range of a number. An open end is null."""

    low: float | None
    high: float | None
    where: Literal["in general", "here at this hour"] = Field(
        "in general", description="on ordinary databases, or in this database's own history for the hour"
    )


def meets(value: float, needs: str) -> bool:
    """Whether a value meets a comparison as causes write it: ">= 100"."""
    bound = _comparison(needs)
    return value >= bound.value if bound.operator == ">=" else value <= bound.value


def bound_of(needs: str) -> Bound | None:
    """A comparison as operator and number. None if it is something else, such as a release."""
    return _comparison(needs) if needs[:3] in (">= ", "<= ") else None


@cache
def _comparison(needs: str) -> Bound:
    sign, value = needs.split()
    return Bound(operator=">=" if sign == ">=" else "<=", value=float(value))
