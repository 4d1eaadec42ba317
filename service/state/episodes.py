"""Episodes: a trouble from its start over its peak to its end, instead of one finding per poll.

Hysteresis keeps a finding from flapping: it counts after two polls in a row that show it and is over after three that
do not. Polls that cannot tell change nothing but how bad its waits are, so only a judgement ends a trouble. A remedy takes the
cause away at once and the waits little by little: while they fall, and nothing else explains them, the trouble is not over.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from collectors.errors import StatementError, ViewRefused
from collectors.model import ConfirmationResult
from collectors.ondemand.check import counted, first_names
from collectors.poll import Connection
from rules.base import WaitsLeft
from rules.cause import Cause, catalogue
from rules.confirmation import missing_grant, speaks_against
from rules.model import Confidence, Diagnosis, Finding, Impact, Severity, Surface, SurfaceImpact, Trouble, worst
from rules.remedy import PredictionScore
from rules.waiting_sessions import WAITING_SESSIONS
from rules.waits import severity_of

# Results of confirming queries: their numbers, and how long they are valid for a trouble.

VALID_SECONDS = 3600.0
"""A result is valid for the current trouble this long, and never across a restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed(ConfirmationResult):
    """The result of a confirming query, and its end of validity."""

    cause: str
    sql: str
    startup_time: str | None
    at: float
    """time.time()"""
    expires: float
    """time.monotonic()"""


class ConfirmationRefused(ViewRefused):
    """The user may not read the views of a confirming query. `result` says so in the next diagnoses."""

    def __init__(self, words: str, result: Confirmed) -> None:
        super().__init__(f"{words}; {missing_grant(result.refused)}")
        self.result = result


def run(
    cause: Cause,
    connection: Connection,
    startup_time: str | None,
    release: str | None = None,
    *,
    names: bool = False,
) -> Confirmed:
    """Run the text of a cause's confirming query for a release.

    `names`: whether to read what was counted as well, if the number is above zero. Raises ConfirmationRefused,
    StatementError if there is no text or no number, SessionError.
    """
    query = cause.confirm
    if query is None:
        raise StatementError(f"{cause.id} has no confirming query")
    if release is not None and not cause.releases.include(release):
        raise StatementError(f"{cause.id} is unknown on {release}, and its query may not fit")
    sql = query.text(release)
    if sql is None:
        raise StatementError(f"the query of {cause.id} is written for {query.since} and newer, and this is {release}")
    result = Confirmed(
        value=None,
        cause=cause.id,
        sql=sql,
        startup_time=startup_time,
        at=time.time(),
        expires=time.monotonic() + VALID_SECONDS,
    )
    try:
        answer = counted(connection, sql, release)
    except ViewRefused as error:
        raise ConfirmationRefused(str(error), replace(result, refused=query.views(release))) from None
    result = replace(result, value=answer.number, container=answer.container, con_id=answer.con_id)
    naming = query.naming(release)
    if not names or naming is None or not answer.number:
        return result
    try:
        return replace(result, names=first_names(connection, naming))
    except StatementError as error:
        return replace(result, unnamed=str(error))


def still_counting(results: Mapping[str, Confirmed], startup_time: str | None) -> dict[str, ConfirmationResult]:
    """Results that are still valid, by cause: recent, and from this life of the instance."""
    now = time.monotonic()
    return {
        cause: result
        for cause, result in results.items()
        if result.expires > now and result.startup_time == startup_time
    }


OPEN_AFTER = 2
CLOSE_AFTER = 3
FALLEN = 0.95
"""Waits fall when no more than this is left of the least that they cost so far."""
KEEP = 200


MarkVerdict = Literal["verified", "not_verified", "too_early"]
"""Whether a change mark ended a trouble."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One trouble on one database. Times are UTC by the database's clock. `end` is None while it is open."""

    database: str
    cause: str
    cache: str | None
    title: str
    begin: datetime
    last_seen: datetime
    end: datetime | None
    severity: Severity
    """Severity of the latest poll that showed it, or of the waits that it left."""
    peak_severity: Severity
    peak_at: datetime
    peak_share_of_db_time: float | None
    headline: str
    """Headline of the peak."""
    verdict: str | None = None
    """Whether a change mark ended it, from the store."""
    prediction: PredictionScore | None = None
    """The result of the prediction from before that mark, from the store."""
    verdict_kind: MarkVerdict | None = None
    """What `verdict` says."""
    confidence: Confidence | None = field(default=None, compare=False)
    """How sure the cause is at the latest poll that showed it. The store of episodes keeps neither this nor the advice below."""
    do_now: str = field(default="", compare=False)
    check_first: str = field(default="", compare=False)
    do_not: str = field(default="", compare=False)
    surface: Surface | None = field(default=None, compare=False)
    """Where it shows; the store does not keep it."""
    waits: WaitsLeft | None = field(default=None, compare=False)
    """What its waits do since the last poll that showed it; None while polls show it, and where they are gone."""
    missing: str | None = field(default=None, compare=False)
    """What the last poll would have needed to judge it; None if that could tell."""


OF_ONE_POLL = {"surface", "waits", "missing"}
"""Members that hold for the last poll alone: neither stored nor sent with the news of an episode."""


@dataclass(frozen=True, slots=True)
class EpisodeChange:
    """A change of an episode by a poll. `outage` and `back` are of a database that gives no figures: no episode is about it."""

    what: Literal["begin", "worse", "end", "outage", "back"]
    episode: Episode


@dataclass
class _Track:
    seen: int = 0
    missed: int = 0
    first: datetime | None = None
    episode: Episode | None = None
    least: float | None = None
    """The least that its waits cost since the last poll that showed it, that poll included."""
    waited: datetime | None = None
    """The last poll after that at which its waits went on,"""
    fell: datetime | None = None
    """and at which they fell."""


@dataclass
class Episodes:
    """The episodes of one database, open and recent."""

    _tracks: dict[str, _Track] = field(default_factory=dict)
    _ended: list[Episode] = field(default_factory=list)

    @property
    def open(self) -> tuple[Episode, ...]:
        """Open episodes, the earliest first."""
        return tuple(sorted((t.episode for t in self._tracks.values() if t.episode), key=lambda episode: episode.begin))

    @property
    def all(self) -> tuple[Episode, ...]:
        """Open episodes and the last ended ones, the newest first."""
        return tuple(sorted((*self.open, *self._ended), key=lambda episode: episode.begin, reverse=True))

    def settled(self, verdict: Diagnosis, since: datetime | None = None) -> bool:
        """Whether the open episodes, all begun by `since`, are the problems of a verdict, and no other begins or ends."""
        found = {finding.cause for finding in verdict.findings if finding.severity is not Severity.INFO}
        lasting = [track.episode for track in self._tracks.values() if track.episode and not track.missed]
        return (
            found == self._tracks.keys() == {episode.cause for episode in lasting}
            and not any(episode.missing for episode in lasting)
            and (since is None or all(episode.begin <= since for episode in lasting))
        )

    def restore(self, episodes: Iterable[Episode]) -> None:
        """Load episodes from the store. Open ones continue, so that none begins twice."""
        known = list(episodes)
        for episode in known:
            if episode.end is None:
                self._tracks[episode.cause] = _Track(seen=OPEN_AFTER, first=episode.begin, episode=episode)
        ended = sorted((episode for episode in known if episode.end is not None), key=lambda episode: episode.begin)
        self._ended = [*ended, *self._ended][-KEEP:]

    def update(
        self, diagnosis: Diagnosis, open_causes: Callable[[], Mapping[str, str]] | None = None
    ) -> list[EpisodeChange]:
        """Take in one diagnosis. A diagnosis without an interval changes nothing.

        `open_causes`: the causes that were not ruled out, each with what is missing to judge it, asked for only while a
        trouble is open or may be about to start. Default: those of the diagnosis.
        """
        if diagnosis.basis is None or diagnosis.basis.end is None:
            return []
        at = diagnosis.basis.end
        found = {finding.cause: finding for finding in diagnosis.findings if finding.severity is not Severity.INFO}
        changes = list(self._seen(found, diagnosis, at))
        if self._tracks.keys() <= found.keys():
            return changes
        undetermined = (
            {verdict.cause: verdict.missing for verdict in diagnosis.undetermined}
            if open_causes is None
            else open_causes()
        )
        for cause, track in self._tracks.items():
            if track.episode is not None and cause in undetermined and cause not in found:
                track.episode = _unjudged(track.episode, undetermined[cause], diagnosis)
        return [*changes, *self._missed(found.keys() | undetermined.keys(), diagnosis, at)]

    def _seen(self, found: dict[str, Finding], diagnosis: Diagnosis, at: datetime) -> Iterator[EpisodeChange]:
        for cause, finding in found.items():
            track = self._tracks.setdefault(cause, _Track())
            track.seen, track.missed = track.seen + 1, 0
            track.first = track.first or at
            track.least, track.waited, track.fell = _many(_waits_of(finding, diagnosis)), None, None
            if track.episode is not None:
                before = track.episode.peak_severity
                track.episode = _grown(track.episode, finding, diagnosis, at)
                if track.episode.peak_severity.rank > before.rank:
                    yield EpisodeChange("worse", track.episode)
            elif track.seen >= OPEN_AFTER:
                track.episode = _opened(finding, diagnosis, track.first, at)
                yield EpisodeChange("begin", track.episode)

    def _missed(self, spoken_for: set[str], diagnosis: Diagnosis, at: datetime) -> Iterator[EpisodeChange]:
        for cause, track in list(self._tracks.items()):
            if cause in spoken_for:
                continue
            track.seen = 0
            if track.episode is None:
                del self._tracks[cause]
                continue
            left = waits_left(track.episode, diagnosis)
            _missed_again(track, track.episode, left, at)
            if track.missed >= CLOSE_AFTER:
                until = track.waited if left is None else track.fell
                ended = replace(track.episode, end=until or track.episode.last_seen, waits=None)
                self._ended = [*self._ended, ended][-KEEP:]
                del self._tracks[cause]
                yield EpisodeChange("end", ended)


def own_waits(trouble: Trouble, episode: Episode) -> bool:
    """Whether these waits are where an episode shows: on its surface, and for its cache where both are known."""
    return trouble.surface in surfaces_of(episode) and _same_cache(trouble, episode.cache)


def surfaces_of(episode: Episode) -> Sequence[Surface]:
    """Where an episode shows, or may show."""
    known = catalogue().get(episode.cause)
    return (episode.surface,) if episode.surface else known.surfaces if known else ()


def waits_left(episode: Episode, diagnosis: Diagnosis) -> Impact | None:
    """What the waits of a trouble cost in a diagnosis that does not show it; None where they are gone or explained otherwise."""
    return _together([each for each in diagnosis.troubles if not each.causes and own_waits(each, episode)])


def _waits_of(finding: Finding, diagnosis: Diagnosis) -> Impact | None:
    here = (each for each in diagnosis.troubles if each.surface == finding.surface)
    return _together([each for each in here if _same_cache(each, finding.cache)])


def _same_cache(trouble: Trouble, cache: str | None) -> bool:
    return None in (trouble.cache, cache) or trouble.cache == cache


def _together(troubles: Sequence[Trouble | SurfaceImpact]) -> Impact | None:
    """What they cost together; a number that one of them lacks is not known of all."""
    if not troubles:
        return None
    shares = [each.share_of_db_time for each in troubles if each.share_of_db_time is not None]
    sessions = [each.waiting_sessions for each in troubles if each.waiting_sessions is not None]
    return Impact(
        share_of_db_time=sum(shares) if len(shares) == len(troubles) else None,
        waiting_sessions=sum(sessions) if len(sessions) == len(troubles) else None,
    )


def _many(waits: Impact | None) -> float | None:
    """How many sessions wait, which tells more than their share while the load changes; that is taken where it is all."""
    if waits is None:
        return None
    return waits.share_of_db_time if waits.waiting_sessions is None else waits.waiting_sessions


def _missed_again(track: _Track, episode: Episode, left: Impact | None, at: datetime) -> None:
    """One poll more that does not show a trouble. It does not count towards the end where the waits that it left fall."""
    many = _many(left)
    if left is None or many is None:
        track.missed += 1
        track.episode = replace(episode, waits=None, missing=None)
        return
    track.waited = at
    if track.least is not None and many <= FALLEN * track.least:
        track.missed, track.fell = 0, at
    else:
        track.missed += 1
    track.least = many if track.fell == at or track.least is None else track.least
    waits: WaitsLeft = "falling" if track.fell else "lasting"
    track.episode = replace(episode, waits=waits, missing=None, severity=severity_of(left) or episode.severity)


def _unjudged(episode: Episode, missing: str, diagnosis: Diagnosis) -> Episode:
    """The episode after a poll that could not judge it: as bad as its waits are now, or as before where they were not read."""
    read = [each for each in diagnosis.surfaces if each.surface in surfaces_of(episode)]
    now = severity_of(waits_left(episode, diagnosis) or _together(read)) or episode.severity
    if missing == WAITING_SESSIONS:
        now = worst((now, episode.severity))  # waits that have not ended stand in no counter
    return replace(episode, waits=None, missing=missing, severity=now)


def _advised(episode: Episode, finding: Finding) -> Episode:
    """The episode with what the latest poll advises. A count that speaks against the cause goes before its other checks."""
    against = speaks_against(finding)
    checks = [f"Not yet: {against}."] if against else []
    return replace(
        episode,
        confidence=finding.confidence,
        do_now=finding.do_now,
        check_first=" ".join([*checks, finding.check_first or ""]).strip(),
        do_not=finding.do_not,
    )


def _share(diagnosis: Diagnosis) -> float | None:
    return diagnosis.impact.share_of_db_time if diagnosis.impact else None


def _opened(finding: Finding, diagnosis: Diagnosis, first: datetime, at: datetime) -> Episode:
    opened = Episode(
        database=diagnosis.database,
        cause=finding.cause,
        cache=finding.cache,
        title=finding.name,
        begin=first,
        last_seen=at,
        end=None,
        severity=finding.severity,
        peak_severity=finding.severity,
        peak_at=at,
        peak_share_of_db_time=_share(diagnosis),
        headline=diagnosis.headline,
        surface=finding.surface,
    )
    return _advised(opened, finding)


def _grown(episode: Episode, finding: Finding, diagnosis: Diagnosis, at: datetime) -> Episode:
    lasting = replace(
        episode, last_seen=at, severity=finding.severity, surface=finding.surface, waits=None, missing=None
    )
    episode = _advised(lasting, finding)
    share, peak = _share(diagnosis), episode.peak_share_of_db_time
    if (finding.severity.rank, share or 0.0) <= (episode.peak_severity.rank, peak or 0.0):
        return episode
    return replace(
        episode,
        peak_severity=finding.severity,
        peak_at=at,
        peak_share_of_db_time=share,
        headline=diagnosis.headline,
    )


# What a change mark did about a trouble: the form that the store and REST have, and the words that people read.

VERIFIED = "verified: "
NOT_YET = "not verified yet: "
NOT_VERIFIED = "not verified because "
"""The beginnings of a stored verdict."""
_WORDS: Mapping[str, str] = {VERIFIED: "Verified", NOT_YET: "Not verified yet", NOT_VERIFIED: "Not verified"}
KINDS: Mapping[str, MarkVerdict] = {VERIFIED: "verified", NOT_YET: "too_early", "": "not_verified"}
"""The kind of a verdict that was stored without one, by its beginning."""


def in_words(verdict: str) -> tuple[str, str]:
    """The result and why, for people: `verified: after the change …` → "Verified" and "After the change …"."""
    found = next((beginning for beginning in _WORDS if verdict.startswith(beginning)), None)
    if found is None:
        return "", verdict
    why = verdict.removeprefix(found)
    return _WORDS[found], f"{why[:1].upper()}{why[1:]}"


def told(verdict: str) -> str:
    """A verdict as it reads in lists and messages."""
    return ". ".join(part for part in in_words(verdict) if part)
