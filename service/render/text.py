"""A Diagnosis as text for a terminal and as Markdown for a ticket: what to do first, then the steps that led there."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rules.base import FOUNDED_ON
from rules.cause import AnyOf, Cause, Condition
from rules.changes import told
from rules.confirmation import speaks_against
from rules.explain.story import LABELS, Paragraph, story, tell
from rules.formatting import compared, percent, sentence
from rules.miss_locations import merely_fits
from rules.model import CANNOT_TELL, Diagnosis, Finding, Severity
from rules.remedy import Texts, where
from service.escape import fenced, inline, pasted, row, visible
from service.intake.inputs import DiagnosedInput, short_names
from service.render.parts import (
    CLOSE,
    CLOSEST,
    DO_NOT,
    Advice,
    after_the_steps,
    against,
    before_the_steps,
    chain,
    circumstances,
    closest,
    code_lines,
    columns,
    cost_beside,
    elsewhere,
    hang_steps,
    how_sure,
    in_markdown,
    in_text,
    logged_lines,
    not_judged,
    nothing_judged,
    ruled_out,
    steps_of,
    steps_of_every_release,
    titled,
    tree_parts,
    why_low,
    wrapped,
)
from service.render.summary import HEADINGS, groups, lines, same_interval, troubles, worst_first

BLOCKER, LOG = "blocker", "From the log"
LOGS = ("alert log", "trace")

# The first screen of a story in a terminal, and in Markdown a list. The rest is behind `-v`.

MOST_LINES = 12
"""With the line that names the input and the one that says how to read on."""
HEAVIEST = 9
"""The weight of what is never left out; its statements go last."""


def first_lines(paragraphs: Sequence[Paragraph], most: int | None) -> list[str]:
    """The paragraphs as lines, at most `most`. The lightest lose sentences, then statements; of weight 5 and less all goes."""
    shown = list(paragraphs)
    lines = [_lines(each) for each in shown]
    for cut, weights in _CUTS if most is not None else ():
        for place in sorted(range(len(shown)), key=lambda place: (shown[place].weight, -place)):
            if shown[place].weight in weights and sum(map(len, lines)) > (most or 0):
                shown[place] = cut(shown[place])
                lines[place] = _lines(shown[place])
    return [line for each in lines for line in each]


def _lines(paragraph: Paragraph) -> list[str]:
    label = f"{paragraph.label}: " if paragraph.label else ""
    lines = wrapped(f"{label}{paragraph.words}") if paragraph.words else []
    for place, code in enumerate(paragraph.code):
        lines += code_lines(code, "  ", whole=place > 0)
    return lines


def _sentences(paragraph: Paragraph) -> Paragraph:
    """Its first sentence; of the weightiest the first two."""
    if not paragraph.words:
        return paragraph
    kept = paragraph.words.split(". ")[: 2 if paragraph.weight == HEAVIEST else 1]
    words = ". ".join(kept)
    return replace(paragraph, words=words if words.endswith((".", "?")) else f"{words}.")


def _without_code(paragraph: Paragraph) -> Paragraph:
    return replace(paragraph, code=())


def _left_out(paragraph: Paragraph) -> Paragraph:
    return replace(paragraph, words="", code=())


_CUTS = (
    (_sentences, range(9)),
    (_left_out, range(6)),
    (_without_code, range(9)),
    (_sentences, range(10)),
    (_left_out, range(8)),
    (_without_code, range(10)),
)
"""What is cut one after the other until the lines fit, and of which weights."""


def first_list(paragraphs: Sequence[Paragraph]) -> Iterator[str]:
    """The same as a list in Markdown, whole."""
    for each in paragraphs:
        yield f"- {f'**{each.label}**: ' if each.label else ''}{inline(each.words)}"
        yield from (f"\n{fenced(' '.join(code.split()), indent='  ')}\n" for code in each.code)


# Several inputs: each cause once per confidence and advice, with the figures of its worst input and the names of the
# others.

STATES = ("Critical", "Warning", "Notice", "Elsewhere", "Quiet", "Fine")


@dataclass(frozen=True, slots=True)
class CauseShown:
    """The worst of the inputs that one cause explains equally surely, or none does, and the others."""

    worst: DiagnosedInput
    others: tuple[DiagnosedInput, ...]
    differs_from: str = ""
    """An input that was shown before: of the same cause on the same database, with another figure in what to do."""

    @property
    def beside(self) -> str:
        """Which other inputs it holds for, and whose figures differ; empty where there is nothing to say."""
        said = []
        found = troubles(self.worst.diagnosis)
        if self.others:
            what = f"The same cause, confidence {found[0].confidence}," if found else "No known cause either"
            inputs = "1 other input" if len(self.others) == 1 else f"{len(self.others)} other inputs"
            said.append(f"{what} in {inputs}: {', '.join(map(self._named, self.others))}.")
        if self.differs_from:
            said.append(f"What to do is by the figures of {self.worst.name}; {self.differs_from} has others.")
        return " ".join(said)

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
    shown: list[CauseShown] = []
    for worst, *others in found.values():
        before = (each.worst for each in shown if _other_figures(worst.diagnosis, each.worst.diagnosis))
        shown.append(CauseShown(worst, tuple(others), next((each.name for each in before), "")))
    return shown


def _other_figures(one: Diagnosis, other: Diagnosis) -> bool:
    """Whether both are of one database and name one cause, with different words of what to do."""
    mine, theirs = troubles(one)[:1], troubles(other)[:1]
    same = one.database == other.database and [each.cause for each in mine] == [each.cause for each in theirs]
    return same and [each.do_now for each in mine] != [each.do_now for each in theirs]


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
    others = (each for each in diagnosed if same_interval(entry, each))
    return next((each for each in others if troubles(each.diagnosis)), None)


NOTABLE = 0.25
"""From this share of database time on, another wait is named beside the table."""


def explained_elsewhere(diagnosed: Sequence[DiagnosedInput]) -> Iterator[str]:
    """Inputs without a cause whose interval another input explains, and those that wait for something else."""
    for entry in diagnosed:
        if _unexplained(entry) and (other := _explaining(entry, diagnosed)) is not None:
            yield (
                f"{entry.name} has no cause of its own, because it holds less; read {other.name} instead: it has the "
                f"same interval and names {troubles(other.diagnosis)[0].cause}"
            )
    waits: dict[str, list[str]] = {}
    for entry in diagnosed:
        most = entry.diagnosis.other_wait
        if entry.diagnosis.severity is Severity.INFO and most is not None and most.share_of_db_time >= NOTABLE:
            where = entry.diagnosis.database if entry.name in entry.diagnosis.database else entry.name
            waits.setdefault(most.event, []).append(f"{percent(most.share_of_db_time)} in {where}")
    for event, shares in waits.items():
        yield f"Elsewhere: {event} is the largest wait, of database time {', '.join(shares)}"


def tally(diagnosed: Sequence[DiagnosedInput]) -> str:
    """How many inputs are how bad: "34 inputs: 25 critical, 5 fine, 2 cannot be judged"."""
    stands = [entry.diagnosis.standing for entry in diagnosed]
    many = [f"{stands.count(state)} {state.lower()}" for state in STATES if state in stands]
    unjudged = stands.count(CANNOT_TELL)
    return f"{len(diagnosed)} inputs: {', '.join([*many, *([f'{unjudged} cannot be judged'] if unjudged else [])])}"


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


def _notes_of_databases(diagnosed: Sequence[DiagnosedInput]) -> list[str]:
    return [f"{group.database}: {note}" for group in groups(diagnosed) for note in group.notes]


def paragraphs(statements: Iterable[str]) -> list[str]:
    """Statements as lines for a terminal with an empty line behind them; nothing where there is none."""
    found = [line for statement in statements for line in wrapped(statement)]
    return [*found, ""] if found else []


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
    shared = common_notes(diagnosed)
    yield from wrapped(f"{tally(diagnosed)}.")
    yield ""
    yield from columns([HEADINGS, *(line.cells for line in lines(diagnosed))])
    yield ""
    if verbose:
        for entry in worst_first(diagnosed):
            yield from _text(entry, True, shared)
    else:
        for shown in causes_shown(diagnosed):
            yield from _text(shown.worst, False, shared, shown.beside)
        yield from paragraphs([*explained_elsewhere(diagnosed), *unjudged(diagnosed)])
    for note in _notes_of_databases(diagnosed):
        yield from wrapped(f"Note: {note}")
    for note in shared:
        yield from wrapped(f"{ON_ALL}: {note}")


def _markdown_of_several(diagnosed: Sequence[DiagnosedInput]) -> Iterator[str]:
    shared = common_notes(diagnosed)
    yield f"{tally(diagnosed)}.\n"
    yield row(HEADINGS)
    yield "|---" * len(HEADINGS) + "|"
    yield from (row(line.cells) for line in lines(diagnosed))
    yield ""
    for shown in causes_shown(diagnosed):
        yield from _markdown(shown.worst, shared, shown.beside)
    also = (*explained_elsewhere(diagnosed), *unjudged(diagnosed))
    for statement in (*also, *_notes_of_databases(diagnosed), *(f"On all inputs: {note}" for note in shared)):
        yield f"> {inline(statement)}\n"


def cause_as_text(cause: Cause) -> str:
    """A cause of the catalogue for a terminal."""
    return "\n".join(_cause(cause))


def _cause(cause: Cause) -> Iterator[str]:
    yield from wrapped(
        f"{cause.name} ({cause.id}, knowledge base {cause.kb}, {cause.status}: {FOUNDED_ON[cause.status]})"
    )
    yield from wrapped(f"{cause.title}. {cause.lede}")
    shows = f"shows on: {', '.join(cause.surfaces)}; caches: {', '.join(cause.caches) or 'none'}"
    yield from wrapped(f"{shows}; releases: {_releases(cause)}")
    yield from wrapped(f"{LABELS['do']}: {cause.do_now}")
    yield from wrapped(f"{LABELS['then']}: {cause.then}") if cause.then else ()
    yield from wrapped(f"{LABELS['check']}: {cause.check_first}") if cause.check_first else ()
    yield from wrapped(f"{DO_NOT}: {cause.do_not.removeprefix(DO_NOT).strip()}")
    yield from ("", *wrapped(cause.explanation), "")
    yield "Found when:" if cause.when else "A handbook cause: no polled figure finds it; check it where it fits."
    for condition in cause.when:
        if isinstance(condition, AnyOf):
            yield "  any of:"
            yield from (line for each in condition.any_of for line in wrapped(_condition(each), "    "))
        else:
            yield from wrapped(_condition(condition), "  ")
    if cause.confirm:
        yield f"\nConfirm: {_texts(cause.confirm.sql)}"
        yield from wrapped(cause.confirm.scale, "  ")
        yield from wrapped(cause.confirm.limits, "  ") if cause.confirm.limits else ()
        if cause.confirm.names:
            yield f"  The first five rows name what is counted: {_texts(cause.confirm.names)}"
    yield "\nRemedy:"
    yield from in_text(steps_of_every_release(cause.remedy_steps))
    yield from ("", *wrapped(f"Expected effect: {cause.expected_effect}"))
    for fix in cause.fixes:
        yield from wrapped(f"Bug {fix.bug}: affects {fix.affects.in_words}, fixed in {fix.comes_in}")
    for reference in cause.references:
        yield from wrapped(f"Reference: {reference.title}{f' ({reference.url})' if reference.url else ''}")
    yield from wrapped(f"When this is wrong: {cause.false_positives}")


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
        return pasted(given)
    return "".join(f"\n  from {release} on:\n  {pasted(text)}" for release, text in given.items())


def _condition(condition: Condition) -> str:
    since = condition.must_be_known_since
    role = f"{condition.role}, must be known from {since} on" if since else condition.role
    return f"{condition.signal} {condition.needs} ({role}): {condition.because}"


def _text(diagnosed: DiagnosedInput, verbose: bool, shared: Sequence[str], others: str = "") -> Iterator[str]:
    diagnosis = diagnosed.diagnosis
    named, more = wrapped(f"{diagnosis.database} ({diagnosed.name})"), wrapped(tell("more"))
    yield from (*named, *wrapped(others))
    yield from first_lines(story(diagnosis, diagnosed.source), None if verbose else MOST_LINES - len(named) - len(more))
    if verbose:
        yield ""
        yield from wrapped(f"{diagnosis.headline}.")
        yield from wrapped(circumstances(diagnosis, log=diagnosed.source in LOGS))
        yield from in_text(_rest(diagnosed, shared))
    else:
        yield from more
    yield ""


def _markdown(diagnosed: DiagnosedInput, shared: Sequence[str], others: str = "") -> Iterator[str]:
    diagnosis = diagnosed.diagnosis
    yield f"## {inline(diagnosis.database)} ({inline(diagnosed.name)})"
    yield f"**{diagnosed.told}**: {inline(diagnosis.headline)}\n"
    if others:
        yield f"{inline(others)}\n"
    yield from first_list(story(diagnosis, diagnosed.source))
    yield f"\n{inline(circumstances(diagnosis, log=diagnosed.source in LOGS))}"
    yield from in_markdown(_rest(diagnosed, shared))
    yield ""


def _rest(diagnosed: DiagnosedInput, shared: Sequence[str]) -> Iterator[Advice]:
    """All of a Diagnosis behind its first screen: causes and how they were found, what is ruled out or open, the notes."""
    diagnosis = diagnosed.diagnosis
    for step in hang_steps(diagnosis):
        if step.step == BLOCKER and diagnosis.blockers and diagnosis.blockers.chains:
            yield from tree_parts(diagnosis.blockers)
        else:
            yield Advice(step.step, step.statement)
    for place, finding in enumerate(diagnosis.findings):
        yield from _finding(diagnosed, finding, diagnosis.findings[:place])
    if steps := chain(diagnosis):
        yield Advice("Steps", "", kind="heading")
        yield from (Advice(f"{number}.", f"{step.step}: {step.statement}") for number, step in enumerate(steps, 1))
    if diagnosis.events:
        yield Advice(LOG, "", kind="heading")
        for line in logged_lines(diagnosis):
            yield Advice(line.clock, f"{line.text}{f'; {line.trace_file}' if line.trace_file else ''}")
    if diagnosis.changes or diagnosis.changes_missing:
        yield Advice("What changed", "", kind="heading")
        yield from (Advice("", told(change, diagnosis.waits_began)) for change in diagnosis.changes or ())
        yield from (Advice("Not known", line) for line in diagnosis.changes_missing)
    yield from _others(diagnosis)
    if notes := [note for note in diagnosis.notes if note not in shared]:
        yield Advice("Notes", "", kind="heading")
        yield from (Advice("Note", note) for note in notes)


def _finding(diagnosed: DiagnosedInput, finding: Finding, earlier: Sequence[Finding]) -> Iterator[Advice]:
    """A cause that is found, without what the story says already of the first one that costs something."""
    diagnosis = diagnosed.diagnosis
    first = next((each for each in diagnosis.findings if each.severity is not Severity.INFO), None)
    hangs = diagnosis.blockers is not None and bool(diagnosis.blockers.chains)
    said = {"do", "check", "do not"} if finding is first and not hangs else set[str]()
    yield Advice("Found", titled(finding), kind="heading")
    yield Advice("", f"{sentence(how_sure(finding))}; {cost_beside(diagnosed, finding, earlier)}.")
    yield from [Advice("", finding.lede)] if finding.lede and finding is not first else []
    yield from (each for each in before_the_steps(finding) if each.kind not in said)
    yield from steps_of(finding.remedy_steps, diagnosis.release)
    yield from after_the_steps(finding, diagnosis.prediction)
    yield Advice("Why", finding.explanation)
    for held in finding.evidence:
        derived = f" = {held.derivation}" if held.derivation else ""
        value, needs = compared(held)
        mark = "fits:" if merely_fits(finding, held) else "+"
        yield Advice("", f"{mark} {held.signal} {value}{derived} (needs {needs}): {held.because}")
    yield from (Advice("Not known", why) for why in finding.unknown)
    if bound := closest(finding):
        yield Advice(CLOSEST, f"{bound}.")
    for reference in finding.references:
        yield Advice("Reference", f"{reference.title} ({reference.url})" if reference.url else reference.title)


def _others(diagnosis: Diagnosis) -> Iterator[Advice]:
    """The causes that are not found: ruled out, of other instances, not measured, or not judged."""
    yield Advice("Other causes", "", kind="heading")
    for verdict in ruled_out(diagnosis):
        close = f"; {CLOSE}" if verdict.nearest_bound else ""
        yield Advice("Ruled out", f"{verdict.cause}, because {against(verdict)}{close}")
    if others := elsewhere(diagnosis):
        yield Advice("Not on this instance", f"{', '.join(others)} (other releases, or nothing of theirs here)")
    for hint in diagnosis.candidates:
        yield Advice("Check by hand", f"{hint.title} ({hint.cause}), which latchscope cannot measure")
    if gap := nothing_judged(diagnosis):
        yield Advice("Nothing could be judged", f"{gap[0]}. Way out: {gap[1]}")
    else:
        for (why, way_out), causes in not_judged(diagnosis).items():
            yield Advice("Cannot tell", f"{', '.join(causes)}, because {why}. Way out: {way_out}")
    for open_cause in diagnosis.undetermined:
        if open_cause.fix:
            yield Advice(f"Bug of {open_cause.cause}", open_cause.fix)
