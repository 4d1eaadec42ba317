"""Episodes: a trouble from its start over its peak to its end, instead of one finding per poll.

Hysteresis keeps a finding from flapping: it counts after two polls in a row that show it and is over after three that
do not. Polls that cannot tell change nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from rules.model import Diagnosis, Finding, Severity
from rules.predicted import PredictionScore

OPEN_AFTER = 2
CLOSE_AFTER = 3
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
    """Severity of the latest poll that showed it."""
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


@dataclass(frozen=True, slots=True)
class EpisodeChange:
    """A change of an episode by a poll."""

    what: Literal["begin", "worse", "end"]
    episode: Episode


@dataclass
class _Track:
    seen: int = 0
    missed: int = 0
    first: datetime | None = None
    episode: Episode | None = None


@dataclass
class Episodes:
    """The episodes of one database, open and recent."""

    _tracks: dict[str, _Track] = field(default_factory=dict)
    _ended: list[Episode] = field(default_factory=list)

    @property
    def following(self) -> bool:
        """Whether a trouble is open or may be about to start, so that the open causes matter."""
        return bool(self._tracks)

    @property
    def open(self) -> tuple[Episode, ...]:
        """Open episodes, the earliest first."""
        return tuple(sorted((t.episode for t in self._tracks.values() if t.episode), key=lambda episode: episode.begin))

    @property
    def all(self) -> tuple[Episode, ...]:
        """Open episodes and the last ended ones, the newest first."""
        return tuple(sorted((*self.open, *self._ended), key=lambda episode: episode.begin, reverse=True))

    def restore(self, episodes: Iterable[Episode]) -> None:
        """Load episodes from the store. Open ones continue, so that none begins twice."""
        known = list(episodes)
        for episode in known:
            if episode.end is None:
                self._tracks[episode.cause] = _Track(seen=OPEN_AFTER, first=episode.begin, episode=episode)
        ended = sorted((episode for episode in known if episode.end is not None), key=lambda episode: episode.begin)
        self._ended = [*ended, *self._ended][-KEEP:]

    def update(self, diagnosis: Diagnosis) -> list[EpisodeChange]:
        """Take in one diagnosis. A diagnosis without an interval changes nothing."""
        if diagnosis.basis is None or diagnosis.basis.end is None:
            return []
        at = diagnosis.basis.end
        found = {finding.cause: finding for finding in diagnosis.findings if finding.severity is not Severity.INFO}
        undetermined = {verdict.cause for verdict in diagnosis.undetermined}
        return [*self._seen(found, diagnosis, at), *self._missed(found.keys() | undetermined, at)]

    def _seen(self, found: dict[str, Finding], diagnosis: Diagnosis, at: datetime) -> Iterator[EpisodeChange]:
        for cause, finding in found.items():
            track = self._tracks.setdefault(cause, _Track())
            track.seen, track.missed = track.seen + 1, 0
            track.first = track.first or at
            if track.episode is not None:
                before = track.episode.peak_severity
                track.episode = _grown(track.episode, finding, diagnosis, at)
                if track.episode.peak_severity.rank > before.rank:
                    yield EpisodeChange("worse", track.episode)
            elif track.seen >= OPEN_AFTER:
                track.episode = _opened(finding, diagnosis, track.first, at)
                yield EpisodeChange("begin", track.episode)

    def _missed(self, spoken_for: set[str], at: datetime) -> Iterator[EpisodeChange]:
        for cause, track in list(self._tracks.items()):
            if cause in spoken_for:
                continue
            track.seen, track.missed = 0, track.missed + 1
            if track.episode is None:
                del self._tracks[cause]
            elif track.missed >= CLOSE_AFTER:
                ended = replace(track.episode, end=track.episode.last_seen)
                self._ended = [*self._ended, ended][-KEEP:]
                del self._tracks[cause]
                yield EpisodeChange("end", ended)


def _share(diagnosis: Diagnosis) -> float | None:
    return diagnosis.impact.share_of_db_time if diagnosis.impact else None


def _opened(finding: Finding, diagnosis: Diagnosis, first: datetime, at: datetime) -> Episode:
    return Episode(
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
    )


def _grown(episode: Episode, finding: Finding, diagnosis: Diagnosis, at: datetime) -> Episode:
    episode = replace(episode, last_seen=at, severity=finding.severity)
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
