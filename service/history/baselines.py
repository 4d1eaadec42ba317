"""What is usual for each database, by hour of the week, learned from its own hourly roll-ups: hourly at first, then daily."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from collectors.model import ROW_CACHE_LATCH
from rules.baseline import RATES, Scope, UsualRange, ordinary
from service.store.episodes import Baseline
from service.store.repository import Repository
from service.store.series import SeriesSelector

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
BaselineSource = tuple[SeriesSelector, float]
"""Which figures of the history, and the factor to the unit of ours."""

_LATCH = {"name": ROW_CACHE_LATCH}
SOURCES: Mapping[str, Sequence[BaselineSource]] = {
    "row_cache_wait_share": [(SeriesSelector("impact", "share_of_db_time"), 1)],
    "row_cache_waiting_sessions": [(SeriesSelector("impact", "waiting_sessions"), 1)],
    "sleeps_per_second": [
        (SeriesSelector("v$latch", "sleeps", _LATCH), 1),
        (SeriesSelector("v$mutex_sleep", "sleeps"), 1),
    ],
    "latch_gets_per_second": [(SeriesSelector("v$latch", "gets", _LATCH), 1)],
    "dictionary_gets_per_second": [(SeriesSelector("v$rowcache", "gets"), 1)],
    "db_time_per_second": [(SeriesSelector("v$sys_time_model", "value", {"stat_name": "DB time"}), 1e-6)],
    **{figure: [(SeriesSelector("v$sysstat", "value", {"name": statistic}), 1)] for figure, statistic in RATES.items()},
}
"""The sources of the figures of rules.baseline; of several, the sum."""


def slots(at: datetime) -> Mapping[int, Scope]:
    """The slots for a time (UTC), the closest first."""
    return {at.weekday() * 24 + at.hour: "hour of the week", DAYS + at.hour: "hour of the day", WEEK: "all hours"}


def usual_at(store: Repository, database: str, at: datetime) -> Mapping[str, UsualRange]:
    """The usual figures at a time. Empty without enough history."""
    scopes = slots(at)
    rows = {
        (baseline.metric, baseline.hour_of_week): baseline for baseline in store.baselines.at(database, list(scopes))
    }
    found: dict[str, UsualRange] = {}
    for figure in SOURCES:
        for slot, scope in scopes.items():
            if figure not in found and (baseline := rows.get((figure, slot))) is not None:
                found[figure] = UsualRange(
                    median=baseline.median, low=baseline.low, high=baseline.high, samples=baseline.n, scope=scope
                )
    return found


def learn(store: Repository, database: str, now: datetime) -> int:
    """Compute the baselines of a database from its last twelve weeks. Returns the number of hours."""
    known = samples(store, database, now)
    rows = [row for figure, hours in known.items() for row in _rows(database, figure, hours)]
    if rows:
        store.baselines.put(rows)
    return max(len(hours) for hours in known.values())


def samples(store: Repository, database: str, now: datetime) -> Mapping[str, Samples]:
    """The figures of rules.baseline by the hour, where each of their columns is known."""
    sources = [(figure, *source) for figure, parts in SOURCES.items() for source in parts]
    read = store.baselines.samples(database, [selector for _, selector, _ in sources], now - LEARNED_FROM, now)
    parts: dict[str, list[dict[datetime, float]]] = defaultdict(list)
    for (figure, _, scale), hours in zip(sources, read, strict=True):
        parts[figure].append({at: value * scale for at, value in hours.items()})
    return {
        figure: [(at, sum(part[at] for part in found)) for at in sorted(set.intersection(*map(set, found)))]
        for figure, found in parts.items()
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
