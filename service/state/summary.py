"""A database in short, as the fleet shows it: its instance, its state and since when, what is wrong, and what is easing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from collectors.model import Snapshot
from rules.base import Confidence, Easing, LastingTrouble, Severity, State
from rules.explain.headline import NO_CAUSE, NONE_JUDGED
from rules.formatting import within
from rules.hang_model import WaitingGroup
from rules.model import Diagnosis, Finding, Surface
from rules.waits import SURFACE_OF
from service.state.episodes import Episode, own_waits, waits_left

NOTHING_TO_DO = "Nothing to do"
GOES_ON = "latchscope keeps watching."
UNEXPLAINED = "Sessions wait, and no known cause explains it"
LOOK = "Look at who waits, and at what could not be judged."
WAIT_AND_SEE = "Wait for the next polls before you change anything else, and see whether the waits fall."
NOTHING_TOLD = "Nothing is known yet"
NOT_TO_TUNE = "Do not tune the row cache."
NOT_CURED = "Do not call it cured yet. A few more polls must show that it is over."
NOT_MORE = "Do not change anything else yet. After two changes nobody knows which one helped."
NOT_BLINDLY = "Do not change settings while the cause is unknown."
NOT_YET = "Do not judge by one poll. A rate needs two."
"""The words of page, metrics and dashboards without a named cause."""


@dataclass(frozen=True, slots=True)
class DatabaseSummary:
    """A database in short. Members with a default are missing in reports of older replicas."""

    release: str | None
    instance: str | None
    started_at: datetime | None
    mechanism: str | None
    severity: Severity
    headline: str
    state: State = "No data"
    since: datetime | None = None
    """When the trouble of the first finding began, see `_since`. None without one, and before a second poll shows it."""
    share_of_db_time: float | None = None
    waiting_sessions: float | None = None
    cause: str | None = None
    name: str | None = None
    """The name of the cause in a list."""
    title: str | None = None
    do_now: str | None = None
    do_not: str | None = None
    surface: Surface | None = None
    cache: str | None = None
    confidence: Confidence | None = None
    easing: Easing | None = None


def summary_of(snapshot: Snapshot, diagnosis: Diagnosis, lasting: Sequence[Episode]) -> DatabaseSummary:
    """The last poll in short. `lasting`: the open episodes."""
    instance = snapshot.instance.get("instance_name")
    impact, easing = diagnosis.impact, easing_of(diagnosis, lasting)
    left = easing if easing and easing.waits else None
    top = None if left else _first(diagnosis)
    return DatabaseSummary(
        release=snapshot.release,
        instance=None if instance is None else str(instance),
        started_at=_started(snapshot),
        mechanism=diagnosis.mechanism,
        severity=diagnosis.severity,
        headline=with_easing(diagnosis.headline, easing),
        state=diagnosis.state,
        since=_since(top, snapshot, diagnosis, lasting) if left is None else _begin(left, lasting),
        share_of_db_time=impact.share_of_db_time if impact else None,
        waiting_sessions=impact.waiting_sessions if impact else None,
        cause=top.cause if top else None,
        name=top.name if top else None,
        title=top.title if top else eased_title(left) if left else None,
        do_now=top.do_now if top else WAIT_AND_SEE if left else None,
        do_not=(top.do_not or None) if top else None,
        surface=top.surface if top else None,
        cache=top.cache if top else left.cache if left else None,
        confidence=top.confidence if top else None,
        easing=easing,
    )


def _begin(easing: Easing, lasting: Sequence[Episode]) -> datetime | None:
    return next((episode.begin for episode in lasting if episode.cause == easing.cause), None)


def _since(
    top: Finding | None, snapshot: Snapshot, diagnosis: Diagnosis, lasting: Sequence[Episode]
) -> datetime | None:
    episode = next((episode for episode in lasting if top is not None and episode.cause == top.cause), None)
    return since_when(episode, top, diagnosis.waiting, snapshot.taken_at) if episode is not None else None


def since_when(
    episode: Episode, finding: Finding | None, waiting: Sequence[WaitingGroup], taken_at: datetime | None
) -> datetime:
    """When the first poll showed a trouble. If sessions hang in it and the longest wait began earlier, that time."""
    if finding is None or taken_at is None:
        return episode.begin
    stuck = [group for group in waiting if group.hanging and SURFACE_OF[group.event] == finding.surface]
    longest = max((group.longest_seconds for group in stuck), default=0.0)
    return min(episode.begin, taken_at - timedelta(seconds=longest))


def _first(diagnosis: Diagnosis) -> Finding | None:
    """The first finding. It may cost nothing and only explain why the latch is busy."""
    return diagnosis.findings[0] if diagnosis.findings else None


def easing_of(diagnosis: Diagnosis, lasting: Sequence[Episode]) -> Easing | None:
    """The worst open trouble that a diagnosis no longer shows."""
    if diagnosis.basis is None:
        return None  # a poll without figures changes nothing
    shown = {finding.cause for finding in diagnosis.findings if finding.severity is not Severity.INFO}
    gone = [episode for episode in lasting if episode.cause not in shown]
    left = {episode.cause for episode in gone if waits_left(episode, diagnosis)} if not shown else set()
    worst = max(gone, key=lambda episode: (episode.cause in left, episode.peak_severity.rank), default=None)
    if worst is None:
        return None
    strange = any(not any(own_waits(trouble, episode) for episode in gone) for trouble in diagnosis.troubles)
    waits = worst.waits if worst.cause in left and not strange else None
    return Easing(cause=worst.cause, name=worst.title, cache=worst.cache, until=worst.last_seen, waits=waits)


def eased_title(easing: Easing, until: str = "") -> str:
    """What eases, as a title, with `until` when; for as long as its waits go on, with what they do."""
    name = f"{within(easing.name)}{until}"
    if easing.waits == "lasting":
        return f"The waits go on{' after the change' if easing.change else ''}: {name}"
    return f"Easing: {name}{', and the waits are falling' if easing.waits else ''}"


def with_easing(headline: str, easing: Easing | None) -> str:
    """The headline of a poll that no longer shows a storm. The storm may not be over."""
    if easing is None:
        return headline
    if easing.waits:
        for unexplained in (NO_CAUSE, NONE_JUDGED):
            headline = headline.partition(f"; {unexplained}")[0]
    return f"{eased_title(easing, f' until {easing.until:%H:%M:%S} UTC')}; {within(headline)}"


def told_with(diagnosis: Diagnosis, easing: Easing) -> Diagnosis:
    """The diagnosis of a poll with what eases: said first, and named where its waits have no other cause."""
    told = {"easing": easing, "headline": with_easing(diagnosis.headline, easing)}
    if not easing.waits or not diagnosis.chain or diagnosis.chain[-1].kind != "cause":
        return diagnosis.model_copy(update=told)
    last = diagnosis.chain[-1].model_copy(
        update={
            "name": within(easing.name),
            "measured": f"The last poll that shows this cause is of {easing.until:%H:%M:%S} UTC. Its waits "
            f"{'are falling' if easing.waits == 'falling' else 'go on'}, and no other cause is found for them.",
            "unknown": "whether it is over",
        }
    )
    return diagnosis.model_copy(update={**told, "chain": (*diagnosis.chain[:-1], last)})


def lasting_trouble(episode: Episode, earlier: int | None) -> LastingTrouble:
    """An episode in the form of a diagnosis."""
    members = {name: getattr(episode, name) for name in LastingTrouble.model_fields if hasattr(episode, name)}
    return LastingTrouble(name=episode.title, earlier=earlier, **members)


def _started(snapshot: Snapshot) -> datetime | None:
    if snapshot.taken_at is None or snapshot.uptime_seconds is None:
        return None
    return snapshot.taken_at - timedelta(seconds=snapshot.uptime_seconds)
