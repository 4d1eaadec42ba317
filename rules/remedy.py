"""The remedy of a cause: its steps, and the steps in one paragraph."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, Self

from pydantic import AliasChoices, Field, model_validator

from collectors.release import at_least, text_for
from rules.frozen import Frozen
from rules.query import COMPARISON, CONTAINERS_SINCE, Texts

NOT_KNOWN = "Not known."
NONE = "None."
RunIn = Literal["container", "root", "host", "instance"]
Platform = Literal["rds", "autonomous"]
PLATFORMS: Mapping[Platform, str] = {"rds": "Amazon RDS", "autonomous": "Autonomous Database"}
WHERE: Mapping[RunIn, str] = {
    "container": "the container that has the problem (con_id of the confirming rows, or container of the waiting sessions).",
    "root": "CDB$ROOT, in a container database.",
    "host": "a file, a shell or a console outside the database. It is no SQL.",
    "instance": "the instance that has the problem, from CDB$ROOT if you can: elsewhere you see one container.",
}


class PlatformStep(Frozen):
    """What takes the place of a step on a platform that refuses it, or why nothing does."""

    do: str | None = Field(None, description="what to do there instead; null: the same, without the statement")
    sql: str | None = Field(None, description="the statement for it there")
    setting: str | None = Field(None, description="lines for a file, an application or a console, not SQL")
    run_in: RunIn = Field("container", description="where it runs there")
    fill_in: tuple[str, ...] = Field((), description="names in `sql` or `setting` to be replaced by your own")
    reading: str | None = Field(None, description="how to read the result there")
    risk: str | None = Field(None, description="what it can break; null: as in the step")
    not_possible: str | None = Field(None, description="why nothing takes its place")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if bool(self.do) == bool(self.not_possible):
            raise ValueError(
                "say under `do` what to do there, or under `not_possible` why nothing is; not both, not neither"
            )
        written = " ".join((self.sql or "", self.setting or ""))
        if absent := [name for name in self.fill_in if name not in written]:
            raise ValueError(f"fill_in names {absent[0]}, which is in neither sql nor setting")
        return self


class PlatformSteps(Frozen):
    """What takes the place of a step on each platform that refuses it; null where the step itself runs."""

    rds: PlatformStep | None = None
    autonomous: PlatformStep | None = None

    def __bool__(self) -> bool:
        return bool(self.rds or self.autonomous)

    def get(self, platform: str | None) -> PlatformStep | None:
        """The step for a platform. None where nothing takes its place."""
        return {"rds": self.rds, "autonomous": self.autonomous}.get(platform or "")

    def items(self) -> Iterator[tuple[Platform, PlatformStep]]:
        """Each platform that refuses the step, with what takes its place."""
        yield from ((name, step) for name in PLATFORMS if (step := self.get(name)) is not None)


class RemedyStep(Frozen):
    """One thing to do, the least invasive first. A fact without a source is null and reads "not known"."""

    do: str = Field(description="what to do, verb first")
    sql: Texts | None = Field(None, description="the statement for it; one text, or lowest release → text")
    setting: str | None = Field(None, description="lines for a file or an application, not SQL")
    run_in: RunIn | None = Field(
        None,
        description="where it runs: in the container with the problem, in CDB$ROOT, on this very instance, or on a host "
        "outside the database; null if it runs nowhere, or where `reading` says",
    )
    elsewhere: PlatformSteps = Field(
        PlatformSteps(), description="platform that refuses the step → what takes its place there; empty in a finding"
    )
    not_possible: str | None = Field(
        None, description="why the platform of this database refuses the step; it then has no statement"
    )
    from_chain: bool = Field(
        False,
        description="its statement is the command of the wait chain; a finding without such a command leaves it out",
    )
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

    def at(self, platform: str | None) -> Self:
        """The step on a platform: what takes its place there, or why nothing does. The step itself elsewhere."""
        other = self.elsewhere.get(platform)
        if other is None:
            return self.model_copy(update={"elsewhere": PlatformSteps()})
        gone = dict.fromkeys(("sql", "setting", "in_cluster", "reading", "bound"))
        if other.not_possible:
            gone |= dict.fromkeys(("run_in", "risk", "online", "way_back"))
            return self.model_copy(
                update={**gone, "fill_in": (), "elsewhere": PlatformSteps(), "not_possible": other.not_possible}
            )
        runs = bool(other.sql or other.setting)
        given = other.model_dump(include={"do", "sql", "setting", "fill_in", "reading"})
        where = other.run_in if runs or other.run_in != "container" else None
        return self.model_copy(
            update={**gone, **given, "risk": other.risk or self.risk, "run_in": where, "elsewhere": PlatformSteps()}
        )

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


def where(step: RemedyStep, release: str | None = None) -> str:
    """Where the step runs, as words for people. Empty if it runs nowhere, or if the release has no containers to tell apart."""
    if step.run_in == "host":
        return WHERE["host"]
    possible = release is None or at_least(release, CONTAINERS_SINCE)
    return WHERE[step.run_in] if step.run_in and possible and step.text(release) else ""


def paragraph(steps: Iterable[RemedyStep]) -> str:
    """The steps as one paragraph."""
    return " ".join(step.do for step in steps if not step.not_possible)


def risks(steps: Iterable[RemedyStep]) -> str:
    """The risks of all steps as one paragraph, each with the number of its step if there are several steps."""
    each = [(number, step.risk) for number, step in enumerate(steps, 1) if step.risk]
    real = [(number, risk) for number, risk in each if risk != NONE]
    if not real:
        return NONE if each else NOT_KNOWN
    return " ".join(f"Step {number}: {risk}" for number, risk in real) if len(each) > 1 else real[0][1]
