"""The words for a chain in a Diagnosis: how the wait leads to the cause, link by link, each with one number."""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from rules.bounds import Bound, UsualBetween
from rules.frozen import Frozen

MOST_BARS = 4


class ChainBar(Frozen):
    """One of at most four bars beside a link. `hot` marks the one that the link is about."""

    label: str
    value: float
    hot: bool


def bars_of(values: Mapping[str, float], total: float, hot: Sequence[str]) -> tuple[ChainBar, ...]:
    """The largest as shares of the whole, those that are spoken of first among them."""
    if not total:
        return ()
    ordered = sorted(values, key=lambda name: (name not in hot, -values[name], name))
    shown = sorted(ordered[:MOST_BARS], key=lambda name: (-values[name], name))
    return tuple(ChainBar(label=name, value=values[name] / total, hot=name in hot) for name in shown if values[name])


class ChainLink(Frozen):
    """One link from the wait to the cause: a verb, a name, and the number that proves it."""

    kind: Literal["wait", "place", "cache", "holder", "blocker", "sign", "cause"]
    verb: str = Field(description="what joins it to the link before, such as `which guards`")
    name: str = Field(description="what it leads to: an event, a child latch, a cache, a place in the code, a cause")
    code: bool = Field(description="whether `name` is Oracle's own word")
    value: float | None = Field(description="null if unknown, which is never zero")
    unit: str = Field(description="unit of `value` and of `bars`; a ratio is a share of `of`")
    of: str = Field("", description="what a ratio is a share of, such as DB time")
    numerator: float | None = None
    denominator: float | None = None
    counted: str = Field("", description="unit of numerator and denominator")
    usual: UsualBetween | None = None
    bound: Bound | None = None
    bars: tuple[ChainBar, ...] = Field((), max_length=MOST_BARS)
    measured: str = Field(description="the same as a sentence")
    views: tuple[str, ...] = Field((), description="where it is read")
    caveat: str | None = Field(None, description="what the number does not show")
    certain: bool = Field(True, description="false if the link is likely but not proven")
    unknown: str | None = Field(None, description="what is not known about it, and why")
    way_out: str | None = Field(None, description="how to find out")
    sql: str | None = Field(None, description="the query to look yourself; null if the figures are from a report")


class EventFunnel(Frozen):
    """How many requests found it taken, and how many of those slept."""

    of: str = Field(description="the latch, mutex or lock")
    requests: float | None
    misses: float | None = Field(description="requests that found it taken; null where no view counts them")
    sleeps: float | None = Field(description="for a row cache lock its waits")
    seconds_waited: float | None
