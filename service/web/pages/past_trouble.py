"""The trouble that just ended, on the page of a database that is fine: until when, what, how bad, and where to see it."""

from dataclasses import dataclass
from datetime import datetime

from service.state.board import MonitoredDatabase
from service.state.last_hour import LAST_HOUR
from service.web.pages import words
from service.web.pages.layout import address_at


@dataclass(frozen=True, slots=True)
class PastTrouble:
    """The last episode that ended. `link` leads to the page as it was at the peak."""

    until: datetime
    name: str
    worst: str
    link: str


def past_trouble(watched: MonitoredDatabase) -> PastTrouble | None:
    """The last episode that ended within the hour before the last poll; None where there was none."""
    now = watched.published.snapshot.taken_at if watched.published else None
    if now is None:
        return None
    ended = [(each.end, each) for each in watched.episodes.all if each.end is not None and each.end > now - LAST_HOUR]
    if not ended:
        return None
    until, episode = max(ended, key=lambda pair: (pair[0], pair[1].peak_severity.rank))
    share = episode.peak_share_of_db_time
    worst = "" if share is None else words.share(share)
    link = address_at(watched.name, episode.peak_at)
    return PastTrouble(until, words.uncapped(episode.title), worst, link)
