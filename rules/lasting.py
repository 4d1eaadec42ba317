"""What the past adds to a Diagnosis: open troubles, and what eases. The keeper of episodes fills it in."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from rules.frozen import Frozen
from rules.grades import Severity

WaitsLeft = Literal["falling", "lasting"]
"""What the waits of a trouble do once no poll shows its cause any more, as long as nothing else explains them."""


class LastingTrouble(Frozen):
    """An episode that was open at the time of a diagnosis. `end` is null while it lasts."""

    cause: str
    name: str
    cache: str | None
    begin: datetime
    last_seen: datetime
    end: datetime | None
    severity: Severity = Field(description="of the latest poll that showed it, or the waits that it left")
    peak_severity: Severity
    peak_at: datetime
    peak_share_of_db_time: float | None
    earlier: int | None = Field(description="episodes of this cause before it; null if they cannot be counted")
    verdict: str | None = Field(description="whether a change mark ended it, and why")


class ChangeMade(Frozen):
    """A change that was marked while a trouble lasted, or right after."""

    at: datetime
    text: str


class Easing(Frozen):
    """A trouble that the last poll did not show. A few more polls decide whether it is over."""

    cause: str
    name: str
    cache: str | None
    until: datetime = Field(description="the last poll that showed it")
    waits: WaitsLeft | None = Field(
        None, description="what its waits do while they go on and nothing else explains them; null where they are gone"
    )
    change: ChangeMade | None = Field(None, description="the last change marked in it; null where none is known")
