"""The short answer at the head of a problem: what, how bad, since when, do, do not. A line of evidence stands below each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from collectors.model import spoken
from rules.cause import catalogue
from rules.explain.headline import speaks_against
from rules.formatting import compared, over, percent, sentence
from rules.miss_locations import merely_fits
from rules.model import CANNOT_TELL, Diagnosis, DiagnosisBasis, Evidence, Finding, Impact, Severity
from service.intake.inputs import DiagnosedInput
from service.render.parts import (
    DO_NOT,
    after_the_steps,
    basis_of,
    before_the_steps,
    clock,
    confidence_in,
    cost,
    not_judged,
    ruled_out,
    titled,
    wrapped,
)

WHAT, HOW_BAD, SINCE, DO = "What", "How bad", "Since when", "Do"
CHECK_FIRST, CONFIRM_FIRST = "Check first", "Confirm first"
TOLD = (DO, CHECK_FIRST, "Then", DO_NOT)
"""What the short answer says in full, so that nothing below repeats it."""
AS_EVIDENCE = ("Predicted", "Expected effect")
"""What speaks for the remedy; the first that there is."""


@dataclass(frozen=True, slots=True)
class ShortLine:
    """One of the five answers, and the line of evidence below it; empty where the answer holds it."""

    label: str
    words: str
    evidence: str = ""


def short_lines(diagnosed: DiagnosedInput) -> list[ShortLine]:
    """The five answers on the first finding that costs something, or on waits that no cause explains.

    Empty where there is no problem, where nothing could be judged, and for a hang or a log without a finding: there the headline
    and the lines below it, such as the wait chain, are the short answer.
    """
    diagnosis = diagnosed.diagnosis
    found = next((each for each in diagnosis.findings if each.severity is not Severity.INFO), None)
    if found is not None:
        return list(_lines(diagnosed, found))
    hangs = any(group.hanging for group in diagnosis.waiting) or diagnosis.blockers is not None
    known = (
        diagnosed.source in ("views", "report") and diagnosis.standing != CANNOT_TELL and diagnosis.impact is not None
    )
    if diagnosis.severity is Severity.INFO or hangs or not known:
        return []
    return list(_unexplained(diagnosed))


def short_text(answers: Sequence[ShortLine]) -> Iterator[str]:
    """The answers as lines for a terminal, with an empty line behind them."""
    for answer in answers:
        yield from wrapped(f"{answer.label}: {answer.words}")
        yield from (line for words in answer.evidence.splitlines() for line in wrapped(words, "  "))
    if answers:
        yield ""


def _lines(diagnosed: DiagnosedInput, finding: Finding) -> Iterator[ShortLine]:
    yield ShortLine(WHAT, f"{titled(finding)}, {confidence_in(finding, whole=False)}", _proof(finding))
    yield ShortLine(
        HOW_BAD,
        f"severity {finding.severity}; {cost(diagnosed, finding)}",
        _weight(finding.impact, diagnosed.diagnosis.basis),
    )
    yield _since(diagnosed)
    advice = {each.name: each.words for each in before_the_steps(finding)}
    do = advice[DO]
    if CONFIRM_FIRST in advice and speaks_against(finding) is None:
        do = f"first run the query below. If it confirms the cause: {do}"
    yield ShortLine(DO, do, _for_the_remedy(diagnosed.diagnosis, finding, advice))
    if DO_NOT in advice:
        # The texts name the mistake first and then what it costs.
        mistake, stop, harm = advice[DO_NOT].partition(". ")
        yield ShortLine(DO_NOT, f"{mistake}{stop.strip()}", harm)


def _unexplained(diagnosed: DiagnosedInput) -> Iterator[ShortLine]:
    diagnosis = diagnosed.diagnosis
    out = len(ruled_out(diagnosis))
    judged = f"Causes ruled out: {out}; not judged: {len(diagnosis.undetermined)}."
    yield ShortLine(WHAT, "row cache waits that no cause found so far explains", judged)
    share = diagnosis.impact.share_of_db_time if diagnosis.impact else None
    costs = "cost unknown" if share is None else f"costs {percent(share)} of DB time"
    yield ShortLine(HOW_BAD, f"severity {diagnosis.severity}; {costs}", _weight(diagnosis.impact, diagnosis.basis))
    yield _since(diagnosed)
    here = {trouble.surface for trouble in diagnosis.troubles}
    about = {  # a cause of waits that cost nothing asks for nothing
        reason: [cause for cause in causes if not here or here & {*catalogue()[cause].surfaces}]
        for reason, causes in not_judged(diagnosis).items()
    }
    reasons = sorted(about.items(), key=lambda item: -len(item[1]))
    for (why, way_out), causes in [each for each in reasons[:1] if each[1]]:
        many = f"{len(causes)} cause{'s' * (len(causes) > 1)}"
        yield ShortLine(
            DO,
            f"{sentence(way_out).rstrip('.;')}.",
            f"That is what {many} could not be judged for: {why.split(' (')[0]}.",
        )
    yield ShortLine(
        DO_NOT, "change a parameter or enlarge the shared pool for it yet.", "No figure here speaks for that."
    )


def _proof(finding: Finding) -> str:
    """The figure that tells this cause from others, and what it needs."""
    signs = [each for each in finding.evidence if not merely_fits(finding, each)]
    ranked = sorted(signs, key=lambda each: each.role != "discriminating")
    return _figure(ranked[0]) if ranked else ""


def _figure(sign: Evidence) -> str:
    name = sign.name or sign.signal
    counted = f" = {sign.derivation}" if sign.derivation else ""
    value, needs = (_without_unit(words, name, sign.unit) for words in compared(sign))
    return f"{sentence(name)}: {value}{counted} (needs {needs})."


def _without_unit(words: str, name: str, unit: str) -> str:
    """A value without the part of its unit that the name has: entries in the cache are 14,600, not 14,600 entries."""
    tail = unit if unit and name.startswith(unit) else ""
    if unit.startswith("s ") and name.endswith(unit[2:]):
        tail = unit[2:]
    return words.removesuffix(tail).rstrip()


def _weight(impact: Impact | None, basis: DiagnosisBasis | None) -> str:
    """What the cost rests on: sessions that wait, or why nobody knows."""
    if _total(basis):
        return "Totals since the start of an instance show no cost; two captures of one problem do."
    if impact is None or impact.waiting_sessions is None or impact.share_of_db_time is None or basis is None:
        return ""
    return f"{impact.waiting_sessions:.2f} sessions wait on average {over(basis_of(basis))}."


def _total(basis: DiagnosisBasis | None) -> bool:
    return basis is not None and basis.kind != "interval"


def _since(diagnosed: DiagnosedInput) -> ShortLine:
    """The earliest moment that is known. An interval shows that it lasted, and not that nothing was before."""
    diagnosis = diagnosed.diagnosis
    basis = diagnosis.basis
    longest = max(diagnosis.waiting, key=lambda group: group.longest_seconds, default=None)
    if diagnosis.waits_began is not None:
        return ShortLine(
            SINCE, clock(diagnosis.waits_began), "The oldest open problem, or the longest wait, began then."
        )
    if basis is None or basis.begin is None or basis.end is None or _total(basis):
        return ShortLine(SINCE, "unknown", "Totals hold everything since the instance started, but not when.")
    if longest is not None and longest.hanging:
        began = min(basis.begin, basis.end - timedelta(seconds=longest.longest_seconds))
        return ShortLine(
            SINCE,
            f"{clock(began)} or earlier",
            f"The longest wait for {longest.event} has lasted {spoken(longest.longest_seconds)}.",
        )
    of = "report" if diagnosed.source == "report" else "capture"
    end = f"{basis.end:%H:%M:%S}" if basis.end.date() == basis.begin.date() else clock(basis.end)
    return ShortLine(
        SINCE,
        f"{clock(basis.begin)} or earlier",
        f"The {of} covers the time from then to {end}; an older one shows whether it began before.",
    )


def _for_the_remedy(diagnosis: Diagnosis, finding: Finding, advice: dict[str, str]) -> str:
    """What must be true before, and what comes later; else what the remedy is worth."""
    if told := [f"{name}: {advice[name]}" for name in TOLD[1:3] if name in advice]:
        return "\n".join(told)
    worth = {each.name: each.words for each in after_the_steps(finding, diagnosis.prediction)}
    name = next((each for each in AS_EVIDENCE if each in worth), None)
    return f"{name}: {worth[name].split('. ')[0].rstrip('.')}." if name else ""
