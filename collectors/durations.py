"""Spans of time as people read them: seconds, and hours and minutes beside many of them."""

LONG_SECONDS, HOURS = 600.0, 7200.0
"""From when on a span is told in whole seconds, and from when on in hours as well."""


def lasting(seconds: float) -> str:
    """A span for people: 30.0 s, 3,600 s, 550,800 s (153 h 0 min)."""
    whole = f"{seconds:,.0f} s" if seconds >= LONG_SECONDS else f"{seconds:,.1f} s"
    return whole if seconds < HOURS else f"{whole} ({hours(seconds)})"


def hours(seconds: float) -> str:
    """A span in hours and minutes: 153 h 0 min."""
    return "{} h {} min".format(*divmod(round(seconds / 60), 60))
