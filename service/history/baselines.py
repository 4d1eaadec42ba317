"""What is usual for each database, by hour of the week, learned from its own hours: hourly at first, then daily."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from rules.baseline import Scope, UsualRange, ordinary
from service.store.episodes import Baseline
from service.store.polls import moments
from service.store.repository import Repository

LEARNED_FROM = timedelta(weeks=12)
FETCH_EVERY = timedelta(minutes=55)
"""Minutes within the hour that the last fetch covered."""
GROWTH = 1 / 84
"""Computed again when the history has grown by this much: each hour in its first days, each day when it is twelve weeks long.
An hour more changes what is usual for that hour of the week, which comes again a week later."""
ROUND_SECONDS = 1.0
LONG_AGO = datetime.min.replace(tzinfo=UTC)
DAYS, WEEK = 168, 192
"""Slots of `baselines.hour_of_week`: 0 to 167 are hours of the week, from here the 24 hours of the day, then all hours."""
Samples = Sequence[tuple[datetime, float]]

SOURCES: Mapping[str, str] = {
    "row_cache_wait_share": "share",
    "row_cache_waiting_sessions": "waiting",
    "sleeps_per_second": "sleeps",
    "latch_gets_per_second": "latch_gets",
    "dictionary_gets_per_second": "gets",
    "db_time_per_second": "db_time",
    "executions_per_second": "executions",
    "hard_parses_per_second": "hard_parses",
    "logons_per_second": "logons",
}
"""The figures of rules.baseline, and the column of `hours` that each is."""


def slots(at: datetime) -> Mapping[int, Scope]:
    """The slots for a time (UTC), the closest first."""
    return {at.weekday() * 24 + at.hour: "hour of the week", DAYS + at.hour: "hour of the day", WEEK: "all hours"}


def usual_at(store: Repository, database: str, at: datetime) -> Mapping[str, UsualRange]:
    """The usual figures at a time. Empty without enough history."""
    return {figure: usual for figure, (usual,) in usual_over(store, database, [at]).items() if usual}


def usual_over(
    store: Repository, database: str, hours: Sequence[datetime]
) -> Mapping[str, tuple[UsualRange | None, ...]]:
    """The usual value in each hour, by figure. None in an hour without enough history; a figure without any is left out."""
    slotted = [slots(at) for at in hours]
    scopes = {slot: scope for each in slotted for slot, scope in each.items()}
    kept = {
        (row.metric, row.hour_of_week): UsualRange(
            median=row.median, low=row.low, high=row.high, samples=row.n, scope=scopes[row.hour_of_week]
        )
        for row in store.baselines.at(database, sorted(scopes))
    }
    found = {
        figure: tuple(next((kept[figure, slot] for slot in each if (figure, slot) in kept), None) for each in slotted)
        for figure in SOURCES
    }
    return {figure: values for figure, values in found.items() if any(values)}


def learn(store: Repository, database: str, now: datetime) -> int:
    """Compute the baselines of a database from its last twelve weeks. Returns the number of hours."""
    known = samples(store, database, now)
    rows = [row for figure, hours in known.items() for row in _rows(database, figure, hours)]
    if rows:
        store.baselines.put(rows)
    return max(len(hours) for hours in known.values())


def samples(store: Repository, database: str, now: datetime) -> Mapping[str, Samples]:
    """The figures of rules.baseline by the hour, where they are known."""
    names = list(SOURCES.values())
    page = store.history.page(database, names, now - LEARNED_FROM, now, "1h")
    at = moments(page.times)
    return {
        figure: [(when, value) for when, value in zip(at, page.values[name].tolist(), strict=True) if value == value]
        for figure, name in SOURCES.items()
    }


def _rows(database: str, figure: str, samples: Samples) -> Iterator[Baseline]:
    """The usual value of each slot that has enough samples."""
    groups: dict[tuple[int, Scope], list[float]] = defaultdict(list)
    for at, value in samples:
        for place in slots(at).items():
            groups[place].append(value)
    for (slot, scope), values in groups.items():
        usual = ordinary(values, scope)
        if usual is not None:
            yield Baseline(database, figure, slot, usual.median, usual.low, usual.high, usual.samples)


class BaselineCache:
    """The usual figures of now, in memory for polls, which never read the store. `do` is a round of the job that learns them.

    To learn twelve weeks takes as long as many polls, so a round stops after a second and the next goes on: a fleet is never
    learned at one moment. What holds for the next hour is fetched ahead, from what was last learned.
    """

    def __init__(
        self, store: Repository, databases: Iterable[str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._clock = clock
        self._fetch_at = dict.fromkeys(databases, LONG_AGO)
        self._learn_at = dict(self._fetch_at)
        self._known: dict[str, dict[tuple[int, ...], Mapping[str, UsualRange]]] = {}

    def of(self, database: str, at: datetime) -> Mapping[str, UsualRange]:
        """The usual figures of a database at a time. Empty except for the current and the next hour."""
        return self._known.get(database, {}).get(_hour(at), {})

    def do(self, now: datetime) -> None:
        """Fetch and learn what has been due longest, as much as a round has time for. Raises what the store does."""
        until = self._clock() + ROUND_SECONDS
        for due, renew in ((self._fetch_at, self._fetch), (self._learn_at, self._learn)):
            for database in sorted((name for name, at in due.items() if at <= now), key=lambda name: (due[name], name)):
                if self._clock() >= until:
                    return
                renew(database, now)

    def _fetch(self, database: str, now: datetime) -> None:
        hours = (now, now + timedelta(hours=1))
        self._known[database] = {_hour(at): usual_at(self._store, database, at) for at in hours}
        self._fetch_at[database] = now + FETCH_EVERY

    def _learn(self, database: str, now: datetime) -> None:
        hours = learn(self._store, database, now)
        self._learn_at[database] = now + max(FETCH_EVERY, timedelta(hours=hours * GROWTH))
        self._fetch(database, now)


def _hour(at: datetime) -> tuple[int, ...]:
    return at.year, at.month, at.day, at.hour
