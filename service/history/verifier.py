"""Whether a trouble that ended after a change mark ended by it: looked at when it ends, and again as more is known."""

from collections.abc import Callable
from datetime import datetime, timedelta

from collectors.model import Delta
from rules.catalogue import catalogue
from rules.comparison.model import ChangeVerification, NotVerified
from rules.comparison.verification import verified
from rules.contention.calibration import NotPredictable
from rules.contention.readings import counts_of
from rules.contention.remedy import score
from rules.context import SignalContext
from rules.engine import diagnose
from service.history.comparison import GRACE, SPAN, CannotCompare, ComparedWindows, TooEarly, around, comparison
from service.state.episodes import Episode
from service.store.queries.marks import Mark
from service.store.repository import Repository

LOOK_BACK = 2 * SPAN
"""An episode that ended longer ago keeps the verdict it has: its windows are full."""


class Verifier:
    """Notes verdicts in the store. `do` is a round of the job."""

    def __init__(self, store: Repository, verified: Callable[[Episode], None] = lambda episode: None) -> None:
        self._store, self._verified = store, verified

    def do(self, now: datetime) -> None:
        """Judge every trouble that ended lately after a mark. Raises what the store does."""
        for episode in self._ended(now - LOOK_BACK, now):
            mark = mark_of(self._store, episode)
            if mark is not None and (text := verdict(self._store, episode, mark)) not in (None, episode.verdict):
                self._store.episodes.verdict(episode.database, episode.cause, episode.begin, str(text))
                if is_verified(text) and not is_verified(episode.verdict):
                    self._verified(episode)

    def _ended(self, begin: datetime, now: datetime) -> list[Episode]:
        found: list[Episode] = []
        cursor: str | None = None
        while True:
            page = self._store.episodes.between(None, begin, now + timedelta(hours=1), cursor)
            found += [episode for episode in page.items if episode.end is not None]
            cursor = page.cursor
            if cursor is None:
                return found


def is_verified(verdict: str | None) -> bool:
    """Whether a verdict says that the change ended the trouble."""
    return verdict is not None and verdict.startswith("verified: ")


def mark_of(store: Repository, episode: Episode) -> Mark | None:
    """The last mark set while an episode lasted, or right after; None where there is none, or where the episode lasts."""
    if episode.end is None:
        return None
    found = store.marks.between(episode.database, episode.begin, episode.end + GRACE, limit=1).items
    return found[0] if found else None


def verdict(store: Repository, episode: Episode, mark: Mark) -> str | None:
    """`verified: …`, `not verified because …` or `not verified yet: …`; None for a cause that is gone."""
    cause = catalogue().get(episode.cause)
    if cause is None:
        return None
    try:
        windows = around(store, mark)
        verification = verified(comparison(store, mark.database, windows.before, windows.after), cause)
    except TooEarly:
        return "not verified yet: too early to tell; looked at again as polls come"
    except CannotCompare as error:
        return f"not verified because there is too little to compare around the mark `{mark.text}`: {error}"
    scored = prediction_score(store, mark, windows, episode.cause)
    return in_words(verification, mark) + (f"; {scored}" if scored else "")


def prediction_score(store: Repository, mark: Mark, windows: ComparedWindows, cause: str) -> str | None:
    """How the prediction that the figures before a mark make of a cause's remedy stood to what came; None where none is made.

    It is made anew from the window before the mark and nothing later, so it is what was said then, on more intervals.
    """
    before, after = (
        store.changes.delta_over(mark.database, window.begin, window.end) for window in (windows.before, windows.after)
    )
    if not isinstance(before, Delta) or not isinstance(after, Delta):
        return None
    prediction = diagnose(before).prediction
    if prediction is None or prediction.cause != cause or prediction.child is None:
        return None
    try:
        return score(prediction, counts_of(SignalContext(after), prediction.child))
    except NotPredictable:
        return None


def in_words(verification: ChangeVerification | NotVerified, mark: Mark) -> str:
    because = verification.because[:1].lower() + verification.because[1:]
    if isinstance(verification, ChangeVerification):
        return f"verified: after the mark `{mark.text}`, {because}"
    reason = "" if verification.reason == "sleeps did not fall" else f"{verification.reason}: "
    return f"not verified because after the mark `{mark.text}` {reason}{because}"
