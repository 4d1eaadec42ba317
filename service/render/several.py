"""Several inputs: each cause once per confidence and advice, with the figures of its worst input and the names of the others."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from collectors.model import Delta
from rules.explain.headline import speaks_against
from rules.model import CANNOT_TELL, Diagnosis, Finding, Severity
from rules.remedy import where
from rules.trends import same_interval
from service.intake.inputs import DiagnosedInput
from service.render.parts import nothing_judged, why_low, wrapped
from service.render.summary import HEADINGS, SummaryGroup, lines, troubles, worst_first

STATES = ("Critical", "Warning", "Notice", "Fine")


@dataclass(frozen=True, slots=True)
class CauseShown:
    """The worst of the inputs that one cause explains equally surely, or none does, and the others."""

    worst: DiagnosedInput
    others: tuple[DiagnosedInput, ...]

    @property
    def holds_for(self) -> str:
        """Which other inputs it holds for, as a sentence; empty where there is none."""
        if not self.others:
            return ""
        found = troubles(self.worst.diagnosis)
        what = f"The same cause, confidence {found[0].confidence}," if found else "No known cause either"
        inputs = "1 other input" if len(self.others) == 1 else f"{len(self.others)} other inputs"
        return f"{what} in {inputs}: {', '.join(map(self._named, self.others))}"

    def _named(self, other: DiagnosedInput) -> str:
        """Its name, and why its confidence is low if the worst has another reason."""
        told, own = ([why_low(each) for each in troubles(entry.diagnosis)[:1]] for entry in (self.worst, other))
        return f"{other.name} (here because {own[0]})" if own not in (told, [None]) else other.name


def causes_shown(diagnosed: Sequence[DiagnosedInput]) -> list[CauseShown]:
    """Every cause once per confidence and advice, the worst first; inputs that are fine or could not be judged are none of them.

    An input without a cause gives way to another of the same interval that has one.
    """
    found: dict[tuple[object, ...], list[DiagnosedInput]] = {}
    for entry in worst_first(diagnosed):
        leading = troubles(entry.diagnosis)
        if leading:
            key = (_advice(entry.diagnosis, leading[0]), *((each.cause, each.confidence) for each in leading[1:]))
            found.setdefault(key, []).append(entry)
        elif _unexplained(entry) and _explaining(entry, diagnosed) is None:
            found.setdefault((), []).append(entry)
    return [CauseShown(worst, tuple(others)) for worst, *others in found.values()]


def _advice(diagnosis: Diagnosis, finding: Finding) -> tuple[object, ...]:
    """What must be equal for two inputs to share one text: certain advice must never speak for an uncertain input."""
    steps, release = finding.remedy_steps, diagnosis.release
    return (
        finding.cause,
        finding.confidence,
        finding.identity,
        speaks_against(finding) is not None,
        finding.confirm.sql if finding.confirm else None,
        finding.do_now or finding.remedy,
        tuple(
            (step.do, step.text(release), step.in_cluster, step.not_possible, where(step, release)) for step in steps
        ),
    )


def _unexplained(entry: DiagnosedInput) -> bool:
    """Whether its waits cost something and no cause was found."""
    diagnosis = entry.diagnosis
    open_ = diagnosis.severity is not Severity.INFO and diagnosis.standing != CANNOT_TELL
    return open_ and not troubles(diagnosis)


def _explaining(entry: DiagnosedInput, diagnosed: Sequence[DiagnosedInput]) -> DiagnosedInput | None:
    """The input of the same interval of the same database that names a cause."""
    change = entry.change
    if not isinstance(change, Delta):
        return None
    others = (each for each in diagnosed if isinstance(each.change, Delta) and same_interval(each.change, change))
    return next((each for each in others if troubles(each.diagnosis)), None)


def explained_elsewhere(diagnosed: Sequence[DiagnosedInput]) -> Iterator[str]:
    """Inputs without a cause whose interval another input explains."""
    for entry in diagnosed:
        if _unexplained(entry) and (other := _explaining(entry, diagnosed)) is not None:
            yield (
                f"{entry.name} has no cause of its own, because it holds less; read {other.name} instead: it has the "
                f"same interval and names {troubles(other.diagnosis)[0].cause}"
            )


def tally(diagnosed: Sequence[DiagnosedInput]) -> str:
    """How many inputs are how bad: "34 inputs: 25 critical, 5 fine, 2 cannot be judged"."""
    stands = [entry.diagnosis.standing for entry in diagnosed]
    many = [f"{stands.count(state)} {state.lower()}" for state in STATES if state in stands]
    unjudged = stands.count(CANNOT_TELL)
    return f"{len(diagnosed)} inputs: {', '.join([*many, *([f'{unjudged} cannot be judged'] if unjudged else [])])}"


def table(diagnosed: Sequence[DiagnosedInput]) -> Iterator[str]:
    """One line for each input, the worst first. It is never wrapped, so that it can be searched and sorted."""
    rows = [HEADINGS, *(line.cells for line in lines(diagnosed))]
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(HEADINGS))]
    for cells in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def unjudged(diagnosed: Sequence[DiagnosedInput]) -> Iterator[str]:
    """Which inputs could not be judged, why, and the way out; those of one reason together."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for entry in diagnosed:
        if entry.diagnosis.standing == CANNOT_TELL:
            reason = nothing_judged(entry.diagnosis) or (entry.diagnosis.headline, "")
            grouped.setdefault(reason, []).append(entry.name)
    for (why, way_out), names in grouped.items():
        out = f". Way out: {way_out}" if way_out else ""
        yield f"Could not be judged: {', '.join(names)}: {why}{out}"


def courses(groups: Sequence[SummaryGroup]) -> Iterator[str]:
    """Of each database with several intervals where the trouble began and how it moves."""
    for group in groups:
        if group.series and len(group.series.points) > 1:
            yield f"{group.database}: {group.series.sentence}"


def left_out(groups: Sequence[SummaryGroup]) -> Iterator[str]:
    """What keeps the inputs of a database from being one unbroken series."""
    for group in groups:
        yield from (f"{group.database}: {note}" for note in group.notes)


def paragraphs(statements: Iterable[str]) -> list[str]:
    """Statements as lines for a terminal with an empty line behind them; nothing where there is none."""
    found = [line for statement in statements for line in wrapped(statement)]
    return [*found, ""] if found else []
