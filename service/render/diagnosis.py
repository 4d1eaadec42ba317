"""A Diagnosis as text for a terminal and as Markdown for a ticket: the same walk in the same order."""

from collections.abc import Iterator, Sequence

from collectors.model import Basis
from rules.cause import AnyOf, Cause, Condition
from rules.formatting import measured, needed
from rules.model import Diagnosis, DiagnosisBasis, Evidence, RuledOut
from service.intake.inputs import DiagnosedInput
from service.render.summary import HEADINGS, SummaryGroup, groups, lines


def as_text(told: Sequence[DiagnosedInput], *, verbose: bool = False) -> str:
    """Plain text: of several inputs a table first, then each database with its inputs in the order of time.

    `verbose`: every cause that was ruled out, with its number. Notes that all inputs share stand once, at the end.
    """
    if len(told) == 1:
        return "\n".join(_text(told[0].name, told[0].diagnosis, verbose, ()))
    shared = common_notes(told)
    each = [line for group in groups(told) for line in _text_of(group, verbose, shared)]
    return "\n".join([*_table(told), "", *each, *(f"Note on all inputs: {note}" for note in shared)])


def as_markdown(told: Sequence[DiagnosedInput]) -> str:
    """Markdown, in the same order, with every cause that was ruled out."""
    if len(told) == 1:
        return "\n".join(_markdown(told[0].name, told[0].diagnosis, ()))
    shared = common_notes(told)
    each = [line for group in groups(told) for line in _markdown_of(group, shared)]
    return "\n".join([*_markdown_table(told), "", *each, *(f"> On all inputs: {note}\n" for note in shared)])


def common_notes(told: Sequence[DiagnosedInput]) -> tuple[str, ...]:
    """The notes that all inputs with an interval share, in their order; none where there are not two of them."""
    each = [one.diagnosis.notes for one in told if one.diagnosis.basis]
    return tuple(note for note in each[0] if all(note in notes for notes in each)) if len(each) > 1 else ()


def _table(told: Sequence[DiagnosedInput]) -> Iterator[str]:
    rows = [HEADINGS, *(one.cells for one in lines(told))]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADINGS))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _markdown_table(told: Sequence[DiagnosedInput]) -> Iterator[str]:
    yield _row(HEADINGS)
    yield "|---" * len(HEADINGS) + "|"
    yield from (_row(one.cells) for one in lines(told))


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _text_of(group: SummaryGroup, verbose: bool, shared: Sequence[str]) -> Iterator[str]:
    if group.series:
        yield f"{group.database}: {group.series.sentence}"
        yield from (f"  Note: {note}" for note in group.notes)
        yield ""
    for one in group.told:
        yield from _text(one.name, one.diagnosis, verbose, shared)


def _markdown_of(group: SummaryGroup, shared: Sequence[str]) -> Iterator[str]:
    if group.series:
        yield f"# {group.database}\n\n{group.series.sentence}\n"
        yield from (f"> {note}\n" for note in group.notes)
    for one in group.told:
        yield from _markdown(one.name, one.diagnosis, shared)


def cause_as_text(cause: Cause) -> str:
    """A cause of the catalogue for a terminal."""
    return "\n".join(_cause(cause))


def _cause(cause: Cause) -> Iterator[str]:
    yield f"{cause.title} ({cause.id}, {cause.kb}, {cause.status})"
    span = " to ".join(one for one in (cause.releases.since, cause.releases.until) if one)
    yield f"shows on: {', '.join(cause.surfaces)}; caches: {', '.join(cause.caches) or 'none'}; releases: {span or 'all'}"
    yield f"\n{cause.explanation}\n"
    yield "Found when:" if cause.when else "A handbook entry: no polled signal finds it; check it where it fits."
    for one in cause.when:
        if isinstance(one, AnyOf):
            yield "  any of:"
            yield from (f"    {_condition(each)}" for each in one.any_of)
        else:
            yield f"  {_condition(one)}"
    if cause.confirm:
        yield f"\nConfirm: {cause.confirm.sql}\n  {cause.confirm.reading}"
    yield f"\nRemedy: {cause.remedy}\nRisk: {cause.risk}\nExpected effect: {cause.expected_effect}"
    yield f"Easily mistaken for it: {cause.false_positives}"
    for reference in cause.references:
        yield f"Reference: {reference.title}{f' ({reference.url})' if reference.url else ''}"


def _condition(one: Condition) -> str:
    return f"{one.signal} {one.needs} ({one.role}): {one.because}"


def _text(name: str, diagnosis: Diagnosis, verbose: bool, shared: Sequence[str]) -> Iterator[str]:
    yield f"{diagnosis.database} ({name})"
    yield f"{diagnosis.severity.upper()}: {diagnosis.headline}"
    yield _circumstances(diagnosis)
    for place, step in enumerate(diagnosis.steps, 1):
        yield f"{place:3}. {step.step}: {step.statement}"
    for one in diagnosis.findings:
        yield ""
        yield f"Found: {one.title} ({one.cause}), severity {one.severity}, confidence {one.confidence}"
        for held in one.evidence:
            derived = f" = {held.derivation}" if held.derivation else ""
            value, needs = compared(held)
            yield f"  + {held.signal} {value}{derived} (needs {needs}): {held.because}"
        for why in one.unknown:
            yield f"  ? not known: {why}"
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


def _ruled_out(diagnosis: Diagnosis, verbose: bool) -> Iterator[str]:
    """What a number speaks against: all of it, or how many and those that came nearest."""
    out = [one for one in diagnosis.ruled_out if one.signal not in ELSEWHERE]
    if verbose:
        yield from (f"Ruled out: {one.cause}, because {_against(one)}" for one in out)
        if elsewhere := _elsewhere(diagnosis):
            yield f"Not on this instance: {', '.join(elsewhere)} (other releases, or nothing of theirs here)"
    elif out:
        near = "; ".join(f"{one.cause}, because {_against(one)}" for one in nearest(out))
        yield f"Ruled out: {len(out)} causes (--verbose tells all), nearest: {near}"


def _against(one: RuledOut) -> str:
    value, needs = compared(one)
    return f"{one.signal} is {value} where it would need {needs}"


def nearest(out: Sequence[RuledOut]) -> Sequence[RuledOut]:
    """Those that came nearest to being found."""
    return sorted(out, key=lambda one: -_nearness(one))[:NEAREST]


def _nearness(one: RuledOut) -> float:
    """How much of what it needs is there, 0 to 1; 1 where all was and another cause explains it."""
    sign, _, bound = one.needs.partition(" ")
    if sign not in (">=", "<="):
        return 1.0
    part, whole = (one.value, float(bound)) if sign == ">=" else (float(bound), one.value)
    return min(max(part / whole, 0.0), 1.0) if whole else 0.0


def compared(one: Evidence | RuledOut) -> tuple[str, str]:
    """A value and what it is held against, both in one form."""
    sign, _, bound = one.needs.partition(" ")
    beside = float(bound) if sign in (">=", "<=") else None
    return measured(one.value, one.unit, beside), needed(one.needs, one.unit, one.value)


def _markdown(name: str, diagnosis: Diagnosis, shared: Sequence[str]) -> Iterator[str]:
    yield f"## {diagnosis.database} ({name})"
    yield f"**{diagnosis.severity}**: {diagnosis.headline}\n"
    yield f"{_circumstances(diagnosis)}\n"
    for place, step in enumerate(diagnosis.steps, 1):
        yield f"{place}. **{step.step}**: {step.statement}"
    for one in diagnosis.findings:
        yield f"\n### Found: {one.title} (severity {one.severity}, confidence {one.confidence})\n"
        yield "| signal | value | needs | because |\n|---|---|---|---|"
        for held in one.evidence:
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
    for one in diagnosis.undetermined:
        grouped.setdefault((one.why or one.missing, one.way_out), []).append(one.cause)
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
