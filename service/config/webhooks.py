"""The settings of webhooks: who receives which changes of episodes."""

import hashlib
import re
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rules.model import Severity
from service.config.receivers import named_on


class WebhookSettings(BaseModel):
    """One receiver and what it gets. The URL is never logged or stored, because it is often a secret."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    url: str
    """Address to post to, `http` or `https`. It is often a secret, so it is neither logged nor stored."""
    name: str | None = Field(None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")
    """The name of the receiver in log, metrics and store. Default: the host and a mark. Set one before you change the
    address, so that waiting messages still find the receiver."""
    secret_file: Path | None = None
    """File with the key of the signature. Read at each attempt, so a changed key needs no restart. Without
    it messages have no signature."""
    on: list[Literal["begin", "worse", "end"]] = Field(["begin", "worse", "end"], min_length=1)
    """Which changes are sent."""
    databases: list[str] = []
    """Names of the databases to report. Default: all."""
    min_severity: Severity = Severity.NOTICE
    """Episodes with a lower peak are not sent. The peak counts, so that a receiver of a begin also receives
    the end."""

    @model_validator(mode="before")
    @classmethod
    def _on_is_a_word(cls, members: Any) -> Any:
        return named_on(members)

    @field_validator("url")
    @classmethod
    def _can_be_posted_to(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
        except ValueError:
            usable = False
        if not usable or not re.fullmatch(r"[!-~]+", url):
            raise ValueError("is not an address to post to; write https://host/path, other characters as %XX")
        if "@" in parts.netloc:
            raise ValueError(
                "has a user or a password in it; the receiver identifies latchscope by the signature, see secret_file"
            )
        return url

    @property
    def target(self) -> str:
        """Its name, or its host with a mark that distinguishes two on the same host."""
        host = urlsplit(self.url).hostname or ""
        return self.name or f"{host[:50]}-{hashlib.sha256(self.url.encode()).hexdigest()[:8]}"

    @property
    def kind(self) -> str:
        """Its kind, in words."""
        return "webhook"
