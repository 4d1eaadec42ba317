"""PollRecord: what the main path hands to the store of one poll, beside its snapshot and diagnosis."""

from dataclasses import dataclass

from collectors.model import Delta, NotComparable, Snapshot
from service.state.confirmations import Confirmed
from service.state.episodes import Episode, EpisodeChange


@dataclass(frozen=True, slots=True)
class PollRecord:
    """The change a poll shows, the snapshot it was held against, and what lasts."""

    change: Delta | NotComparable
    previous: Snapshot | None = None
    episodes: tuple[Episode, ...] = ()
    """Those that last, and those that this poll ended."""
    confirmed: tuple[Confirmed, ...] = ()
    episode_changes: tuple[EpisodeChange, ...] = ()
    """What the poll changed about episodes, for those who are notified."""
