"""The JSON of watched databases in short, of the fleet as a whole and of causes with who has them; names are a contract."""

from datetime import datetime

from pydantic import BaseModel, Field, computed_field

from rules.cause import Cause
from rules.grades import Confidence, Severity, State
from rules.lasting import Easing
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
    """The last change mark of a database, and what became of the trouble it was about."""

    id: str
    at: datetime
    text: str
    outcome: Outcome
    verdict: str | None = Field(description="the same as a sentence; null where no trouble lasted at the mark")


class DatabaseOut(BaseModel):
    """One watched database: whether it answers, and its verdict in one sentence."""

    name: str
    cluster: str | None
    up: bool
    data_age_seconds: float | None = Field(description="seconds since the last good poll; null before the first")
    interval_seconds: float
    polled_by: str | None = Field(description="the replica that polls it; null while none does")
    release: str | None
    mechanism: str | None
    instance: str | None
    started_at: datetime | None = Field(description="instance start, UTC")
    state: State = Field(description="how it stands, as people read it")
    since: datetime | None = Field(
        description="since when: begin of the trouble, of the longest wait that has not ended where that is earlier, or of "
        "the failure; null where it is well"
    )
    severity: Severity | None
    headline: str | None
    impact: Impact | None = Field(description="what waits cost now; null where it is not known")
    cause: str | None = Field(description="cause of the first finding")
    cause_name: str | None = Field(description="what the cause is called in a list")
    cause_title: str | None = Field(description="what is wrong, as a sentence")
    do_now: str | None = Field(description="the one thing to do, in one line")
    surface: Surface | None
    cache: str | None = Field(description="the cache in trouble; null where it is none or not known")
    confidence: Confidence | None
    easing: Easing | None = Field(
        description="a trouble that the last poll did not show any more; null where there is none"
    )
    last_mark: LastMarkOut | None = Field(description="the last change mark; null where none was set")
    last_hour: tuple[float | None, ...] = Field(
        description="share of DB time lost by the minute, the last value of the minute under way; null where it is not known"
    )
    failure: FailureOut | None


class WorstOut(BaseModel):
    """The database that stands worst."""

    name: str
    state: State
    cause_title: str | None
    impact: Impact | None
    since: datetime | None


class OverviewOut(BaseModel):
    """Every watched database in one call, and how many stand how."""

    at: datetime
    states: dict[State, int] = Field(description="how many databases are in each state; every state is there")
    worst: WorstOut | None = Field(description="the worst of those in trouble; null where all is well")
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
    """A database that has a cause now, and what its first finding of it says."""

    name: str
    state: State
    cache: str | None
    since: datetime | None
    share_of_db_time: float | None
    waiting_sessions: float | None


class CauseWholeOut(Cause):
    """A cause of the catalogue, its remedy and risk told as paragraphs as well, and the databases that have it now."""

    found_at: tuple[CauseFoundOut, ...] = Field((), description="the dearest first")

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
