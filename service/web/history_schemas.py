"""The JSON of history, marks and episodes; field names are a contract."""

from datetime import datetime

from pydantic import BaseModel, Field


class SeriesOut(BaseModel):
    """One figure over time: a value for each of `times`, null where it cannot be told, which is never zero."""

    metric: str
    title: str
    unit: str
    of: str | None = Field(description="the child, cache, place or event it is about")
    values: tuple[float | None, ...]


class HistoryOut(BaseModel):
    """Figures over time. With `resolution` poll a time is the end of an interval, else the begin of a bucket."""

    database: str
    resolution: str = Field(description="poll, 5m or 1h")
    begin: datetime
    end: datetime
    times: tuple[datetime, ...]
    seconds: tuple[float | None, ...] = Field(description="seconds watched for each time; null in a gap")
    series: tuple[SeriesOut, ...]
    next: str | None = Field(description="where the rest is; null where this is all")


class MarkIn(BaseModel):
    """What was changed, and when; now without a time."""

    text: str
    at: datetime | None = Field(None, description="RFC 3339 with a zone")


class MarkOut(BaseModel):
    """One change mark."""

    id: str
    database: str
    at: datetime
    text: str
    who: str
