"""The stretches of a page of history, as arrays; single ones as objects."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from service.store.figures.codec import Values
from service.store.schema.history_tables import EPOCH, moment

Times = NDArray[np.int64]
"""Milliseconds since 1970."""


class HistorySpan(NamedTuple):
    """One watched stretch: a poll (`at` is the end of its interval) or a bucket (`at` is its begin).

    `seconds` is what its figures cover, None or 0 without an interval. `missing` has views, and single counters
    as "view key column".
    """

    at: datetime
    seconds: float | None
    polls: int
    missing: frozenset[str]
    why: str | None = None

    def lacks(self, view: str, key: str, column: str) -> bool:
        """Whether the figure is unknown here."""
        return view in self.missing or f"{view} {key} {column}" in self.missing


@dataclass(frozen=True, eq=False)
class HistorySpans(Sequence[HistorySpan]):
    """Spans in order of time: an array for each member, and a span object on request."""

    times: Times
    intervals: Values
    """What the figures cover in seconds; NaN where a poll has no interval."""
    polls: NDArray[np.int64]
    texts: Sequence[str]
    """What is unknown, as stored, for each span."""
    reasons: Sequence[str | None] = ()
    """Why a poll has no interval, for each; empty for buckets."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]]) -> "HistorySpans":
        """Rows of time in milliseconds, seconds, polls, what is missing, and of polls why."""
        times, seconds, polls, texts, *why = zip(*rows, strict=True) if rows else ((), (), (), ())
        return cls(np.array(times, np.int64), np.array(seconds, float), np.array(polls, np.int64), texts, *why)

    def __len__(self) -> int:
        return len(self.times)

    @overload
    def __getitem__(self, place: int) -> HistorySpan: ...
    @overload
    def __getitem__(self, place: slice) -> "HistorySpans": ...
    def __getitem__(self, place: int | slice) -> "HistorySpan | HistorySpans":
        if isinstance(place, slice):
            arrays = self.times[place], self.intervals[place], self.polls[place]
            return HistorySpans(*arrays, self.texts[place], self.reasons[place])
        seconds, why = float(self.intervals[place]), self.reasons[place] if self.reasons else None
        known = None if np.isnan(seconds) else seconds
        missing = missing_in(self.texts[place])
        return HistorySpan(moment(int(self.times[place])), known, int(self.polls[place]), missing, why)

    @cached_property
    def at(self) -> list[datetime]:
        """The time of each."""
        return moments(self.times)

    @cached_property
    def seconds(self) -> Values:
        """What each covers. NaN without an interval."""
        return np.where(self.intervals > 0, self.intervals, np.nan)

    @cached_property
    def missing(self) -> frozenset[str]:
        """What is unknown in some of them."""
        return frozenset[str]().union(*map(missing_in, set(self.texts)))

    def lack(self, name: str) -> NDArray[np.bool_]:
        """Where a view, or a single counter as "view key column", is unknown."""
        if name not in self.missing:
            return np.zeros(len(self), bool)
        without = {text for text in set(self.texts) if name in missing_in(text)}
        return np.array([text in without for text in self.texts], bool)


def moments(times: Times) -> list[datetime]:
    """Milliseconds as aware times."""
    return [EPOCH + since for since in times.astype("m8[ms]").tolist()]


_KNOWN: dict[str, frozenset[str]] = {}


def missing_in(text: str) -> frozenset[str]:
    """What a poll does not know, from its stored form. The same few texts are in every poll, so they are read once."""
    if text not in _KNOWN:
        if len(_KNOWN) > 1000:
            _KNOWN.clear()
        _KNOWN[text] = frozenset(" ".join(load) for load in json.loads(text))
    return _KNOWN[text]
