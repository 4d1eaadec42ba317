"""A Diagnosis as text for a terminal and as Markdown for a ticket: what to do first, then the steps that led there."""

from collections.abc import Iterator, Sequence

from rules.base import FOUNDED_ON
from rules.cause import AnyOf, Cause, Condition
from rules.formatting import compared, sentence
from rules.miss_locations import merely_fits
from rules.model import Diagnosis, Finding
from rules.remedy import Texts
from service.characters import visible
from service.intake.inputs import DiagnosedInput
from service.render.brief import BLOCKER, brief
from service.render.markdown import inline, row
from service.render.parts import (
    DO_NOT,
    after_the_steps,
    against,
    before_the_steps,
    chain,
    circumstances,
    cited,
    cost_beside,
    elsewhere,
    hang_steps,
    how_sure,
    not_judged,
    nothing_judged,
    ruled_out,
    titled,
    wrapped,
)
from service.render.remedy import step_lines, steps_as_markdown, steps_of_every_release
from service.render.several import (
    causes_shown,
    courses,
    explained_elsewhere,
    left_out,
    paragraphs,
    table,
    tally,
    unjudged,
)
from service.render.summary import HEADINGS, groups, lines, short_names, worst_first
from service.render.wait_chain import tree_as_markdown, tree_lines

ON_ALL = "Note on all inputs"
LATCHES_UNTIL = "12.1"
"""The last release whose row cache latches guard."""


def as_text(diagnosed: Sequence[DiagnosedInput], *, verbose: bool = False) -> str:
    """Plain text. For several inputs a table first, then each cause once, then what could not be judged or was left out.

    `verbose`: every input with every step, the evidence, every ruled-out cause with its number, and every note. Otherwise what
    you need to act, in few words. Notes that all inputs share come once, at the end.
    """
    if len(diagnosed) == 1:
        return "\n".join(map(visible, _text(diagnosed[0], verbose, ())))
    return "\n".join(map(visible, _text_of_several(short_names(diagnosed), verbose)))


def as_markdown(diagnosed: Sequence[DiagnosedInput]) -> str:
    """Markdown, in the same order, with every cause that was ruled out for the worst input."""
    if len(diagnosed) == 1:
        return "\n".join(_markdown(diagnosed[0], ()))
    return "\n".join(_markdown_of_several(short_names(diagnosed)))


def common_notes(diagnosed: Sequence[DiagnosedInput]) -> tuple[str, ...]:
    """The notes that all inputs with an interval share, in order. None with fewer than two of them."""
    each = [entry.diagnosis.notes for entry in diagnosed if entry.diagnosis.basis]
    return tuple(note for note in each[0] if all(note in notes for notes in each)) if len(each) > 1 else ()


def _text_of_several(diagnosed: Sequence[DiagnosedInput], verbose: bool) -> Iterator[str]:
    shared, found = common_notes(diagnosed), groups(diagnosed)
    yield from wrapped(f"{tally(diagnosed)}.")
    yield ""
    yield from table(diagnosed)
    yield ""
    yield from paragraphs(courses(found))
    if verbose:
        for entry in worst_first(diagnosed):
            yield from _text(entry, True, shared)
    else:
        for shown in causes_shown(diagnosed):
            yield from _text(shown.worst, False, shared, shown.holds_for)
        yield from paragraphs([*explained_elsewhere(diagnosed), *unjudged(diagnosed)])
    for note in left_out(found):
        yield from wrapped(f"Note: {note}")
    for note in shared:
        yield from wrapped(f"{ON_ALL}: {note}")


def _markdown_of_several(diagnosed: Sequence[DiagnosedInput]) -> Iterator[str]:
    shared, found = common_notes(diagnosed), groups(diagnosed)
    yield f"{tally(diagnosed)}.\n"
    yield row(HEADINGS)
    yield "|---" * len(HEADINGS) + "|"
    yield from (row(line.cells) for line in lines(diagnosed))
    yield ""
    yield from (f"{inline(course)}\n" for course in courses(found))
    for shown in causes_shown(diagnosed):
        yield from _markdown(shown.worst, shared, shown.holds_for)
    also = (*explained_elsewhere(diagnosed), *unjudged(diagnosed))
    for statement in (*also, *left_out(found), *(f"On all inputs: {note}" for note in shared)):
        yield f"> {inline(statement)}\n"


def cause_as_text(cause: Cause) -> str:
    """A cause of the catalogue for a terminal."""
    return "\n".join(_cause(cause))


def _cause(cause: Cause) -> Iterator[str]:
    yield from wrapped(f"{cause.name} ({cause.id}, entry {cause.kb}, {cause.status}: {FOUNDED_ON[cause.status]})")
    yield from wrapped(f"{cause.title}. {cause.lede}")
    shows = f"shows on: {', '.join(cause.surfaces)}; caches: {', '.join(cause.caches) or 'none'}"
    yield from wrapped(f"{shows}; releases: {_releases(cause)}")
    yield from wrapped(f"Do now: {cause.do_now}")
    yield from wrapped(f"Check first: {cause.check_first}") if cause.check_first else ()
    yield from wrapped(f"{DO_NOT}: {cause.do_not.removeprefix(DO_NOT).strip()}")
    yield from ("", *wrapped(cause.explanation), "")
    yield "Found when:" if cause.when else "A handbook entry: no polled signal finds it; check it where it fits."
    for condition in cause.when:
        if isinstance(condition, AnyOf):
            yield "  any of:"
            yield from (line for each in condition.any_of for line in wrapped(_condition(each), "    "))
        else:
            yield from wrapped(_condition(condition), "  ")
    if cause.confirm:
        yield f"\nConfirm: {_texts(cause.confirm.sql)}"
        yield from wrapped(cause.confirm.scale, "  ")
        if cause.confirm.names:
            yield f"  The first five rows name what is counted: {_texts(cause.confirm.names)}"
    yield "\nRemedy:"
    yield from steps_of_every_release(cause.remedy_steps)
    yield from ("", *wrapped(f"Expected effect: {cause.expected_effect}"))
    yield from wrapped(f"Easily mistaken for it: {cause.false_positives}")
    for reference in cause.references:
        yield from wrapped(f"Reference: {reference.title}{f' ({reference.url})' if reference.url else ''}")


def _releases(cause: Cause) -> str:
    """The releases that can have it. One that shows on the latches alone ends with them."""
    since, until = cause.releases.since, cause.releases.until
    if cause.surfaces == ("latch",):
        until = until or LATCHES_UNTIL
    if since and until:
        return f"{since} to {until}"
    return f"from {since} on" if since else f"up to {until}" if until else "all"


def _texts(given: Texts) -> str:
    if isinstance(given, str):
        return given
    return "".join(f"\n  from {release} on: {text}" for release, text in given.items())


def _condition(condition: Condition) -> str:
    return f"{condition.signal} {condition.needs} ({condition.role}): {condition.because}"


def _text(diagnosed: DiagnosedInput, verbose: bool, shared: Sequence[str], others: str = "") -> Iterator[str]:
    diagnosis = diagnosed.diagnosis
    head = [
        *wrapped(f"{diagnosis.database} ({diagnosed.name})"),
        *wrapped(f"{diagnosed.graded.upper()}: {diagnosis.headline}"),
        *wrapped(circumstances(diagnosis)),
    ]
    yield from head
    yield from wrapped(f"{others}.") if others else ()
    yield from _whole(diagnosed, shared) if verbose else brief(diagnosed, head, shared)
    yield ""


def _whole(diagnosed: DiagnosedInput, shared: Sequence[str]) -> Iterator[str]:
    """All of a Diagnosis: what to do, the chain, the evidence, what was ruled out, what is open, the notes."""
    diagnosis = diagnosed.diagnosis
    for step in hang_steps(diagnosis):
        if step.step == BLOCKER and diagnosis.blockers and diagnosis.blockers.chains:
            yield from tree_lines(diagnosis.blockers)
        else:
            yield from wrapped(f"{step.step}: {step.statement}", "  ")
    for place, finding in enumerate(diagnosis.findings):
        yield ""
        yield from _finding(diagnosed, finding, diagnosis.findings[:place])
    yield ""
    for number, step in enumerate(chain(diagnosis), 1):
        yield from wrapped(f"{number}. {step.step}: {step.statement}", "  ")
    yield ""
    for verdict in ruled_out(diagnosis):
        yield from wrapped(f"Ruled out: {verdict.cause}, because {against(verdict)}")
    if others := elsewhere(diagnosis):
        yield from wrapped(f"Not on this instance: {', '.join(others)} (other releases, or nothing of theirs here)")
    for hint in diagnosis.candidates:
        yield from wrapped(f"Check by hand: {hint.title} ({hint.cause}), which latchscope cannot measure")
    if gap := nothing_judged(diagnosis):
        yield from wrapped(f"Nothing could be judged: {gap[0]}. Way out: {gap[1]}")
    else:
        for (why, way_out), causes in not_judged(diagnosis).items():
            yield from wrapped(f"Cannot tell: {', '.join(causes)}, because {why}. Way out: {way_out}")
    for note in diagnosis.notes:
        if note not in shared:
            yield from wrapped(f"Note: {note}")


def _finding(diagnosed: DiagnosedInput, finding: Finding, earlier: Sequence[Finding]) -> Iterator[str]:
    yield from wrapped(f"Found: {titled(finding)}, {how_sure(finding)}; {cost_beside(diagnosed, finding, earlier)}")
    for name, words in before_the_steps(finding):
        yield from wrapped(f"{name}: {words}", "  ")
    yield from step_lines(finding.remedy_steps, diagnosed.diagnosis.release, "  ", whole=True)
    for name, words in after_the_steps(finding, diagnosed.diagnosis.prediction):
        yield from wrapped(f"{name}: {words}", "  ")
    yield from wrapped(f"Why: {finding.explanation}", "  ")
    for held in finding.evidence:
        derived = f" = {held.derivation}" if held.derivation else ""
        value, needs = compared(held)
        mark = "fits:" if merely_fits(finding, held) else "+"
        yield from wrapped(f"{mark} {held.signal} {value}{derived} (needs {needs}): {held.because}", "  ")
    for why in finding.unknown:
        yield from wrapped(f"? not known: {why}", "  ")
    for reference in cited(finding):
        yield from wrapped(f"Reference: {reference}", "  ")


def _markdown(diagnosed: DiagnosedInput, shared: Sequence[str], others: str = "") -> Iterator[str]:
    diagnosis = diagnosed.diagnosis
    yield f"## {inline(diagnosis.database)} ({inline(diagnosed.name)})"
    yield f"**{diagnosed.graded}**: {inline(diagnosis.headline)}\n"
    if others:
        yield f"{inline(others)}.\n"
    yield f"{inline(circumstances(diagnosis))}\n"
    for step in hang_steps(diagnosis):
        if step.step == BLOCKER and diagnosis.blockers and diagnosis.blockers.chains:
            yield from tree_as_markdown(diagnosis.blockers)
        else:
            yield f"**{inline(step.step)}**: {inline(step.statement)}\n"
    for place, finding in enumerate(diagnosis.findings):
        yield from _markdown_finding(diagnosed, finding, diagnosis.findings[:place])
    if steps := chain(diagnosis):
        yield "\n### Steps\n"
        yield from (
            f"{number}. **{inline(step.step)}**: {inline(step.statement)}" for number, step in enumerate(steps, 1)
        )
    yield from _markdown_verdicts(diagnosis)
    for note in diagnosis.notes:
        if note not in shared:
            yield f"\n> {inline(note)}"
    yield ""


def _markdown_finding(diagnosed: DiagnosedInput, finding: Finding, earlier: Sequence[Finding]) -> Iterator[str]:
    yield f"\n### Found: {inline(titled(finding))}\n"
    yield f"{sentence(how_sure(finding))}; {cost_beside(diagnosed, finding, earlier)}.\n"
    if finding.lede:
        yield f"{inline(finding.lede)}\n"
    yield from (f"- **{name}**: {inline(words)}" for name, words in before_the_steps(finding))
    if finding.remedy_steps:
        yield "\n#### What to do\n"
        yield from steps_as_markdown(finding.remedy_steps, diagnosed.diagnosis.release)
        yield "\n#### What to know\n"
    entries = [
        *after_the_steps(finding, diagnosed.diagnosis.prediction),
        ("Why", finding.explanation),
        *(("Not known", why) for why in finding.unknown),
    ]
    entries += (("Reference", reference) for reference in cited(finding))
    yield from (f"- **{name}**: {inline(words)}" for name, words in entries)
    yield "\n| signal | value | needs | because |\n|---|---|---|---|"
    for held in finding.evidence:
        value, needs = compared(held)
        yield row((held.signal, value, needs, held.because))


def _markdown_verdicts(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.ruled_out:
        yield "\n### Ruled out\n\n| cause | signal | value | would need |\n|---|---|---|---|"
        for out in ruled_out(diagnosis):
            value, needs = compared(out)
            yield row((out.cause, out.signal, value, needs))
        if others := elsewhere(diagnosis):
            yield f"\nNot on this instance: {', '.join(others)}"
    if gap := nothing_judged(diagnosis):
        yield f"\nNothing could be judged: {inline(gap[0])}. Way out: {inline(gap[1])}"
    elif diagnosis.undetermined:
        yield "\n### Cannot tell\n\n| cause | why | way out |\n|---|---|---|"
        for (why, way_out), causes in not_judged(diagnosis).items():
            yield row((", ".join(causes), why, way_out))
