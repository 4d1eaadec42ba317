"""The remedy of a cause: its steps, and the steps in one paragraph."""

from collections.abc import Iterable, Mapping
from typing import Self

from pydantic import AliasChoices, Field, model_validator

from collectors.release import at_least, text_for
from rules.frozen import Frozen
from rules.query import COMPARISON, CONTAINERS_SINCE, Texts

NOT_KNOWN = "Not known."
NONE = "None."
IN_CONTAINERS = (
    "In a container database run the SQL in the container that has the trouble: see con_id of the confirming rows, or the "
    "container of the waiting sessions. In CDB$ROOT it may read and change the root alone."
)


class RemedyStep(Frozen):
    """One thing to do, the least invasive first. A fact without a source is null and reads "not known"."""

    do: str = Field(description="what to do, verb first")
    sql: Texts | None = Field(None, description="the statement for it; one text, or lowest release → text")
    setting: str | None = Field(None, description="lines for a file or an application, not SQL")
    in_cluster: str | None = Field(
        None,
        description="what ends the statement in a cluster (RAC); null if nothing, or if the statement has it already",
    )
    fill_in: tuple[str, ...] = Field(
        (), description="names in `sql`, `in_cluster` or `setting` to be replaced by your own"
    )
    reading: str | None = Field(None, description="how to read the result of the statement")
    bound: str | None = Field(None, pattern=COMPARISON, description="the number in `reading`, if one is known")
    risk: str | None = Field(None, description="what it can break; null if unknown")
    online: bool | None = Field(None, description="whether work goes on meanwhile; null if unknown")
    way_back: str | None = Field(None, description="how to undo it; null if unknown, or if nothing changes")

    @model_validator(mode="after")
    def _names_to_fill_in_are_there(self) -> Self:
        written = " ".join((*self.texts(), self.in_cluster or "", self.setting or ""))
        if absent := [name for name in self.fill_in if name not in written]:
            raise ValueError(f"fill_in names {absent[0]}, which is in neither sql, in_cluster nor setting")
        if self.in_cluster and not isinstance(self.sql, str):
            raise ValueError("in_cluster needs one text under sql, which it ends")
        return self

    def texts(self) -> tuple[str, ...]:
        """Every text of the statement. Empty if the step has none."""
        if self.sql is None:
            return ()
        return tuple(self.sql.values()) if isinstance(self.sql, Mapping) else (self.sql,)

    def text(self, release: str | None) -> str | None:
        """The statement for a release; the oldest if the release is unknown. None if there is none for it."""
        if self.sql is None or isinstance(self.sql, str):
            return self.sql
        return text_for(self.sql, release)

    def on(self, clustered: bool | None) -> Self:
        """The step on an instance of a cluster, or on a single one. Unchanged if nobody knows which it is."""
        if self.in_cluster is None or clustered is None:
            return self
        if clustered:
            back = self.way_back and f"{self.way_back.removesuffix('.')}, also with {self.in_cluster}."
            return self.model_copy(
                update={"sql": f"{self.sql} {self.in_cluster}", "in_cluster": None, "way_back": back}
            )
        kept = tuple(name for name in self.fill_in if name not in self.in_cluster)
        return self.model_copy(update={"in_cluster": None, "fill_in": kept})

    @property
    def changes(self) -> bool:
        """Whether it may change something. Only a step whose statement just reads does not."""
        return not self.sql or not all(text.lstrip().lower().startswith(("select ", "with ")) for text in self.texts())


class Advice(Frozen):
    """What a finding says to people: what is wrong, and what to do about it.

    A Diagnosis that an older release stored has only some of these fields: its title was the name.
    """

    cause: str
    name: str = Field(
        validation_alias=AliasChoices("name", "title"), description="the cause in a few words, for a list"
    )
    title: str = Field(description="what is wrong, as a sentence with what was measured, and with its doubt")
    lede: str = Field("", description="what happens, in at most 25 words")
    do_now: str = Field("", description="the one thing to do")
    check_first: str | None = Field(None, description="what to look at before it")
    do_not: str = Field("", description="what not to do, as a sentence that begins with these words")
    remedy: str = Field(description="what to do, as one paragraph")
    remedy_steps: tuple[RemedyStep, ...] = Field((), description="the same step by step, the least invasive first")
    risk: str = Field(description="the risks of the steps, as one paragraph")
    expected_effect: str


def in_containers(steps: Iterable[RemedyStep], release: str | None = None) -> str:
    """Where to run the statements of the steps in a container database. Empty without statements, or on an old release."""
    possible = release is None or at_least(release, CONTAINERS_SINCE)
    return IN_CONTAINERS if possible and any(step.sql for step in steps) else ""


def paragraph(steps: Iterable[RemedyStep]) -> str:
    """The steps as one paragraph."""
    return " ".join(step.do for step in steps)


def risks(steps: Iterable[RemedyStep]) -> str:
    """The risks of all steps as one paragraph, each with the number of its step if there are several steps."""
    each = [(number, step.risk) for number, step in enumerate(steps, 1) if step.risk]
    real = [(number, risk) for number, risk in each if risk != NONE]
    if not real:
        return NONE if each else NOT_KNOWN
    return " ".join(f"Step {number}: {risk}" for number, risk in real) if len(each) > 1 else real[0][1]
