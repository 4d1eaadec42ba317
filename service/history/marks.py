"""set_mark(): a change mark from REST, a page or the command line, with the same rules for all."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.registry import Collector

from collectors.demo.load import Scenario
from collectors.demo.scenarios import scenarios
from collectors.model import Delta
from rules.cause import catalogue
from rules.comparison.changes import ChangeVerification, NotVerified
from rules.comparison.compare import verified
from rules.contention.holds import NotPredictable, counts_of
from rules.contention.prediction import score, scored_again
from rules.context import SignalContext
from rules.formatting import sentence
from rules.remedy import PredictionScore
from service.background import PeriodicJob
from service.history.baselines import BaselineCache
from service.history.comparison import (
    GRACE,
    SPAN,
    CannotCompare,
    ComparedWindows,
    TooEarly,
    around,
    comparison,
    diagnosis_at,
)
from service.metrics.families import metric
from service.state.board import Board
from service.state.episodes import NOT_VERIFIED, NOT_YET, VERIFIED, Episode, MarkVerdict
from service.state.time_window import YEARS
from service.store.episodes import Mark
from service.store.repository import Repository

LONGEST = 500
MOST_AHEAD = timedelta(minutes=5)
"""Clocks differ by this much. A mark further in the future is a mistake."""


class BadMark(ValueError):
    """A mark that is refused: why, and the way out."""


def set_mark(store: Repository, database: str, text: str, at: datetime, who: str, now: datetime) -> Mark:
    """Keep a mark of a change on a database. Raises BadMark, and what the store does."""
    note = " ".join(text.split())
    if not note or len(note) > LONGEST or not note.isprintable():
        raise BadMark(f"a mark is 1 to {LONGEST} printable characters; say in short what was changed")
    if at.tzinfo is None:
        raise BadMark("the time has no time zone; write it in UTC with a Z, such as 2026-03-01T12:00Z")
    if at > now + MOST_AHEAD:
        raise BadMark(f"{at.isoformat()} is in the future; set the mark when the change is made")
    if at < datetime(YEARS[0], 1, 1, tzinfo=UTC):
        raise BadMark(f"{at.isoformat()} is before {YEARS[0]}, which no list reaches; write the time of the change")
    return store.marks.add(database, at, note, who)


# Sets the marks of a script like any user's marks: in the store, at the moment the script reaches them.

WHO = "the script"
MOST_AT_ONCE = timedelta(days=1)
"""Marks of at most so long are set at once: a clock that jumps by a year would bring ten thousand."""


class DemoMarks:
    """Marks of scripted databases. `do` is a round of the job that sets them."""

    def __init__(self, store: Repository, scripts: Mapping[str, Scenario], began: datetime) -> None:
        self._store = store
        self._scripts = {name: script for name, script in scripts.items() if script.marks}
        self._began = began
        self._until = dict.fromkeys(self._scripts, began)

    def do(self, now: datetime) -> None:
        """Set every mark since the last round. Raises what the store does."""
        for name, script in self._scripts.items():
            since = max(self._until[name], now - MOST_AT_ONCE)
            for at, text in sorted(self._passed(script, since, now)):
                self._store.marks.add(name, at, text, WHO)
                self._until[name] = at
            self._until[name] = max(self._until[name], now)

    def _passed(self, script: Scenario, since: datetime, now: datetime) -> Iterator[tuple[datetime, str]]:
        first = int((since - self._began).total_seconds() // script.length)
        last = int((now - self._began).total_seconds() // script.length)
        for loop in range(first, last + 1):
            for second, text in script.marks:
                at = self._began + timedelta(seconds=loop * script.length + second)
                if since < at <= now:
                    yield at, text


# Whether a change mark ended a trouble: judged at its end, and again as more is known.

LOOK_BACK = 2 * SPAN
"""An older ended episode keeps its verdict: its windows are full."""


MOST_JUDGED = 100_000
"""Episodes of that time in all databases."""


class Verifier:
    """Records verdicts in the store. `do` is a round of the job."""

    def __init__(self, store: Repository, verified: Callable[[Episode], None] = lambda episode: None) -> None:
        self._store, self._verified = store, verified

    def do(self, now: datetime) -> None:
        """Judge every trouble that ended recently after a mark. Raises what the store does."""
        every = self._store.episodes.between(None, now - LOOK_BACK, now + timedelta(hours=1), limit=MOST_JUDGED).items
        for episode in every:
            mark = mark_of(self._store, episode)
            judged = None if mark is None else verdict(self._store, episode, mark)
            known = (episode.verdict_kind, episode.verdict, episode.prediction)
            if judged is not None and judged != known:
                self._store.episodes.verdict(episode.database, episode.cause, episode.begin, *judged)
                if judged[0] == "verified" and episode.verdict_kind != "verified":
                    self._verified(episode)


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
        verification = verified(comparison(store, mark.database, windows), cause)
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
    side = windows.after
    after = store.snapshots.delta_over(mark.database, side.begin, side.end, *windows.limits[1])
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


# The results of troubles, for /metrics: the last change marks, and verified remedies.

FIRST_LOOK = timedelta(days=30)
CLOCK_AHEAD = timedelta(hours=1)
"""Clocks differ, so a mark may be a little in the future."""


RETIRED_FOR = timedelta(days=8)
"""A day longer than the alert on databases that nobody watches remembers them."""


class Outcomes(Collector):
    """Marks and verified remedies of this process' databases, and databases that left. `do` is a round of the job that looks."""

    def __init__(self, store: Repository, board: Board) -> None:
        self._store, self._board = store, board
        self._marks: Mapping[str, float] = {}
        self._retired: Mapping[str, datetime] = {}
        """The databases that only the store knows any more, and since when this process has seen it."""
        self._verified: Counter[tuple[str, str]] = Counter()
        self._seconds: dict[tuple[str, str], float] = {}

    def do(self, now: datetime) -> None:
        """Look for the last mark of every database polled here, and for databases that left. Raises what the store does."""
        configured = self._store.names.databases(
            watched.name for watched in self._board
        )  # known, whether it ever answers
        left = set(self._store.names.all()) - configured.keys()
        self._retired = {name: self._retired.get(name, now) for name in sorted(left)}
        newest = self._store.marks.newest(now - FIRST_LOOK, now + CLOCK_AHEAD)
        self._marks = {
            watched.name: newest[watched.name].timestamp() for watched in self._board.own() if watched.name in newest
        }

    def verified(self, episode: Episode) -> None:
        """A change ended this episode, according to the figures."""
        if episode.end is not None:
            key = (episode.database, episode.cause)
            lasted = (episode.end - episode.begin).total_seconds()
            self._seconds[key] = self._seconds.get(key, 0.0) + lasted
            self._verified[key] += 1

    def collect(self) -> Iterator[Metric]:
        """The four families. A counter begins at 0 with the first episode of its cause."""
        racs = {watched.name: watched.settings.cluster or "" for watched in self._board}
        marks = metric("latchscope_change_mark_timestamp_seconds", labels=["db", "rac"])
        for name, at in self._marks.items():
            marks.add_metric([name, racs.get(name, "")], at)
        retired, now = metric("latchscope_database_retired", labels=["db"]), datetime.now(UTC)
        for name, since in self._retired.items():
            if now - since < RETIRED_FOR:
                retired.add_metric([name], 1.0)
        counts = metric("latchscope_verified_remedies_total", labels=["db", "rac", "cause"])
        seconds = metric("latchscope_verified_remedy_seconds_total", labels=["db", "rac", "cause"])
        begun = {(watched.name, each.cause) for watched in self._board.own() for each in watched.episodes.all}
        for name, cause in sorted(begun | self._verified.keys()):
            labels = [name, racs.get(name, ""), cause]
            counts.add_metric(labels, float(self._verified[name, cause]))
            seconds.add_metric(labels, self._seconds.get((name, cause), 0.0))
        yield from (marks, retired, counts, seconds)


# The background jobs of history: verdicts on change marks, usual figures, and the marks of the demo's scripts.


def build_jobs(store: Repository, board: Board, began: datetime, registry: CollectorRegistry) -> list[PeriodicJob]:
    """The jobs of a service whose scripted databases began at `began`. They put the usual figures on the board.

    `registry` counts the results of marks.
    """
    outcomes = Outcomes(store, board)
    registry.register(outcomes)
    usual = BaselineCache(store, (watched.name for watched in board))
    known = scenarios()
    scripts = {
        database.name: known[name] for database in board if (name := database.settings.scripted) in known and name
    }
    for watched in board:
        watched.usual = partial(usual.of, watched.name)
    return [
        PeriodicJob("verdicts on marks", 10.0, Verifier(store, outcomes.verified).do),
        PeriodicJob("outcomes", 30.0, outcomes.do),
        PeriodicJob("baselines", 30.0, usual.do),
        PeriodicJob("marks of the scripts", 1.0, DemoMarks(store, scripts, began).do),
    ]
