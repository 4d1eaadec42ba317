"""The settings of notifications: who gets which episodes by Slack, Teams, PagerDuty, e-mail and the like."""

import re
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rules.model import Severity
from service.config.receivers import named_on
from service.config.units import Seconds

_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


class NotificationSettings(BaseModel):
    """One receiver and what it gets. Its address is in a file of its own, because it nearly always includes a secret."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")
    """The name of the receiver in log, metrics and store. Its address is a secret."""
    url_file: Path
    """File with one address in the form of [Apprise](https://appriseit.com/services/), such as `slack://…`,
    `msteams://…`, `pagerduty://…` or `mailtos://…`. Lines that start with `#` are skipped. Read at each attempt, so a changed
    address needs no restart."""
    on: list[Literal["begin", "worse", "end", "outage"]] = Field(["begin", "worse", "end", "outage"], min_length=1)
    """Which changes are sent. `worse` is a rise to a higher severity, once each. Without it an episode that reaches
    `min_severity` after its begin is sent then, once. `outage` is a database that has not answered, or let latchscope log in, for
    three polls and at least two minutes, and that it is back. It counts as `warning`."""
    databases: list[str] = []
    """Names of the databases to report. Default: all."""
    min_severity: Severity = Severity.WARNING
    """Episodes with a lower peak are not sent."""
    group: Seconds = Field(30.0, ge=0, le=3600)
    """How long a change waits for others, so that one incident is one message. `0s` sends each separately. Receivers that
    resolve an incident by its title, such as PagerDuty, need that."""
    quiet_hours: str | None = None
    """Hours in which changes below `quiet_below` wait for the end, such as `22:00-07:00`."""
    quiet_zone: str = "UTC"
    """The time zone of `quiet_hours`, such as `Europe/Berlin`."""
    quiet_below: Severity = Severity.CRITICAL
    """Episodes with at least this peak are sent in quiet hours too."""

    @model_validator(mode="before")
    @classmethod
    def _on_is_a_word(cls, members: Any) -> Any:
        return named_on(members)

    @field_validator("quiet_hours")
    @classmethod
    def _two_times(cls, hours: str | None) -> str | None:
        match = _HOURS.fullmatch(hours or "")
        if hours is not None and (match is None or match[1] + match[2] == match[3] + match[4]):
            raise ValueError(f"{hours!r} is not a span of a day; write two different times, such as 22:00-07:00")
        return hours

    @field_validator("quiet_zone")
    @classmethod
    def _known_zone(cls, zone: str) -> str:
        try:
            ZoneInfo(zone)
        except (OSError, ValueError, KeyError):
            raise ValueError(f"{zone!r} is not a time zone of this machine; write one such as Europe/Berlin") from None
        return zone

    @property
    def target(self) -> str:
        """Its name in log, metrics and store."""
        return self.name

    @property
    def kind(self) -> str:
        """Its kind, in words."""
        return "notification"

    def held_until(self, at: datetime, peak: Severity) -> datetime:
        """When a change of `at` (UTC) may be sent: at once, or at the end of its quiet hours."""
        match = _HOURS.fullmatch(self.quiet_hours or "")
        if match is None or peak.rank >= self.quiet_below.rank:
            return at
        begin, end = time(int(match[1]), int(match[2])), time(int(match[3]), int(match[4]))
        local = at.astimezone(ZoneInfo(self.quiet_zone))
        now, over_midnight = local.time(), begin > end
        if not ((now >= begin or now < end) if over_midnight else begin <= now < end):
            return at
        day = local.date() + timedelta(days=1 if over_midnight and now >= begin else 0)
        return datetime.combine(day, end, local.tzinfo).astimezone(UTC)
