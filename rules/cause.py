"""An entry of the knowledge base: Cause and its Conditions. One YAML file has one Cause."""

from typing import Self

from pydantic import Field, model_validator

from collectors.release import parts
from rules.frozen import Frozen
from rules.model import ConditionRole, Proof, Reference, Severity, Surface
from rules.predicted import RemedyEffect
from rules.query import COMPARISON, RELEASE, Query
from rules.remedy import WHERE, RemedyStep, paragraph, risks


class Condition(Frozen):
    """One requirement of a cause on a Delta: a signal, a comparison, and why it matters.

    A condition that is false rules the cause out. Exceptions: a `supporting` one only lowers confidence, and so does a ratio to
    the whole instance while waiters or a child name the cache. A condition that cannot be judged leaves a `required` cause
    undetermined. In the other roles it only lowers confidence.
    """

    signal: str
    needs: str = Field(pattern=COMPARISON, description="comparison with a number, in the signal's unit")
    because: str
    role: ConditionRole = "required"
    usual: tuple[float | None, float | None] | None = Field(
        None, description="the usual range of the signal on ordinary databases, if a source gives it; null: no limit"
    )
    location: str | None = Field(None, description="miss location, for signals about one")
    parameter: str | None = Field(None, description="parameter, for signals about one")


class AnyOf(Frozen):
    """Alternatives. One of them is enough."""

    any_of: tuple[Condition, ...] = Field(min_length=2)


class Releases(Frozen):
    """The releases on which a cause can happen, both ends included; "12.1" includes 12.1.0.2."""

    since: str | None = Field(None, pattern=RELEASE)
    until: str | None = Field(None, pattern=RELEASE)

    def include(self, release: str) -> bool:
        """Whether a release is, or may be, one of them: "11.2" may be 11.2.0.4."""
        version = parts(release)
        floor, top = parts(self.since or "0"), parts(self.until or "99")
        return version[: len(floor)] >= floor[: len(version)] and version[: len(top)] <= top[: len(version)]


class Cause(Frozen):
    """An entry of the knowledge base, one YAML file each. `kb` is its number in our reference."""

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    kb: str
    name: str = Field(description="a few words for a list or an alert, without the name of the cache")
    title: str = Field(description="what is wrong, as one sentence of at most 12 words")
    measured_title: str | None = Field(
        None, description="the title with slots such as {logons_per_second}, used if every slot is known"
    )
    hedge_after: str | None = Field(None, description='first words of the title, after which "probably" goes')
    lede: str = Field(description="what happens, in at most 25 words")
    measured_lede: str | None = Field(None, description="the lede with slots")
    do_now: str = Field(description="the one thing to do, in one line, verb first")
    measured_do_now: str | None = Field(None, description="the same with slots; {holder} is the session that holds")
    check_first: str | None = Field(None, description="what to look at before it")
    do_not: str = Field(pattern=r"^Do not ", description="what not to do, as a sentence that begins with these words")
    measured_do_not: str | None = Field(None, description="the same with slots")
    status: Proof = Field(description="experimental, tested or proven: what the entry is founded on")
    surfaces: tuple[Surface, ...] = Field(("latch",), min_length=1, description="where it shows")
    releases: Releases = Releases()
    handbook: bool = Field(False, description="shown as a candidate to check, never found by itself")
    caches: tuple[str, ...] = ()
    location: str | None = None
    look_alike: bool = Field(False, description="explains row cache sleeps without the row cache being the cause")
    gives_way_to: tuple[str, ...] = Field(
        (), description="more special causes; if one of them is found too, this one is not shown"
    )
    special_cases: tuple[str, ...] = Field((), description="causes that say the same and why; shown above it")
    cap: Severity = Field(Severity.CRITICAL, description="highest severity this cause may take")
    explanation: str
    when: tuple[Condition | AnyOf, ...] = ()
    confirm: Query | None = None
    remedy_steps: tuple[RemedyStep, ...] = Field(min_length=1)
    remedy_effect: RemedyEffect | None = Field(
        None, description="what the remedy does to the child latch; for a prediction"
    )
    expected_effect: str
    false_positives: str
    references: tuple[Reference, ...] = ()

    @property
    def remedy(self) -> str:
        """The steps of the remedy as one paragraph."""
        return paragraph(self.remedy_steps)

    @property
    def risk(self) -> str:
        """The risks of the steps as one paragraph."""
        return risks(self.remedy_steps)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The texts that may have slots."""
        texts = (self.measured_title, self.measured_lede, self.measured_do_now, self.measured_do_not)
        return tuple(text for text in texts if text)

    @model_validator(mode="after")
    def _judged_or_looked_up(self) -> Self:
        if self.handbook == bool(self.when):
            raise ValueError(
                "a cause has conditions under `when`, or is a handbook entry without any; not both, not neither"
            )
        return self

    @model_validator(mode="after")
    def _steps_say_where_they_run(self) -> Self:
        for number, step in enumerate(self.remedy_steps, 1):
            if step.run_in is None and (step.sql or step.setting or step.from_chain):
                raise ValueError(
                    f"step {number} has a statement or a setting; say under run_in where it runs: {', '.join(WHERE)}"
                )
            if step.not_possible:
                raise ValueError(f"step {number} has not_possible; it belongs under elsewhere, to a platform")
        return self
