"""The words of pages: states, times, durations and amounts, each in the few characters that a tired reader needs."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rules.base import Bound, UsualBetween
from rules.changes import ChangeKind
from rules.formatting import compared, few, percent, rough, sentence
from rules.model import Evidence, RuledOut, Severity
from service.history.comparison import Outcome

TIED = "\N{NO-BREAK SPACE}"
STATES = {
    "critical": "Critical",
    "warning": "Warning",
    "notice": "Notice",
    "elsewhere": "Elsewhere",
    "quiet": "Quiet",
    "fine": "Fine",
    "none": "No data",
}
"""Every state of a database, the worst first, with its word. The severity `info` reads as fine, quiet, or elsewhere."""
CALM = ("fine", "quiet", "elsewhere")
"""The states in which the row cache costs little."""
NOT_KNOWN = "–"
MINUTE, HOUR, DAY = 60, 3600, 86400
_OUTCOMES: Mapping[Outcome, str] = {
    "helped": "Verified",
    "helped, then came back": "Verified, and then the problem came back",
    "did not help": "Not verified",
    "too early to tell": "Not verified yet",
    "not judged": "",
}
PER_SECOND = " per second"
PER_TIME = ("sleeps per second", "logons per second")


def outcome(of: Outcome) -> str:
    """The outcome of a mark, in the words of verdicts. Empty if nothing was judged."""
    return _OUTCOMES.get(of, sentence(of))


def state_of(severity: Severity | str | None, up: bool = True) -> str:
    """The state of a severity; `none` without data."""
    if severity is None or not up:
        return "none"
    word = str(severity)
    return "fine" if word == "info" else word if word in STATES else "none"


def state_word(state: str) -> str:
    """The key of a state from its word: Critical is `critical`, No data is `none`."""
    return next((key for key, word in STATES.items() if word == state), "none")


def clock(at: datetime | None, now: datetime | None = None) -> str:
    """03:01; with the date if it is not today."""
    if at is None:
        return NOT_KNOWN
    at = at.astimezone(UTC) if at.tzinfo else at
    today = (now or datetime.now(UTC)).date()
    return f"{at:%H:%M}" if at.date() == today else f"{at.day} {at:%b %H:%M}"


def length(seconds: float | None) -> str:
    """A duration in its largest sufficient unit: 40 s, 6 min, 2 h 5 min, 3 days."""
    if seconds is None:
        return NOT_KNOWN
    if seconds < MINUTE:
        return f"{seconds:.0f}{TIED}s" if seconds >= 10 else f"{seconds:.1f}{TIED}s"
    if seconds < HOUR:
        return f"{seconds / MINUTE:.0f}{TIED}min"
    if seconds < DAY:
        hours, minutes = divmod(round(seconds / MINUTE), 60)
        return f"{hours}{TIED}h {minutes}{TIED}min" if minutes else f"{hours}{TIED}h"
    days = round(seconds / DAY)
    return f"{days}{TIED}day{'s' if days != 1 else ''}"


def lasted(seconds: float | None) -> str:
    """How long something has lasted at least, rounded down: 18.65 s is 18 s, 119 s stays 119 s."""
    if seconds is None:
        return NOT_KNOWN
    if seconds < 2 * MINUTE:
        return f"{int(seconds)}{TIED}s"
    return length(seconds // MINUTE * MINUTE)


def share(value: float | None) -> str:
    """A share in percent, three significant digits, kept with its sign."""
    if value is None:
        return NOT_KNOWN
    if value == 1:
        return f"100{TIED}%"
    if 0 < value < 0.00001:
        return f"<{TIED}0.001{TIED}%"
    words = (
        percent(value, 1)
        if 0.0995 <= value <= 0.995 or value == 0
        else f"{value * 100:.2g} %"
        if value < 0.1
        else percent(value)
    )
    return words.replace(" %", f"{TIED}%").replace(" ", TIED)


def sessions(value: float | None) -> str:
    """Sessions on average: 9.9, 0.02, < 0.01, 0."""
    if value is None:
        return NOT_KNOWN
    return few(value)


def amount(value: float | None) -> str:
    """A number of any size, three significant digits above a hundred."""
    if value is None:
        return NOT_KNOWN
    return f"{value:,.0f}" if value == int(value) else rough(value)


def spelled(value: float | None, unit: str, beside: float | None = None) -> tuple[str, str]:
    """A value and its unit as two pieces of text: ('31.9 %', ''), ('57 s', ''), ('14,600', 'entries').

    A ratio has the form of the larger of the two if it stands `beside` another: 43× counts from 2×.
    """
    if value is None:
        return "not known", ""
    if unit in ("ratio", "share of DB time"):
        return (share(value), "") if max(value, beside or 0.0) <= 10 else (f"{amount(value)}×", "")
    if unit == "s":
        return length(value), ""
    if " per " in unit and unit not in PER_TIME and 0 < value < 0.2:
        return f"1 in {amount(float(f'{1 / value:.3g}'))}", ""
    return amount(value), "" if unit == "value" else unit.replace(PER_SECOND, " a second")


def whole(value: float | None, unit: str, beside: float | None = None) -> str:
    """A value with its unit in one piece."""
    number, rest = spelled(value, unit, beside)
    return f"{number}{TIED}{rest}" if rest else number


def bound(held: Bound | None, unit: str, beside: float | None = None) -> str:
    """at least 50 %."""
    if held is None:
        return ""
    return f"{'at least' if held.operator == '>=' else 'at most'} {rounded(whole(held.value, unit, beside))}"


def rounded(text: str) -> str:
    """50.0 % → 50 %: a chosen bound is not measured to the tenth."""
    return text.replace(f".0{TIED}%", f"{TIED}%")


def usual(between: UsualBetween | None, unit: str) -> str:
    """usual elsewhere: below 0.5 %; usual here: 2–8 %."""
    if between is None:
        return ""
    here = "usual here" if between.where != "in general" else "usual elsewhere"
    if between.low and between.high is not None:
        low, high = rounded(spelled(between.low, unit)[0]), rounded(spelled(between.high, unit)[0])
        return f"{here}: {low.removesuffix(f'{TIED}%')}–{high}"
    if between.high is not None:
        return f"{here}: below {rounded(spelled(between.high, unit)[0])}"
    return f"{here}: above {rounded(spelled(between.low, unit)[0])}" if between.low is not None else ""


def in_words(needs: str) -> str:
    """>= 50.0 % → at least 50 %."""
    return needs.replace(">= ", "at least ").replace("<= ", "at most ").replace(".0 %", " %")


def against(found: Evidence | RuledOut) -> tuple[str, str]:
    """The value of a sign, and what it needs."""
    value, needs = compared(found)
    return value, in_words(needs)


def plural(count: int, word: str) -> str:
    """1 cause, 2 causes."""
    return f"{count:,}{TIED}{word}{'' if count == 1 else 's'}"


def spoken(percents: Sequence[float | None]) -> str:
    """A line of percents in words, for readers who cannot see it."""
    known = [value for value in percents if value is not None]
    if not known:
        return "not known"
    low, high, last = (share(value / 100) for value in (min(known), max(known), known[-1]))
    return f"steady at {last}" if low == high else f"from {low} to {high}, last {last}"


CHANGES: Mapping[ChangeKind, str] = {
    "ddl": "DDL",
    "parameter": "Parameter",
    "statistics": "Statistics",
    "job": "Job",
    "window": "Window",
    "pdb_open": "Container",
    "patch": "Patch",
    "instance_start": "Start",
    "mark": "Mark",
}
"""What kind of change it is, on a page."""
