"""The JSON of watched databases in short, of the fleet, and of causes with their databases. Names are a contract."""

from datetime import datetime

from pydantic import BaseModel, Field, computed_field

from rules.base import Confidence, Easing, Severity, State
from rules.cause import Cause
from rules.model import Impact, Surface
from rules.remedy import paragraph, risks
from service.history.fleet_past import Outcome


class FailureOut(BaseModel):
    """Why the last poll gave nothing."""

    kind: str
    why: str
    since: datetime
    next_attempt: datetime | None


class LastMarkOut(BaseModel):
    """The last change mark of a database, and its effect on the trouble."""

    id: str
    at: datetime
    text: str
    outcome: Outcome
    verdict: str | None = Field(description="the same as a sentence; null if no trouble was open at the mark")


class DatabaseOut(BaseModel):
    """One watched database: whether it answers, and its verdict in one sentence."""

    name: str
    cluster: str | None
    up: bool
    data_age_seconds: float | None = Field(description="seconds since the last good poll; null before the first")
    interval_seconds: float
    polled_by: str | None = Field(description="the replica that polls it; null if none does")
    release: str | None
    mechanism: str | None
    instance: str | None
    started_at: datetime | None = Field(description="instance start, UTC")
    state: State = Field(description="its state, as people read it")
    since: datetime | None = Field(
        description="since when: begin of the trouble, of the longest open wait if that is earlier, or of "
        "the failure; null if it is well"
    )
    severity: Severity | None
    headline: str | None
    impact: Impact | None = Field(description="current cost of waits; null if unknown")
    cause: str | None = Field(description="cause of the first finding")
    cause_name: str | None = Field(description="the name of the cause in a list")
    cause_title: str | None = Field(description="what is wrong, as a sentence")
    do_now: str | None = Field(description="the one thing to do, in one line")
    do_not: str | None = Field(None, description="what not to do about it; null without a finding")
    surface: Surface | None
    cache: str | None = Field(description="the cache in trouble; null if there is none or it is unknown")
    confidence: Confidence | None
    easing: Easing | None = Field(description="a trouble that the last poll no longer showed; null if there is none")
    last_mark: LastMarkOut | None = Field(description="the last change mark; null if none was set")
    last_hour: tuple[float | None, ...] = Field(
        description="share of DB time lost by the minute, the last value of the current minute; null if unknown"
    )
    failure: FailureOut | None


class WorstOut(BaseModel):
    """The database in the worst state."""

    name: str
    state: State
    cause_title: str | None
    impact: Impact | None
    since: datetime | None


class OverviewOut(BaseModel):
    """Every watched database in one call, and how many are in each state."""

    at: datetime
    states: dict[State, int] = Field(description="how many databases are in each state; every state is there")
    worst: WorstOut | None = Field(description="the worst of those in trouble; null if all is well")
    new: tuple[str, ...] = Field(description="databases whose trouble began within the last hour")
    easing: tuple[str, ...] = Field(description="databases whose trouble eases")
    databases: tuple[DatabaseOut, ...] = Field(description="in the order of the configuration")


class CauseOut(BaseModel):
    """A cause of the catalogue, in short."""

    id: str
    kb: str
    name: str
    title: str
    lede: str
    do_now: str
    do_not: str
    status: str
    caches: tuple[str, ...]
    surfaces: tuple[str, ...]
    databases: tuple[str, ...] = Field((), description="databases that have it now")


class CauseFoundOut(BaseModel):
    """A database that has a cause now, and its first finding of it."""

    name: str
    state: State
    cache: str | None
    since: datetime | None
    share_of_db_time: float | None
    waiting_sessions: float | None


class CauseWholeOut(Cause):
    """A cause of the catalogue, its remedy and risk also as paragraphs, and the databases that have it now."""

    found_at: tuple[CauseFoundOut, ...] = Field((), description="the most expensive first")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def remedy(self) -> str:
        """What to do, as one paragraph."""
        return paragraph(self.remedy_steps)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def risk(self) -> str:
        """The risks of the steps, as one paragraph."""
        return risks(self.remedy_steps)
