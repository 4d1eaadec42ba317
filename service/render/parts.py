"""The parts of a Diagnosis that every output writes in the same words: its cost, what to do, what is open."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from textwrap import wrap
from typing import NamedTuple

from collectors.model import Basis, Delta
from rules.base import FOUNDED_ON
from rules.confirmation import confirming_step
from rules.context import SignalContext
from rules.explain.story import LABELS, clock, of_finding
from rules.formatting import compared, percent, sentence
from rules.grade import counted_in_words
from rules.hangs.model import Blockers, WaitChain
from rules.hangs.words import (
    ACTION,
    CHECK,
    EMERGENCY_NOTICE,
    LEFT_ALONE,
    ONLY_IF,
    entry_of,
    entry_words,
    heading,
    not_shown,
    queries,
    remarks,
    shown_first,
    to_find,
    tree,
    why_no_command,
)
from rules.logs import NAMES
from rules.model import Confidence, Diagnosis, DiagnosisBasis, Finding, Logged, RuledOut, Severity, Step
from rules.remedy import NOT_TIME, PLATFORMS, PlatformStep, PredictedEffect, RemedyStep, Texts, where
from service.escape import fenced, inline, pasted, visible
from service.intake.inputs import DiagnosedInput

COLUMNS = 100
LINE_WIDTH: ContextVar[int] = ContextVar("LINE_WIDTH", default=COLUMNS)
"""Columns of a line of text: those of a document, fewer on a narrow terminal."""
EFFECT = "Expected effect"
QUERY_NAMES = "Names of the confirming query"
DO_NOT = LABELS["do not"]
"""The first words of the sentence that says what not to do. In a list they label its line."""
WITH_MINUTES = 120
"""Intervals of this many seconds and more have their minutes beside them."""
TIED = "\N{NO-BREAK SPACE}"
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|×|s|ms|h|min)(?:\W|$))")
OF_A_FINDING = ("cause", "confirming query", "remedy", "references")
"""Steps that repeat for the first finding what every output says of each finding."""
HANG = ("waiting now", "blocker", "library cache")
"""Steps that come before all others: who hangs behind whom, and what not to kill."""


def how_sure(finding: Finding) -> str:
    """Severity, confidence with how often such findings were right, and what the cause is founded on."""
    founded = f"; the cause {FOUNDED_ON[finding.status]}" if finding.status else ""
    counted = f" ({counted_in_words(finding.reliability)})" if finding.reliability else ""
    return f"severity {finding.severity}, confidence {finding.confidence}{counted}{founded}"


def why_low(finding: Finding) -> str | None:
    """Why the confidence in a finding is low, in a few words; None where it is not, or where nothing it needs is missing."""
    if finding.confidence is not Confidence.LOW or not finding.unknown:
        return None
    return re.split(r": | \(", finding.unknown[0])[0]


def wrapped(words: str, indent: str = "") -> list[str]:
    """A line of text as lines that fit a terminal. Those that follow are indented.

    A word is never broken, because it may be a path, and a number stays beside its unit.
    """
    lines = wrap(
        _BEFORE_UNIT.sub(TIED, words),
        LINE_WIDTH.get(),
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(TIED, " ") for line in lines]


def columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Rows as lines of a table, which is never wrapped, so that it can be searched and sorted. `right`: columns of numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [f"{'>' if place in right else '<'}{width}" for place, width in enumerate(widths)]
    return ["  ".join(map(format, row, sides)).rstrip() for row in rows]


def circumstances(diagnosis: Diagnosis, *, log: bool = False) -> str:
    """Release, what guards the row cache, and the time that the figures, or the lines of a log, cover."""
    release = f"Oracle {diagnosis.release}" if diagnosis.release else "release unknown"
    guarded = f"row cache guarded by {diagnosis.mechanism}es" if diagnosis.mechanism else "mechanism unknown"
    basis = f"figures are of {_interval(diagnosis.basis)}" if diagnosis.basis else "there are no figures"
    return f"{release}, {guarded}; {_lines_of(diagnosis.basis) if log else basis}."


def _interval(basis: DiagnosisBasis) -> str:
    """What the figures cover, with its begin, its end and its minutes, as far as they are known."""
    words = str(Basis(basis.kind, basis.begin, basis.end, basis.seconds))
    if basis.kind != "interval" or basis.begin is None or basis.end is None:
        return words
    same_day = basis.begin.date() == basis.end.date()
    end = f"{basis.end:%H:%M:%S}{' UTC' if basis.end.tzinfo else ''}" if same_day else clock(basis.end)
    minutes = f" ({basis.seconds / 60:,.0f} min)" if basis.seconds and basis.seconds >= WITH_MINUTES else ""
    return f"{words}{minutes}, {basis.begin:%Y-%m-%d %H:%M:%S} to {end}"


def _lines_of(basis: DiagnosisBasis | None) -> str:
    """The time of the lines of a log."""
    if basis is None or basis.end is None:
        return "the lines have no time that could be read"
    if basis.begin is None or basis.begin == basis.end:
        return f"lines of {basis.end:%Y-%m-%d %H:%M:%S}"
    return f"lines of {basis.begin:%Y-%m-%d %H:%M:%S} to {basis.end:%Y-%m-%d %H:%M:%S}"


@dataclass(frozen=True, slots=True)
class LoggedLine:
    """An event of a log for people: when, its kind, what it says, and the trace file that has more."""

    clock: str
    kind: str
    text: str
    trace_file: str | None


def logged_lines(diagnosis: Diagnosis) -> list[LoggedLine]:
    """The events of a log in its order."""
    return list(map(_logged, diagnosis.events))


def _logged(event: Logged) -> LoggedLine:
    until = f" until {event.until:%H:%M:%S}" if event.until else ""
    many = f" ({event.times:,} times{until})" if event.times > 1 else ""
    clock = f"{event.at:%Y-%m-%d %H:%M:%S}" if event.at else "time unknown"
    return LoggedLine(clock, NAMES[event.kind][0], f"{event.text}{many}", event.trace_file)


def titled(finding: Finding) -> str:
    """What is wrong according to a finding, with its cause's id and its cache."""
    perhaps = "perhaps " if finding.identity == "candidate" else ""
    return f"{finding.title} ({', '.join([finding.cause, *([perhaps + finding.cache] if finding.cache else [])])})"


def cost(diagnosed: DiagnosedInput, finding: Finding) -> str:
    """The cost of the waits that a finding is about."""
    if finding.severity is Severity.INFO and finding.impact is None:
        return "costs nothing itself"
    impact = finding.impact
    if impact is None and isinstance(diagnosed.change, Delta):
        impact = SignalContext(diagnosed.change).impact_of((finding.surface,))
    if impact is not None and impact.share_of_db_time is not None:
        return f"costs {percent(impact.share_of_db_time)} of DB time"
    if impact is not None and impact.waiting_sessions is not None:
        return f"{impact.waiting_sessions:.2f} sessions wait on average"
    return "cost unknown"


def same_waits(finding: Finding, earlier: Sequence[Finding]) -> bool:
    """Whether an earlier finding explains the same waits: the cost must then not be added up."""
    return any(other.surface == finding.surface and other.impact == finding.impact for other in earlier)


def cost_beside(diagnosed: DiagnosedInput, finding: Finding, earlier: Sequence[Finding]) -> str:
    """The cost of a finding after others, with a word where it is theirs."""
    words = cost(diagnosed, finding)
    if not same_waits(finding, earlier):
        return words
    return words.replace("costs ", "costs the same ") if words.startswith("costs ") else f"{words}, the same ones"


class Advice(NamedTuple):
    """A line of a diagnosis for every layout: its name, its words, and a statement to paste."""

    name: str
    words: str
    code: str = ""
    kind: str = ""
    """Of the paragraph of the story that says the same; or heading, command (never broken) and setting (no SQL)."""
    depth: int = 0

    @property
    def label(self) -> str:
        return self.name and (f"{self.name} " if self.numbered else f"{self.name}: ")

    @property
    def numbered(self) -> bool:
        return self.name.endswith(".")

    @property
    def text(self) -> Iterator[str]:
        """For a terminal."""
        if self.kind == "heading":
            yield from ("", *wrapped(f"{self.label}{self.words}".rstrip(": ")))
            return
        indent = "  " + "   " * self.depth
        yield from wrapped(f"{self.label}{self.words}", indent)
        if self.kind == "setting":
            yield from (f"{indent}     {line}" for line in self.code.splitlines())
        else:
            yield from code_lines(self.code, f"{indent}     ", whole=self.kind == "command")

    @property
    def markdown(self) -> Iterator[str]:
        """As a heading or an entry of a list, with the statement in a block of code."""
        if self.kind == "heading":
            yield f"\n### {inline(f'{self.label}{self.words}'.rstrip(': '))}\n"
            return
        indent, label = "   " * self.depth, f"**{self.name}**: " if self.name and not self.numbered else ""
        yield f"{indent}{self.name if self.numbered else '-'} {label}{inline(self.words)}".rstrip()
        if self.code and self.kind == "setting":
            yield f"\n{fenced(self.code.rstrip(), '', f'{indent}   ')}\n"
        elif self.code:
            yield f"\n{fenced(' '.join(self.code.split()), indent=f'{indent}   ')}\n"


def in_text(parts: Iterable[Advice]) -> Iterator[str]:
    """Lines for a terminal."""
    return (line for part in parts for line in part.text)


def in_markdown(parts: Iterable[Advice]) -> Iterator[str]:
    """Lines of Markdown."""
    return (line for part in parts for line in part.markdown)


def confirming(finding: Finding) -> tuple[str, str] | None:
    """The result of the confirming query and how to read it, and the query. None without one."""
    query = finding.confirm
    if query is None:
        return None
    statement = confirming_step(query).statement.removeprefix(query.sql).lstrip("; ").removeprefix(". ")
    return sentence(statement), query.sql


def before_the_steps(finding: Finding) -> Iterator[Advice]:
    """What to do about a finding in short: a name and the words of each. An uncertain finding is confirmed first.

    A finding that an older release stored has no steps, so its paragraphs replace them.
    """
    query, said = confirming(finding), of_finding(finding)
    if query and said.unsure:
        yield Advice("Confirm first", *query)
        yield from _naming(finding)
    yield Advice(LABELS["do"], said.do, kind="do")
    yield from [Advice(LABELS["then"], said.then)] if said.then else []
    yield from [Advice("Bug", finding.fix)] if finding.fix else []
    yield from [Advice(LABELS["check"], said.check, kind="check")] if said.check else []
    yield from [Advice(DO_NOT, said.do_not.removeprefix(f"{DO_NOT} "), kind="do not")] if said.do_not else []
    yield from [] if finding.remedy_steps else [Advice("Risk", finding.risk)]


def after_the_steps(finding: Finding, predicted: PredictedEffect | None = None) -> Iterator[Advice]:
    """How to confirm it and what to expect. `predicted` belongs to the finding whose remedy it is about."""
    query = confirming(finding)
    if query and not of_finding(finding).unsure:
        yield Advice("Confirm", *query)
        yield from _naming(finding)
    yield Advice(EFFECT, finding.expected_effect)
    if predicted is not None and predicted.cause == finding.cause and not predicted.refused:
        sure = f"{predicted.change}; confidence {predicted.confidence}"
        yield Advice("Predicted", f"{predicted.statement} ({sure}). {NOT_TIME}.")


def _naming(finding: Finding) -> Iterator[Advice]:
    """The second confirming query, for the rows behind the number: steps speak of its names. None once they are there."""
    query = finding.confirm
    if query is not None and query.names_sql and not query.names:
        yield Advice(QUERY_NAMES, "up to five rows.", query.names_sql)


def hang_steps(diagnosis: Diagnosis) -> Sequence[Step]:
    """Who hangs behind whom."""
    return [step for step in diagnosis.steps if step.step in HANG]


def chain(diagnosis: Diagnosis) -> Sequence[Step]:
    """The steps from the wait to the cause."""
    return [step for step in diagnosis.steps if step.step not in (*HANG, *OF_A_FINDING)]


ELSEWHERE = ("release", "mechanism")
"""What rules out causes of other releases, or of surfaces that this instance lacks. It is no figure."""


def ruled_out(diagnosis: Diagnosis) -> Sequence[RuledOut]:
    """The causes that a number speaks against."""
    return [verdict for verdict in diagnosis.ruled_out if verdict.signal not in ELSEWHERE]


def elsewhere(diagnosis: Diagnosis) -> Sequence[str]:
    """Causes of other releases, or of surfaces this instance lacks."""
    return [verdict.cause for verdict in diagnosis.ruled_out if verdict.signal in ELSEWHERE]


def against(verdict: RuledOut) -> str:
    """Why a cause is ruled out. If another cause explains the waits, that cause; if its fix is installed, that."""
    if verdict.explained_by is not None or verdict.value is None:
        return verdict.because
    value, needs = compared(verdict)
    return f"{verdict.signal} is {value} where it would need {needs}"


CLOSEST, CLOSE = "Closest to its bound", "close to its bound"
"""Said of a condition of a finding, and of a cause that is ruled out by little."""


def closest(finding: Finding) -> str:
    """The condition closest to its bound: `sleeps on the cache 62.0 %, needs >= 50.0 %`. Empty where there is none."""
    near = finding.nearest_bound
    if near is None:
        return ""
    held, (value, needs) = finding.sign(near.signal), compared(near)
    return f"{(held and held.name) or near.signal} {value}, needs {needs}"


def not_judged(diagnosis: Diagnosis) -> dict[tuple[str, str], list[str]]:
    """Causes that could not be judged, by their common reason and way out."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for verdict in diagnosis.undetermined:
        grouped.setdefault((verdict.why or verdict.missing, verdict.way_out), []).append(verdict.cause)
    return grouped


def nothing_judged(diagnosis: Diagnosis) -> tuple[str, str] | None:
    """The one reason and the way out, if no cause could be judged."""
    reasons = not_judged(diagnosis)
    return next(iter(reasons)) if len(reasons) == 1 and not (diagnosis.findings or diagnosis.ruled_out) else None


# A remedy step by step, for a terminal and as Markdown. A fact without a source reads "not known".

NOT_KNOWN = "not known."
IN_CLUSTER = "In a cluster"
RUN_IN = "Run in"
NOT_HERE = "Not possible here"


def steps_of(steps: Sequence[RemedyStep], release: str | None) -> Iterator[Advice]:
    """The steps of a remedy with their statements for a release and all that is known about each."""
    for number, step in enumerate(steps, 1):
        yield Advice(f"{number}.", step.do, step.text(release) or "")
        yield from _beside(step, release)


def steps_of_every_release(steps: Sequence[RemedyStep]) -> Iterator[Advice]:
    """The steps as the catalogue has them, with the statement for each release."""
    for number, step in enumerate(steps, 1):
        texts = variants(step.sql)
        alone = texts[0][1] if len(texts) == 1 and texts[0][0] is None else ""
        yield Advice(f"{number}.", step.do, alone)
        yield from (Advice(f"From {since} on", "", text, depth=1) for since, text in texts if since)
        yield from _beside(step, None)


def _beside(step: RemedyStep, release: str | None) -> Iterator[Advice]:
    if step.setting:
        yield Advice("Set", "", step.setting, "setting", 1)
    yield from (Advice(name, words, depth=1) for name, words in asides(step, release))


def variants(texts: Texts | None) -> list[tuple[str | None, str]]:
    """Lowest release → text; None stands for all releases."""
    if texts is None:
        return []
    return [(None, texts)] if isinstance(texts, str) else list(texts.items())


def asides(step: RemedyStep, release: str | None = None) -> Iterator[tuple[str, str]]:
    """The facts about a step on a release: a name and the words of each."""
    if step.not_possible:
        yield NOT_HERE, step.not_possible
    if place := where(step, release):
        yield RUN_IN, place
    acts = step.changes and bool(step.sql or step.setting)
    if step.fill_in:
        yield "Fill in", f"{', '.join(step.fill_in)}."
    if step.in_cluster:
        yield IN_CLUSTER, of_each_instance(step.in_cluster)
    if step.reading:
        yield "Read", step.reading
    if step.risk or acts:
        yield "Risk", step.risk or NOT_KNOWN
    if step.online is not None and (acts or not step.online):
        yield "Online", "yes." if step.online else "no, plan a window."
    if step.way_back or acts:
        yield "To reverse it", step.way_back or NOT_KNOWN
    for platform, other in step.elsewhere.items():
        yield f"On {PLATFORMS[platform]}", on_platform(other)


def on_platform(step: PlatformStep) -> str:
    """What takes the place of a step on a platform, or why nothing does, in one paragraph."""
    given = " ".join(f"`{text}`" for text in (step.sql, step.setting) if text)
    return f"not possible. {step.not_possible}" if step.not_possible else f"{step.do} {given}".rstrip()


def of_each_instance(ending: str) -> str:
    """What a statement needs in a cluster, where it would change every instance."""
    return f"end it with `{ending}`, once per instance; the way back too."


_QUOTED = re.compile(r"'[^']*'")


def code_lines(text: str | None, indent: str, *, whole: bool = False) -> list[str]:
    """A statement as lines that can be pasted. It is broken between words alone, never inside quotes; `whole`: never."""
    lines = []
    for line in pasted(" ".join(text.split()) if text else "").splitlines():
        tied = _QUOTED.sub(lambda quoted: quoted[0].replace(" ", TIED), line)
        lines += [f"{indent}{visible(line)}"] if whole else wrapped(tied, indent)
    return lines


# A wait chain as a tree.

BRANCH = "└─ "


def tree_parts(blockers: Blockers) -> Iterator[Advice]:
    """The largest chains as trees, with what may be done."""
    for chain in shown_first(blockers.chains):
        yield Advice("Wait chain", heading(chain), kind="heading")
        held = entry_of(chain, blockers)
        for line in tree(chain, held):
            yield Advice("", f"{BRANCH if line.depth else ''}{line.text}", depth=line.depth)
        yield from (Advice("", words) for words in remarks(chain))
        if held is not None and (words := entry_words(held)):
            yield Advice("", words)
        yield from _ending(chain)
    yield from (Advice("", words) for words in not_shown(blockers))
    if blockers.unknown:
        yield Advice("Nothing more is known", f"{blockers.unknown}.")
    yield Advice("", f"{LEFT_ALONE} {EMERGENCY_NOTICE}")


def _ending(chain: WaitChain) -> Iterator[Advice]:
    action = chain.action
    if action is None:
        yield Advice("", why_no_command(chain))
        yield from (Advice(to_find(missing), "", missing.query or "", depth=1) for missing in queries(chain))
        return
    yield Advice(ACTION, f"First {action.first}.")
    yield Advice(CHECK, "", action.check, depth=1)
    yield Advice(ONLY_IF.format(action.still), "", action.command, "command", 1)
    yield Advice("Where", f"{action.where}.", depth=1)
    yield Advice("Risk", f"{action.risk}.", depth=1)
    yield Advice("Why this session", f"{action.why_safe}.", depth=1)
    for each in action.then:
        yield Advice(f"Then, if {each.when}", f"Risk: {each.risk}.", each.command, "command", 1)
