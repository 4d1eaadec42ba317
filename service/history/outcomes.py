"""The results of troubles, for /metrics: the last change marks, and verified remedies."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from service.metrics.verdicts import LAST_MARK, VERIFIED, VERIFIED_SECONDS
from service.state.board import Board
from service.state.episodes import Episode
from service.store.repository import Repository

FIRST_LOOK = timedelta(days=30)
AHEAD = timedelta(hours=1)
"""Clocks differ, so a mark may be a little in the future."""


class Outcomes(Collector):
    """Marks and verified remedies of this process' databases. `do` is a round of the job that looks for marks."""

    def __init__(self, store: Repository, board: Board) -> None:
        self._store, self._board = store, board
        self._marks: Mapping[str, float] = {}
        self._verified: Counter[tuple[str, str]] = Counter()
        self._seconds: dict[tuple[str, str], float] = {}

    def do(self, now: datetime) -> None:
        """Look for the last mark of every database polled here. Raises what the store does."""
        found = dict[str, float]()
        for watched in self._board.own():
            newest = self._store.marks.between(watched.name, now - FIRST_LOOK, now + AHEAD, limit=1).items
            if newest:
                found[watched.name] = newest[0].at.timestamp()
        self._marks = found

    def verified(self, episode: Episode) -> None:
        """A change ended this episode, according to the figures."""
        if episode.end is not None:
            key = (episode.database, episode.cause)
            lasted = (episode.end - episode.begin).total_seconds()
            self._seconds[key] = self._seconds.get(key, 0.0) + lasted
            self._verified[key] += 1

    def collect(self) -> Iterator[Metric]:
        """The three families."""
        racs = {watched.name: watched.settings.cluster or "" for watched in self._board.every()}
        marks = GaugeMetricFamily(LAST_MARK.name, LAST_MARK.help, labels=["db", "rac"])
        for name, at in self._marks.items():
            marks.add_metric([name, racs.get(name, "")], at)
        counts = CounterMetricFamily(VERIFIED.name, VERIFIED.help, labels=["db", "rac", "cause"])
        seconds = CounterMetricFamily(VERIFIED_SECONDS.name, VERIFIED_SECONDS.help, labels=["db", "rac", "cause"])
        for (name, cause), count in list(self._verified.items()):
            counts.add_metric([name, racs.get(name, ""), cause], float(count))
            seconds.add_metric([name, racs.get(name, ""), cause], self._seconds[name, cause])
        yield from (marks, counts, seconds)
