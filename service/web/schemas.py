"""The JSON of the REST interface beside the Diagnosis itself: databases, fleet, causes, history, reports, actions.

Field names are a contract.
"""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field, StrictBool, computed_field

from collectors.model import NamedRow
from collectors.ondemand.holders import MOST_LOOKS, MOST_SECONDS
from rules.base import Confidence, Easing, Severity, State
from rules.baseline import UsualRange
from rules.cause import Cause
from rules.model import CacheRef, DiagnosisBasis, Impact, Surface
from rules.remedy import PredictionScore, paragraph, risks
from service.history.comparison import Outcome
from service.intake.incident import Incident
from service.intake.uploads import ReportPart

# The JSON of watched databases in short, of the fleet, and of causes with their databases. Names are a contract.


class FailureOut(BaseModel):
    """Why the last poll gave nothing."""

    kind: str
    why: str
    since: datetime
    next_attempt: datetime | None


class LastMarkOut(BaseModel):
    """The last change mark of a database, and its effect on the problem."""

    id: str
    at: datetime
    text: str
    outcome: Outcome
    verdict: str | None = Field(description="the same as a sentence; null if no problem was open at the mark")


class DatabaseOut(BaseModel):
    """One watched database: whether it answers, and its verdict in one sentence."""

    name: str
    cluster: str | None
    labels: dict[str, str] = Field(description="as configured for it")
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
        description="since when: begin of the problem, of the longest open wait if that is earlier, or of "
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
    cache: str | None = Field(description="the cache with the problem; null if there is none or it is unknown")
    confidence: Confidence | None
    other_wait: str | None = Field(
        None, description="the event that has most of DB time, in the state Elsewhere; null in every other"
    )
    easing: Easing | None = Field(description="a problem that the last poll no longer showed; null if there is none")
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
    worst: WorstOut | None = Field(description="the worst of those with a problem; null if all is well")
    new: tuple[str, ...] = Field(description="databases whose problem began within the last hour")
    easing: tuple[str, ...] = Field(description="databases that are recovering")
    databases: tuple[DatabaseOut, ...] = Field(description="in the order of the configuration")


class CauseOut(BaseModel):
    """A cause of the catalogue, in short."""

    id: str
    kb: str
    name: str
    title: str
    lede: str
    do_now: str
    then: str | None
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
    def look_alike(self) -> bool:
        """Whether it explains row cache sleeps without the row cache being the cause."""
        return self.drags

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


class ChildOut(BaseModel):
    """One child latch over the last interval. Counts are changes; ratios are null if they have no meaning."""

    child: int
    cache: str = Field(description="parent caches, joined by +, or unknown")
    identity: str | None = Field(description="read from x$kqrst, or inferred from gets")
    caches: tuple[CacheRef, ...]
    gets: float | None
    misses: float | None
    sleeps: float | None
    share_of_sleeps: float | None
    miss_ratio: float | None
    sleeps_per_miss: float | None
    spin_ratio: float | None
    gets_per_second: float | None
    wait_seconds: float | None
    wait_seconds_per_sleep: float | None
    hold_seconds: float | None = Field(description="estimated average hold time")


class LatchesOut(BaseModel):
    """The children of `row cache objects`, most sleeps first."""

    database: str
    basis: DiagnosisBasis | None
    latch: str
    children: tuple[ChildOut, ...]
    missing: str | None = Field(description="why there are none, with the way out")
    notes: tuple[str, ...]


class CacheOut(BaseModel):
    """One row of v$rowcache over the last interval; counts are changes, entries are levels."""

    cache_id: int
    cache: str
    type: str
    subordinate: int | None
    child: int | None
    gets: float | None
    fastgets: float | None = Field(description="look-ups by the fast way, which are not in gets; null before 12.1")
    share_of_gets: float | None = Field(description="share of all look-ups, gets and fastgets together")
    getmisses: float | None
    modifications: float | None
    entries: float | None
    entries_used: float | None


class CachesOut(BaseModel):
    """The dictionary caches, most gets first."""

    database: str
    basis: DiagnosisBasis | None
    caches: tuple[CacheOut, ...]
    missing: str | None = Field(description="why there are none, with the way out")


class ReadableOut(BaseModel):
    """One view of the preflight."""

    view: str
    status: str = Field(
        description="read, refused, closed (nobody can grant it on this kind of database), failed or not_asked"
    )
    why: str
    without: str = Field(description="what is unknown without it")
    sql: str | None = Field(description="what SYS runs to open it")


class CapabilitiesOut(BaseModel):
    """What latchscope can do on a database, found by trying. Before the first poll `views` is empty."""

    database: str
    release: str | None
    mechanism: str | None
    cluster: bool | None
    container: str | None
    inside_pdb: bool
    views: tuple[ReadableOut, ...]
    notes: tuple[str, ...]


class ResumeOut(BaseModel):
    """The result of a resumed login."""

    database: str
    resumed: bool = Field(description="false when logins were not stopped")


class EpisodeOut(BaseModel):
    """One problem from its start over its peak to its end. `end` is null while it is open."""

    database: str
    cause: str
    cache: str | None
    title: str
    begin: datetime
    end: datetime | None
    last_seen: datetime
    severity: Severity
    peak_severity: Severity
    peak_at: datetime
    peak_share_of_db_time: float | None
    headline: str
    verdict: str | None = Field(description="whether a change mark ended it, and why; null if none was set")
    prediction: PredictionScore | None = Field(
        None, description="the result of the prediction from before that mark; null if none was made"
    )


class ConfirmationIn(BaseModel):
    """Which cause's confirming query to run, and whether to read names if it counted something."""

    cause: str
    names: StrictBool = True


class ConfirmationOut(BaseModel):
    """The result of a confirming query."""

    database: str
    cause: str
    sql: str
    result: float
    seen: str | None = Field(
        description="the container it ran in, and how much it saw from there; null if there are none"
    )
    reading: str
    confirms: bool | None = Field(
        description="null if the cause has no bound, and if a number that misses it does not cover all containers"
    )
    names: tuple[NamedRow, ...] = Field(description="up to five rows that name what was counted: column → cell")
    unnamed: str | None = Field(description="why the names are missing; null if they are not, or if there are none")


class HoldersIn(BaseModel):
    """How long and how often to sample holders at most. All samples are within one statement."""

    seconds: float = Field(2.0, gt=0, le=MOST_SECONDS)
    looks: int = Field(MOST_LOOKS, gt=0, le=MOST_LOOKS)


class HolderOut(BaseModel):
    """One session that held the latch, and in what share of the samples."""

    sid: int
    child: int | None
    cache: str
    looks: int
    share_of_looks: float
    holds: int = Field(description="different holds in these samples")
    average_hold_microseconds: float | None = Field(description="null if the samples do not show it")
    sql_id: str | None
    module: str | None
    program: str | None
    username: str | None


class HoldersOut(BaseModel):
    """Who held the row cache latch."""

    database: str
    latch: str
    seconds: float
    looks: int
    note: str | None = Field(description="a warning, if every sample shows the same")
    holders: tuple[HolderOut, ...]


class SamplesOut(BaseModel):
    """Waiting sessions are sampled until the next poll but one."""

    database: str
    asked: bool


class ReportShortOut(BaseModel):
    """An uploaded report; `severity` and `headline` are those of its worst Diagnosis."""

    id: str = Field(description="SHA-256 of the content")
    name: str = Field(description="as its sender called it")
    uploaded_at: datetime
    who: str
    size: int = Field(description="bytes, as it was sent")
    databases: tuple[str, ...]
    severity: Annotated[Severity, BeforeValidator(lambda kept: "info" if kept == "unknown" else kept)]
    headline: str


class ReportOut(ReportShortOut):
    """An uploaded report with all its diagnoses."""

    known: bool = Field(description="whether the same content had been uploaded before")
    diagnoses: tuple[ReportPart, ...]
    incident: Incident | None = Field(
        description="what its parts tell together; null without a problem that has a time"
    )
    unread: tuple[str, ...] = Field(description="parts of an archive that were not read, each with the reason")


class Health(BaseModel):
    """Whether the process, or everything it needs, is up."""

    status: str


class Problem(BaseModel):
    """An error after RFC 9457."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    instance: str | None = None


class SeriesOut(BaseModel):
    """One figure over time: a value for each of `times`, null if unknown, which is never zero."""

    metric: str
    title: str
    unit: str
    of: str | None = Field(description="the child, cache, place or event it is about")
    values: tuple[float | None, ...]
    highest: tuple[float | None, ...] | None = Field(
        description="with 5m and 1h, the highest that any one poll had within each time; null with poll, and for details"
    )


class HistoryOut(BaseModel):
    """Figures over time. With `resolution` poll a time is the end of an interval, else the begin of a bucket."""

    database: str
    resolution: str = Field(description="poll, 5m or 1h")
    begin: datetime
    end: datetime
    times: tuple[datetime, ...]
    seconds: tuple[float | None, ...] = Field(description="seconds watched for each time; null in a gap")
    series: tuple[SeriesOut, ...]
    next: str | None = Field(description="the address of the rest; null if this is all")


class DifferenceOut(BaseModel):
    """A child, place, event, cache or container in a stretch and in the rest of its hour. Null if unknown, never zero."""

    of: str
    stretch: float | None
    rest: float | None
    difference: float | None = Field(description="`stretch` less `rest`")
    ratio: float | None = Field(description="`stretch` by `rest`; null too if `rest` is 0")
    share: float | None = Field(description="part of the whole group within the stretch, 0 to 1")
    share_of_difference: float | None = Field(description="part of all differences of the group, up or down, 0 to 1")
    noticeable: bool = Field(description="whether it is more than chance")


class DifferenceGroupOut(BaseModel):
    """Members of one unit, the largest difference first."""

    metric: str
    title: str
    unit: str
    stretch_seconds: float = Field(description="seconds of the stretch over which these figures are known")
    rest_seconds: float = Field(description="the same of the rest of the hour")
    members: tuple[DifferenceOut, ...] = Field(description="those that changed at all in this hour")
    cannot_tell: str | None = Field(description="why nothing is known of the group; null if it is")


class DifferencesOut(BaseModel):
    """What differs most within a stretch from the rest of its hour, of what is stored."""

    database: str
    begin: datetime
    end: datetime
    hour_begin: datetime = Field(description="begin of the hour around the stretch")
    hour_end: datetime
    resolution: str = Field(description="poll, 5m or 1h")
    stretch_seconds: float = Field(description="seconds watched within the stretch")
    stretch_polls: int
    rest_seconds: float = Field(description="seconds watched in the rest of the hour")
    rest_polls: int
    across: int = Field(description="polls across an edge of the stretch or hour, which are on neither side")
    headline: str = Field(description="the answer in words")
    cannot_tell: str | None = Field(description="why nothing can be compared; null if it can")
    groups: tuple[DifferenceGroupOut, ...]


class UsualFigureOut(BaseModel):
    """The usual range of one figure, a value for each of `hours`."""

    figure: str
    metric: str | None = Field(description="the matching metric of the history; null if there is none")
    values: tuple[UsualRange | None, ...] = Field(description="null in an hour without enough history")


class UsualOut(BaseModel):
    """The usual figures of a database, hour by hour, from its own last twelve weeks."""

    database: str
    hours: tuple[datetime, ...] = Field(description="the begin of each hour")
    figures: tuple[UsualFigureOut, ...] = Field(description="those with enough history")


def _written(at: object) -> object:
    """A time as text. A bare number is probably a mistake, and 0 would be 1970."""
    if isinstance(at, int | float):
        raise ValueError("write it as text, in RFC 3339 with a zone, such as 2026-03-01T12:00Z")
    return at


class MarkIn(BaseModel):
    """A change and its time; default now."""

    text: str
    at: Annotated[datetime, BeforeValidator(_written)] | None = Field(None, description="RFC 3339 with a zone")


class MarkOut(BaseModel):
    """One change mark."""

    id: str
    database: str
    at: datetime
    text: str
    who: str
