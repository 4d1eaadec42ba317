"""comparison(), at_mark(): before and after on one database, from its history, and which windows fit around a change mark."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from collectors.model import Delta, NotComparable
from rules.comparison.changes import CameBack, Comparison
from rules.comparison.compare import compare
from service.history.baselines import usual_at
from service.state.episodes import Episode
from service.state.window import Window
from service.store.queries.marks import Mark
from service.store.queries.series import Poll
from service.store.repository import Repository

SPAN = timedelta(minutes=30)
"""The longest window on either side of a mark, by default."""
SETTLE = timedelta(seconds=20)
"""After a change, and after a trouble begins, figures still move, so this much is left out."""
GRACE = timedelta(minutes=1)
"""A mark is set after a change, which may be a little after the trouble went."""
LEAST_POLLS = 2


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


def comparison(
    store: Repository, database: str, before: Window, after: Window, mark: str | None = None, notes: Sequence[str] = ()
) -> Comparison:
    """Before against after, compared with what is usual at the hour of `after`. Raises CannotCompare."""
    sides = {"before": before, "after": after}
    deltas = {name: _delta(store, database, name, window) for name, window in sides.items()}
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
    found = comparison(store, database, windows.before, windows.after, mark.text, windows.notes)
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
    marks = [other.at for other in store.marks.between(mark.database, first, last).items if other.id != mark.id]
    restarts = [poll.at for poll in polls if not poll.seconds]
    earlier = [
        *(time + settle for time in marks if time <= mark.at),
        *(restart for restart in restarts if restart <= mark.at),
    ]
    begin = max((first, *(min(poll, mark.at) for poll in (*earlier, *(time.at for time in polls[:1])))))
    end = min((last, *(time for time in (*marks, *restarts) if time > mark.at)))
    windows = _within_the_trouble(
        store, mark, ComparedWindows(Window(begin, mark.at), Window(mark.at + settle, end)), settle
    )
    before, after = windows.before, windows.after
    after = Window(after.begin, min((after.end, *(poll.at for poll in polls[-1:]))))
    _enough(mark, polls, before, after, settle)
    length = min(before.length, after.length, longest)
    before, after = Window(before.end - length, before.end), Window(after.begin, after.begin + length)
    return ComparedWindows(before, after, (*windows.notes, *_shorter(span, length)), windows.came_back)


def _shorter(span: timedelta | None, length: timedelta) -> Iterator[str]:
    """A note if less can be used than requested."""
    if span is not None and length < span:
        asked, used = (f"{duration.total_seconds():,.0f} s" for duration in (span, length))
        yield f"windows of {asked} were requested, {used} can be used on both sides of the mark"


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
    again = list(_again(found, {episode.cause for episode in lasting}, mark.at))
    end = min((within.after.end, *(episode.begin for episode in again)))
    drained = max((each.end for each in lasting if each.end and each.last_seen <= within.after.begin), default=mark.at)
    notes = (
        f"{episode.title} came back at {episode.begin:%Y-%m-%d %H:%M:%S} UTC; the window ends there"
        for episode in again[:1]
    )
    before = Window(begin if begin < until else within.before.begin, until)
    came_back = next((CameBack(cause=each.cause, name=each.title, at=each.begin) for each in again), None)
    return ComparedWindows(before, Window(max(within.after.begin, drained), end), tuple(notes), came_back)


def _again(found: Sequence[Episode], causes: set[str], since: datetime) -> Iterator[Episode]:
    """Later episodes of the same causes, the earliest first."""
    later = (episode for episode in found if episode.cause in causes and episode.begin > since)
    return iter(sorted(later, key=lambda episode: episode.begin))


def _enough(mark: Mark, polls: Sequence[Poll], before: Window, after: Window, settle: timedelta) -> None:
    """Raises CannotCompare if a side has too few polls, TooEarly if more may come. For old polls roll-ups decide."""
    if not polls:
        if datetime.now(UTC) - mark.at < SPAN:
            raise TooEarly(f"nothing of {mark.database} is kept around the mark; wait until it is polled")
        return
    sides = {
        name: [poll for poll in polls if window.begin <= poll.at <= window.end]
        for name, window in (("before", before), ("after", after))
    }
    for name, found in sides.items():
        if len(found) < LEAST_POLLS:
            where = f"of {mark.database} {name} the mark at {mark.at:%Y-%m-%d %H:%M:%S} UTC"
            few = f"{len(found)} polls {where} can be used, at least {LEAST_POLLS} are needed"
            if name == "after" and after.end == polls[-1].at:
                way = f"ask again {settle.total_seconds():.0f} s and some polls after the mark"
                raise TooEarly(f"{few}; {way}, or name two windows")
            raise CannotCompare(f"{few}; name a longer span or two windows")


def _delta(store: Repository, database: str, name: str, window: Window) -> Delta:
    change = store.changes.delta_over(database, window.begin, window.end)
    if isinstance(change, NotComparable):
        raise CannotCompare(f"{name}: {change.why}; {change.way_out}")
    return change
