"""A Diagnosis in few words for a terminal: what is wrong, what to do at what risk, why, and how to read on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rules.context import REMEMBER
from rules.explain.steps import LARGEST_WAIT
from rules.formatting import sentence
from rules.model import Diagnosis, Finding, Severity, Step, Undetermined
from service.intake.inputs import DiagnosedInput
from service.render.parts import (
    EFFECT,
    after_the_steps,
    before_the_steps,
    chain,
    cost,
    cost_beside,
    hang_steps,
    how_sure,
    nearest,
    not_judged,
    nothing_judged,
    ruled_out,
    titled,
    why_low,
    without_basis,
    wrapped,
)
from service.render.remedy import step_lines
from service.render.wait_chain import tree_lines

QUIET_WORDS, TROUBLE_WORDS = 120, 700
"""Most words of an answer, including statements to run. What you need to act comes first, the rest if it fits."""
MOST_MISSING, MOST_OPEN = 4, 3
BLOCKER = "blocker"
AS_PRINTED = "as printed"


@dataclass(frozen=True, slots=True)
class Part:
    """Some lines of an answer, and their replacement if they do not fit. Or lines that are always there."""

    lines: Sequence[str]
    instead: Sequence[str] = ()
    needed: bool = False


def brief(diagnosed: DiagnosedInput, head: Sequence[str], shared: Sequence[str] = ()) -> Iterator[str]:
    """The answer below its `head`, whose words count. Notes `shared` by all inputs are printed elsewhere."""
    diagnosis = diagnosed.diagnosis
    parts = [*_parts(diagnosed, shared), _not_judged(diagnosed), Part(list(_closing(diagnosis)), needed=True)]
    left = (QUIET_WORDS if diagnosis.severity is Severity.INFO else TROUBLE_WORDS) - _words(head)
    left -= sum(_words(part.lines if part.needed else part.instead) for part in parts)
    for part in parts:
        more = _words(part.lines) - _words(part.instead)
        fits = part.needed or more <= left
        left -= more if fits and not part.needed else 0
        yield from part.lines if fits else part.instead


def _words(lines: Sequence[str]) -> int:
    return sum(len(line.split()) for line in lines)


def _parts(diagnosed: DiagnosedInput, shared: Sequence[str]) -> Iterator[Part]:
    """What to do first, then what to remember, then why, then the rest."""
    diagnosis = diagnosed.diagnosis
    quiet = diagnosis.severity is Severity.INFO
    for step in hang_steps(diagnosis):
        if step.step == BLOCKER:
            yield Part(_blockers(diagnosis, step), needed=True)
    troubles = [finding for finding in diagnosis.findings if finding.severity is not Severity.INFO]
    for place, finding in enumerate(troubles):
        short = wrapped(
            f"Found too: {titled(finding)}; {cost_beside(diagnosed, finding, troubles[:place])}. {finding.do_now} "
            f"`latchscope causes show {finding.cause}` shows how."
        )
        yield Part(list(_finding(diagnosed, finding)), short, needed=not place)
    yield from (Part(wrapped(f"Note: {note}")) for note in diagnosis.notes if _weighs(note, shared))
    if not troubles and not nothing_judged(diagnosis):
        yield from _open(diagnosis)
    for step in (*hang_steps(diagnosis), *chain(diagnosis)):
        if step.step not in (BLOCKER, AS_PRINTED) and (not quiet or step.step == LARGEST_WAIT):
            yield Part(_step(diagnosis, step))
    for finding in diagnosis.findings:
        if finding.severity is Severity.INFO:
            words = f"Seen: {titled(finding)}, confidence {finding.confidence}; {cost(diagnosed, finding)}"
            yield Part(wrapped(words))
    if diagnosis.candidates:
        named = ", ".join(hint.cause for hint in diagnosis.candidates)
        yield Part(wrapped(f"Check by hand, because latchscope cannot measure it: {named}"))
    if out := ruled_out(diagnosis):
        near = ", ".join(verdict.cause for verdict in nearest(out))
        yield Part(wrapped(f"Ruled out: {len(out)} causes, nearest {near}."))


def _finding(diagnosed: DiagnosedInput, finding: Finding) -> Iterator[str]:
    """Everything you need to act on a finding."""
    yield from wrapped(f"Found: {titled(finding)}, {how_sure(finding, whole=False)}; {cost(diagnosed, finding)}")
    if why := why_low(finding):
        yield from wrapped(f"Confidence is low, because {why}.", "  ")
    yield from wrapped(finding.lede, "  ")
    for name, words in before_the_steps(finding):
        yield from wrapped(f"{name}: {words}", "  ")
    yield from step_lines(finding.remedy_steps, diagnosed.diagnosis.release, "  ", whole=False)
    for name, words in after_the_steps(finding, diagnosed.diagnosis.prediction):
        if name != EFFECT:
            yield from wrapped(f"{name}: {words}", "  ")


def _blockers(diagnosis: Diagnosis, step: Step) -> Sequence[str]:
    """The wait chains as trees; a diagnosis of an older release has only the prose."""
    found = diagnosis.blockers
    return list(tree_lines(found)) if found and found.chains else _step(diagnosis, step)


def _step(diagnosis: Diagnosis, step: Step) -> Sequence[str]:
    return wrapped(f"{sentence(step.step)}: {without_basis(diagnosis, step.statement)}")


def _weighs(note: str, shared: Sequence[str]) -> bool:
    """Whether a note is about this input, and not about every printed report or a default assumption."""
    return note not in shared and note != REMEMBER and not note.startswith("assumed: ")


def _open(diagnosis: Diagnosis) -> Iterator[Part]:
    """Causes that could not be judged, for the most frequent reasons. Where those are all, they come at least in short."""
    reasons = sorted(not_judged(diagnosis).items(), key=lambda item: -len(item[1]))
    for (why, way_out), causes in reasons[:MOST_OPEN]:
        short = f"Not judged: {_many(causes)}, because {why.split(' (')[0]}."
        whole = wrapped(f"Cannot tell: {', '.join(causes)}, because {why}. Way out: {way_out}")
        yield Part(whole, wrapped(short) if _all_listed(diagnosis) else ())


def _all_listed(diagnosis: Diagnosis) -> bool:
    """Whether the reasons why causes are open are all listed, so that nothing needs to count them."""
    quiet = all(finding.severity is Severity.INFO for finding in diagnosis.findings)
    return quiet and len(not_judged(diagnosis)) <= MOST_OPEN


def _many(causes: Sequence[object]) -> str:
    return f"{len(causes)} cause" + "s" * (len(causes) > 1)


def _not_judged(diagnosed: DiagnosedInput) -> Part:
    """How many causes are open, and the reason that most of them share; where that is too long, the views they lack."""
    diagnosis = diagnosed.diagnosis
    open_ = diagnosis.undetermined
    if not open_ or nothing_judged(diagnosis) or _all_listed(diagnosis):
        return Part([])
    causes = _many(open_)
    (why, _), most = max(not_judged(diagnosis).items(), key=lambda item: len(item[1]))
    others = _lacking([verdict for verdict in open_ if verdict.cause not in most])
    because = f"because {why.split(' (')[0]}"
    reasons = f"{len(most)} of them {because}; the others lack {others}" if others else because
    # A report may lack one row of a view of which other rows are quoted above, so the view's name alone would mislead.
    if others and diagnosed.source == "report":
        reasons = f"{len(most)} of them {because}"
    short = "; --verbose shows why" if diagnosed.source == "report" else f". Missing: {_lacking(open_)}"
    return Part(wrapped(f"Not judged: {causes}, {reasons}."), wrapped(f"Not judged: {causes}{short}."))


def _lacking(verdicts: Sequence[Undetermined]) -> str:
    missing = list(dict.fromkeys(verdict.missing for verdict in verdicts))
    return ", ".join(missing[:MOST_MISSING]) + ", …" * (len(missing) > MOST_MISSING)


def _closing(diagnosis: Diagnosis) -> Iterator[str]:
    """That nothing could be judged, or how to read on."""
    if gap := nothing_judged(diagnosis):
        yield from wrapped(f"Nothing could be judged: {gap[0]}. Way out: {gap[1]}")
        return
    yield from wrapped("--verbose shows the rest: steps, evidence, why causes are ruled out or open, notes.")
