"""Basis: the time that a Delta covers, an interval or totals."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from collectors.durations import lasting


@dataclass(frozen=True, slots=True)
class Basis:
    """The time that a Delta covers: an interval between polls; totals over a known uptime; totals of unknown age, which give
    shares and ratios but never a rate. Times are UTC by the database's clock; those of a report have no zone.
    """

    kind: Literal["interval", "since_startup", "totals"]
    begin: datetime | None
    end: datetime | None
    seconds: float | None

    def __str__(self) -> str:
        if self.kind == "totals":
            return "totals since an unknown instance start"
        if self.kind == "since_startup":
            return f"totals since instance start, {lasting(self.seconds or 0.0)}"
        return f"an interval of {lasting(self.seconds or 0.0)}"
