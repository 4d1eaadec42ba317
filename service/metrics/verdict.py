"""The samples of a verdict: what is active, what it costs, since when, and what to do now."""

from collections.abc import Sequence

from rules.catalogue import catalogue
from rules.model import Diagnosis, Severity
from service.metrics import verdicts
from service.metrics.block import Block
from service.state.episodes import Episode


def add_verdict(block: Block, diagnosis: Diagnosis, episodes: Sequence[Episode]) -> None:
    """What is active: troubles while their episode lasts, so that they do not flap, and what is only worth a note."""
    for episode in episodes:
        labels = {"cause": episode.cause, "cache": episode.cache or "", "severity": episode.severity}
        block.add(verdicts.FINDING, 1, labels)
    lasting = {episode.cause for episode in episodes}
    for finding in diagnosis.findings:
        if finding.severity is Severity.INFO and finding.cause not in lasting:
            labels = {"cause": finding.cause, "cache": finding.cache or "", "severity": finding.severity}
            block.add(verdicts.FINDING, 1, labels)
    _first_screen(block, diagnosis, episodes)
    if diagnosis.impact:
        block.add(verdicts.IMPACT, diagnosis.impact.share_of_db_time)
        block.add(verdicts.IMPACT_SESSIONS, diagnosis.impact.waiting_sessions)
    for impact in diagnosis.surfaces:
        block.add(verdicts.SURFACE_IMPACT, impact.share_of_db_time, {"surface": impact.surface})
        block.add(verdicts.SURFACE_SESSIONS, impact.waiting_sessions, {"surface": impact.surface})
    for still in diagnosis.waiting:
        labels = {"event": still.event, "cache": still.cache}
        block.add(verdicts.HANGING_SESSIONS, still.hanging, labels)
        block.add(verdicts.LONGEST_WAIT, still.longest_seconds, labels)
    waiting: dict[tuple[str, str], float] = {}
    for group in diagnosis.who:
        waiting[group.event, group.cache] = waiting.get((group.event, group.cache), 0.0) + group.sessions
    for (event, name), sessions in waiting.items():
        block.add(verdicts.WAITING_SESSIONS, sessions, {"event": event, "cache": name})


def _first_screen(block: Block, diagnosis: Diagnosis, episodes: Sequence[Episode]) -> None:
    """What the first line of a dashboard says: every lasting episode with what to do now; else that there is none."""
    block.add(verdicts.SEVERITY, diagnosis.severity.rank)
    for episode in sorted(episodes, key=lambda episode: -episode.severity.rank):
        named = {
            "cause": episode.cause,
            "title": episode.title,
            "cache": episode.cache or "",
            "severity": episode.severity,
        }
        block.add(verdicts.VERDICT, 1, {**named, "action": action(episode.cause)})
        place = {"cause": episode.cause, "cache": episode.cache or ""}
        block.add(verdicts.EPISODE_BEGIN, episode.begin.timestamp(), place)
    if not episodes:
        fine = diagnosis.severity is Severity.INFO
        title, to_do = (
            ("Fine", "Nothing.") if fine else ("No known cause lasts", "Open the page: it says what is open.")
        )
        named = {"cause": "", "title": title, "cache": "", "severity": diagnosis.severity}
        block.add(verdicts.VERDICT, 1, {**named, "action": to_do})


def action(cause: str) -> str:
    """The one thing to do about a cause; empty for one that is gone."""
    known = catalogue().get(cause)
    return known.do_now if known else ""
