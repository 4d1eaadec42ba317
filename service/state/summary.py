"""A database in short, as the fleet shows it: its instance, its state and since when, what is wrong, and what is easing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from collectors.model import Snapshot
from rules.catalogue import catalogue
from rules.grades import Confidence, Severity, State
from rules.model import Diagnosis, Finding, Surface
from service.state.episodes import Episode


@dataclass(frozen=True, slots=True)
class EasingTrouble:
    """A trouble that the last poll did not show any more; it is over when some polls more do not."""

    cause: str
    title: str
    cache: str | None
    until: datetime
    """The last poll that showed it, by the database's clock."""


@dataclass(frozen=True, slots=True)
class DatabaseSummary:
    """A database in short. Members with a default are those that a replica of an older release does not tell."""

    release: str | None
    instance: str | None
    started_at: datetime | None
    mechanism: str | None
    severity: Severity
    headline: str
    state: State = "No data"
    since: datetime | None = None
    """When the trouble of the first finding began; None without one, and before a second poll has shown it."""
    share_of_db_time: float | None = None
    waiting_sessions: float | None = None
    cause: str | None = None
    name: str | None = None
    """What the cause is called in a list."""
    title: str | None = None
    do_now: str | None = None
    surface: Surface | None = None
    cache: str | None = None
    confidence: Confidence | None = None
    easing: EasingTrouble | None = None


def summary_of(snapshot: Snapshot, diagnosis: Diagnosis, lasting: Sequence[Episode]) -> DatabaseSummary:
    """The last poll in short. `lasting`: the episodes that are open."""
    instance = snapshot.instance.get("instance_name")
    top, impact = _first(diagnosis), diagnosis.impact
    return DatabaseSummary(
        release=snapshot.release,
        instance=None if instance is None else str(instance),
        started_at=_started(snapshot),
        mechanism=diagnosis.mechanism,
        severity=diagnosis.severity,
        headline=diagnosis.headline,
        state=diagnosis.state,
        since=next((episode.begin for episode in lasting if top is not None and episode.cause == top.cause), None),
        share_of_db_time=impact.share_of_db_time if impact else None,
        waiting_sessions=impact.waiting_sessions if impact else None,
        cause=top.cause if top else None,
        name=top.name if top else None,
        title=top.title if top else None,
        do_now=top.do_now if top else None,
        surface=top.surface if top else None,
        cache=top.cache if top else None,
        confidence=top.confidence if top else None,
        easing=easing_of(diagnosis, lasting),
    )


def _first(diagnosis: Diagnosis) -> Finding | None:
    """The first finding, also one that costs nothing and says why the latch is busy."""
    return diagnosis.findings[0] if diagnosis.findings else None


def easing_of(diagnosis: Diagnosis, lasting: Sequence[Episode]) -> EasingTrouble | None:
    """The worst trouble that lasts by what is known of it, and that a diagnosis does not show any more."""
    if diagnosis.basis is None:
        return None  # a poll that cannot tell changes nothing
    shown = {finding.cause for finding in diagnosis.findings if finding.severity is not Severity.INFO}
    gone = [episode for episode in lasting if episode.cause not in shown]
    worst = max(gone, key=lambda episode: episode.peak_severity.rank, default=None)
    if worst is None:
        return None
    known = catalogue().get(worst.cause)
    return EasingTrouble(worst.cause, known.title if known else worst.title, worst.cache, worst.last_seen)


def _started(snapshot: Snapshot) -> datetime | None:
    if snapshot.taken_at is None or snapshot.uptime_seconds is None:
        return None
    return snapshot.taken_at - timedelta(seconds=snapshot.uptime_seconds)
