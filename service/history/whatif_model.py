"""What a question about a change says, and what is answered; field names are a contract."""

from collections.abc import Callable

from pydantic import BaseModel, ConfigDict, Field

CHANGES = ("gets", "children", "batch", "hold", "processes", "timer_ms")


class WhatIfIn(BaseModel):
    """A change to be tried on paper; what is left out stays as it is."""

    model_config = ConfigDict(json_schema_extra={"example": {"cache": "dc_rollback_segments", "gets": 0.2}})

    cache: str | None = Field(
        None, description="the cache whose child latch is meant; the one with the most sleeps without it"
    )
    gets: float | None = Field(None, gt=0, description="gets per unit of work, as a factor: 0.2 after a fall of 80 %")
    children: int | None = Field(None, ge=1, le=1024, description="latches in place of one, all wanted alike")
    batch: float | None = Field(
        None, ge=1, description="units of work done per get, where one was; needs hold, as it was measured"
    )
    hold: float | None = Field(None, gt=0, description="hold time, as a factor")
    processes: float | None = Field(None, gt=0, description="active sessions, as a factor of now")
    timer_ms: float | None = Field(
        None, gt=0, description="grain of the timer that waiters sleep on; with timer_now_ms it is tried by itself"
    )
    timer_now_ms: float | None = Field(
        None, gt=0, description="its grain now; without it waiters are posted, as is standard"
    )

    def problem(self, written: Callable[[str], str] = str) -> str | None:
        """Why there is nothing to try, or too much at once; None where it can be tried. `written`: how a field is asked for."""
        others = (self.gets, self.children, self.batch, self.hold, self.processes)
        if self.timer_ms is None and self.timer_now_ms is not None:
            return f"say which timer is to come: {written('timer_ms')} beside {written('timer_now_ms')}"
        if self.timer_now_ms is not None and any(change is not None for change in others):
            return "a timer that waiters sleep on is tried by itself; ask for the other changes without it"
        if self.timer_ms is None and all(change is None for change in others):
            return f"say what is to change: {', '.join(map(written, CHANGES[:-1]))} or {written(CHANGES[-1])}; one is enough"
        return None


class EstimateOut(BaseModel):
    """A figure with the interval that is meant to hold it 19 times in 20; `value` is null where only the interval is known."""

    now: float | None
    value: float | None
    low: float
    high: float


class SpinningOut(BaseModel):
    """Processor time now spent spinning for the latch, which wait_time leaves out, in seconds per second."""

    value: float
    low: float
    high: float


class WhatIfOut(BaseModel):
    """What a change would make of a child latch."""

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
        None, description="null where sessions wait for processors, or where the latch is saturated"
    )
    notes: tuple[str, ...]
