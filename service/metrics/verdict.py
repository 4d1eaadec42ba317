"""The samples of a verdict: what is active, what it costs, since when, and what to do now."""

from collections.abc import Iterator, Sequence

from rules.catalogue import catalogue
from rules.model import Diagnosis, Finding, Severity
from service.metrics import verdicts
from service.metrics.family import FamilySample, Labels
from service.state.episodes import Episode


def verdict_samples(diagnosis: Diagnosis, episodes: Sequence[Episode]) -> Iterator[FamilySample]:
    """What is active: troubles while their episode lasts, so that they do not flap, and what is only worth a note."""
    for episode in episodes:
        yield verdicts.FINDING, 1, _of(episode)
    lasting = {episode.cause for episode in episodes}
    for finding in diagnosis.findings:
        if finding.severity is Severity.INFO and finding.cause not in lasting:
            yield verdicts.FINDING, 1, _of(finding)
    yield from _first_screen(diagnosis, episodes)
    if diagnosis.impact:
        yield verdicts.IMPACT, diagnosis.impact.share_of_db_time, {}
        yield verdicts.IMPACT_SESSIONS, diagnosis.impact.waiting_sessions, {}
    for impact in diagnosis.surfaces:
        yield verdicts.SURFACE_IMPACT, impact.share_of_db_time, {"surface": impact.surface}
        yield verdicts.SURFACE_SESSIONS, impact.waiting_sessions, {"surface": impact.surface}
    yield from _waiters(diagnosis)


def _of(trouble: Episode | Finding) -> Labels:
    return {"cause": trouble.cause, "cache": trouble.cache or "", "severity": trouble.severity}


def _waiters(diagnosis: Diagnosis) -> Iterator[FamilySample]:
    for still in diagnosis.waiting:
        labels = {"event": still.event, "cache": still.cache}
        yield verdicts.HANGING_SESSIONS, still.hanging, labels
        yield verdicts.LONGEST_WAIT, still.longest_seconds, labels
    waiting: dict[tuple[str, str], float] = {}
    for group in diagnosis.who:
        waiting[group.event, group.cache] = waiting.get((group.event, group.cache), 0.0) + group.sessions
    for (event, name), sessions in waiting.items():
        yield verdicts.WAITING_SESSIONS, sessions, {"event": event, "cache": name}


def _first_screen(diagnosis: Diagnosis, episodes: Sequence[Episode]) -> Iterator[FamilySample]:
    """What the first line of a dashboard says: every lasting episode with what to do now; else that there is none."""
    yield verdicts.SEVERITY, diagnosis.severity.rank, {}
    for episode in sorted(episodes, key=lambda episode: -episode.severity.rank):
        named = {
            "cause": episode.cause,
            "title": episode.title,
            "cache": episode.cache or "",
            "severity": episode.severity,
        }
        yield verdicts.VERDICT, 1, {**named, "action": action(episode.cause)}
        yield verdicts.EPISODE_BEGIN, episode.begin.timestamp(), {"cause": episode.cause, "cache": episode.cache or ""}
    if not episodes:
        fine = diagnosis.severity is Severity.INFO
        title, to_do = (
            ("Fine", "Nothing.") if fine else ("No known cause lasts", "Open the page: it says what is open.")
        )
        named = {"cause": "", "title": title, "cache": "", "severity": diagnosis.severity}
        yield verdicts.VERDICT, 1, {**named, "action": to_do}


def action(cause: str) -> str:
    """The one thing to do about a cause; empty for one that is gone."""
    known = catalogue().get(cause)
    return known.do_now if known else ""
