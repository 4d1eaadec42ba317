"""The settings of webhooks: whom to tell of which changes of episodes."""

import hashlib
import re
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rules.model import Severity
from service.config.receivers import named_on


class WebhookSettings(BaseModel):
    """One receiver and what it gets. The URL is never logged or stored, since with many receivers it is a secret."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    url: str
    """Where to post to, `http` or `https`. Often a secret by itself, so it is neither logged nor stored."""
    name: str | None = Field(None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")
    """What log, metrics and store call the receiver; the host and a mark where there is none. Give one before the
    address changes, so that what waits for the receiver still finds it."""
    secret_file: Path | None = None
    """File that holds the key of the signature. Read at each attempt, so a changed key needs no restart. Without
    it nothing is signed."""
    on: list[Literal["begin", "worse", "end"]] = Field(["begin", "worse", "end"], min_length=1)
    """Which changes are sent."""
    databases: list[str] = []
    """Names of the databases to report; all of them without it."""
    min_severity: Severity = Severity.NOTICE
    """Episodes whose peak so far is below it are not told. By the peak, so that whoever hears of a begin hears of
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
            raise ValueError("is no address to post to; write https://host/path, other characters as %XX")
        if "@" in parts.netloc:
            raise ValueError("holds a user or a password; the receiver knows us by the signature, see secret_file")
        return url

    @property
    def target(self) -> str:
        """What it is called: its name, or its host with a mark that tells two of one host apart."""
        host = urlsplit(self.url).hostname or ""
        return self.name or f"{host[:50]}-{hashlib.sha256(self.url.encode()).hexdigest()[:8]}"

    @property
    def kind(self) -> str:
        """What it is, in words."""
        return "webhook"
