"""One message through Apprise. The address is read for each message, and no failure shows any of it."""

import logging
import re
from importlib.metadata import version
from typing import Any
from urllib.parse import unquote

from collectors.errors import SetupError
from rules.model import Severity
from service.characters import visible
from service.config.notifications import NotificationSettings
from service.config.secrets import read_secret
from service.extras import require
from service.notify.message import Message
from service.notify.sending import DeliveryRefused

TIMEOUT_SECONDS = 20.0
"""Limit for one message, whatever the service behind it does. Shorter than the lease of an attempt."""
_KINDS = {Severity.CRITICAL: "failure", Severity.WARNING: "warning"}
_PARTS = re.compile(r"[^/:@?&=#,;\s]{3,}")


def require_apprise() -> None:
    """Raise MissingExtra if Apprise is not installed."""
    require("apprise", "notify", "notifications")


def send(channel: NotificationSettings, message: Message, timeout: float = TIMEOUT_SECONDS) -> None:
    """Send to the receiver, for at most this many seconds. Raises DeliveryRefused."""
    url = _address(channel)
    apprise = _apprise()
    asset = apprise.AppriseAsset(
        app_id="latchscope",
        app_desc=f"latchscope {version('latchscope')}",
        storage_mode="memory",
        service_timeout=timeout,
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


def service_of(channel: NotificationSettings) -> str:
    """The kind of service of an address, such as `slack`: the only part that may be shown. Raises DeliveryRefused."""
    return _kind(_address(channel))


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
