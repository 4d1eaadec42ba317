"""The JSON of the REST interface beside the Diagnosis itself. Field names are a contract."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field, StrictBool

from collectors.model import NamedRow
from collectors.ondemand.holders import MOST_LOOKS, MOST_SECONDS
from rules.baseline import UsualRange
from rules.model import CacheRef, DiagnosisBasis, Severity
from rules.remedy import PredictionScore
from service.intake.uploads import ReportPart


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
    """One trouble from its start over its peak to its end. `end` is null while it is open."""

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
    """How long and how often to look for holders at most. All looks are within one statement."""

    seconds: float = Field(2.0, gt=0, le=MOST_SECONDS)
    looks: int = Field(MOST_LOOKS, gt=0, le=MOST_LOOKS)


class HolderOut(BaseModel):
    """One session that held the latch, and in what share of the looks."""

    sid: int
    child: int | None
    cache: str
    looks: int
    share_of_looks: float
    holds: int = Field(description="different holds in these looks")
    average_hold_microseconds: float | None = Field(description="null if the looks do not show it")
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
    note: str | None = Field(description="a warning, if every look shows the same")
    holders: tuple[HolderOut, ...]


class SamplesOut(BaseModel):
    """Waiting sessions are sampled until the next poll but one."""

    database: str
    asked: bool


REPORT_ID = "4c11335baec46a2c3ae4aca5484f4dbb8d30221cca09220e091c5f962561db40"
"""An id of a report, as an example."""


class ReportShortOut(BaseModel):
    """An uploaded report; `severity` and `headline` are those of its worst Diagnosis."""

    id: str = Field(description="SHA-256 of the content", json_schema_extra={"example": REPORT_ID})
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
        description="with roll-ups, the highest that any one poll had within each time; null with resolution poll"
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
