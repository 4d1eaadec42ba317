"""Other checks beside the verdict: what else is found, what fits, what is ruled out and what cannot be judged."""

from collections.abc import Sequence
from dataclasses import dataclass

from rules.cause import catalogue
from rules.formatting import compared
from rules.model import Candidate, Diagnosis, Finding, RuledOut, Severity, Undetermined
from service.render.parts import ELSEWHERE, nothing_judged, same_waits


@dataclass(frozen=True, slots=True)
class CheckedCause:
    """A cause that was not found: why, and what it would need or the way out."""

    cause: str
    title: str
    signal: str = ""
    value: str = ""
    needs: str = ""
    why: str = ""
    way_out: str = ""


@dataclass(frozen=True, slots=True)
class CheckedView:
    """The checks beside the verdict."""

    also: Sequence[Finding]
    candidates: Sequence[Candidate]
    ruled_out: Sequence[CheckedCause]
    elsewhere: int
    undetermined: Sequence[CheckedCause]
    notes: Sequence[str]
    nothing: tuple[str, str] | None
    same_waits: Sequence[str]
    """Causes in `also` that explain waits of a finding above them."""
    open_gaps: bool


def checked_view(diagnosis: Diagnosis, shown: Finding | None, shared: Sequence[str], printed: bool) -> CheckedView:
    also = [finding for finding in diagnosis.findings if finding is not shown and finding.severity is not Severity.INFO]
    out = [verdict for verdict in diagnosis.ruled_out if verdict.signal not in ELSEWHERE]
    return CheckedView(
        also=also,
        candidates=diagnosis.candidates,
        ruled_out=[_ruled_out(verdict) for verdict in out],
        elsewhere=len(diagnosis.ruled_out) - len(out),
        undetermined=[_undetermined(verdict) for verdict in diagnosis.undetermined],
        notes=[note for note in diagnosis.notes if note not in shared],
        nothing=nothing_judged(diagnosis),
        same_waits=[
            finding.cause
            for place, finding in enumerate(diagnosis.findings)
            if same_waits(finding, diagnosis.findings[:place])
        ],
        open_gaps=printed and bool(diagnosis.undetermined),
    )


def _named(cause: str) -> str:
    known = catalogue().get(cause)
    return known.name if known else cause


def _ruled_out(verdict: RuledOut) -> CheckedCause:
    value, needs = compared(verdict)
    return CheckedCause(verdict.cause, _named(verdict.cause), signal=verdict.signal, value=value, needs=in_words(needs))


def _undetermined(verdict: Undetermined) -> CheckedCause:
    return CheckedCause(
        verdict.cause, _named(verdict.cause), why=verdict.why or verdict.missing, way_out=verdict.way_out
    )


def in_words(needs: str) -> str:
    """>= 50.0 % → at least 50 %."""
    for sign, shown in ((">= ", "at least "), ("<= ", "at most ")):
        needs = f"{shown}{needs.removeprefix(sign)}" if needs.startswith(sign) else needs
    return needs.replace(".0 %", " %")
