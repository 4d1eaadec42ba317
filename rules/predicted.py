"""What a remedy is worth, in a cause and in a Diagnosis. The field names of a Diagnosis are a contract."""

from datetime import datetime
from typing import Literal, Self

from pydantic import Field, model_validator

from rules.frozen import Frozen

NOT_TIME = "It predicts misses, not the time lost"
OF_MISSES = f"{NOT_TIME}. Sessions lose time where a miss ends in a sleep, so compare before and after"
"""What a prediction is about, beside it."""


class RemedyEffect(Frozen):
    """What a cause's remedy does to its child latch, as factors from least to most."""

    gets: tuple[float, float] = Field((1.0, 1.0), description="gets per unit of work afterwards")
    hold: tuple[float, float] | Literal["ordinary"] = Field(
        (1.0, 1.0), description="hold time afterwards; ordinary is that of the other children"
    )
    because: str

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        ranges = [self.gets, *([] if self.hold == "ordinary" else [self.hold])]
        if any(not 0 < least <= most <= 1 for least, most in ranges):
            raise ValueError("gets and hold are factors above 0 and at most 1, the least first")
        return self


class PredictedFigure(Frozen):
    """One figure now and after the remedy. The interval contains it about 19 times in 20."""

    name: Literal["miss_ratio", "misses_per_second", "sleeps_per_second", "utilisation"]
    unit: str
    now: float
    value: float | None = Field(description="null if only the interval is known")
    low: float
    high: float


class PredictedEffect(Frozen):
    """The effect of the first finding's remedy on its child latch. `refused` says why there is no prediction."""

    cause: str
    child: int | None
    cache: str | None
    change: str = Field(description="the assumed effect of the remedy on the latch")
    statement: str
    figures: tuple[PredictedFigure, ...] = ()
    confidence: Literal["low", "medium"] = "low"
    intervals: int = Field(1, description="intervals that the model was calibrated on")
    notes: tuple[str, ...] = ()
    refused: str | None = None


class ScoredFigure(Frozen):
    """One predicted figure and the actual one."""

    name: Literal["miss_ratio", "sleeps_per_second"]
    unit: str
    before: float
    low: float
    high: float
    came: float
    inside: bool


class PredictionScore(Frozen):
    """A prediction from before a change mark, compared with the time after it."""

    held: bool = Field(description="misses lie in their interval, and sleeps do not exceed theirs")
    statement: str
    intervals: int = Field(description="intervals that the prediction was calibrated on")
    figures: tuple[ScoredFigure, ...]
    made_at: datetime | None = Field(None, description="the poll whose page showed it; null of older releases")
    child: int | None = Field(None, description="the child latch it is about; null of older releases")
