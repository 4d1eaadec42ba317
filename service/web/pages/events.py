"""Episodes and change marks on pages: on the timeline and as a list, each with its link."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import quote

from service.state.episodes import Episode, told
from service.state.window import Window
from service.store.episodes import Mark
from service.store.repository import Repository
from service.web.charts.timeline import Event
from service.web.pages.words import state_of

MOST = 100
SIDE = timedelta(minutes=30)
"""The longest side of a comparison that an episode leads to."""
LEAST = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class PageEvent:
    """One line of the list. `kind` is the state at the peak of an episode, or `mark`."""

    database: str
    kind: str
    begin: datetime
    end: datetime | None
    title: str
    note: str
    """The result of an episode, or who set the mark."""
    link: str
    compare: str
    comparing: str

    def event(self, now: datetime, of_many: bool) -> Event:
        """The same on the timeline. An open episode reaches to now. Among many databases each has its own name."""
        name = f"{self.database}: {self.title}" if of_many else self.title
        if self.kind == "mark":
            return Event(self.begin, None, "mark", f"{name} ({self.note})", self.compare, self.title)
        words = f"{name}{f' ({self.note})' if self.note else ''}"
        return Event(
            self.begin,
            self.end or max(now, self.begin),
            self.kind,
            words,
            self.link,
            self.database if of_many else self.title,
            lasts=self.end is None,
        )


def happenings(store: Repository, database: str | None, window: Window) -> list[PageEvent]:
    """The events of a database, or of all, the newest first: at most `MOST` episodes and as many marks."""
    episodes = store.episodes.between(database, window.begin, window.end, limit=MOST).items
    marks = store.marks.between(database, window.begin, window.end, limit=MOST).items
    events = [*(_episode(episode, window.end) for episode in episodes), *(of_mark(mark) for mark in marks)]
    return sorted(events, key=lambda event: event.begin, reverse=True)


def of_mark(mark: Mark) -> PageEvent:
    """A change mark. It links to the time around it, and to the comparison of before and after."""
    around = Window(mark.at - SIDE, mark.at + SIDE)
    home = f"/db/{quote(mark.database)}"
    return PageEvent(
        mark.database, "mark", mark.at, None, mark.text, f"set by {mark.who}",
        f"{home}/history?{around.query}", f"{home}/compare?mark={quote(mark.id)}", "compare before and after",
    )  # fmt: skip


def _episode(episode: Episode, now: datetime) -> PageEvent:
    until = max(episode.end or now, episode.begin + LEAST)
    around = Window(episode.begin, until).scaled(1.5)
    before, after, words = _sides(episode, now)
    home = f"/db/{quote(episode.database)}"
    return PageEvent(
        episode.database, state_of(episode.peak_severity), episode.begin, episode.end,
        f"{episode.title} on {episode.cache}" if episode.cache else episode.title, told(episode.verdict or ""),
        f"{home}/history?{around.query}",
        f"{home}/compare?before={quote(before.dots)}&after={quote(after.dots)}", words,
    )  # fmt: skip


def _sides(episode: Episode, now: datetime) -> tuple[Window, Window, str]:
    """An ended episode against the time after it, or an open one against the time before it."""
    side = min(max((episode.end or now) - episode.begin, LEAST), SIDE)
    if episode.end is None:
        since = Window(max(episode.begin, now - side), max(now, episode.begin + LEAST))
        return Window(episode.begin - side, episode.begin), since, "compare with before it"
    during = Window(max(episode.begin, episode.end - side), max(episode.end, episode.begin + LEAST))
    return during, Window(during.end, during.end + side), "compare with after it"


def as_events(events: Sequence[PageEvent], now: datetime, of_many: bool = False) -> list[Event]:
    """All of them on the timeline."""
    return [event.event(now, of_many) for event in events]
