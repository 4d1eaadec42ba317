"""Where the trouble of a series begins, and whether it goes and comes back, in words that hold for every order of intervals."""

from collections.abc import Sequence

from collectors.model import Delta
from rules.comparison.compare import comparable_times
from rules.model import CANNOT_TELL, Severity
from rules.trends.same_interval import SeriesInput, instance

GAP_SECONDS = 60.0
"""A longer gap between two intervals may hide an event that neither shows."""
TOLD = 2
"""Turns with their names. The others are counted."""


def apart(earlier: Delta, later: Delta) -> float:
    """Seconds from the end of one interval to the start of the next. Negative if they overlap, 0 if unknown."""
    end, begin = earlier.basis.end, later.basis.begin
    if end is None or begin is None or not comparable_times(end, begin):
        return 0.0
    return (begin - end).total_seconds()


def course(given: Sequence[SeriesInput], bad: int | None, why: str) -> str:
    """Where the trouble starts, as far as the intervals show, and when it is gone and back. Empty without trouble."""
    if bad is None:
        return ""
    start, turns = _start(given, bad), _turns(given, bad)
    return f"{start}{turns}. {given[bad][0]} is {why}" if turns else f"{start}, {why}"


def _start(given: Sequence[SeriesInput], bad: int) -> str:
    """From when on it is there. Only a judged interval before it shows that it was not there earlier."""
    name, change, _ = given[bad]
    if change.basis.begin is None:
        return f"the trouble is in {name}, whose time is unknown"
    if not _one_owner(given):
        return f"the earliest that shows the trouble is {name}"
    judged = next((entry for entry in reversed(given[:bad]) if _well(entry)), None)
    if judged is None:
        return f"the trouble is in {name}, the first interval" + (" that could be judged" if bad else "")
    if judged is not given[bad - 1] or apart(judged[1], change) > GAP_SECONDS:
        return f"the trouble begins between {judged[0]} and {name}"
    return f"the trouble begins with {name}"


def _turns(given: Sequence[SeriesInput], bad: int) -> str:
    """When it is gone and when it is back, after an interval of some severity. Empty if it stays, or nobody can tell."""
    if given[bad][2].severity is Severity.INFO or given[bad][1].basis.begin is None or not _one_owner(given):
        return ""
    turns: list[str] = []
    for entry in given[bad + 1 :]:
        there = len(turns) % 2 == 0
        if entry[1].basis.begin is not None and _well(entry) is there and (there or _ill(entry)):
            turns.append(f"gone from {entry[0]} on" if there else f"back from {entry[0]} on")
    more = f" and {len(turns) - TOLD} more turns after that" if len(turns) > TOLD else ""
    return "".join(f", {turn}" for turn in turns[:TOLD]) + more


def _ill(entry: SeriesInput) -> bool:
    return entry[2].severity is not Severity.INFO


def _well(entry: SeriesInput) -> bool:
    """Whether it was judged and nothing was found. What cannot be judged shows neither."""
    return not _ill(entry) and entry[2].standing != CANNOT_TELL


def _one_owner(given: Sequence[SeriesInput]) -> bool:
    """Whether all intervals are of one database and instance. Otherwise one may be well while another is not."""
    return len({(delta.dbid, instance(delta)) for _, delta, _ in given}) == 1
