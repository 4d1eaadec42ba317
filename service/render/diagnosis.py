"""A Diagnosis as text for a terminal and as Markdown for a ticket: the same walk in the same order."""

from collections.abc import Iterator, Sequence

from collectors.model import Basis
from rules.cause import AnyOf, Cause, Condition
from rules.explanation.confirmation import record_of
from rules.formatting import compared
from rules.model import Diagnosis, DiagnosisBasis, RuledOut
from rules.query import Confirmation, Texts
from service.intake.inputs import DiagnosedInput
from service.render.summary import HEADINGS, SummaryGroup, groups, lines


def as_text(diagnosed: Sequence[DiagnosedInput], *, verbose: bool = False) -> str:
    """Plain text: of several inputs a table first, then each database with its inputs in the order of time.

    `verbose`: every cause that was ruled out, with its number. Notes that all inputs share stand once, at the end.
    """
    if len(diagnosed) == 1:
        return "\n".join(_text(diagnosed[0].name, diagnosed[0].diagnosis, verbose, ()))
    shared = common_notes(diagnosed)
    each = [line for group in groups(diagnosed) for line in _text_of(group, verbose, shared)]
    return "\n".join([*_table(diagnosed), "", *each, *(f"Note on all inputs: {note}" for note in shared)])


def as_markdown(diagnosed: Sequence[DiagnosedInput]) -> str:
    """Markdown, in the same order, with every cause that was ruled out."""
    if len(diagnosed) == 1:
        return "\n".join(_markdown(diagnosed[0].name, diagnosed[0].diagnosis, ()))
    shared = common_notes(diagnosed)
    each = [line for group in groups(diagnosed) for line in _markdown_of(group, shared)]
    return "\n".join([*_markdown_table(diagnosed), "", *each, *(f"> On all inputs: {note}\n" for note in shared)])


def common_notes(diagnosed: Sequence[DiagnosedInput]) -> tuple[str, ...]:
    """The notes that all inputs with an interval share, in their order; none where there are not two of them."""
    each = [entry.diagnosis.notes for entry in diagnosed if entry.diagnosis.basis]
    return tuple(note for note in each[0] if all(note in notes for notes in each)) if len(each) > 1 else ()


def _table(diagnosed: Sequence[DiagnosedInput]) -> Iterator[str]:
    rows = [HEADINGS, *(line.cells for line in lines(diagnosed))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _markdown_table(diagnosed: Sequence[DiagnosedInput]) -> Iterator[str]:
    yield _row(HEADINGS)
    yield "|---" * len(HEADINGS) + "|"
    yield from (_row(line.cells) for line in lines(diagnosed))


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _text_of(group: SummaryGroup, verbose: bool, shared: Sequence[str]) -> Iterator[str]:
    if group.series:
        yield f"{group.database}: {group.series.sentence}"
        yield from (f"  Note: {note}" for note in group.notes)
        yield ""
    for entry in group.diagnosed:
        yield from _text(entry.name, entry.diagnosis, verbose, shared)


def _markdown_of(group: SummaryGroup, shared: Sequence[str]) -> Iterator[str]:
    if group.series:
        yield f"# {group.database}\n\n{group.series.sentence}\n"
        yield from (f"> {note}\n" for note in group.notes)
    for entry in group.diagnosed:
        yield from _markdown(entry.name, entry.diagnosis, shared)


def cause_as_text(cause: Cause) -> str:
    """A cause of the catalogue for a terminal."""
    return "\n".join(_cause(cause))


def _cause(cause: Cause) -> Iterator[str]:
    yield f"{cause.title} ({cause.id}, {cause.kb}, {cause.status})"
    span = " to ".join(release for release in (cause.releases.since, cause.releases.until) if release)
    yield f"shows on: {', '.join(cause.surfaces)}; caches: {', '.join(cause.caches) or 'none'}; releases: {span or 'all'}"
    yield f"\n{cause.explanation}\n"
    yield "Found when:" if cause.when else "A handbook entry: no polled signal finds it; check it where it fits."
    for condition in cause.when:
        if isinstance(condition, AnyOf):
            yield "  any of:"
            yield from (f"    {_condition(each)}" for each in condition.any_of)
        else:
            yield f"  {_condition(condition)}"
    if cause.confirm:
        yield f"\nConfirm: {_texts(cause.confirm.sql)}\n  {cause.confirm.reading}"
        if cause.confirm.names:
            yield f"  The first five rows name what is counted: {_texts(cause.confirm.names)}"
    yield f"\nRemedy: {cause.remedy}\nRisk: {cause.risk}\nExpected effect: {cause.expected_effect}"
    yield f"Easily mistaken for it: {cause.false_positives}"
    for reference in cause.references:
        yield f"Reference: {reference.title}{f' ({reference.url})' if reference.url else ''}"


def _texts(given: Texts) -> str:
    if isinstance(given, str):
        return given
    return "".join(f"\n  from {release} on: {text}" for release, text in given.items())


def _condition(condition: Condition) -> str:
    return f"{condition.signal} {condition.needs} ({condition.role}): {condition.because}"


def _text(name: str, diagnosis: Diagnosis, verbose: bool, shared: Sequence[str]) -> Iterator[str]:
    yield f"{diagnosis.database} ({name})"
    yield f"{diagnosis.severity.upper()}: {diagnosis.headline}"
    yield _circumstances(diagnosis)
    for number, step in enumerate(diagnosis.steps, 1):
        yield f"{number:3}. {step.step}: {step.statement}"
    for finding in diagnosis.findings:
        yield ""
        yield f"Found: {finding.title} ({finding.cause}), severity {finding.severity}, confidence {finding.confidence}"
        for held in finding.evidence:
            derived = f" = {held.derivation}" if held.derivation else ""
            value, needs = compared(held)
            yield f"  + {held.signal} {value}{derived} (needs {needs}): {held.because}"
        for why in finding.unknown:
            yield f"  ? not known: {why}"
        if finding is not diagnosis.findings[0]:  # of the first one a step has told it
            yield from _confirmation(finding.confirm)
    yield ""
    yield from _ruled_out(diagnosis, verbose)
    for hint in diagnosis.candidates:
        yield f"Worth a look: {hint.title} ({hint.cause}), which no polled signal can find"
    if gap := nothing_judged(diagnosis):
        yield f"Nothing could be judged: {gap[0]}. Way out: {gap[1]}"
    else:
        for (why, way_out), causes in _open(diagnosis).items():
            yield f"Cannot tell: {', '.join(causes)}, because {why}. Way out: {way_out}"
    for note in diagnosis.notes:
        if note not in shared:
            yield f"Note: {note}"
    yield ""


def _confirmation(query: Confirmation | None) -> Iterator[str]:
    if query is not None and query.result is not None:
        yield f"  = the confirming query gave {record_of(query)}"
    if query is not None and query.obstacle:
        yield f"  ! the confirming query cannot run here: {query.obstacle}"


def _ruled_out(diagnosis: Diagnosis, verbose: bool) -> Iterator[str]:
    """What a number speaks against: all of it, or how many and those that came nearest."""
    out = [verdict for verdict in diagnosis.ruled_out if verdict.signal not in ELSEWHERE]
    if verbose:
        yield from (f"Ruled out: {verdict.cause}, because {_against(verdict)}" for verdict in out)
        if elsewhere := _elsewhere(diagnosis):
            yield f"Not on this instance: {', '.join(elsewhere)} (other releases, or nothing of theirs here)"
    elif out:
        near = "; ".join(f"{verdict.cause}, because {_against(verdict)}" for verdict in nearest(out))
        yield f"Ruled out: {len(out)} causes (--verbose tells all), nearest: {near}"


def _against(ruled_out: RuledOut) -> str:
    value, needs = compared(ruled_out)
    return f"{ruled_out.signal} is {value} where it would need {needs}"


def nearest(out: Sequence[RuledOut]) -> Sequence[RuledOut]:
    """Those that came nearest to being found."""
    return sorted(out, key=lambda verdict: -_nearness(verdict))[:NEAREST]


def _nearness(ruled_out: RuledOut) -> float:
    """How much of what it needs is there, 0 to 1; 1 where all was and another cause explains it."""
    sign, _, bound = ruled_out.needs.partition(" ")
    if sign not in (">=", "<="):
        return 1.0
    part, whole = (ruled_out.value, float(bound)) if sign == ">=" else (float(bound), ruled_out.value)
    return min(max(part / whole, 0.0), 1.0) if whole else 0.0


def _markdown(name: str, diagnosis: Diagnosis, shared: Sequence[str]) -> Iterator[str]:
    yield f"## {diagnosis.database} ({name})"
    yield f"**{diagnosis.severity}**: {diagnosis.headline}\n"
    yield f"{_circumstances(diagnosis)}\n"
    for number, step in enumerate(diagnosis.steps, 1):
        yield f"{number}. **{step.step}**: {step.statement}"
    for finding in diagnosis.findings:
        yield f"\n### Found: {finding.title} (severity {finding.severity}, confidence {finding.confidence})\n"
        yield "| signal | value | needs | because |\n|---|---|---|---|"
        for held in finding.evidence:
            value, needs = compared(held)
            yield f"| {held.signal} | {value} | {needs} | {held.because} |"
    if diagnosis.ruled_out:
        yield "\n### Ruled out\n\n| cause | signal | value | would need |\n|---|---|---|---|"
        for out in diagnosis.ruled_out:
            if out.signal not in ELSEWHERE:
                value, needs = compared(out)
                yield f"| {out.cause} | {out.signal} | {value} | {needs} |"
        if elsewhere := _elsewhere(diagnosis):
            yield f"\nNot on this instance: {', '.join(elsewhere)}"
    if gap := nothing_judged(diagnosis):
        yield f"\nNothing could be judged: {gap[0]}. Way out: {gap[1]}"
    elif diagnosis.undetermined:
        yield "\n### Cannot tell\n\n| cause | why | way out |\n|---|---|---|"
        for (why, way_out), causes in _open(diagnosis).items():
            yield f"| {', '.join(causes)} | {why} | {way_out} |"
    for note in diagnosis.notes:
        if note not in shared:
            yield f"\n> {note}"
    yield ""


NEAREST = 3
ELSEWHERE = ("release", "mechanism")
"""What rules a cause out without a number: it belongs to other releases, or shows where this instance has nothing."""


def _elsewhere(diagnosis: Diagnosis) -> list[str]:
    return [out.cause for out in diagnosis.ruled_out if out.signal in ELSEWHERE]


def _open(diagnosis: Diagnosis) -> dict[tuple[str, str], list[str]]:
    """Causes that could not be judged, by the reason they share."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for verdict in diagnosis.undetermined:
        grouped.setdefault((verdict.why or verdict.missing, verdict.way_out), []).append(verdict.cause)
    return grouped


def nothing_judged(diagnosis: Diagnosis) -> tuple[str, str] | None:
    """The one reason and the way out, where no cause at all could be judged."""
    reasons = _open(diagnosis)
    return next(iter(reasons)) if len(reasons) == 1 and not (diagnosis.findings or diagnosis.ruled_out) else None


def _circumstances(diagnosis: Diagnosis) -> str:
    release = f"Oracle {diagnosis.release}" if diagnosis.release else "release unknown"
    guarded = f"row cache guarded by {diagnosis.mechanism}es" if diagnosis.mechanism else "mechanism unknown"
    return f"{release}, {guarded}; {_basis(diagnosis.basis)}."


def _basis(basis: DiagnosisBasis | None) -> str:
    if basis is None:
        return "there are no figures"
    return f"figures are of {Basis(basis.kind, basis.begin, basis.end, basis.seconds)}"
