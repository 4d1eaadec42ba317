"""A Diagnosis as text for a terminal and as Markdown for a ticket: what to do first, then the steps that led there."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rules.base import FOUNDED_ON
from rules.cause import AnyOf, Cause, Condition
from rules.changes import nearest_to, told
from rules.explain.headline import parts_in_words, speaks_against
from rules.explain.library_cache import LIBRARY_CACHE_WAITS
from rules.explain.walk import LARGEST_WAIT, TIME_SPENT
from rules.formatting import compared, counted, percent, sentence
from rules.gaps import REMEMBER
from rules.miss_locations import merely_fits
from rules.model import CANNOT_TELL, Diagnosis, Finding, Severity, Step, Undetermined
from rules.remedy import Texts, where
from service.escape import inline, pasted, row, visible
from service.intake.inputs import DiagnosedInput, short_names
from service.render.parts import (
    CLOSE,
    CLOSEST,
    DO_NOT,
    EFFECT,
    Advice,
    after_the_steps,
    against,
    before_the_steps,
    chain,
    circumstances,
    cited,
    closest,
    cost,
    cost_beside,
    elsewhere,
    hang_steps,
    how_sure,
    logged_lines,
    nearest,
    not_judged,
    nothing_judged,
    ruled_out,
    spelt,
    step_lines,
    steps_as_markdown,
    steps_of_every_release,
    titled,
    why_low,
    without_basis,
    wrapped,
)
from service.render.short import TOLD, short_lines, short_text
from service.render.summary import HEADINGS, groups, lines, same_interval, troubles, worst_first
from service.render.wait_chain import tree_as_markdown, tree_lines

# A Diagnosis in few words for a terminal: what is wrong, what to do at what risk, why, and how to read on.

QUIET_WORDS, TROUBLE_WORDS = 170, 745
"""Most words of an answer, including statements to run. What you need to act comes first, the rest if it fits."""
MOST_MISSING, MOST_OPEN = 4, 3
BLOCKER = "blocker"
AS_PRINTED = "as printed"
CHANGED, MOST_CHANGED = "Changes", 3
LOG, MOST_LOGGED = "From the log", 8
LOGS = ("alert log", "trace")


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
    for step in diagnosis.steps:
        if step.step in (LIBRARY_CACHE_WAITS, TIME_SPENT):
            yield Part(
                _step(diagnosis, step), needed=step.step == LIBRARY_CACHE_WAITS or diagnosis.library_cache is None
            )
    yield Part([line for each in parts_in_words(diagnosis) for line in wrapped(f"By cache: {each}.")], needed=True)
    troubles = [finding for finding in diagnosis.findings if finding.severity is not Severity.INFO]
    for place, finding in enumerate(troubles):
        short = wrapped(
            f"Found too: {titled(finding)}; {cost_beside(diagnosed, finding, troubles[:place])}. {finding.do_now} "
            f"`latchscope causes show {finding.cause}` shows how."
        )
        whole = list(_brief_finding(diagnosed, finding, () if place else TOLD))
        yield Part(whole, short, needed=not place)
    elsewhere = diagnosis.findings[:1] if diagnosis.state == "Elsewhere" else ()
    for finding in elsewhere:
        how = f"{finding.do_now} `latchscope causes show {finding.cause}` shows how."
        yield Part(wrapped(f"Seen: {titled(finding)}, confidence {finding.confidence}. {how}"), needed=True)
    for finding in troubles[:1]:
        if bound := closest(finding):
            yield Part(wrapped(f"{CLOSEST}: {bound}."))
    yield Part(wrapped(f"{CHANGED}: {'; '.join(lately)}.") if troubles and (lately := near_changes(diagnosis)) else [])
    yield from (Part(wrapped(f"Note: {note}")) for note in diagnosis.notes if _weighs(note, shared))
    yield Part(_logged(diagnosis, MOST_LOGGED))
    if not troubles and not nothing_judged(diagnosis) and diagnosed.source not in LOGS:
        yield from _open(diagnosis)
    for step in (*hang_steps(diagnosis), *chain(diagnosis)):
        if step.step not in (BLOCKER, AS_PRINTED, LIBRARY_CACHE_WAITS, TIME_SPENT) and (
            not quiet or step.step == LARGEST_WAIT
        ):
            yield Part(_step(diagnosis, step))
    for finding in diagnosis.findings:
        if finding.severity is Severity.INFO and finding not in elsewhere:
            words = f"Seen: {titled(finding)}, confidence {finding.confidence}; {cost(diagnosed, finding)}"
            yield Part(wrapped(words))
    if diagnosis.candidates:
        named = ", ".join(hint.cause for hint in diagnosis.candidates)
        why = "the log is a reason to look" if diagnosed.source in LOGS else "latchscope cannot measure it"
        yield Part(wrapped(f"Check by hand, because {why}: {named}"))
    if out := ruled_out(diagnosis):
        near = [spelt(verdict.cause) for verdict in nearest(out)]
        many = f"Ruled out: {counted(len(out), 'causes')}, nearest"
        yield Part(wrapped(f"{many} {'; '.join(near)}."))


def _logged(diagnosis: Diagnosis, most: int | None = None) -> list[str]:
    """The events of a log, a line each; nothing without a log."""
    events = diagnosis.events
    if not events:
        return []
    shown = logged_lines(diagnosis, most)
    of = f", {len(shown)} of {len(events)} events" if len(shown) < len(events) else ""
    traces = (f"; {line.trace_file}" if line.trace_file else "" for line in shown)
    lines = (f"{line.clock}  {line.text}{trace}" for line, trace in zip(shown, traces, strict=True))
    return [f"{LOG}{of}:", *(piece for line in lines for piece in wrapped(line, "  "))]


def near_changes(diagnosis: Diagnosis) -> list[str]:
    """The changes nearest to the begin of the waits, in words, at most `MOST_CHANGED`."""
    begin = diagnosis.waits_began
    near = nearest_to(diagnosis.changes or (), begin, MOST_CHANGED) if begin else ()
    return [told(change, begin) for change in near]


def _brief_finding(diagnosed: DiagnosedInput, finding: Finding, told: Sequence[str] = ()) -> Iterator[str]:
    """Everything you need to act on a finding. With `told`, what the short answer has already: its title and those labels."""
    if not told:
        yield from wrapped(f"Found: {titled(finding)}, {how_sure(finding, whole=False)}; {cost(diagnosed, finding)}")
    if why := why_low(finding):
        yield from wrapped(f"Confidence is low, because {why}.", "  ")
    yield from wrapped(finding.lede, "  ")
    for advice in before_the_steps(finding):
        if advice.name not in told:
            yield from advice.lines("  ")
    yield from step_lines(finding.remedy_steps, diagnosed.diagnosis.release, "  ", whole=False)
    for advice in after_the_steps(finding, diagnosed.diagnosis.prediction):
        if advice.name != EFFECT:
            yield from advice.lines("  ")


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
    causes = _many(open_)
    if open_ and diagnosed.source in LOGS and not nothing_judged(diagnosis):
        return Part(wrapped(f"Not judged: {causes}, because {open_[0].why}. Way out: {open_[0].way_out}"), needed=True)
    if not open_ or nothing_judged(diagnosis) or _all_listed(diagnosis):
        return Part([])
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


# Several inputs: each cause once per confidence and advice, with the figures of its worst input and the names of the
# others.

STATES = ("Critical", "Warning", "Notice", "Elsewhere", "Quiet", "Fine")


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


def table(diagnosed: Sequence[DiagnosedInput]) -> Iterator[str]:
    """One line for each input, by database in order of time. It is never wrapped, so that it can be searched and sorted."""
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
    yield from table(diagnosed)
    yield ""
    if verbose:
        for entry in worst_first(diagnosed):
            yield from _text(entry, True, shared)
    else:
        for shown in causes_shown(diagnosed):
            yield from _text(shown.worst, False, shared, shown.holds_for)
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
        yield from _markdown(shown.worst, shared, shown.holds_for)
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
    yield from wrapped(f"Do now: {cause.do_now}")
    yield from wrapped(f"Then: {cause.then}") if cause.then else ()
    yield from wrapped(f"Check first: {cause.check_first}") if cause.check_first else ()
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
    yield from steps_of_every_release(cause.remedy_steps)
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
    answers = [] if verbose else short_text(short_lines(diagnosed))
    head = [
        *wrapped(f"{diagnosis.database} ({diagnosed.name})"),
        *wrapped(f"{diagnosed.told.upper()}: {diagnosis.headline}"),
        *answers,
        *wrapped(circumstances(diagnosis, log=diagnosed.source in LOGS)),
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
    if logged := _logged(diagnosis):
        yield from (*logged, "")
    for verdict in ruled_out(diagnosis):
        close = f"; {CLOSE}" if verdict.nearest_bound else ""
        yield from wrapped(f"Ruled out: {verdict.cause}, because {against(verdict)}{close}")
    if others := elsewhere(diagnosis):
        yield from wrapped(f"Not on this instance: {', '.join(others)} (other releases, or nothing of theirs here)")
    for hint in diagnosis.candidates:
        yield from wrapped(f"Check by hand: {hint.title} ({hint.cause}), which latchscope cannot measure")
    if gap := nothing_judged(diagnosis):
        yield from wrapped(f"Nothing could be judged: {gap[0]}. Way out: {gap[1]}")
    else:
        for (why, way_out), causes in not_judged(diagnosis).items():
            yield from wrapped(f"Cannot tell: {', '.join(causes)}, because {why}. Way out: {way_out}")
        for open_cause in diagnosis.undetermined:
            if open_cause.fix:
                yield from wrapped(f"Bug of {open_cause.cause}: {open_cause.fix}", "  ")
    for change in diagnosis.changes or ():
        yield from wrapped(f"{CHANGED}: {told(change, diagnosis.waits_began)}")
    for gap_ in diagnosis.changes_missing:
        yield from wrapped(f"{CHANGED}, not known: {gap_}")
    for note in diagnosis.notes:
        if note not in shared:
            yield from wrapped(f"Note: {note}")


def _finding(diagnosed: DiagnosedInput, finding: Finding, earlier: Sequence[Finding]) -> Iterator[str]:
    yield from wrapped(f"Found: {titled(finding)}, {how_sure(finding)}; {cost_beside(diagnosed, finding, earlier)}")
    for advice in before_the_steps(finding):
        yield from advice.lines("  ")
    yield from step_lines(finding.remedy_steps, diagnosed.diagnosis.release, "  ", whole=True)
    for advice in after_the_steps(finding, diagnosed.diagnosis.prediction):
        yield from advice.lines("  ")
    yield from wrapped(f"Why: {finding.explanation}", "  ")
    for held in finding.evidence:
        derived = f" = {held.derivation}" if held.derivation else ""
        value, needs = compared(held)
        mark = "fits:" if merely_fits(finding, held) else "+"
        yield from wrapped(f"{mark} {held.signal} {value}{derived} (needs {needs}): {held.because}", "  ")
    for why in finding.unknown:
        yield from wrapped(f"? not known: {why}", "  ")
    if bound := closest(finding):
        yield from wrapped(f"{CLOSEST}: {bound}.", "  ")
    for reference in cited(finding):
        yield from wrapped(f"Reference: {reference}", "  ")


def _markdown(diagnosed: DiagnosedInput, shared: Sequence[str], others: str = "") -> Iterator[str]:
    diagnosis = diagnosed.diagnosis
    yield f"## {inline(diagnosis.database)} ({inline(diagnosed.name)})"
    yield f"**{diagnosed.told}**: {inline(diagnosis.headline)}\n"
    if others:
        yield f"{inline(others)}.\n"
    yield f"{inline(circumstances(diagnosis, log=diagnosed.source in LOGS))}\n"
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
    if diagnosis.events:
        yield f"\n### {LOG}\n\n| when | what | says | trace file |\n|---|---|---|---|"
        yield from (row((line.clock, line.kind, line.text, line.trace_file or "")) for line in logged_lines(diagnosis))
    if diagnosis.changes or diagnosis.changes_missing:
        yield "\n### What changed\n"
        yield from (f"- {inline(told(change, diagnosis.waits_began))}" for change in diagnosis.changes or ())
        yield from (f"- Not known: {inline(line)}" for line in diagnosis.changes_missing)
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
    yield from (advice.markdown for advice in before_the_steps(finding))
    if finding.remedy_steps:
        yield "\n#### What to do\n"
        yield from steps_as_markdown(finding.remedy_steps, diagnosed.diagnosis.release)
        yield "\n#### What to know\n"
    entries = [
        *after_the_steps(finding, diagnosed.diagnosis.prediction),
        Advice("Why", finding.explanation),
        *(Advice("Not known", why) for why in finding.unknown),
    ]
    if bound := closest(finding):
        entries.append(Advice(CLOSEST, bound))
    entries += (Advice("Reference", reference) for reference in cited(finding))
    yield from (entry.markdown for entry in entries)
    yield "\n| signal | value | needs | because |\n|---|---|---|---|"
    for held in finding.evidence:
        value, needs = compared(held)
        yield row((held.signal, value, needs, held.because))


def _markdown_verdicts(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.ruled_out:
        yield "\n### Ruled out\n\n| cause | signal | value | would need |\n|---|---|---|---|"
        for out in ruled_out(diagnosis):
            value, needs = compared(out)
            beside = out.because if out.value is None else CLOSE if out.nearest_bound else ""
            yield row((out.cause, out.signal, value, f"{needs}; {beside}" if beside else needs))
        if others := elsewhere(diagnosis):
            yield f"\nNot on this instance: {', '.join(others)}"
    if gap := nothing_judged(diagnosis):
        yield f"\nNothing could be judged: {inline(gap[0])}. Way out: {inline(gap[1])}"
    elif diagnosis.undetermined:
        yield "\n### Cannot tell\n\n| cause | why | way out |\n|---|---|---|"
        for (why, way_out), causes in not_judged(diagnosis).items():
            yield row((", ".join(causes), why, way_out))
    for open_cause in diagnosis.undetermined:
        if open_cause.fix:
            yield f"\nBug of {open_cause.cause}: {inline(open_cause.fix)}"
