"""comparison(), at_mark(): before and after on one database, from its history, and which windows fit around a change mark."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from collectors.model import Delta, NotComparable
from rules.comparison.changes import CameBack, Comparison
from rules.comparison.compare import compare
from rules.engine import cannot_tell, diagnose
from rules.model import Diagnosis
from service.history.baselines import usual_at
from service.state.board import MINUTES, MonitoredDatabase
from service.state.episodes import Episode
from service.state.time_window import Window
from service.store.episodes import LastMark, Mark
from service.store.repository import Repository
from service.store.snapshots import REACH

SPAN = timedelta(minutes=30)
"""The longest window on either side of a mark, by default."""
SETTLE = timedelta(seconds=20)
"""After a change, and after a trouble begins, figures still move, so this much is left out."""
GRACE = timedelta(minutes=1)
"""A mark is set after a change, which may be a little after the trouble went."""
LEAST_POLLS = 2
Limits = tuple[datetime | None, datetime | None]
"""The times between which the snapshots of a window must lie."""
NO_LIMITS: Limits = (None, None)


class NoMark(ValueError):
    """There is no such mark. The text lists the marks."""


class CannotCompare(ValueError):
    """Two sides that cannot be compared: the fact, and the way out."""


class TooEarly(CannotCompare):
    """A mark with too few polls after it so far. More may come."""


@dataclass(frozen=True, slots=True)
class ComparedWindows:
    """The two sides of a comparison."""

    before: Window
    after: Window
    notes: tuple[str, ...] = ()
    came_back: CameBack | None = None
    limits: tuple[Limits, Limits] = (NO_LIMITS, NO_LIMITS)
    """Of each side: no snapshot beyond the mark, another mark or a restart."""


def comparison(store: Repository, database: str, windows: ComparedWindows, mark: str | None = None) -> Comparison:
    """Before against after, compared with what is usual at the hour of `after`. Raises CannotCompare."""
    before, after, notes = windows.before, windows.after, windows.notes
    sides = zip(("before", "after"), (before, after), windows.limits, strict=True)
    deltas = {name: _delta(store, database, name, window, limits) for name, window, limits in sides}
    found = compare(deltas["before"], deltas["after"], usual_at(store, database, after.begin), mark)
    sources = (f"{name}: {note}" for name, delta in deltas.items() for note in delta.notes)
    return found.model_copy(update={"notes": (*found.notes, *notes, *sources)})


def at_mark(
    store: Repository,
    database: str,
    which: str = "last",
    span: timedelta | None = None,
    settle: timedelta = SETTLE,
) -> Comparison:
    """Before against after a change mark: the last one, or the one of this id. Raises NoMark, CannotCompare."""
    mark = store.marks.get(database, which)
    if mark is None:
        named = "no mark yet" if which == "last" else f"no mark {which}"
        raise NoMark(f"{database} has {named}; set one as the change is made, or name two windows")
    windows = around(store, mark, span, settle)
    found = comparison(store, database, windows, mark.text)
    return found.model_copy(update={"came_back": windows.came_back})


def around(store: Repository, mark: Mark, span: timedelta | None = None, settle: timedelta = SETTLE) -> ComparedWindows:
    """The windows of a mark, as long as its history allows, up to a bound, equally long. Raises CannotCompare.

    Neither reaches across another mark or a restart. If a trouble was open at the mark, the window before does not start
    until it had begun. The window after starts when the waits that it left are gone, and ends where it comes back. `span` is
    that bound; a note says if it is not reached.
    """
    longest = span or SPAN
    first, last = mark.at - longest - GRACE, mark.at + settle + longest
    polls = store.history.polls(mark.database, first, last + GRACE)
    watched = [poll.at for poll in polls] or store.snapshots.times(mark.database, first - REACH, last + REACH)
    cuts = sorted(_cuts(store, mark, first, last, [poll.at for poll in polls if not poll.seconds]))
    earlier = [cut for cut in cuts if cut[0] <= mark.at]
    later = [cut for cut in cuts if cut[0] > mark.at]
    starts = (*(at + (settle if of_mark else timedelta(0)) for at, _, of_mark in earlier), *watched[:1])
    begin = max((first, *(min(at, mark.at) for at in starts)))
    end = min((last, *(at for at, _, _ in later)))
    windows = _within_the_trouble(
        store, mark, ComparedWindows(Window(begin, mark.at), Window(mark.at + settle, end)), settle
    )
    before, after = windows.before, windows.after
    after = Window(after.begin, min((after.end, *watched[-1:])))
    limits = (
        (max((at for at, _, _ in earlier), default=None), mark.at),
        (mark.at + settle, min((at for at, _, _ in later), default=None)),
    )
    named = [words for _, words, of_mark in (*earlier[-1:], *later[:1]) if of_mark]
    if watched:
        _enough(store, mark, (before, after), limits, settle, named, after.end >= watched[-1])
    elif datetime.now(UTC) - mark.at < SPAN:
        raise TooEarly(f"nothing of {mark.database} is kept around the mark; wait until it is polled")
    length = min(before.length, after.length, longest)
    before, after = Window(before.end - length, before.end), Window(after.begin, after.begin + length)
    notes = list(windows.notes)
    if span is not None and length < span:
        asked, used = (f"{duration.total_seconds():,.0f} s" for duration in (span, length))
        notes.append(f"windows of {asked} were requested, {used} can be used on both sides of the mark")
    notes += [f"{words} cuts the window" for words in named if length < longest]
    return ComparedWindows(before, after, tuple(notes), windows.came_back, limits)


def _cuts(
    store: Repository, mark: Mark, begin: datetime, end: datetime, restarts: Sequence[datetime]
) -> Iterator[tuple[datetime, str, bool]]:
    """What neither window reaches across: when, in words, and whether it is another mark."""
    for other in store.marks.between(mark.database, begin, end).items:
        if other.id != mark.id:
            yield other.at, f"the mark `{other.text}` of {other.at:%Y-%m-%d %H:%M:%S} UTC", True
    yield from ((at, "a restart", False) for at in restarts)


def _within_the_trouble(store: Repository, mark: Mark, within: ComparedWindows, settle: timedelta) -> ComparedWindows:
    """The windows narrowed to the mark's trouble, and to the time where it came back."""
    found = store.episodes.between(mark.database, within.before.begin, within.after.end).items
    lasting = [
        episode
        for episode in found
        if episode.begin <= mark.at and (episode.end is None or episode.last_seen >= mark.at - GRACE)
    ]
    if not lasting:
        return within
    begin = max(within.before.begin, min(episode.begin for episode in lasting) + settle)
    until = max(min(episode.last_seen if episode.end else mark.at, mark.at) for episode in lasting)
    causes = {episode.cause for episode in lasting}
    later = (episode for episode in found if episode.cause in causes and episode.begin > mark.at)
    again = sorted(later, key=lambda episode: episode.begin)
    end = min((within.after.end, *(episode.begin for episode in again)))
    drained = max((each.end for each in lasting if each.end and each.last_seen <= within.after.begin), default=mark.at)
    notes = (
        f"{episode.title} came back at {episode.begin:%Y-%m-%d %H:%M:%S} UTC; the window ends there"
        for episode in again[:1]
    )
    before = Window(begin if begin < until else within.before.begin, until)
    came_back = next((CameBack(cause=each.cause, name=each.title, at=each.begin) for each in again), None)
    return ComparedWindows(before, Window(max(within.after.begin, drained), end), tuple(notes), came_back)


def _enough(
    store: Repository,
    mark: Mark,
    windows: tuple[Window, Window],
    limits: tuple[Limits, Limits],
    settle: timedelta,
    cuts: Sequence[str],
    at_the_end: bool,
) -> None:
    """Raises CannotCompare if a side has too few snapshots, TooEarly if more may come. `cuts`: other marks that bound a side."""
    for name, window, (first, last) in zip(("before", "after"), windows, limits, strict=True):
        reach = (
            max(first or window.begin - REACH, window.begin - REACH),
            min(last or window.end + REACH, window.end + REACH),
        )
        found = store.snapshots.times(mark.database, *reach) if reach[0] < reach[1] else []
        if len(found) >= LEAST_POLLS:
            continue
        where = f"of {mark.database} {name} the mark at {mark.at:%Y-%m-%d %H:%M:%S} UTC"
        few = f"{len(found)} polls {where} can be used, at least {LEAST_POLLS} are needed"
        few += "".join(f"; {cut} cuts the window" for cut in cuts)
        if name == "after" and at_the_end:
            raise TooEarly(
                f"{few}; ask again {settle.total_seconds():.0f} s and some polls after the mark, or name two windows"
            )
        raise CannotCompare(f"{few}; name {'' if cuts else 'a longer span or '}two windows")


def _delta(store: Repository, database: str, name: str, window: Window, limits: Limits) -> Delta:
    change = store.snapshots.delta_over(database, window.begin, window.end, *limits)
    if isinstance(change, NotComparable):
        raise CannotCompare(f"{name}: {change.why}; {change.way_out}")
    return change


# The past on the fleet page: the result of the last mark of each database, and the hour before this process started.

Outcome = Literal[
    "helped", "helped, then came back", "did not help", "too early to tell", "trouble lasts", "not judged"
]
AGAIN_SECONDS = 60.0
"""Databases that others poll are read again after this time."""


@dataclass(frozen=True, slots=True)
class MarkOutcome:
    """A mark, and the result for its trouble. `verdict` is the stored sentence, None without one."""

    mark: Mark
    outcome: Outcome
    verdict: str | None


class FleetPast:
    """Reads the store for all databases at once. Without an answer the fleet is drawn without it."""

    def __init__(self, store: Repository) -> None:
        self._store = store

    def marks(self, database: str | None = None) -> Mapping[str, MarkOutcome]:
        """The result of the last mark of each database, or of one."""
        return {name: outcome_of(last) for name, last in self._store.recent.last_marks(database).items()}

    def fill_hours(self, databases: Iterable[MonitoredDatabase]) -> None:
        """Give each database the minutes that this process did not see: ours once, those polled elsewhere by the minute."""
        now = time.monotonic()
        due = [
            watched
            for watched in databases
            if not (watched.last_hour.filled and watched.owned) and now - watched.last_hour.asked_at >= AGAIN_SECONDS
        ]
        if not due:
            return
        since = datetime.now(UTC) - timedelta(minutes=MINUTES)
        kept = self._store.recent.minutes([watched.name for watched in due], since)
        for watched in due:
            watched.last_hour.asked_at = now
            if kept is not None:
                watched.last_hour.fill(kept[watched.name], anew=not watched.owned)


def outcome_of(last: LastMark) -> MarkOutcome:
    """The result for the trouble that was open at a mark. If there are several, the one that began last."""
    lasting = [earlier for earlier in last.before if earlier.end is None or earlier.last_seen >= last.mark.at - GRACE]
    episode = max(lasting, key=lambda earlier: earlier.begin, default=None)
    if episode is None:
        return MarkOutcome(last.mark, "not judged", None)
    return MarkOutcome(last.mark, _outcome(episode, last), episode.verdict)


def _outcome(episode: Episode, last: LastMark) -> Outcome:
    if episode.verdict_kind == "verified":
        return "helped, then came back" if episode.cause in last.after else "helped"
    if episode.verdict_kind is None:
        if episode.end is not None:
            return "not judged"
        return "trouble lasts" if episode.last_seen >= last.mark.at + SETTLE else "too early to tell"
    return "too early to tell" if episode.verdict_kind == "too_early" else "did not help"


# diagnosis_at(): the diagnosis of a past moment, rebuilt from the store, for a permanent address.


def diagnosis_at(store: Repository, database: str, at: datetime) -> Diagnosis:
    """The findings over the interval that ended with the snapshot that is nearest to a moment. Its notes give its source.

    Raises what the store does.
    """
    times = store.snapshots.nearest(database, at, earlier=1)
    if len(times) < 2:
        why = f"nothing of {database} is kept around {at:%Y-%m-%d %H:%M} UTC"
        return cannot_tell(NotComparable(database, None, why, "choose another time"), more_to_come=False)
    change = store.snapshots.delta_over(database, *times, *times)
    if isinstance(change, NotComparable):
        return cannot_tell(change, more_to_come=False)
    return diagnose(change, usual=usual_at(store, database, times[-1]))
