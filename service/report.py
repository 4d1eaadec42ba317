"""A Diagnosis as text for a terminal and as Markdown for a ticket: the same walk in the same order."""

from collections.abc import Iterator, Sequence

from collectors.model import Basis
from rules.cause import AnyOf, Cause, Condition
from rules.model import Diagnosis, DiagnosisBasis
from rules.words import number as spelled
from rules.words import percent
from service.inputs import Diagnosed
from service.summary import HEADINGS, Group, groups, lines


def as_text(told: Sequence[Diagnosed]) -> str:
    """Plain text: of several inputs a table first, then each database with its inputs in the order of time."""
    if len(told) == 1:
        return "\n".join(_text(told[0].name, told[0].diagnosis))
    return "\n".join([*_table(told), "", *(line for group in groups(told) for line in _text_of(group))])


def as_markdown(told: Sequence[Diagnosed]) -> str:
    """Markdown, in the same order."""
    if len(told) == 1:
        return "\n".join(_markdown(told[0].name, told[0].diagnosis))
    return "\n".join([*_markdown_table(told), "", *(line for group in groups(told) for line in _markdown_of(group))])


def _table(told: Sequence[Diagnosed]) -> Iterator[str]:
    rows = [HEADINGS, *(one.cells for one in lines(told))]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADINGS))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _markdown_table(told: Sequence[Diagnosed]) -> Iterator[str]:
    yield _row(HEADINGS)
    yield "|---" * len(HEADINGS) + "|"
    yield from (_row(one.cells) for one in lines(told))


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _text_of(group: Group) -> Iterator[str]:
    if group.series:
        yield f"{group.database}: {group.series.sentence}\n"
    for one in group.told:
        yield from _text(one.name, one.diagnosis)


def _markdown_of(group: Group) -> Iterator[str]:
    if group.series:
        yield f"# {group.database}\n\n{group.series.sentence}\n"
    for one in group.told:
        yield from _markdown(one.name, one.diagnosis)


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


def _text(name: str, diagnosis: Diagnosis) -> Iterator[str]:
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
            needs = _needs(held.needs, held.unit)
            yield f"  + {held.signal} {_value(held.value, held.unit)}{derived} (needs {needs}): {held.because}"
        for why in one.unknown:
            yield f"  ? not known: {why}"
    yield ""
    for out in diagnosis.ruled_out:
        if out.signal not in ELSEWHERE:
            value = _value(out.value, out.unit)
            yield f"Ruled out: {out.cause}, because {out.signal} is {value} where it would need {_needs(out.needs, out.unit)}"
    if elsewhere := _elsewhere(diagnosis):
        yield f"Not on this instance: {', '.join(elsewhere)} (other releases, or nothing of theirs here)"
    for hint in diagnosis.candidates:
        yield f"Worth a look: {hint.title} ({hint.cause}), which no polled signal can find"
    for (why, way_out), causes in _open(diagnosis).items():
        yield f"Cannot tell: {', '.join(causes)}, because {why}. Way out: {way_out}"
    for note in diagnosis.notes:
        yield f"Note: {note}"
    yield ""


def _markdown(name: str, diagnosis: Diagnosis) -> Iterator[str]:
    yield f"## {diagnosis.database} ({name})"
    yield f"**{diagnosis.severity}**: {diagnosis.headline}\n"
    yield f"{_circumstances(diagnosis)}\n"
    for place, step in enumerate(diagnosis.steps, 1):
        yield f"{place}. **{step.step}**: {step.statement}"
    for one in diagnosis.findings:
        yield f"\n### Found: {one.title} (severity {one.severity}, confidence {one.confidence})\n"
        yield "| signal | value | needs | because |\n|---|---|---|---|"
        for held in one.evidence:
            yield f"| {held.signal} | {_value(held.value, held.unit)} | {_needs(held.needs, held.unit)} | {held.because} |"
    if diagnosis.ruled_out:
        yield "\n### Ruled out\n\n| cause | signal | value | would need |\n|---|---|---|---|"
        for out in diagnosis.ruled_out:
            if out.signal not in ELSEWHERE:
                yield f"| {out.cause} | {out.signal} | {_value(out.value, out.unit)} | {_needs(out.needs, out.unit)} |"
        if elsewhere := _elsewhere(diagnosis):
            yield f"\nNot on this instance: {', '.join(elsewhere)}"
    if diagnosis.undetermined:
        yield "\n### Cannot tell\n\n| cause | why | way out |\n|---|---|---|"
        for (why, way_out), causes in _open(diagnosis).items():
            yield f"| {', '.join(causes)} | {why} | {way_out} |"
    for note in diagnosis.notes:
        yield f"\n> {note}"
    yield ""


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


def _circumstances(diagnosis: Diagnosis) -> str:
    release = f"Oracle {diagnosis.release}" if diagnosis.release else "release unknown"
    guarded = f"row cache guarded by {diagnosis.mechanism}es" if diagnosis.mechanism else "mechanism unknown"
    return f"{release}, {guarded}; figures are {_basis(diagnosis.basis)}."


def _basis(basis: DiagnosisBasis | None) -> str:
    if basis is None:
        return "not available yet"
    return f"of {Basis(basis.kind, basis.begin, basis.end, basis.seconds)}"


def _value(value: float, unit: str) -> str:
    return percent(value) if unit == "ratio" and 0 <= value <= 1 else f"{spelled(value)} {unit}".strip()


def _needs(needs: str, unit: str) -> str:
    """A comparison in the form its value is told in."""
    sign, _, bound = needs.partition(" ")
    if sign not in (">=", "<="):
        return needs
    return f"{sign} {_value(float(bound), unit)}"
