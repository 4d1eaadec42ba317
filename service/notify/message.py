"""What a person is told of episodes: a title that stays the same from begin to end, a sentence, and a link."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rules.formatting import percent
from rules.model import Severity
from service.characters import visible
from service.store.queries.episode_log import LoggedChange

LONGEST_SENTENCE = 400
MOST_EPISODES = 20
"""In one message; the rest is counted."""
_SIGNS = str.maketrans({"<": "‹", ">": "›", "@": "＠", "*": "∗", "`": "ˋ"})
"""Signs with which chats call people or draw; names from a database may hold them."""


@dataclass(frozen=True, slots=True)
class Message:
    """Plain text; `severity` is None where it only tells that something is over."""

    title: str
    body: str
    severity: Severity | None


@dataclass(frozen=True, slots=True)
class EpisodeNews:
    """What is new of one episode: its latest change, and whether the message tells its begin as well."""

    change: LoggedChange
    begins: bool

    @property
    def episode(self) -> dict[str, Any]:
        return self.change.episode

    @property
    def over(self) -> bool:
        return self.change.what == "end"

    @property
    def peak(self) -> Severity:
        return Severity(self.episode["peak_severity"])


def episode_key(change: LoggedChange) -> tuple[str, str, str]:
    """What tells one episode from another."""
    return change.database, str(change.episode["cause"]), str(change.episode["begin"])


def news(changes: Iterable[LoggedChange]) -> list[EpisodeNews]:
    """Changes in their order as news, one per episode."""
    found: dict[tuple[str, str, str], EpisodeNews] = {}
    for change in changes:
        before = found.get(episode_key(change))
        found[episode_key(change)] = EpisodeNews(change, change.what == "begin" or bool(before and before.begins))
    return list(found.values())


def message_of(changes: Sequence[LoggedChange], public_url: str | None) -> Message:
    """The message for some changes, of which there is at least one."""
    told = news(changes)
    lasting = [each.peak for each in told if not each.over]
    severity = max(lasting, key=lambda peak: peak.rank) if lasting else None
    if len(told) == 1:
        (only,) = told
        return Message(_title(only), "\n".join([_sentence(only), *_link(public_url, only.change.database)]), severity)
    databases = {each.change.database for each in told}
    over = sum(each.over for each in told)
    where = f"on {len(databases)} databases" if len(databases) > 1 else f"on {next(iter(databases))}"
    title = f"latchscope: {len(told)} troubles {where}{f', {over} of them over' if over else ''}"
    lines = [line for each in told[:MOST_EPISODES] for line in _listed(each, public_url)]
    if len(told) > MOST_EPISODES:
        lines.append(f"and {len(told) - MOST_EPISODES} more")
    return Message(title, "\n".join([*lines, *([] if len(databases) == 1 else _link(public_url))]), severity)


def harmless(text: str, longest: int = LONGEST_SENTENCE) -> str:
    """A text from a database, which may hold anything, for a chat: visible, without calls and marks, and not too long."""
    shown = visible(text).translate(_SIGNS)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def _title(told: EpisodeNews) -> str:
    """The same for begin and end, since some receivers find the incident to resolve by it."""
    cache = told.episode.get("cache")
    return harmless(f"{told.change.database}: {told.episode['title']}{f' on {cache}' if cache else ''}", 200)


def _sentence(told: EpisodeNews) -> str:
    headline = harmless(str(told.episode["headline"]))
    if told.over:
        share = told.episode.get("peak_share_of_db_time")
        cost = f", {percent(share)} of DB time" if share is not None else ""
        verdict = f" {harmless(told.episode['verdict'])}" if told.episode.get("verdict") else ""
        worst = (
            f"At its worst {_word(told.peak)}{cost}: {headline}" if told.begins else f"It was {_word(told.peak)}{cost}."
        )
        return f"Resolved after {_lasted(told)}. {worst}{verdict}"
    now = " now" if told.change.what == "worse" else ""
    return f"{_word(told.peak)}{now}, since {_time(told.episode['begin'])} UTC: {headline}"


def _listed(told: EpisodeNews, public_url: str | None) -> list[str]:
    return [f"• {_title(told)}. {_sentence(told)}", *(f"  {link}" for link in _link(public_url, told.change.database))]


def _link(public_url: str | None, database: str | None = None) -> list[str]:
    if public_url is None:
        return []
    return [f"{public_url.rstrip('/')}/{f'db/{database}' if database else ''}"]


def _word(severity: Severity) -> str:
    return severity.value.upper()


def _time(moment: str) -> str:
    return datetime.fromisoformat(moment).strftime("%H:%M")


def _end(told: EpisodeNews) -> str:
    return str(told.episode.get("end") or told.episode["last_seen"])


def _lasted(told: EpisodeNews) -> str:
    """From begin to end, by the database's clock."""
    begin, end = (datetime.fromisoformat(moment) for moment in (told.episode["begin"], _end(told)))
    minutes = round((end - begin).total_seconds() / 60)
    if minutes < 1:
        return f"{(end - begin).total_seconds():.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
