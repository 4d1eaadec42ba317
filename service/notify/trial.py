"""A test message to every receiver, to check that it arrives before there is a trouble."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

from rules.model import Severity
from service.config.notifications import NotificationSettings
from service.config.settings import Settings
from service.config.webhooks import WebhookSettings
from service.notify.apprise import known_service, require_apprise, send, service_of
from service.notify.http import document, post
from service.notify.message import Message
from service.notify.sending import DeliveryRefused
from service.store.queries.episode_log import LoggedChange


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
                service = service_of(receiver)
                send(receiver, _message(receiver, settings))
            else:
                test = LoggedChange(0, datetime.now(UTC), "latchscope", "test", {})
                post(receiver, document(test, settings.public_url))
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
