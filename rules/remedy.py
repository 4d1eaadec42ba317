"""The remedy of a cause: its steps, and the steps in one paragraph."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import AliasChoices, Field, model_validator

from collectors.release import as_sent, at_least, parts, text_for
from rules.base import LOADER, Frozen

# What a remedy is worth, in a cause and in a Diagnosis. The field names of a Diagnosis are a contract.

NOT_TIME = "It predicts misses, not the time lost"
OF_MISSES = f"{NOT_TIME}. Sessions lose time where a miss ends in a sleep, so compare before and after"
"""What a prediction is about, beside it."""


class RemedyEffect(Frozen):
    """What a cause's remedy does to its child latch, as factors from least to most."""

    gets: tuple[float, float] = Field((1.0, 1.0), description="gets per unit of work afterwards")
    hold: tuple[float, float] | Literal["ordinary"] = Field(
        (1.0, 1.0), description="hold time afterwards; ordinary is that of the other children"
    )
    because: str

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        ranges = [self.gets, *([] if self.hold == "ordinary" else [self.hold])]
        if any(not 0 < least <= most <= 1 for least, most in ranges):
            raise ValueError("gets and hold are factors above 0 and at most 1, the least first")
        return self


class PredictedFigure(Frozen):
    """One figure now and after the remedy. The interval contains it about 19 times in 20."""

    name: Literal["miss_ratio", "misses_per_second", "sleeps_per_second", "utilisation"]
    unit: str
    now: float
    value: float | None = Field(description="null if only the interval is known")
    low: float
    high: float


class PredictedEffect(Frozen):
    """The effect of the first finding's remedy on its child latch. `refused` says why there is no prediction."""

    cause: str
    child: int | None
    cache: str | None
    change: str = Field(description="the assumed effect of the remedy on the latch")
    statement: str
    figures: tuple[PredictedFigure, ...] = ()
    confidence: Literal["low", "medium"] = "low"
    intervals: int = Field(1, description="intervals that the model was calibrated on")
    notes: tuple[str, ...] = ()
    refused: str | None = None


class ScoredFigure(Frozen):
    """One predicted figure and the actual one."""

    name: Literal["miss_ratio", "sleeps_per_second"]
    unit: str
    before: float
    low: float
    high: float
    came: float
    inside: bool


class PredictionScore(Frozen):
    """A prediction from before a change mark, compared with the time after it."""

    held: bool = Field(description="misses lie in their interval, and sleeps do not exceed theirs")
    statement: str
    intervals: int = Field(description="intervals that the prediction was calibrated on")
    figures: tuple[ScoredFigure, ...]
    made_at: datetime | None = Field(None, description="the poll whose page showed it; null of older releases")
    child: int | None = Field(None, description="the child latch it is about; null of older releases")


# Query: the query that settles a cause, as a cause file has it. Confirmation: the same in a finding.

_SAID: Mapping[str, Any] = yaml.load(
    (Path(__file__).parent / "remedies.yaml").read_text(encoding="utf-8"), Loader=LOADER
)
COMPARISON = r"^(>=|<=) -?\d+(\.\d+)?(e[+-]?\d+)?$"
RELEASE = r"^\d+(\.\d+)*$"
CONTAINERS_SINCE = "12.1"
INSTANCE_WIDE = frozenset(
    {"v$instance", "v$mutex_sleep", "v$osstat", "v$result_cache_statistics", "v$rowcache", "v$sga_resize_ops"}
)
"""Views of the whole instance, which are the same from every container."""
LASTING = ("dba_", "cdb_", "audit_", "v$datafile", "v$instance", "v$parameter", "v$pdbs", "v$system_parameter")
"""How the views begin whose rows last: what they have today they had some time ago, unless somebody changed it."""
CDB_LIMITS = (
    "From the root a cdb_ view asks each open container in turn, so with many it may not answer in time: ask then in the "
    "container that has the problem. Containers that are mounted or open restricted are missing without a word."
)
"""https://docs.oracle.com/database/121/REFRN/GUID-2B8A1B8B-4F5B-4FBB-AE0B-68B6F8BA7D5E.htm names what is missing."""
AFTER_A_HANG = "Not during a hang: it reads the dictionary."
PASSING = re.compile(r"sysdate|jobs_running|running_jobs")
"""What such a view is asked where only the last hour, or what runs right now, is meant."""

Decides = Literal["both", "for", "against"]
Unbounded = Literal["twice", "circular", "none"]
Texts = str | Mapping[str, str]
"""One text for every release, or lowest release → text. The nearest lower release wins."""


class Band(Frozen):
    """A stretch of the scale of a confirming query: the meaning of a number from `value` on, up to the next band."""

    value: float
    meaning: str


class Query(Frozen):
    """A confirming query: one number that a DBA, or latchscope on request, reads from the dictionary."""

    sql: Texts
    names: Texts | None = Field(None, description="up to five rows that name what was counted")
    reads: tuple[str, ...] = Field(min_length=1, description="every view that one of the texts reads")
    root: bool = Field(False, description="inside a PDB the number means nothing")
    reading: str = Field(description="what the number is, and how to read it beside the bands")
    bands: tuple[Band, ...] = Field((), description="the scale of the number, where one is known")
    needs: str | None = Field(None, pattern=COMPARISON)
    decides: Decides = Field("both", description="for: a number that misses says nothing; against: one that meets it")
    unbounded: Unbounded = Field("none", description="why there is no bound, and what to do with the number then")

    @model_validator(mode="after")
    def _texts_are_for_releases(self) -> Self:
        if self.unbounded != "none" if self.needs else self.decides != "both":
            raise ValueError("decides belongs to a bound under needs, and unbounded to a query without one")
        for texts in (self.sql, self.names):
            for release in texts if isinstance(texts, Mapping) else ():
                if not re.fullmatch(RELEASE, release):
                    raise ValueError(f"{release!r} is not a release; write one such as 12.1")
        if isinstance(self.sql, Mapping) and not self.sql:
            raise ValueError("sql has no text")
        values = [band.value for band in self.bands]
        if values != sorted(set(values)):
            raise ValueError("bands must ascend, each from its value to the next one's")
        return self

    @property
    def scale(self) -> str:
        """How to read the number: its bands in words, and what it decides where bands around a bound do not say so."""
        return " ".join((self.reading, *_spelled(self.bands), *([] if self.bands and self.needs else [self.decision])))

    @property
    def decision(self) -> str:
        """One sentence: what a number says of the cause."""
        if self.needs is None:
            said: str = _SAID["unbounded"][self.unbounded]  # what the page says of a number that no bound decides on
            return said
        more, less = ("more", "less") if self.needs.startswith(">=") else ("less", "more")
        met = f"{float(self.needs[3:]):,g} or {more}"
        return {
            "both": f"{met} speaks for this cause, {less} against it.",
            "for": f"{met} speaks for this cause; {less} decides nothing.",
            "against": f"{met} decides nothing; {less} speaks against this cause.",
        }[self.decides]

    @property
    def limits(self) -> str | None:
        """What its texts for containers leave out. None without such a text."""
        return limits_of(" ".join(self.reads))

    @property
    def since(self) -> str | None:
        """The lowest release that has a text. None if one text is for all."""
        return min(self.sql, key=parts) if isinstance(self.sql, Mapping) else None

    def text(self, release: str | None) -> str | None:
        """The text for a release; the oldest if the release is unknown. None if every text is for a newer one."""
        return _text(self.sql, release)

    def naming(self, release: str | None) -> str | None:
        """The text that names what is counted. None if the release has none."""
        return None if self.names is None else _text(self.names, release)

    def variants(self) -> dict[str | None, str]:
        """Lowest release → text, in order. None stands for all releases."""
        if isinstance(self.sql, str):
            return {None: as_sent(self.sql)}
        return {floor: as_sent(self.sql[floor]) for floor in sorted(self.sql, key=parts)}

    def views(self, release: str | None) -> tuple[str, ...]:
        """The views that the texts for a release read."""
        text = f"{self.text(release) or ''} {self.naming(release) or ''}".lower()
        return tuple(view for view in self.reads if re.search(rf"(?<![\w$#]){re.escape(view)}(?![\w$#])", text))

    def lasts(self, release: str | None) -> bool:
        """Whether the number still counts for a time that is over, as one of sequences does and one of sessions does not."""
        views = self.views(release)
        return all(view.startswith(LASTING) for view in views) and not PASSING.search(self.text(release) or "")

    def sees_all(self, release: str | None, con_id: int | None) -> bool:
        """Whether the number covers everything when the query runs in a container.

        Inside a PDB the query sees only the PDB, and DBA_ views show one container from anywhere. In an unknown
        container the number does not count as complete.
        """
        if release is not None and parts(release) < parts(CONTAINERS_SINCE):
            return True
        views = self.views(release)
        if con_id == 0 or all(view in INSTANCE_WIDE for view in views):
            return True
        return con_id == 1 and all(view.startswith(("cdb_", "v$")) for view in views)


def limits_of(text: str) -> str | None:
    """What a query that reads the dictionary leaves out, and when not to run it. None for one that reads none."""
    if "cdb_" not in text and "dba_" not in text:
        return None
    return f"{CDB_LIMITS} {AFTER_A_HANG}" if "cdb_" in text else AFTER_A_HANG


def _spelled(bands: Sequence[Band]) -> Iterator[str]:
    """The bands as one sentence: "Below 500: ordinary; from 500 on: seen healthy." """
    if bands:
        first, *rest = bands
        start = f"below {rest[0].value:,g}" if rest and not first.value else f"from {first.value:,g} on"
        readings = [f"{start}: {first.meaning}", *(f"from {band.value:,g} on: {band.meaning}" for band in rest)]
        words = "; ".join(readings)
        yield f"{words[:1].upper()}{words[1:]}."


def _text(texts: Texts, release: str | None) -> str | None:
    return as_sent(texts) if isinstance(texts, str) else text_for(texts, release)


class Confirmation(Frozen):
    """The confirming query of a finding and, once somebody ran it, its result."""

    @property
    def limits(self) -> str | None:
        """What the query leaves out in a container database. None if it leaves out nothing."""
        return limits_of(self.sql)

    sql: str
    names_sql: str | None = Field(None, description="up to five rows that name what is counted")
    reading: str = ""
    bands: tuple[Band, ...] = Field((), description="the scale of the number, where one is known")
    obstacle: str | None = Field(
        None, description="why it cannot run here, and the way out; null if nothing prevents it"
    )
    needs: str | None = Field(None, description="the number that confirms the cause; null without a known bound")
    decides: Decides = Field(
        "both", description="what a number can do by `needs`: speak for the cause, against it, both"
    )
    result: float | None = None
    asked_at: datetime | None = Field(None, description="when it ran; null if unknown")
    seen: str | None = Field(None, description="the container the query ran in, and how much it saw from there")
    names: tuple[Mapping[str, str | float | None], ...] = Field((), description="what was counted: column → cell")
    unnamed: str | None = Field(None, description="why the names are missing")
    confirms: bool | None = Field(
        None, description="null if the number decides nothing, and if one that misses does not cover all containers"
    )


NOT_KNOWN = "Not known."
NONE = "None."
RunIn = Literal["container", "undo", "root", "host", "instance"]
ActsOn = Literal["this session", "new sessions", "instance", "all instances", "container", "root"]
Platform = Literal["rds", "autonomous"]
PLATFORMS: Mapping[Platform, str] = {"rds": "Amazon RDS", "autonomous": "Autonomous Database"}
WHERE: Mapping[RunIn, str] = _SAID["run in"]
ACTS_ON: Mapping[ActsOn, str] = _SAID["acts on"]


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

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, given: object) -> object:
        """A cause file may name the steps of an entry of remedies.yaml, which are those of several causes."""
        shared: Mapping[str, object] = _SAID["elsewhere"]
        if isinstance(given, str) and given not in shared:
            raise ValueError(f"elsewhere is {given}; the entries of remedies.yaml are {', '.join(shared)}")
        return shared[given] if isinstance(given, str) else given

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
    acts_on: ActsOn | None = Field(
        None, description="what its statement changes; null if it only reads, or as `run_in`"
    )
    elsewhere: PlatformSteps = Field(
        PlatformSteps(), description="platform that refuses the step → what takes its place there; empty in a finding"
    )
    not_possible: str | None = Field(
        None, description="why the platform of this database refuses the step; it then has no statement"
    )
    from_chain: bool = Field(
        False,
        description="its command is the action of the wait chain; a finding without such an action leaves it out",
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
        gone = dict.fromkeys(("sql", "setting", "in_cluster", "reading", "bound", "acts_on"))
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
    do_now: str = Field("", description="the first aid: what a DBA can do in minutes and undo")
    then: str | None = Field(None, description="what takes developers or a quiet hour; null: nothing, or in the steps")
    check_first: str | None = Field(None, description="what to look at before it")
    do_not: str = Field("", description="what not to do, as a sentence that begins with these words")
    remedy: str = Field(description="what to do, as one paragraph")
    remedy_steps: tuple[RemedyStep, ...] = Field((), description="the same step by step, the least invasive first")
    risk: str = Field(description="the risks of the steps, as one paragraph")
    expected_effect: str


def where(step: RemedyStep, release: str | None = None) -> str:
    """Where the step runs and what it changes, as words. Without what it changes empty if the release has no containers."""
    changed, possible = step.acts_on and ACTS_ON[step.acts_on], release is None or at_least(release, CONTAINERS_SINCE)
    told = step.run_in if step.run_in == "host" or (possible and step.text(release)) else None
    return " ".join(filter(None, (WHERE[told] if told else "the database." if changed else None, changed)))


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
