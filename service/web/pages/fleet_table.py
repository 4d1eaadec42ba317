"""One row of the fleet per database: its state and since when, what is wrong, its cost, its last hour and last change."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import quote

from markupsafe import Markup

from rules.cause import catalogue
from service.state.last_hour import LAST_HOUR
from service.state.summary import eased_title
from service.web.charts import small
from service.web.fleet_schemas import DatabaseOut, LastMarkOut
from service.web.pages import words

RANK = {state: place for place, state in enumerate(words.STATES)}
LONGEST_MARK = 60


@dataclass(frozen=True, slots=True)
class FleetRow:
    """A database in the fleet. `share` is of DB time, None if unknown."""

    name: str
    state: str
    began: datetime | None
    since: str
    new: bool
    about: str
    what: str
    do: str
    share: float | None
    cost: str | None
    waiting: str
    cache: str
    hour: Sequence[float | None]
    """Share of DB time lost by the minute, oldest first."""
    marks: small.SparkMarks
    top: float
    change: str
    change_link: str
    change_note: str
    words: str

    @property
    def bar(self) -> Markup:
        """The cost as a bar."""
        return small.bar(self.share or 0.0, self.state)

    @property
    def spark(self) -> Markup:
        """The last hour as a line. Drawn only for visible rows."""
        percents = [None if value is None else 100 * value for value in self.hour]
        title = f"{self.name}, share of DB time lost in the last hour: {words.spoken(percents)}"
        return small.spark(percents, title, self.marks, self.top)

    @property
    def link(self) -> str:
        """The page of the database."""
        return f"/db/{quote(self.name)}"

    def order(self, sort: str) -> tuple[object, ...]:
        """Its sort key within its group."""
        if sort == "name":
            return (self.name,)
        if sort == "cache":
            return (not self.cache, self.cache, self.name)
        if sort == "since":
            return (self.began is None, -(self.began.timestamp() if self.began else 0.0), self.name)
        return (RANK[self.state], -(self.share or 0.0), self.name)


def fleet_table(databases: Iterable[DatabaseOut], now: datetime) -> Sequence[FleetRow]:
    """Every database, their last hours on one scale."""
    found = list(databases)
    top = small.spark_top([[100 * max(known)] for out in found if (known := _known(out.last_hour))])
    return [_row(out, top, now) for out in found]


def _known(hour: Sequence[float | None]) -> Sequence[float]:
    return [value for value in hour if value is not None]


def _row(out: DatabaseOut, top: float, now: datetime) -> FleetRow:
    state = words.state_word(out.state)
    share = out.impact.share_of_db_time if out.impact else None
    waiting = out.impact.waiting_sessions if out.impact else None
    guard = out.surface if out.surface and state != "fine" else out.mechanism
    about = " · ".join(part for part in (out.release, guard and guard.replace("-", " "), out.cluster) if part)
    what, do = _what(out, state)
    cache = (out.cache or ("result cache" if out.surface == "result-cache" else "")) if state != "fine" else ""
    began = out.since
    marks = small.SparkMarks(state, _place(began, now), _changes(out.last_mark, now))
    return FleetRow(
        name=out.name,
        state=state,
        began=began,
        since=f"{words.clock(began, now)}, {words.length((now - began).total_seconds())}" if began else "",
        new=began is not None and now - began < LAST_HOUR,
        about=about,
        what=what,
        do=do,
        share=share,
        cost=None if share is None else words.share(share),
        waiting="no session waits" if not waiting or waiting < 0.005 else f"· {words.sessions(waiting)} wait",
        cache=cache,
        hour=out.last_hour,
        marks=marks,
        top=top,
        change=_cut(f"{words.clock(out.last_mark.at, now)} {out.last_mark.text}") if out.last_mark else "",
        change_link=f"/db/{quote(out.name)}/compare?mark={quote(out.last_mark.id)}" if out.last_mark else "",
        change_note=words.outcome(out.last_mark.outcome) if out.last_mark else "",
        words=f"{out.name} {words.STATES[state]} {about} {what} {cache}".casefold(),
    )


def _what(out: DatabaseOut, state: str) -> tuple[str, str]:
    """What is wrong, and what to do."""
    cause = catalogue().get(out.cause) if out.cause else None
    if state == "none":
        if out.failure is None:
            return "Waiting for the next poll", ""
        return "The login is stopped" if out.failure.next_attempt is None else "It does not answer", out.failure.why
    if out.easing and (state == "fine" or out.easing.waits):
        last_seen = f"Last seen {out.easing.until:%H:%M:%S}"
        return eased_title(out.easing), f"{last_seen}; change nothing else yet" if out.easing.waits else last_seen
    if state == "fine":
        return (cause.name if cause else "Nothing to do"), ""
    unsure = out.confidence == "low"
    name = (
        f"Probably {words.uncapped(cause.name)}"
        if cause and unsure
        else cause.name
        if cause
        else "No known cause explains it"
    )
    return name, f"Do: {out.do_now or cause.do_now}" if cause and not unsure else "Look first" if cause else ""


def _place(began: datetime | None, now: datetime) -> float | None:
    """The position of a moment in the last hour, 0 to 1. None if unknown."""
    return None if began is None else min(max(1 - (now - began) / LAST_HOUR, 0.0), 1.0)


def _changes(mark: LastMarkOut | None, now: datetime) -> tuple[float, ...]:
    return (1 - (now - mark.at) / LAST_HOUR,) if mark and timedelta(0) <= now - mark.at <= LAST_HOUR else ()


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_MARK else f"{text[: LONGEST_MARK - 1]}…"
