"""The past on the fleet page: the result of the last mark of each database, and the hour before this process started."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from service.history.comparison import GRACE, SETTLE
from service.state.board import MonitoredDatabase
from service.state.last_hour import MINUTES
from service.store.queries.marks import Mark
from service.store.queries.recent import EpisodeAtMark, LastMark
from service.store.repository import Repository

Outcome = Literal[
    "helped", "helped, then came back", "did not help", "too early to tell", "trouble lasts", "not judged"
]
AGAIN_SECONDS = 60.0
"""Databases that others poll are read again after this time."""


@dataclass(frozen=True, slots=True)
class MarkOutcome:
    """A mark, and the result for its trouble. `verdict` is the stored sentence, None without one."""

    mark: Mark
    outcome: Outcome
    verdict: str | None


class FleetPast:
    """Reads the store for all databases at once. Without an answer the fleet is drawn without it."""

    def __init__(self, store: Repository) -> None:
        self._store = store

    def marks(self, database: str | None = None) -> Mapping[str, MarkOutcome]:
        """The result of the last mark of each database, or of one."""
        return {name: outcome_of(last) for name, last in self._store.recent.last_marks(database).items()}

    def fill_hours(self, databases: Iterable[MonitoredDatabase]) -> None:
        """Give each database the minutes that this process did not see: ours once, those polled elsewhere by the minute."""
        now = time.monotonic()
        due = [
            watched
            for watched in databases
            if not (watched.last_hour.filled and watched.owned) and now - watched.last_hour.asked_at >= AGAIN_SECONDS
        ]
        if not due:
            return
        since = datetime.now(UTC) - timedelta(minutes=MINUTES)
        kept = self._store.recent.minutes([watched.name for watched in due], since)
        for watched in due:
            watched.last_hour.asked_at = now
            if kept is not None:
                watched.last_hour.fill(kept[watched.name], anew=not watched.owned)


def outcome_of(last: LastMark) -> MarkOutcome:
    """The result for the trouble that was open at a mark. If there are several, the one that began last."""
    lasting = [earlier for earlier in last.before if earlier.end is None or earlier.last_seen >= last.mark.at - GRACE]
    episode = max(lasting, key=lambda earlier: earlier.begin, default=None)
    if episode is None:
        return MarkOutcome(last.mark, "not judged", None)
    return MarkOutcome(last.mark, _outcome(episode, last), episode.verdict)


def _outcome(episode: EpisodeAtMark, last: LastMark) -> Outcome:
    if episode.verdict_kind == "verified":
        return "helped, then came back" if episode.cause in last.after else "helped"
    if episode.verdict_kind is None:
        if episode.end is not None:
            return "not judged"
        return "trouble lasts" if episode.last_seen >= last.mark.at + SETTLE else "too early to tell"
    return "too early to tell" if episode.verdict_kind == "too_early" else "did not help"
