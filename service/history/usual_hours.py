"""usual_over(): what is usual for a database hour by hour over a window, for a quiet line in its charts."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from rules.baseline import UsualRange
from service.history.baselines import SOURCES, slots
from service.state.window import Window
from service.store.repository import Repository

HOUR = timedelta(hours=1)
MOST_HOURS = 24 * 92
METRICS: Mapping[str, str] = {
    "row_cache_wait_share": "share_of_db_time",
    "row_cache_waiting_sessions": "waiting_sessions",
    "latch_gets_per_second": "latch_gets",
    "db_time_per_second": "db_time",
    "executions_per_second": "executions",
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
    """What is usual in each hour, by figure; None in an hour without enough history, no figure without any."""
    found = {figure: _over(store, database, figure, hours) for figure in SOURCES}
    return {figure: values for figure, values in found.items() if any(values)}


def _over(store: Repository, database: str, figure: str, hours: Sequence[datetime]) -> tuple[UsualRange | None, ...]:
    known = store.baselines.of(database, figure)
    return tuple(
        next(
            (
                UsualRange(median=kept.median, low=kept.low, high=kept.high, samples=kept.n, scope=scope)
                for slot, scope in slots(at).items()
                if (kept := known.get(slot)) is not None
            ),
            None,
        )
        for at in hours
    )
