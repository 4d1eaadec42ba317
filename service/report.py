"""A Diagnosis as text for a terminal and as Markdown for a ticket: the same walk in the same order."""

from collections.abc import Iterator, Mapping

from collectors.model import Basis
from rules.model import Diagnosis, DiagnosisBasis
from rules.words import number as spelled
from rules.words import percent


def as_text(told: Mapping[str, Diagnosis]) -> str:
    """Plain text, one block per input."""
    return "\n".join("\n".join(_text(name, one)) for name, one in told.items())


def as_markdown(told: Mapping[str, Diagnosis]) -> str:
    """Markdown, one section per input."""
    return "\n".join("\n".join(_markdown(name, one)) for name, one in told.items())


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
            yield f"  + {held.signal} {_value(held.value, held.unit)}{derived} (needs {held.needs}): {held.because}"
        for why in one.unknown:
            yield f"  ? not known: {why}"
    yield ""
    for out in diagnosis.ruled_out:
        yield f"Ruled out: {out.cause}, because {out.signal} is {_value(out.value, out.unit)} where it would need {out.needs}"
    for open_one in diagnosis.undetermined:
        yield f"Cannot tell: {open_one.cause}, because {open_one.why or open_one.missing}. Way out: {open_one.way_out}"
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
            yield f"| {held.signal} | {_value(held.value, held.unit)} | {held.needs} | {held.because} |"
    if diagnosis.ruled_out:
        yield "\n### Ruled out\n\n| cause | signal | value | would need |\n|---|---|---|---|"
        for out in diagnosis.ruled_out:
            yield f"| {out.cause} | {out.signal} | {_value(out.value, out.unit)} | {out.needs} |"
    if diagnosis.undetermined:
        yield "\n### Cannot tell\n\n| cause | why | way out |\n|---|---|---|"
        for open_one in diagnosis.undetermined:
            yield f"| {open_one.cause} | {open_one.why or open_one.missing} | {open_one.way_out} |"
    for note in diagnosis.notes:
        yield f"\n> {note}"
    yield ""


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
