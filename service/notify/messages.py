"""The message about episodes for a person: a title that stays the same from begin to end, a sentence, what to do, and a link."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rules.cause import catalogue
from rules.formatting import percent
from rules.model import Confidence, Severity
from service.characters import visible
from service.state.mark_verdicts import told
from service.store.queries.episode_log import LoggedChange

LONGEST_SENTENCE = 400
MOST_EPISODES = 20
"""Most episodes in one message. The rest is counted."""
CONFIRM_FIRST = "Confirm the cause first, it is not certain. If it is proven: "
_SIGNS = str.maketrans({"<": "‹", ">": "›", "@": "＠", "*": "∗", "`": "ˋ"})
"""Characters with which chats mention people or format text. Names from a database may contain them."""


@dataclass(frozen=True, slots=True)
class Message:
    """Plain text. `severity` is None if it only reports an end."""

    title: str
    body: str
    severity: Severity | None


@dataclass(frozen=True, slots=True)
class EpisodeNews:
    """The news of one episode: its latest change, and whether the message reports its begin as well."""

    change: LoggedChange
    begins: bool

    @property
    def episode(self) -> dict[str, Any]:
        return self.change.episode

    @property
    def over(self) -> bool:
        return self.change.what in ("end", "back")

    @property
    def outage(self) -> bool:
        """Whether it is about a database that gives no figures, not about an episode."""
        return self.change.what in ("outage", "back")

    @property
    def peak(self) -> Severity:
        return Severity(self.episode["peak_severity"])


def episode_key(change: LoggedChange) -> tuple[str, str, str]:
    """The key of an episode."""
    return change.database, str(change.episode["cause"]), str(change.episode["begin"])


def news(changes: Iterable[LoggedChange]) -> list[EpisodeNews]:
    """Changes in order as news, one per episode."""
    found: dict[tuple[str, str, str], EpisodeNews] = {}
    for change in changes:
        before = found.get(episode_key(change))
        found[episode_key(change)] = EpisodeNews(
            change, change.what in ("begin", "outage") or bool(before and before.begins)
        )
    return list(found.values())


def message_of(changes: Sequence[LoggedChange], public_url: str | None) -> Message:
    """The message for at least one change."""
    items = news(changes)
    lasting = [each.peak for each in items if not each.over]
    severity = max(lasting, key=lambda peak: peak.rank) if lasting else None
    if len(items) == 1:
        (only,) = items
        lines = [_sentence(only), *_advice(only), *_link(public_url, only.change.database)]
        return Message(_title(only), "\n".join(lines), severity)
    databases = {each.change.database for each in items}
    over = sum(each.over for each in items)
    where = f"on {len(databases)} databases" if len(databases) > 1 else f"on {next(iter(databases))}"
    title = f"latchscope: {len(items)} troubles {where}{f', {over} of them over' if over else ''}"
    lines, given = [], set[tuple[str, ...]]()
    for each in items[:MOST_EPISODES]:
        advice = tuple(_advice(each))
        lines += _listed(each, advice if advice not in given else (), public_url)
        given.add(advice)
    if len(items) > MOST_EPISODES:
        lines.append(f"and {len(items) - MOST_EPISODES} more")
    return Message(title, "\n".join([*lines, *([] if len(databases) == 1 else _link(public_url))]), severity)


def harmless(text: str, longest: int = LONGEST_SENTENCE) -> str:
    """A text from a database, made safe for a chat: visible, without mentions and formatting, and not too long."""
    shown = visible(text).translate(_SIGNS)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def _title(item: EpisodeNews) -> str:
    """The same title for begin and end, because some receivers find the incident to resolve by it."""
    cache = item.episode.get("cache")
    return harmless(f"{item.change.database}: {item.episode['title']}{f' on {cache}' if cache else ''}", 200)


def _sentence(item: EpisodeNews) -> str:
    headline = harmless(str(item.episode["headline"]))
    if item.outage:
        why = f"Since {_time(item.episode['begin'])} UTC: {headline}"
        again = f"Answers again after {_lasted(item)}."
        return why if not item.over else f"{again} {why}" if item.begins else again
    if item.over:
        share = item.episode.get("peak_share_of_db_time")
        cost = f", {percent(share)} of DB time" if share is not None else ""
        verdict = harmless(told(item.episode["verdict"])) if item.episode.get("verdict") else ""
        worst = (
            f"At its worst {_word(item.peak)}{cost}: {headline}" if item.begins else f"It was {_word(item.peak)}{cost}"
        )
        return f"Resolved after {_lasted(item)}. {worst}{f'. {verdict}' if verdict else '' if item.begins else '.'}"
    now = " now" if item.change.what == "worse" else ""
    return f"{_word(item.peak)}{now}, since {_time(item.episode['begin'])} UTC: {headline}"


def _advice(item: EpisodeNews) -> Iterator[str]:
    """What to do and what not, a line each, while it lasts, for who reads nothing but the message."""
    if item.over:
        return
    do, check, cause = item.episode.get("do_now"), item.episode.get("check_first"), str(item.episode["cause"])
    if do:
        unsure = item.episode.get("confidence") == Confidence.LOW.value
        yield harmless(f"Do: {CONFIRM_FIRST if unsure else ''}{do}")
    if check:
        yield harmless(f"Check first: {check}")
    known = catalogue().get(cause)
    do_not = item.episode.get("do_not") or (known.do_not if known else "")  # a change of an older release has none
    if do_not:
        yield harmless(do_not)


def _listed(item: EpisodeNews, advice: Iterable[str], public_url: str | None) -> list[str]:
    below = (*advice, *_link(public_url, item.change.database))
    return [f"• {_title(item)}. {_sentence(item)}", *(f"  {line}" for line in below)]


def _link(public_url: str | None, database: str | None = None) -> list[str]:
    if public_url is None:
        return []
    return [f"{public_url.rstrip('/')}/{f'db/{database}' if database else ''}"]


def _word(severity: Severity) -> str:
    return severity.value.upper()


def _time(moment: str) -> str:
    return datetime.fromisoformat(moment).strftime("%H:%M")


def _end(item: EpisodeNews) -> str:
    return str(item.episode.get("end") or item.episode["last_seen"])


def _lasted(item: EpisodeNews) -> str:
    """From begin to end, by the database's clock."""
    begin, end = (datetime.fromisoformat(moment) for moment in (item.episode["begin"], _end(item)))
    minutes = round((end - begin).total_seconds() / 60)
    if minutes < 1:
        return f"{(end - begin).total_seconds():.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
