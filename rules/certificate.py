"""What a verdict rests on, for somebody who wants to check it without latchscope: rows, expressions, bounds, conditions.

The signals are read on a traced Delta, so an expression is what the signal computed, not a second description of it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal

from pydantic import Field

from collectors.model import Delta, NotComparable
from rules.base import Frozen, bound_of
from rules.cause import AnyOf, Cause, Condition, catalogue
from rules.context import Known, SignalContext, Unknown, full_release_of, gaps_of
from rules.fixes import FIX_MISSING
from rules.judge import NAMING, ConditionResult, moot, of_own_cache, outcomes_of
from rules.model import Diagnosis, RuledOut
from rules.provenance import Cell, SourceRow, Step, Term, term_of, traced
from rules.signals import SIGNALS
from rules.waits import IDLE_SESSIONS, NOTICEABLE_SHARE

RULED_OUT = 3
"""So many of the causes that were ruled out are covered, the first of the diagnosis."""
Expression = dict[str, Any]
"""One operator and its terms, or a cell, a row that counts one, or a whole number; see docs/reading.md."""
Said = Literal["found", "ruled out", "cannot tell"]
Way = Literal["conditions", "condition", "release", "kind of wait", "fix", "cost", "explained", "unknown", "weighing"]


class CertifiedRow(Frozen):
    """A row, cut to what names it and what was used."""

    id: int
    view: str
    columns: dict[str, int | float | str]
    sha256: str = Field(description="of `[view, columns]` as JSON with sorted keys, without blanks, in ASCII")


class CertifiedStep(Frozen):
    """One condition of a cause, or one alternative of it."""

    condition: str = Field(description="its place in the file of the cause: when[2], when[0].any_of[1]")
    signal: str
    comparison: Literal[">=", "<="]
    bound: float
    value: float | None = Field(description="null if it is unknown")
    expression: Expression | None = Field(
        None, description="null for an unknown value, and for one that is only stated"
    )
    holds: bool | None = Field(description="null if the value is unknown")
    nothing: bool = Field(False, description="the value is 0 because there is no row to count")
    stated: str | None = Field(None, description="why a known value has no expression")
    unknown: str | None = Field(None, description="why the value is unknown")
    not_captured: bool = Field(False, description="it is unknown because it was not captured, not for too few events")
    left_out: str | None = Field(None, description="why this alternative does not count")


class CertifiedCost(Frozen):
    """What the waits cost, where an open cause is closed because they cost next to nothing."""

    unit: str
    comparison: Literal[">=", "<="]
    bound: float
    value: float
    expression: Expression


class CertifiedVerdict(Frozen):
    """The verdict on one cause, and how it follows."""

    cause: str
    verdict: Said
    by: Way
    condition: str | None = Field(None, description="the condition that rules it out")
    weighed: bool = Field(
        False, description="that condition is a ratio which other work moves, so rivals were weighed too"
    )
    explained_by: str | None = None
    release: str | None = Field(None, description="the release, where it decides")
    cost: CertifiedCost | None = None
    because: str
    steps: tuple[CertifiedStep, ...]


class NotCovered(Frozen):
    """Something that a certificate does not show."""

    what: str
    why: str


class Certificate(Frozen):
    """The verdict on one input with all that it rests on."""

    input: str
    database: str
    release: str | None
    guarded_by: str | None = Field(description="latch or mutex; null if it is unknown")
    source: str
    basis: str
    headline: str
    found: tuple[str, ...]
    rivals: tuple[str, ...] = Field(
        description="causes of the same kinds of wait that their own figures do not rule out"
    )
    ruled_out: tuple[str, ...] = Field(description="the first that were ruled out")
    verdicts: tuple[CertifiedVerdict, ...]
    rows: tuple[CertifiedRow, ...]
    not_covered: tuple[NotCovered, ...]


class WithoutVerdict(Frozen):
    """An input of which nothing could be judged, so there is nothing to certify."""

    input: str
    why: str


class Certificates(Frozen):
    """What `latchscope diagnose --certificate` writes."""

    format: Literal["latchscope certificate 1"]
    certificates: tuple[Certificate, ...]
    without: tuple[WithoutVerdict, ...] = ()


ALWAYS_LEFT_OUT = (
    NotCovered(
        what="how the rows were read",
        why="they are changes over the interval; `exam.check_certificate --capture` compares them with a capture, no report",
    ),
    NotCovered(
        what="whether rows are lacking, and which rows of a view belong to a cache",
        why="an expression shows the rows that were used; which child latch guards which cache follows from the whole input",
    ),
    NotCovered(
        what="confidence",
        why="it is counted on generated cases (rules/confidence.yaml), not computed from these rows",
    ),
    NotCovered(what="severity", why="it follows from the cost of all waits, not from the conditions of a cause"),
    NotCovered(
        what="the choice between rivals",
        why="which of two causes of the same waits explains the other is a table with reasons (rules/resolve.py)",
    ),
    NotCovered(what="predictions", why="they come from a queueing model of the latch"),
    NotCovered(
        what="other causes that were ruled out",
        why=f"only the first {RULED_OUT} are covered; `diagnose --verbose` lists every one with its figure",
    ),
)


def certificates(judged: Iterable[tuple[str, Delta | NotComparable, Diagnosis]]) -> Certificates:
    """The certificates of some inputs: the name of each, what was judged, and its diagnosis."""
    made: list[Certificate] = []
    without: list[WithoutVerdict] = []
    for name, change, diagnosis in judged:
        if isinstance(change, Delta):
            made.append(certificate(name, change, diagnosis))
        else:
            without.append(WithoutVerdict(input=name, why=f"{change.why}; {change.way_out}"))
    return Certificates(format="latchscope certificate 1", certificates=tuple(made), without=tuple(without))


def certificate(name: str, delta: Delta, diagnosis: Diagnosis) -> Certificate:
    """The certificate of the diagnosis of a Delta. `name`: of the input."""
    followed = traced(delta)
    written = _Writer(SignalContext(followed.without(gaps_of(followed))))
    found = tuple(finding.cause for finding in diagnosis.findings)
    surfaces = {finding.surface for finding in diagnosis.findings}
    out = {verdict.cause: verdict for verdict in diagnosis.ruled_out}
    competing = [verdict.cause for verdict in diagnosis.undetermined]
    competing += [name for name, verdict in out.items() if verdict.explained_by or verdict.signal == "impact"]
    known = catalogue()
    rivals = [name for name in known if name in competing and surfaces & set(known[name].surfaces)]
    first = [name for name in out if name not in rivals][:RULED_OUT]
    rivals += _explaining((out[name] for name in (*rivals, *first) if name in out), {*found, *rivals, *first}, out)
    reasons = {verdict.cause: verdict.why for verdict in diagnosis.undetermined}
    verdicts = (
        *(written.found(known[finding.cause], finding.title) for finding in diagnosis.findings),
        *(
            written.ruled_out(known[name], out[name])
            if name in out
            else written.open(known[name], reasons.get(name, ""))
            for name in (*rivals, *first)
        ),
    )
    return Certificate(
        input=name,
        database=delta.database,
        release=full_release_of(delta),
        guarded_by=written.context.mechanism,
        source=delta.source,
        basis=delta.basis.kind,
        headline=diagnosis.headline,
        found=found,
        rivals=tuple(rivals),
        ruled_out=tuple(first),
        verdicts=verdicts,
        rows=written.rows(),
        not_covered=(*ALWAYS_LEFT_OUT, *_stated(verdicts)),
    )


def _explaining(verdicts: Iterable[RuledOut], covered: set[str], out: Mapping[str, RuledOut]) -> list[str]:
    """The causes that explain others and are not covered yet, and those that explain these."""
    more: list[str] = []
    for verdict in verdicts:
        other: RuledOut | None = verdict
        while other is not None and other.explained_by is not None and other.explained_by not in covered:
            more.append(other.explained_by)
            covered.add(other.explained_by)
            other = out.get(other.explained_by)
    return more


def _stated(verdicts: Sequence[CertifiedVerdict]) -> Iterator[NotCovered]:
    """The values that are only stated, each signal once."""
    reasons = {step.signal: step.stated for verdict in verdicts for step in verdict.steps if step.stated}
    return (NotCovered(what=f"how {signal} comes about", why=why) for signal, why in reasons.items())


class _Writer:
    """Writes verdicts, and collects the rows that their expressions use."""

    def __init__(self, context: SignalContext) -> None:
        self.context = context
        self._used: dict[SourceRow, set[str]] = {}
        self._ids: dict[SourceRow, int] = {}

    def rows(self) -> tuple[CertifiedRow, ...]:
        """Every row that was used, in the order of use."""
        return tuple(self._row(row) for row in self._ids)

    def _row(self, row: SourceRow) -> CertifiedRow:
        names = sorted({*row.names, *self._used[row]})
        cells = ((name, row.cells[name]) for name in names)
        columns = {
            name: cell.isoformat() if isinstance(cell, datetime) else cell for name, cell in cells if cell is not None
        }
        return CertifiedRow(id=self._ids[row], view=row.view, columns=columns, sha256=digest(row.view, columns))

    def found(self, cause: Cause, title: str) -> CertifiedVerdict:
        """A cause that was found."""
        return CertifiedVerdict(
            cause=cause.id, verdict="found", by="conditions", because=title, steps=self._steps(cause)
        )

    def open(self, cause: Cause, why: str) -> CertifiedVerdict:
        """A cause that stays open."""
        steps = self._steps(cause)
        by: Way = "unknown" if any(step.unknown and not step.left_out for step in steps) else "weighing"
        return CertifiedVerdict(cause=cause.id, verdict="cannot tell", by=by, because=why, steps=steps)

    def ruled_out(self, cause: Cause, verdict: RuledOut) -> CertifiedVerdict:
        """A cause that was ruled out: by what it is, by a condition, by its cost, or by another cause."""
        elsewhere: Mapping[str, Way] = {"mechanism": "kind of wait", "release": "release", FIX_MISSING: "fix"}
        by: Way = elsewhere.get(verdict.signal, "condition") if verdict.value is None else "condition"
        if verdict.explained_by is not None:
            by = "explained"
        elif verdict.signal == "impact":
            by = "cost"
        steps = () if by in elsewhere.values() else self._steps(cause)
        failing = (step for step in steps if step.holds is False and step.left_out is None)
        same = (step for step in failing if by == "condition" and step.signal == verdict.signal)
        deciding = next(same, None)
        return CertifiedVerdict(
            cause=cause.id,
            verdict="ruled out",
            by=by,
            condition=deciding and deciding.condition,
            weighed=deciding is not None and self._weighed(deciding, steps),
            explained_by=verdict.explained_by,
            release=self.context.full_release if by in ("release", "kind of wait") else None,
            cost=self._cost(cause, verdict) if by == "cost" else None,
            because=verdict.because,
            steps=steps,
        )

    def _weighed(self, deciding: CertifiedStep, steps: Sequence[CertifiedStep]) -> bool:
        diluted = deciding.comparison in SIGNALS[deciding.signal].diluted
        return diluted and any(step.holds and step.signal in NAMING for step in steps)

    def _cost(self, cause: Cause, verdict: RuledOut) -> CertifiedCost | None:
        """The cost of the waits that a cause would explain, as `rules.resolve` compares it."""
        waited = self.context.waited_on(cause.surfaces)
        of_db_time = verdict.bound is not None and verdict.bound.value == NOTICEABLE_SHARE
        whole = self.context.shared_db_time if of_db_time else self.context.delta.basis.seconds
        if waited is None or not whole:
            return None
        cost = waited / whole
        return CertifiedCost(
            unit="share of DB time" if of_db_time else "waiting sessions",
            comparison=">=",
            bound=NOTICEABLE_SHARE if of_db_time else IDLE_SESSIONS,
            value=cost,
            expression=self._expression(term_of(cost)),
        )

    # One step per condition; of alternatives each.

    def _steps(self, cause: Cause) -> tuple[CertifiedStep, ...]:
        return tuple(step for place, condition in enumerate(cause.when) for step in self._at(place, condition, cause))

    def _at(self, place: int, condition: Condition | AnyOf, cause: Cause) -> Iterator[CertifiedStep]:
        if isinstance(condition, Condition):
            yield self._step(f"when[{place}]", self._outcome(condition, cause))
            return
        outcomes = [self._outcome(member, cause) for member in condition.any_of]
        here = [SIGNALS[each.condition.signal].surface in (None, *self.context.surfaces) for each in outcomes]
        for number, (outcome, counts) in enumerate(zip(outcomes, here, strict=True)):
            left_out = None
            if any(here) and not counts:
                left_out = "it is about a kind of wait that this release does not have"
            elif outcome.holds is None and moot(outcome, self.context):
                left_out = "next to nothing waits there"
            yield self._step(f"when[{place}].any_of[{number}]", outcome, left_out)

    def _outcome(self, condition: Condition, cause: Cause) -> ConditionResult:
        (outcome,) = outcomes_of(condition, cause, self.context)
        return of_own_cache(outcome, self.context)

    def _step(self, place: str, outcome: ConditionResult, left_out: str | None = None) -> CertifiedStep:
        condition, reading = outcome.condition, outcome.reading
        bound = bound_of(condition.needs)
        assert bound is not None  # the pattern of a condition holds nothing else
        known = isinstance(reading, Known)
        term = term_of(reading.value) if isinstance(reading, Known) else None
        stated = None if term is None else _stated_because(term)
        shown = (
            None if term is None or stated else self._expression(term, of_share=_is_share(condition.signal, reading))
        )
        return CertifiedStep(
            condition=place,
            signal=condition.signal,
            comparison=bound.operator,
            bound=bound.value,
            value=float(reading.value) if isinstance(reading, Known) else None,
            expression=shown,
            holds=outcome.holds if known else None,
            nothing=term == 0.0,
            stated=stated,
            unknown=reading.why if isinstance(reading, Unknown) else None,
            not_captured=isinstance(reading, Unknown) and reading.absent,
            left_out=left_out,
        )

    def _expression(self, term: Term, *, of_share: bool = False) -> Expression:
        if isinstance(term, Cell):
            return self._cell(term)
        if isinstance(term, float):
            return {"number": int(term) if term.is_integer() else term}
        if term.operator == "sum" and len(once := Counter(term.terms)) < len(term.terms):
            # Each of several sessions may have waited for all of the interval.
            times = [
                each if many == 1 else Step("ratio", (each, Step("ratio", (1.0, float(many)))))
                for each, many in once.items()
            ]
            return self._expression(times[0] if len(times) == 1 else Step("sum", tuple(times)))
        if term.operator == "ratio" and of_share:
            return {"share": [self._expression(each) for each in term.terms]}
        if term.operator == "share" and len(term.terms) == 3:
            part, whole, amount = map(self._expression, term.terms)
            return {"share": [part, whole], "of": amount}
        return {term.operator: [self._expression(each) for each in term.terms]}

    def _cell(self, cell: Cell) -> Expression:
        number = self._ids.setdefault(cell.row, len(self._ids) + 1)
        used = self._used.setdefault(cell.row, set())
        if cell.column is None:
            return {"row": number}
        used.add(cell.column)
        shown: Expression = {"cell": [number, cell.column]}
        return shown if cell.part is None else {**shown, "part": cell.part}


NO_EXPRESSION = "it is counted over chains of sessions, each of which rests on several views"
ESTIMATED = "it has a time of waits that is estimated from samples of sessions, with statistics beyond these operators"


def _stated_because(term: Term) -> str | None:
    """Why a value has no expression. None if it has one, or is 0 because there is no row."""
    if isinstance(term, float):
        return None if term == 0.0 else NO_EXPRESSION
    return ESTIMATED if any(not each.is_integer() for each in _plain_numbers(term)) else None


def _plain_numbers(term: Term) -> Iterator[float]:
    if isinstance(term, float):
        yield term
    elif isinstance(term, Step):
        for each in term.terms:
            yield from _plain_numbers(each)


def _is_share(signal: str, reading: object) -> bool:
    """Whether a signal is a share by its name. One above 1 is a ratio: waits may exceed the DB time that was counted."""
    return "share" in signal and isinstance(reading, Known) and 0.0 <= reading.value <= 1.0


def digest(view: str, columns: Mapping[str, object]) -> str:
    """SHA-256 of a row in its canonical form."""
    return sha256(json.dumps([view, columns], sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()
