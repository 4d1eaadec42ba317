"""usual_over(): the usual figures of a database hour by hour over a window, for a quiet line in its charts."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from rules.baseline import Scope, UsualRange
from service.history.baselines import SOURCES, slots
from service.state.window import Window
from service.store.queries.episodes import Baseline
from service.store.repository import Repository

HOUR = timedelta(hours=1)
MOST_HOURS = 24 * 92
METRICS: Mapping[str, str] = {
    "row_cache_wait_share": "share_of_db_time",
    "row_cache_waiting_sessions": "waiting_sessions",
    "latch_gets_per_second": "latch_gets",
    "db_time_per_second": "db_time",
    "executions_per_second": "executions",
    "hard_parses_per_second": "hard_parses",
    "logons_per_second": "logons",
}
"""Figures whose values are those of a metric of the history, by its name there."""


def hours_of(window: Window) -> tuple[datetime, ...]:
    """The begin of every hour that a window touches, at most three months of them."""
    first = window.begin.replace(minute=0, second=0, microsecond=0)
    count = min(int((window.end - first) / HOUR) + 1, MOST_HOURS)
    return tuple(first + place * HOUR for place in range(count))


def usual_over(
    store: Repository, database: str, hours: Sequence[datetime]
) -> Mapping[str, tuple[UsualRange | None, ...]]:
    """The usual value in each hour, by figure. None in an hour without enough history; a figure without any is left out."""
    slotted = [slots(at) for at in hours]
    kept: dict[str, dict[int, Baseline]] = {figure: {} for figure in SOURCES}
    for baseline in store.baselines.at(database, sorted({slot for each in slotted for slot in each})):
        if baseline.metric in kept:
            kept[baseline.metric][baseline.hour_of_week] = baseline
    found = {figure: tuple(_closest(known, each) for each in slotted) for figure, known in kept.items()}
    return {figure: values for figure, values in found.items() if any(values)}


def _closest(known: Mapping[int, Baseline], scopes: Mapping[int, Scope]) -> UsualRange | None:
    for slot, scope in scopes.items():
        if (kept := known.get(slot)) is not None:
            return UsualRange(median=kept.median, low=kept.low, high=kept.high, samples=kept.n, scope=scope)
    return None
