"""Whether a change mark ended a trouble: judged at its end, and again as more is known."""

from collections.abc import Callable
from datetime import datetime, timedelta

from collectors.model import Delta
from rules.cause import catalogue
from rules.comparison.changes import ChangeVerification, NotVerified
from rules.comparison.compare import verified
from rules.contention.holds import NotPredictable, counts_of
from rules.contention.prediction import score, scored_again
from rules.context import SignalContext
from rules.formatting import sentence
from rules.remedy import PredictionScore
from service.history.comparison import GRACE, SPAN, CannotCompare, ComparedWindows, TooEarly, around, comparison
from service.history.past_diagnosis import diagnosis_at
from service.state.episodes import Episode, MarkVerdict
from service.state.mark_verdicts import NOT_VERIFIED, NOT_YET, VERIFIED
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
    """The last mark set while a cause was shown, or right after. None without one, or if the episode is still open."""
    if episode.end is None:
        return None
    found = store.marks.between(episode.database, episode.begin, episode.last_seen + GRACE, limit=1).items
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
        return "too_early", f"{NOT_YET}too early to tell; checked again with each poll", None
    except CannotCompare as error:
        why = f"{NOT_VERIFIED}there is too little to compare around it: {error}"
        return "not_verified", why, None
    scored = prediction_score(store, mark, windows, episode)
    kind: MarkVerdict = "verified" if isinstance(verification, ChangeVerification) else "not_verified"
    return kind, in_words(verification) + (f" {sentence(scored.statement)}." if scored else ""), scored


def prediction_score(
    store: Repository, mark: Mark, windows: ComparedWindows, episode: Episode
) -> PredictionScore | None:
    """The result of the prediction of a cause's remedy. None without a prediction.

    The prediction is the one on the page of the last poll before the change that showed the cause. Once stored it stays as
    it is, and only the counts after the change are read again.
    """
    after = store.changes.delta_over(mark.database, windows.after.begin, windows.after.end)
    if not isinstance(after, Delta):
        return episode.prediction
    kept = episode.prediction
    try:
        if kept is not None:
            return kept if kept.child is None else scored_again(kept, counts_of(SignalContext(after), kept.child))
        made_at = min(mark.at, episode.last_seen)
        said = diagnosis_at(store, mark.database, made_at).prediction
        if said is None or said.cause != episode.cause or said.child is None:
            return None
        return score(said, counts_of(SignalContext(after), said.child), made_at)
    except NotPredictable:
        return kept


def in_words(verification: ChangeVerification | NotVerified) -> str:
    """The verdict without the text of the mark, which is beside it on every page."""
    because = verification.because[:1].lower() + verification.because[1:]
    if isinstance(verification, ChangeVerification):
        return f"{VERIFIED}after the change {because}"
    reason = "" if verification.reason == "sleeps did not fall" else f"{verification.reason}: "
    return f"{NOT_VERIFIED}after the change {reason}{because}"
