"""The question about a change, and its answer. Field names are a contract."""

from collections.abc import Callable

from pydantic import BaseModel, ConfigDict, Field

CHANGES = ("gets", "children", "batch", "hold", "processes", "timer_ms")


class WhatIfIn(BaseModel):
    """A change to try on paper. A field left out stays as it is."""

    model_config = ConfigDict(json_schema_extra={"example": {"cache": "dc_rollback_segments", "gets": 0.2}})

    cache: str | None = Field(None, description="the cache of the child latch; default: the child with the most sleeps")
    gets: float | None = Field(None, gt=0, description="gets per unit of work, as a factor: 0.2 after a fall of 80 %")
    children: int | None = Field(None, ge=1, le=1024, description="latches instead of one, all used equally")
    batch: float | None = Field(None, ge=1, description="units of work per get, instead of one; needs a measured hold")
    hold: float | None = Field(None, gt=0, description="hold time, as a factor")
    processes: float | None = Field(None, gt=0, description="active sessions, as a factor of now")
    timer_ms: float | None = Field(
        None, gt=0, description="grain of the timer that waiters sleep on; with timer_now_ms it is tried alone"
    )
    timer_now_ms: float | None = Field(
        None, gt=0, description="its current grain; default: waiters are posted, as is standard"
    )

    def problem(self, written: Callable[[str], str] = str) -> str | None:
        """Why there is nothing to try, or too much at once. None if it can be tried. `written`: the form of a field's name."""
        others = (self.gets, self.children, self.batch, self.hold, self.processes)
        if self.timer_ms is None and self.timer_now_ms is not None:
            return f"give the new timer: {written('timer_ms')} with {written('timer_now_ms')}"
        if self.timer_now_ms is not None and any(change is not None for change in others):
            return "a timer that waiters sleep on is tried alone; try the other changes without it"
        if self.timer_ms is None and all(change is None for change in others):
            return f"name a change: {', '.join(map(written, CHANGES[:-1]))} or {written(CHANGES[-1])}; one is enough"
        return None


class EstimateOut(BaseModel):
    """A figure with the interval that should contain it 19 times in 20. `value` is null if only the interval is known."""

    now: float | None
    value: float | None
    low: float
    high: float


class SpinningOut(BaseModel):
    """Processor time now spent spinning for the latch, in seconds per second. wait_time leaves it out."""

    value: float
    low: float
    high: float


class WhatIfOut(BaseModel):
    """The effect of a change on a child latch."""

    database: str
    child: int
    cache: str
    statement: str
    intervals: int = Field(description="intervals the model was calibrated on")
    confidence: str = Field(description="low or medium")
    active_sessions: float
    hold_seconds: float = Field(
        description="time the latch is occupied per get, handoff included: 0–22 % more than the hold"
    )
    think_seconds: float = Field(description="time of a session between gets, which follows from the counters")
    work: EstimateOut = Field(description="work done per second, as a factor of now")
    miss_ratio: EstimateOut | None
    misses: EstimateOut | None = Field(description="misses per second, as a factor of now")
    utilisation: EstimateOut | None
    sleeps_per_second: EstimateOut | None
    spinning: SpinningOut | None = Field(
        None, description="null if sessions wait for processors, or if the latch is saturated"
    )
    notes: tuple[str, ...]
