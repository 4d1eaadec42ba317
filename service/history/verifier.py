"""Whether a change mark ended a trouble: judged at its end, and again as more is known."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import reduce

from collectors.model import Delta
from rules.catalogue import catalogue
from rules.comparison.model import ChangeVerification, NotVerified
from rules.comparison.verification import verified
from rules.contention.calibration import LEAST_ROWS
from rules.contention.readings import NotPredictable, counts_of
from rules.contention.remedy import predicted_effect, score
from rules.context import SignalContext
from rules.engine import diagnose
from rules.predicted import PredictedEffect, PredictionScore
from service.history.comparison import GRACE, SPAN, CannotCompare, ComparedWindows, TooEarly, around, comparison
from service.history.whatif import intervals_between, together
from service.state.episodes import Episode, MarkVerdict
from service.store.queries.marks import Mark
from service.store.repository import Repository

LOOK_BACK = 2 * SPAN
"""An older ended episode keeps its verdict: its windows are full."""


class Verifier:
    """Records verdicts in the store. `do` is a round of the job."""

    def __init__(self, store: Repository, verified: Callable[[Episode], None] = lambda episode: None) -> None:
        self._store, self._verified = store, verified

    def do(self, now: datetime) -> None:
        """Judge every trouble that ended recently after a mark. Raises what the store does."""
        for episode in self._ended(now - LOOK_BACK, now):
            mark = mark_of(self._store, episode)
            judged = None if mark is None else verdict(self._store, episode, mark)
            known = (episode.verdict_kind, episode.verdict, episode.prediction)
            if judged is not None and judged != known:
                self._store.episodes.verdict(episode.database, episode.cause, episode.begin, *judged)
                if judged[0] == "verified" and episode.verdict_kind != "verified":
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


def mark_of(store: Repository, episode: Episode) -> Mark | None:
    """The last mark set while an episode was open, or right after. None without one, or if the episode is still open."""
    if episode.end is None:
        return None
    found = store.marks.between(episode.database, episode.begin, episode.end + GRACE, limit=1).items
    return found[0] if found else None


def verdict(store: Repository, episode: Episode, mark: Mark) -> tuple[MarkVerdict, str, PredictionScore | None] | None:
    """What a mark did about a trouble, in a sentence too, and the score of the prediction. None if the cause is gone."""
    cause = catalogue().get(episode.cause)
    if cause is None:
        return None
    try:
        windows = around(store, mark)
        verification = verified(comparison(store, mark.database, windows.before, windows.after), cause)
    except TooEarly:
        return "too_early", "not verified yet: too early to tell; checked again with each poll", None
    except CannotCompare as error:
        why = f"not verified because there is too little to compare around the mark `{mark.text}`: {error}"
        return "not_verified", why, None
    scored = prediction_score(store, mark, windows, episode.cause)
    kind: MarkVerdict = "verified" if isinstance(verification, ChangeVerification) else "not_verified"
    return kind, in_words(verification, mark) + (f"; {scored.statement}" if scored else ""), scored


def prediction_score(store: Repository, mark: Mark, windows: ComparedWindows, cause: str) -> PredictionScore | None:
    """The result of the prediction that the figures before a mark give for a cause's remedy. None without a prediction.

    It uses only the window before the mark, so it equals the prediction of that time, on more intervals.
    """
    before, after = (
        store.changes.delta_over(mark.database, window.begin, window.end) for window in (windows.before, windows.after)
    )
    if not isinstance(before, Delta) or not isinstance(after, Delta):
        return None
    said = diagnose(before).prediction
    if said is None or said.cause != cause or said.child is None:
        return None
    try:
        return score(_on_intervals(store, mark, windows, said, before), counts_of(SignalContext(after), said.child))
    except NotPredictable:
        return None


def _on_intervals(
    store: Repository, mark: Mark, windows: ComparedWindows, said: PredictedEffect, before: Delta
) -> PredictedEffect:
    """The same prediction on the stored intervals of the window. If there are too few, on the one change."""
    effect = catalogue()[said.cause].remedy_effect
    if effect is None or said.child is None:
        return said
    begin, end = windows.before.begin, windows.before.end
    groups = intervals_between(store, mark.database, said.child, begin, end)
    if len(groups) < LEAST_ROWS:
        return said
    earlier = [reduce(together, group) for group in groups]
    return predicted_effect(SignalContext(before), said.cause, effect, said.child, said.cache, earlier)


def in_words(verification: ChangeVerification | NotVerified, mark: Mark) -> str:
    because = verification.because[:1].lower() + verification.because[1:]
    if isinstance(verification, ChangeVerification):
        return f"verified: after the mark `{mark.text}`, {because}"
    reason = "" if verification.reason == "sleeps did not fall" else f"{verification.reason}: "
    return f"not verified because after the mark `{mark.text}` {reason}{because}"
