"""The samples of a verdict: what is active, what it costs, since when, and what to do now."""

from collections.abc import Iterator, Sequence

from rules.cause import Cause, catalogue, hedged
from rules.explain.headline import speaks_against
from rules.model import Confidence, Diagnosis, Finding, Severity
from service.metrics import verdicts
from service.metrics.family import FamilySample, Labels
from service.state import summary
from service.state.episodes import Episode


def verdict_samples(diagnosis: Diagnosis, episodes: Sequence[Episode]) -> Iterator[FamilySample]:
    """What is active: troubles while their episode lasts, so that they do not flap, and findings that are only a note."""
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
    """The first line of a dashboard, in the words of the page: every open episode, else the last poll."""
    yield verdicts.SEVERITY, diagnosis.severity.rank if diagnosis.basis else None, {}
    shown = {finding.cause: finding for finding in diagnosis.findings}
    for episode in sorted(episodes, key=lambda episode: -episode.severity.rank):
        yield verdicts.VERDICT, 1, _lasting(episode, shown.get(episode.cause), diagnosis)
        about = {"cause": episode.cause, "cache": episode.cache or ""}
        yield verdicts.EPISODE_BEGIN, episode.begin.timestamp(), about
        taken_at = diagnosis.basis.end if diagnosis.basis else None
        began = summary.since_when(episode, shown.get(episode.cause), diagnosis.waiting, taken_at)
        yield verdicts.TROUBLE_SINCE, round(began.timestamp()), about
    if not episodes:
        yield verdicts.VERDICT, 1, _of_the_poll(diagnosis)


def _lasting(episode: Episode, finding: Finding | None, diagnosis: Diagnosis) -> Labels:
    """An episode. It is easing if a poll with figures no longer shows it, with the severity of the waits that it left."""
    easing = summary.easing_of(diagnosis, (episode,))
    if easing is not None and (finding is None or finding.severity is Severity.INFO):
        severity, action, do_not = episode.severity, summary.WAIT_AND_SEE, summary.NOT_MORE
        if not episode.waits:
            severity, action, do_not = Severity.INFO, summary.GOES_ON, summary.NOT_CURED
        easing = easing.model_copy(update={"waits": episode.waits})
        return _words(episode.cause, summary.eased_title(easing), episode.cache, severity, action, do_not=do_not)
    known = catalogue().get(episode.cause)
    if known is None:
        return _words(episode.cause, episode.title, episode.cache, episode.severity, "")
    return _words(episode.cause, *_sentences(known, finding, episode.cache, episode.severity))


def _of_the_poll(diagnosis: Diagnosis) -> Labels:
    """Without episodes: the first finding of the poll, that nothing is wrong, or that nothing is known."""
    finding = diagnosis.findings[0] if diagnosis.findings else None
    if finding is not None and (known := catalogue().get(finding.cause)):
        return _words(finding.cause, *_sentences(known, finding, finding.cache, finding.severity))
    if diagnosis.basis is None:
        return _words(
            "", summary.NOTHING_TOLD, None, diagnosis.severity, "Wait for the next poll.", do_not=summary.NOT_YET
        )
    if diagnosis.severity is Severity.INFO:
        return _words("", summary.NOTHING_TO_DO, None, diagnosis.severity, summary.GOES_ON, do_not=summary.NOT_TO_TUNE)
    return _words("", summary.UNEXPLAINED, None, diagnosis.severity, summary.LOOK, do_not=summary.NOT_BLINDLY)


def _sentences(
    known: Cause, finding: Finding | None, cache: str | None, severity: Severity
) -> tuple[str, str | None, Severity, str, str, str]:
    """Title, cache, severity, action, check and what not to do, as sure as the finding.

    Without figures, because they would start new series.
    """
    title, action, check = known.title, known.do_now, known.check_first or ""
    if finding is not None:
        against = speaks_against(finding)
        title = hedged(known.title, known.hedge_after, finding.confidence, against is not None)
        if against or finding.confidence is Confidence.LOW:
            action = f"Look first: {action}"
    return title, cache, severity, action, check, known.do_not


def _words(
    cause: str, title: str, cache: str | None, severity: Severity, action: str, check: str = "", do_not: str = ""
) -> Labels:
    return {
        "cause": cause,
        "title": title,
        "cache": cache or "",
        "severity": severity,
        "action": action,
        "check": check,
        "do_not": do_not,
    }
