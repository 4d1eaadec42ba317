"""Durations for people: in seconds, with hours and minutes where there are many."""

LONG_SECONDS, HOURS = 600.0, 7200.0
"""From here on a duration is printed in whole seconds, and from the second value on in hours as well."""


def lasting(seconds: float) -> str:
    """A duration for people: 30.0 s, 3,600 s, 550,800 s (153 h 0 min)."""
    whole = f"{seconds:,.0f} s" if seconds >= LONG_SECONDS else f"{seconds:,.1f} s"
    return whole if seconds < HOURS else f"{whole} ({hours(seconds)})"


def hours(seconds: float) -> str:
    """A duration in hours and minutes: 153 h 0 min."""
    return "{} h {} min".format(*divmod(round(seconds / 60), 60))


def spoken(seconds: float) -> str:
    """A duration in one unit, rounded down: 45 seconds, 11 minutes, 3 hours."""
    for unit, length, least in (("hour", 3600, 7200), ("minute", 60, 120)):
        if seconds >= least:
            return f"{int(seconds // length)} {unit}s"
    return f"{int(seconds)} second{'s' * (int(seconds) != 1)}"


LONG_WINDOW = 2 * 3600.0
"""From this many seconds on an average hides what lasted minutes."""


def long_window(seconds: float) -> str:
    """A warning for averages over hours."""
    return f"a window of {seconds / 3600:,.1f} hours: averages over it hide short storms"
