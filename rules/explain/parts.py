"""Each trouble in words: its cache, its part of the cost, and its cause or what is open; alike in headline, story and page."""

from collections.abc import Iterator, Sequence

from rules.cause import catalogue
from rules.context import SURFACE_EVENTS
from rules.formatting import percent
from rules.model import Diagnosis, Finding, Trouble


def in_words(trouble: Trouble, findings: Sequence[Finding]) -> str:
    """dc_users (row cache mutex) costs 23.9 %: cause open."""
    event = SURFACE_EVENTS.get(trouble.surface, "the result cache latch")
    cause = next((finding.name for finding in findings if finding.cause in trouble.causes), None)
    what = f"{trouble.cache} ({event})" if trouble.cache else event
    return f"{what} {costs(trouble)}: {cause[:1].lower() + cause[1:] if cause else 'cause open'}"


def costs(trouble: Trouble) -> str:
    """Its part of DB time, or of the sessions that wait."""
    if trouble.share_of_db_time is None:
        return f"keeps {trouble.waiting_sessions or 0.0:.2f} sessions waiting"
    return f"costs {percent(trouble.share_of_db_time)}"


def parts_in_words(diagnosis: Diagnosis) -> Iterator[str]:
    """Where there are several troubles: each with its cause's id, or with the causes that could not be judged."""
    for trouble in diagnosis.troubles if len(diagnosis.troubles) > 1 else ():
        said = in_words(trouble, diagnosis.findings)
        missing = {one.missing: one.cause for one in diagnosis.undetermined if _may_be(one.cause, trouble)}
        left = [f"{cause} needs {view}" for view, cause in missing.items()]
        about = ", ".join(trouble.causes or left) or "nothing that is known fits"
        yield f"{said} ({about})"


def _may_be(name: str, trouble: Trouble) -> bool:
    """Whether an open cause is about a trouble."""
    cause = catalogue().get(name)
    if cause is None or cause.drags or trouble.surface not in cause.surfaces:
        return False
    return not trouble.cache or not set(trouble.caches).isdisjoint(cause.caches)
