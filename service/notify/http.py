"""One signed POST to a webhook: its content, and the meaning of its answer. Nothing here is logged."""

import hashlib
import hmac
import http.client
import json
import time
import uuid
from importlib.metadata import version
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, build_opener

from collectors.errors import SetupError
from service.client import NoRedirect
from service.config.secrets import read_secret
from service.config.webhooks import WebhookSettings
from service.notify.sending import DeliveryRefused
from service.store.queries.episode_log import LoggedChange

TIMEOUT_SECONDS = 10.0
GONE = 410


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """HMAC-SHA256 over `timestamp.body`, as `sha256=` and hexadecimal digits."""
    return "sha256=" + hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def document(change: LoggedChange, public_url: str | None) -> dict[str, Any]:
    """The message to a receiver. `id` is the same at every attempt and in every process."""
    body = change.document()
    body["id"] = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{body['at']} {change.database} {change.seq}"))
    if public_url is not None:
        body["url"] = f"{public_url.rstrip('/')}/db/{change.database}"
    return body


def post(webhook: WebhookSettings, document: dict[str, Any], timeout: float = TIMEOUT_SECONDS) -> None:
    """Post to the receiver. `timeout` in seconds applies to each step. Raises DeliveryRefused."""
    body = json.dumps(document, ensure_ascii=False).encode()
    timestamp = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"latchscope/{version('latchscope')}",
        "X-Latchscope-Id": document["id"],
        "X-Latchscope-Timestamp": timestamp,
    }
    if webhook.secret_file is not None:
        headers["X-Latchscope-Signature"] = signature(_secret(webhook), timestamp, body)
    request = Request(webhook.url, body, headers, method="POST")
    try:
        with build_opener(NoRedirect).open(request, timeout=timeout):
            pass
    except HTTPError as error:
        error.close()
        raise DeliveryRefused(f"it answers {error.code}", final=error.code == GONE) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DeliveryRefused(_brief(error)) from None


def _secret(webhook: WebhookSettings) -> str:
    assert webhook.secret_file is not None
    try:
        secret = read_secret(webhook.secret_file, "secret_file")
    except SetupError as error:
        raise DeliveryRefused(str(error)) from None
    if not secret:
        raise DeliveryRefused(f"secret_file {webhook.secret_file} is empty")
    return secret


def _brief(error: Exception) -> str:
    """The kind of a failure. The texts of some contain the address."""
    cause = error.reason if isinstance(error, URLError) and isinstance(error.reason, Exception) else error
    said = cause.strerror if isinstance(cause, OSError) else None
    return said or type(cause).__name__
