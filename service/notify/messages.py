"""The message about episodes for a person: a title that stays the same from begin to end, a sentence, what to do, and a link."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any
from urllib.parse import unquote

from collectors.errors import SetupError
from rules.cause import catalogue
from rules.changes import BEFORE, Change, nearest_to
from rules.changes import told as told_change
from rules.explain.story import LABELS, as_sure, tell
from rules.formatting import length, percent, within
from rules.model import Confidence, Severity
from service.config.load import read_secret
from service.config.settings import NotificationSettings, Settings, WebhookSettings
from service.escape import in_chat, visible
from service.extras import require
from service.notify.delivery import DeliveryRefused, Receivers, ReceiverThread, Sent, document, post
from service.state.board import UNWATCHED
from service.state.episodes import EpisodeChange, told
from service.store.engine import STORE_ERRORS
from service.store.episodes import Delivery, LoggedChange
from service.store.repository import Repository

LONGEST_SENTENCE = 400
MOST_EPISODES = 20
"""Most episodes in one message. The rest is counted."""


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


Nearby = Callable[[str, datetime], Sequence[Change]]
"""Database and the begin of its waits → what changed around then."""
MOST_NEARBY = 3


def changes_in(store: Repository) -> Nearby:
    """What the store has. Nothing while it does not answer: the message goes out without."""

    def nearby(database: str, begin: datetime) -> Sequence[Change]:
        try:
            return store.timeline.between(database, begin - BEFORE, begin + BEFORE).items
        except STORE_ERRORS:
            return ()

    return nearby


def message_of(
    changes: Sequence[LoggedChange],
    public_url: str | None,
    nearby: Nearby = lambda database, begin: (),
    labels: Mapping[str, Mapping[str, str]] = {},
) -> Message:
    """The message for at least one change. A begin has the changes of the database nearest to it."""
    items = news(changes)
    lasting = [each.peak for each in items if not each.over]
    severity = max(lasting, key=lambda peak: peak.rank) if lasting else None
    if len(items) == 1:
        (only,) = items
        about = ", ".join(f"{name} {value}" for name, value in labels.get(only.change.database, {}).items())
        lines = [_sentence(only), *([about] if about else []), *_advice(only), *_nearest(only, nearby)]
        lines += _link(public_url, only.change.database)
        return Message(_title(only), "\n".join(lines), severity)
    databases = {each.change.database for each in items}
    over = sum(each.over for each in items)
    where = f"on {len(databases)} databases" if len(databases) > 1 else f"on {next(iter(databases))}"
    ended = f", {over} of them over" if 0 < over < len(items) else ""
    title = f"latchscope: {'over: ' if over == len(items) else ''}{len(items)} troubles {where}{ended}"
    lines, given = [], set[tuple[str, ...]]()
    for each in items[:MOST_EPISODES]:
        advice = tuple(_advice(each))
        lines += _listed(each, advice if advice not in given else (), public_url)
        given.add(advice)
    if len(items) > MOST_EPISODES:
        lines.append(f"and {len(items) - MOST_EPISODES} more")
    return Message(title, "\n".join([*lines, *([] if len(databases) == 1 else _link(public_url))]), severity)


def harmless(text: str, longest: int = LONGEST_SENTENCE) -> str:
    """A text from a database for a chat or a mail, and not too long."""
    shown = in_chat(text)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def _title(item: EpisodeNews) -> str:
    """The same title for begin and end, because some receivers find the incident to resolve by it."""
    cache = item.episode.get("cache")
    return harmless(f"{item.change.database}: {item.episode['title']}{f' on {cache}' if cache else ''}", 200)


def _sentence(item: EpisodeNews) -> str:
    headline = harmless(str(item.episode["headline"]))
    if item.over and item.episode.get("verdict") == UNWATCHED:
        return tell("unwatched")
    since, lasted = _time(item.episode["begin"]), _lasted(item)
    if item.outage:
        why = tell("down since", since=since, why=headline)
        again = tell("answers again", lasted=lasted)
        return why if not item.over else f"{again} {why}" if item.begins else again
    if item.over:
        share = item.episode.get("peak_share_of_db_time")
        cost = tell("peak cost", share=percent(share)) if share is not None else ""
        verdict = f" {harmless(told(item.episode['verdict']))}" if item.episode.get("verdict") else ""
        worst = tell("at its worst" if item.begins else "it was", severity=item.peak, cost=cost, headline=headline)
        return f"{tell('resolved', lasted=lasted)} {worst}{verdict}"
    now = " now" if item.change.what == "worse" else ""
    return tell("lasts", waits=LABELS[item.peak], now=now, since=since, headline=within(headline))


def _advice(item: EpisodeNews) -> Iterator[str]:
    """What to do and what not, a line each, while it lasts, for who reads nothing but the message."""
    if item.over:
        return
    do, check, cause = item.episode.get("do_now"), item.episode.get("check_first"), str(item.episode["cause"])
    known = catalogue().get(cause)
    if do:
        unsure = item.episode.get("confidence") == Confidence.LOW.value
        asked = known is not None and known.confirm is not None
        yield harmless(f"{LABELS['do']}: {as_sure(do, unsure=unsure, asked=asked)}")
    if do and known and known.then:
        yield f"{LABELS['then']}: {known.then}"
    if check:
        yield harmless(f"{LABELS['check']}: {check}")
    do_not = item.episode.get("do_not") or (known.do_not if known else "")  # a change of an older release has none
    if do_not:
        yield harmless(do_not)


def _nearest(item: EpisodeNews, nearby: Nearby) -> Iterator[str]:
    """What changed nearest to the begin of the waits, in one line. It says when, and not why."""
    if item.outage or item.over or not item.begins:
        return
    begin = datetime.fromisoformat(item.episode["begin"])
    found = nearest_to(nearby(item.change.database, begin), begin, MOST_NEARBY)
    if found:
        yield harmless(f"{LABELS['changed']} (UTC): {'; '.join(told_change(change, begin) for change in found)}.")


def _listed(item: EpisodeNews, advice: Iterable[str], public_url: str | None) -> list[str]:
    below = (*advice, *_link(public_url, item.change.database))
    return [f"• {_title(item)}. {_sentence(item)}", *(f"  {line}" for line in below)]


def _link(public_url: str | None, database: str | None = None) -> list[str]:
    if public_url is None:
        return []
    return [f"{public_url.rstrip('/')}/{f'db/{database}' if database else ''}"]


def _time(moment: str) -> str:
    return datetime.fromisoformat(moment).strftime("%H:%M")


def _lasted(item: EpisodeNews) -> str:
    """From begin to end, by the database's clock."""
    until = item.episode.get("end") or item.episode["last_seen"]
    begin, end = (datetime.fromisoformat(moment) for moment in (item.episode["begin"], until))
    return length((end - begin).total_seconds())


# One message through Apprise. The address is read for each message, and no failure shows any of it.

TIMEOUT_SECONDS = 20.0
"""Limit for one message, whatever the service behind it does. Shorter than the lease of an attempt."""
_KINDS = {Severity.CRITICAL: "failure", Severity.WARNING: "warning"}
_PARTS = re.compile(r"[^/:@?&=#,;\s]{3,}")


def require_apprise() -> None:
    """Raise MissingExtra if Apprise is not installed."""
    require("apprise", "notify", "notifications")


def send(channel: NotificationSettings, message: Message) -> None:
    """Send to the receiver. Raises DeliveryRefused."""
    url = _address(channel)
    apprise = _apprise()
    asset = apprise.AppriseAsset(
        app_id="latchscope",
        app_desc=f"latchscope {version('latchscope')}",
        storage_mode="memory",
        service_timeout=TIMEOUT_SECONDS,
        http_redirects=False,
        interpret_emojis=False,
    )
    service = _service(channel, url, asset)
    sender = apprise.Apprise(asset=asset)
    sender.add(service)
    kind = "success" if message.severity is None else _KINDS.get(message.severity, "info")
    result = sender.notify(
        body=message.body, title=message.title, notify_type=kind, body_format="text", log_level=logging.WARNING
    )
    if not result:
        raise DeliveryRefused(_why(result, url))


def known_service(channel: NotificationSettings) -> str:
    """The kind of service behind an address that Apprise can send to; nothing is sent.

    Raises DeliveryRefused, or MissingExtra where the address looks right and Apprise is not there.
    """
    url = _address(channel)
    require_apprise()
    return _kind(str(_service(channel, url, _apprise().AppriseAsset(storage_mode="memory")).url()))


def _kind(url: str) -> str:
    return url.partition("://")[0].lower()


def _apprise() -> Any:
    """Apprise, whose log stays away from ours."""
    import apprise  # loads two hundred services, which only receivers need

    for name in ("apprise", "urllib3", "requests"):  # their log lines contain addresses, and so secrets
        logging.getLogger(name).propagate = False
        logging.getLogger(name).addHandler(logging.NullHandler())
    return apprise


def _service(channel: NotificationSettings, url: str, asset: Any) -> Any:
    """What Apprise makes of an address. Raises DeliveryRefused where it knows no such one."""
    service = _apprise().Apprise.instantiate(url, asset=asset)
    if service is None:
        raise DeliveryRefused(
            f"url_file {channel.url_file} has no address that Apprise knows; https://appriseit.com/services/ lists them"
        )
    return service


def _address(channel: NotificationSettings) -> str:
    try:
        text = read_secret(channel.url_file, "url_file")
    except SetupError as error:
        raise DeliveryRefused(str(error)) from None
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise DeliveryRefused(f"url_file {channel.url_file} is empty; write an address into it, such as slack://…")
    if len(lines) != 1:
        raise DeliveryRefused(
            f"url_file {channel.url_file} has {len(lines)} addresses; it must have one, so write an entry for each"
        )
    if not re.match(r"[A-Za-z0-9]{2,32}://", lines[0]):
        raise DeliveryRefused(f"url_file {channel.url_file} has no address such as slack://… or mailtos://…")
    return lines[0]


def _why(result: Any, url: str) -> str:
    """Apprise's first complaint, without any part of the address."""
    said = next((str(entry.message) for entry in result.logs()), "it was not accepted, or not in time")
    parts = {part for text in (url, unquote(url)) for part in _PARTS.findall(text.partition("://")[2])}
    for part in sorted(parts, key=len, reverse=True):
        said = said.replace(part, "…")
    return visible(" ".join(said.split()))[:200].rstrip(".")


# Notifications: people get one message when an episode begins, rises or ends. Simultaneous changes share a message.
#
# They use the same log of deliveries as webhooks, so that nothing is lost over restarts and only one of several
# processes
# sends. Changes that wait (for others, or for the end of quiet hours) wait in the store.

MOST_AT_ONCE = 500
ALSO_WANTED = {"worse": "begin", "back": "outage"}
"""Changes that go to receivers of another one too."""


class Channel(ReceiverThread):
    """Serves one receiver, in messages of one change or several."""

    def step(self) -> float:
        """Send what is due as one message. Returns the seconds until there is something to do. Raises StoreUnavailable."""
        now = datetime.now(UTC)
        waiting = self.deliveries.open_of(self.name, MOST_AT_ONCE)
        released = [each for each in waiting if self._released(each) <= now]
        if not released:
            soonest = min((self._released(each) for each in waiting), default=now + timedelta(days=1))
            return min(self.pace.look, (soonest - now).total_seconds())
        if (left := (self._due(released) - now).total_seconds()) > 0:
            return min(self.pace.look, left)
        if self.stopping:
            return self.pace.look
        batch = [
            mine for each in self._batch(waiting, released) if (mine := self.deliveries.claim(each, now)) is not None
        ]
        return 0.0 if self._told(batch) else self.pace.look

    def _released(self, delivery: Delivery) -> datetime:
        """The earliest time to send it."""
        peak = Severity(delivery.change.episode["peak_severity"])
        held_until: datetime = self.receiver.held_until(delivery.change.at, peak)
        return held_until

    def _due(self, released: Sequence[Delivery]) -> datetime:
        """When the next message goes out: after the pause of a failed attempt, else when the first change has waited."""
        tried = [self.pace.due(each) for each in released if each.attempts]
        return max(tried) if tried else min(map(self._released, released)) + timedelta(seconds=self.receiver.group)

    def _batch(self, waiting: Sequence[Delivery], released: Sequence[Delivery]) -> list[Delivery]:
        """The content of one message, with earlier changes of the same episodes that were held back."""
        keys = {episode_key(each.change) for each in (released if self.receiver.group else released[:1])}
        newest = released[-1].change.seq
        return [each for each in waiting if episode_key(each.change) in keys and each.change.seq <= newest]

    def _told(self, batch: Sequence[Delivery]) -> bool:
        """Send a message with these. Returns whether all of them are settled."""
        news = [each for each in batch if not self._known(each, batch)]
        for each in batch:
            if each not in news:
                self.deliveries.settle(each, "skipped", datetime.now(UTC))
        if not news:
            return True
        try:
            changes = [each.change for each in news]
            send(self.receiver, message_of(changes, self.of.public_url, changes_in(self.store), self.of.labels))
        except DeliveryRefused as error:
            now = datetime.now(UTC)
            given_up = [self.was_refused(each, error, now, self._released(each)) for each in news]
            return all(given_up)
        for each in news:
            self.was_told(each, datetime.now(UTC))
        return True

    def _known(self, delivery: Delivery, batch: Sequence[Delivery]) -> bool:
        """Whether the message would repeat an episode that only grew worse, for a receiver that did not ask for that."""
        if delivery.change.what != "worse" or "worse" in self.receiver.on:
            return False
        database, cause, began = episode_key(delivery.change)
        earlier = self.deliveries.of(database, cause, datetime.fromisoformat(began))
        ours = [each for each in earlier if each.target == self.name and each.change.seq < delivery.change.seq]
        claimed = {each.change.seq for each in batch}
        return any(each.outcome == "told" and each.change.seq not in claimed for each in ours)


class Notifications(Receivers):
    """Those that people read."""

    of = "notifications"
    counter = (
        "latchscope_notification_attempts_total",
        "Attempts to notify people of a change, by result: told, failed or gave_up.",
    )
    sender = Channel

    @staticmethod
    def wants(receiver: NotificationSettings, change: EpisodeChange) -> bool:
        """Whether it may need a change. One that grew worse may be the first that it gets."""
        if receiver.databases and change.episode.database not in receiver.databases:
            return False
        if change.episode.peak_severity.rank < receiver.min_severity.rank:
            return False
        return change.what in receiver.on or ALSO_WANTED.get(change.what) in receiver.on


# A test message to every receiver, to check that it arrives before there is a trouble.


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The result for one receiver. `service` is `webhook` or Apprise's name for it; `why` is None if the message was sent."""

    target: str
    service: str
    why: str | None


def receivers(settings: Settings) -> list[WebhookSettings | NotificationSettings]:
    """Every receiver."""
    return [*settings.webhooks, *settings.notifications]


def try_out(settings: Settings, chosen: Sequence[WebhookSettings | NotificationSettings]) -> Iterator[TrialResult]:
    """Send each a test message, in turn. Raises MissingExtra before the first if Apprise is needed and not installed."""
    if any(isinstance(receiver, NotificationSettings) for receiver in chosen):
        require_apprise()
    for receiver in chosen:
        service, why = "webhook", None
        try:
            if isinstance(receiver, NotificationSettings):
                service = "unknown"
                service = _kind(_address(receiver))
                send(receiver, _message(receiver, settings))
            else:
                test = LoggedChange(0, datetime.now(UTC), "latchscope", "test", {})
                post(receiver, document(test, Sent.of(settings)))
        except DeliveryRefused as error:
            why = str(error)
        yield TrialResult(receiver.target, service, why)


def looked_at(chosen: Sequence[NotificationSettings]) -> Iterator[TrialResult]:
    """What each address is, as far as that shows without sending. Raises MissingExtra where Apprise is not there."""
    for channel in chosen:
        try:
            yield TrialResult(channel.target, known_service(channel), None)
        except DeliveryRefused as error:
            yield TrialResult(channel.target, "unknown", str(error))


def _message(channel: NotificationSettings, settings: Settings) -> Message:
    lines = [
        f"A test of {channel.name}, sent by latchscope {version('latchscope')}.",
        f"You get episodes of {', '.join(channel.databases) or 'every database'} from {channel.min_severity} on.",
    ]
    if channel.quiet_hours:
        lines.append(
            f"Below {channel.quiet_below} they wait for the end of {channel.quiet_hours} ({channel.quiet_zone})."
        )
    if settings.public_url:
        lines.append(f"{settings.public_url.rstrip('/')}/")
    return Message("latchscope: a test", "\n".join(lines), Severity.INFO)
