"""A window of time in an address: RFC 3339 or relative to now, and the steps to other windows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from service.config.settings import seconds

PRESETS: Sequence[tuple[str, str]] = (
    ("1 hour", "-1h"),
    ("6 hours", "-6h"),
    ("24 hours", "-24h"),
    ("7 days", "-7d"),
    ("30 days", "-30d"),
    ("90 days", "-90d"),
)
LONGEST = timedelta(days=1100)
LONGEST_DURATION = timedelta(days=31)
SHORTEST = timedelta(seconds=10)
YEARS = (1990, 2200)
_RELATIVE = re.compile(r"-(\d{1,6})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class BadWindow(ValueError):
    """A time or a window that cannot be read. The text says the way out."""


@dataclass(frozen=True, slots=True)
class Window:
    """From `begin` up to and without `end`, both aware UTC."""

    begin: datetime
    end: datetime

    @property
    def length(self) -> timedelta:
        """How long it is."""
        return self.end - self.begin

    @property
    def query(self) -> str:
        """The window as the query of an address."""
        return urlencode({"begin": iso(self.begin), "end": iso(self.end)})

    @property
    def dots(self) -> str:
        """The window as one word: begin..end."""
        return f"{iso(self.begin)}..{iso(self.end)}"

    def moved(self, share: float) -> "Window":
        """A window of the same length, later by a share of its length. Earlier if that is negative."""
        return Window(self.begin + share * self.length, self.end + share * self.length)

    def scaled(self, factor: float) -> "Window":
        """A window with the same middle and this many times the length, within the limits of a window."""
        middle = self.begin + self.length / 2
        half = min(max(self.length * factor, SHORTEST), LONGEST) / 2
        return Window(middle - half, middle + half)


def iso(at: datetime) -> str:
    """RFC 3339 in UTC, with as many digits as it takes."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def moment(text: str, now: datetime) -> datetime:
    """A time from RFC 3339 with a zone, `now`, or relative to it such as -6h. Raises BadWindow."""
    stripped = text.strip()
    if stripped in ("", "now"):
        return now
    try:
        if relative := _RELATIVE.fullmatch(stripped):
            at = now - timedelta(**{_UNITS[relative[2]]: int(relative[1])})
        else:  # the + of an offset that was not escaped arrives as a space
            at = datetime.fromisoformat(stripped.replace(" ", "+") if "T" in stripped else stripped)
        if at.tzinfo is None:
            raise BadWindow(f"{stripped} has no time zone; write it in UTC with a Z, such as 2026-03-01T12:00Z")
        if not YEARS[0] <= at.year < YEARS[1]:  # no difference of such times overflows
            raise BadWindow(f"a time must lie between the years {YEARS[0]} and {YEARS[1]}")
        return at.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        if isinstance(error, BadWindow):
            raise
        raise BadWindow(f"{stripped[:40]} is not a time; write 2026-03-01T12:00Z, -6h or now") from None


def window(begin: str, end: str, now: datetime) -> Window:
    """The window between two times. Raises BadWindow."""
    chosen = Window(moment(begin, now), moment(end, now))
    if chosen.end <= chosen.begin:
        raise BadWindow("the end is not after the begin; give the earlier time first")
    if chosen.length > LONGEST:
        raise BadWindow(f"the window is longer than {LONGEST.days} days; choose a shorter one")
    return chosen


def parse_window(text: str, now: datetime) -> Window:
    """A window written as begin/end (ISO 8601) or begin..end. Raises BadWindow."""
    begin, dots, end = text.partition(".." if ".." in text else "/")
    if not dots or not begin.strip():
        raise BadWindow(
            f"{text[:60]!r} is not a window; write begin..end, such as 2026-03-01T12:00Z..2026-03-01T12:30Z"
        )
    return window(begin, end, now)


def parse_duration(name: str, text: str) -> timedelta:
    """A length of time such as 10m. Raises BadWindow."""
    try:
        length = timedelta(seconds=float(str(seconds(text))))
    except (ValueError, OverflowError):
        length = timedelta(days=-1)
    if not timedelta(0) <= length <= LONGEST_DURATION:
        raise BadWindow(f"{name} is {text[:40]!r}; write a length of time such as 90s, 10m or 2h")
    return length
