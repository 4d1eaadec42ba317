"""The words of a comparison: Side, Change, Comparison, and whether an episode's end is verified. JSON of the REST interface."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import Field

from rules.frozen import Frozen
from rules.model import DiagnosisBasis, Surface

Direction = Literal["rose", "fell", "same", "cannot tell"]
ChangeVerdict = Literal["changed", "within noise", "within the usual", "cannot tell"]


def is_share(unit: str) -> bool:
    """Whether a unit names the whole that a figure is a share of."""
    return unit.startswith("of ")


class Side(Frozen):
    """One side of a comparison: what was read, over which time, and how much work was done then."""

    database: str
    release: str | None
    mechanism: Literal["latch", "mutex"] | None
    source: Literal["views", "report"]
    basis: DiagnosisBasis
    work: Mapping[str, float] = Field(description="kinds of work per second; empty if no rate is known")


class FigureChange(Frozen):
    """One figure on both sides, in a unit that both have."""

    name: str = Field(description="stable key, such as latch_sleeps or cache_gets")
    title: str
    of: str | None = Field(description="the cache or miss location it is about")
    surface: Surface | None
    before: float | None = Field(description="in `unit`; null if unknown, which is never zero")
    after: float | None
    unit: str
    counted_before: float | None = Field(description="the count or the seconds behind it, before it was put per unit")
    counted_after: float | None
    due_after: float | None = Field(description="the count to expect after, at the rate before; null for levels")
    factor: float | None = Field(description="after / before; null if either is zero or unknown")
    direction: Direction
    verdict: ChangeVerdict
    outside_usual: bool | None = Field(description="whether a side is outside the usual range; null without a baseline")
    why: str = Field("", description="why it is unknown")
    too_little: bool = Field(False, description="whether one side is too small to tell a change from chance")
    sentence: str

    @property
    def is_share(self) -> bool:
        """Whether both sides are shares of a whole, such as `of DB time`."""
        return is_share(self.unit)


class WorkDone(Frozen):
    """The work of both sides, by the first measure that both have."""

    name: str
    before: float = Field(description="per second")
    after: float
    factor: float
    same: bool = Field(description="whether it stayed within a fifth, so that the load is not the reason")


class CameBack(Frozen):
    """A trouble that a mark was meant to end, and that came back after it."""

    cause: str
    name: str
    at: datetime


class Comparison(Frozen):
    """Before against after, figure by figure."""

    database: str
    before: Side
    after: Side
    comparable: bool = Field(description="false where latches guard one side and mutexes the other")
    mark: str | None
    changes: tuple[FigureChange, ...]
    deciding: FigureChange | None = Field(
        None, description="the change that the sentence speaks of; null where the sides cannot be compared item by item"
    )
    work: WorkDone | None = Field(None, description="whether the work stayed the same; null if unknown")
    came_back: CameBack | None = Field(
        None, description="when the trouble came back after the mark; null if it did not"
    )
    notes: tuple[str, ...]
    sentence: str

    def find(self, name: str, of: str | None = None) -> FigureChange | None:
        """The change of that name, for one cache or location if given."""
        return next((change for change in self.changes if change.name == name and of in (None, change.of)), None)


class ChangeVerification(Frozen):
    """The trouble of a cause is gone, or much smaller, while the work went on."""

    verdict: Literal["verified"] = "verified"
    cause: str
    because: str
    change: FigureChange


class NotVerified(Frozen):
    """The end of a cause's trouble cannot be put down to the change, and why not."""

    verdict: Literal["not verified"] = "not verified"
    cause: str
    reason: Literal["no data after", "too few events", "the load went too", "sleeps did not fall"]
    because: str
