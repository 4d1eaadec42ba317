"""An entry of the knowledge base: Cause and its Conditions. One YAML file has one Cause."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from collectors.model import spoken
from collectors.release import OLDEST, at_least, parts
from rules.base import LOADER, Frozen
from rules.formatting import percent, rough, say, slots, within
from rules.model import ConditionRole, Confidence, Proof, Reference, Severity, Surface
from rules.remedy import (
    ACTS_ON,
    COMPARISON,
    CONTAINERS_SINCE,
    RELEASE,
    WHERE,
    Query,
    RemedyEffect,
    RemedyStep,
    paragraph,
    risks,
)
from rules.signals import SIGNALS


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
    must_be_known_since: str | None = Field(
        None, pattern=RELEASE, description="from this release on the cause is open while the signal is unknown"
    )

    def must_be_known(self, release: str | None) -> bool:
        """Whether the cause stays open on a release while the signal is unknown, as a required condition leaves it."""
        since = self.must_be_known_since
        return since is not None and (release is None or at_least(release, since))


class AnyOf(Frozen):
    """Alternatives. One of them is enough."""

    any_of: tuple[Condition, ...] = Field(min_length=2)


class Releases(Frozen):
    """The releases on which a cause can happen, both ends included; "12.1" includes 12.1.0.2."""

    since: str | None = Field(None, pattern=RELEASE)
    until: str | None = Field(None, pattern=RELEASE)

    @property
    def in_words(self) -> str:
        """Such as 19 to 19.7, from 12.1 on, or all."""
        if self.since and self.until:
            return self.since if self.since == self.until else f"{self.since} to {self.until}"
        return f"from {self.since} on" if self.since else f"up to {self.until}" if self.until else "all"

    def include(self, release: str) -> bool:
        """Whether a release is, or may be, one of them: "11.2" may be 11.2.0.4."""
        version = parts(release)
        floor, top = parts(self.since or "0"), parts(self.until or "99")
        return version[: len(floor)] >= floor[: len(version)] and version[: len(top)] <= top[: len(version)]


class Fix(Frozen):
    """The fix of a bug behind a cause: what public pages say of it. A number is to be verified on My Oracle Support."""

    bug: str = Field(pattern=r"^\d{7,8}$")
    affects: Releases = Field(description="the releases said to have the bug")
    fixed_in: str | None = Field(
        None,
        pattern=RELEASE,
        description="the first release or release update said to have the fix; null: none is named",
    )
    or_earlier: bool = Field(False, description="an earlier update may have it: the page lists the bugs of several")
    one_off: bool = Field(False, description="a page names a patch for this bug alone")
    ends_the_cause: bool = Field(description="with the fix the cause cannot be; else it can, for another reason")
    needs_setting: str | None = Field(None, description="the setting without which the fix changes nothing")
    sources: tuple[Reference, ...] = Field(min_length=1)

    @property
    def first_fixed(self) -> str:
        """The first release or update with the fix in words; empty if none is named."""
        return "" if self.fixed_in is None else f"{self.fixed_in}{' or earlier' * self.or_earlier}"

    @property
    def comes_in(self) -> str:
        """What brings it: a release or update, a patch of its own, or both."""
        alone = "a patch of its own" if self.one_off else ""
        return " and ".join(part for part in (self.first_fixed, alone) if part) or "no release that we know"


class Relation(Frozen):
    """What one cause says about another where both may be about the same waits; one kind each."""

    explains: str | None = Field(None, description="this one says why that one happens, which is then ruled out")
    shares: str | None = Field(None, description="both are true; that one is the special case, and is shown above")
    drags: Literal["row-cache"] | None = Field(
        None, description="it makes any row cache wait, and explains what has no sign of its own"
    )
    because: str | None = Field(None, description="why, as a clause")

    @property
    def kinds(self) -> dict[str, str]:
        """Kind → the cause that it names. One, if the relation is well written."""
        named = {"explains": self.explains, "shares": self.shares, "drags": self.drags}
        return {kind: name for kind, name in named.items() if name is not None}

    @model_validator(mode="after")
    def _one_kind_with_a_reason(self) -> Self:
        if len(self.kinds) != 1:
            raise ValueError("a relation is one of explains, shares and drags")
        if self.drags is None and not self.because:
            raise ValueError("say why under because")
        return self


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
    do_now: str = Field(
        description="first aid in one line, verb first: done in minutes and undone, or what to watch tonight"
    )
    then: str | None = Field(None, description="what takes developers or a quiet hour, in one line")
    measured_do_now: str | None = Field(None, description="the same with slots; {holder} is the session that holds")
    check_first: str | None = Field(None, description="what to look at before it")
    do_not: str = Field(pattern=r"^Do not ", description="what not to do, as a sentence that begins with these words")
    measured_do_not: str | None = Field(None, description="the same with slots")
    status: Proof = Field(description="experimental, tested or proven: what the entry is founded on")
    surfaces: tuple[Surface, ...] = Field(("latch",), min_length=1, description="where it shows")
    releases: Releases = Releases()
    handbook: bool = Field(False, description="shown as a candidate to check, never found by itself")
    caches: tuple[str, ...] = ()
    namespaces: tuple[int, ...] = Field((), description="of the library cache, whose waiters make a candidate")
    location: str | None = None
    relations: tuple[Relation, ...] = Field((), description="what it says about other causes of the same waits")
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
    fixes: tuple[Fix, ...] = Field((), description="the bugs that it may be, and where they are fixed")

    @cached_property
    def quickest_first(self) -> tuple[Condition | AnyOf, ...]:
        """Its conditions in the order in which the fewest are read until one fails: alternatives last."""
        order = {"required": 0, "identity": 1}
        return tuple(sorted(self.when, key=lambda each: order.get(each.role, 2) if isinstance(each, Condition) else 3))

    @cached_property
    def drags(self) -> bool:
        """Whether it explains row cache sleeps without the row cache being the cause."""
        return any(relation.drags for relation in self.relations)

    @cached_property
    def explains(self) -> Mapping[str, str]:
        """Cause → why this one says the same and more."""
        return {each.explains: each.because or "" for each in self.relations if each.explains}

    @cached_property
    def shares(self) -> tuple[str, ...]:
        """Its special cases, which are true together with it."""
        return tuple(relation.shares for relation in self.relations if relation.shares)

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
        if self.namespaces and not self.handbook:
            raise ValueError("namespaces are of a handbook entry; a cause asks for them with a signal")
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
            sets = [text.split()[1] for text in step.texts() if re.match(r"alter (session|system) set\b", text)]
            unsaid = step.acts_on is None or (step.acts_on == "this session") != ("session" in sets)
            if sets and unsaid and not step.in_cluster:
                raise ValueError(f"step {number} changes a setting; say under acts_on of what: {', '.join(ACTS_ON)}")
            if step.not_possible:
                raise ValueError(f"step {number} has not_possible; it belongs under elsewhere, to a platform")
        return self


# The sentences of a cause: fills slots with measured values, and adds doubt in one place.

CACHE = "cache"
HOLDER, WHY_LEFT = "holder", "why_left"
"""Slots that are not signals: the cache of the finding, and the session that most hanging sessions wait for."""


def filled(measured: str | None, plain: str, values: Mapping[str, str]) -> str:
    """The text with slots if every one is known, else the plain one."""
    if measured is None or not slots(measured) <= set(values):
        return plain
    return say(measured, values)


def in_slot(value: float, unit: str) -> str:
    """A signal's value for a sentence that names what is counted: 31.9 %, 4.2 ms, 18 seconds, 205."""
    if unit in ("ratio", "share of DB time"):
        return percent(value)
    if unit == "s":
        return spoken(value)  # how long something has lasted so far
    return f"{rough(value)} {unit}" if unit == "ms" else rough(value)


def hedged(title: str, after: str | None, confidence: Confidence, against: bool) -> str:
    """A title as sure as its finding: unchanged, with "probably" after its subject, or with "Perhaps" before it.

    `against` says that the confirming query speaks against the finding.
    """
    if against:
        return f"Perhaps {within(title)}"
    if confidence is not Confidence.LOW:
        return title
    if after is None or not title.startswith(f"{after} "):
        return f"Perhaps {within(title)}"
    return f"{after} probably{title[len(after) :]}"


# The knowledge base: every `causes/*.yaml`, checked and bound to its signals at load.

HOME = Path(__file__).parent / "causes"


class BadCause(Exception):
    """A cause file that cannot be used. The message names the file, the mistake and the correction."""


@cache
def catalogue() -> Mapping[str, Cause]:
    """Cause id → cause, in the order of their knowledge base numbers. Raises BadCause."""
    return load(HOME)


def load(home: Path) -> Mapping[str, Cause]:
    """Every cause in a folder. The file name is the id."""
    causes = [read(path) for path in sorted(home.glob("*.yaml")) if not path.name.endswith(".cases.yaml")]
    known = {cause.id: cause for cause in sorted(causes, key=lambda cause: (cause.kb, cause.id))}
    for cause in known.values():
        _check_relations(cause, known)
    return known


def _check_relations(cause: Cause, known: Mapping[str, Cause]) -> None:
    """Every relation names a cause that may be about the same waits, and nothing explains itself by others."""
    for kind, name in (pair for relation in cause.relations if not relation.drags for pair in relation.kinds.items()):
        if name not in known:
            raise BadCause(f"{cause.id}.yaml {kind} {name}, which is not a cause; the causes are {', '.join(known)}")
        other = known[name]
        if not set(cause.surfaces) & set(other.surfaces):
            raise BadCause(f"{cause.id}.yaml {kind} {name}, which never shows on {' or '.join(cause.surfaces)}")
        if other.handbook:
            raise BadCause(f"{cause.id}.yaml {kind} {name}, a handbook entry, which is never found")
        if [each for relation in cause.relations for each in relation.kinds.values()].count(name) > 1:
            raise BadCause(f"{cause.id}.yaml has two relations to {name}; leave out one of them")
        if cause.id in _reached(name, known, kind):
            raise BadCause(f"{cause.id}.yaml {kind} {name}, which leads back to {cause.id}; leave out one of them")


def _reached(start: str, known: Mapping[str, Cause], kind: str) -> set[str]:
    """What a cause explains or shares, directly or by others."""
    reached, ahead = set[str](), [start]
    while ahead:
        name = ahead.pop()
        if name not in reached and name in known:
            reached.add(name)
            ahead.extend(getattr(known[name], kind))
    return reached


def read(path: Path) -> Cause:
    """One cause file. `rules.signals` knows every signal that it names."""
    try:
        members = yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)
        cause = Cause.model_validate(members)
    except yaml.YAMLError as error:
        raise BadCause(f"{path.name} is not valid YAML: {' '.join(str(error).split())}") from None
    except UnicodeDecodeError as error:
        raise BadCause(f"{path.name} is not text: byte {error.start} is not UTF-8; a cause is a YAML file") from None
    except ValidationError as error:
        raise BadCause(f"{path.name}: {_first(error)}") from None
    if cause.id != path.stem:
        raise BadCause(f"{path.name} has the cause {cause.id}; name the file {cause.id}.yaml")
    known = ", ".join(sorted(SIGNALS))
    for condition in conditions(cause):
        if condition.signal not in SIGNALS:
            raise BadCause(f"{path.name} asks for the signal {condition.signal}; the signals are {known}")
    for slot in sorted(slots(*cause.sentences) - {CACHE, HOLDER, WHY_LEFT}):
        if slot not in SIGNALS:
            listed = f"{CACHE}, {HOLDER}, {WHY_LEFT}, {known}"
            raise BadCause(f"{path.name} has the slot {{{slot}}}, which is not a signal; the slots are {listed}")
    if plain := slots(cause.title, cause.lede):
        raise BadCause(
            f"{path.name} has the slot {{{min(plain)}}} in title or lede; move it to measured_title or measured_lede"
        )
    return cause


def conditions(cause: Cause) -> Iterator[Condition]:
    """Every condition of a cause, alternatives included."""
    for condition in cause.when:
        yield from condition.any_of if isinstance(condition, AnyOf) else (condition,)


def _first(error: ValidationError) -> str:
    detail = error.errors()[0]
    return f"{'.'.join(str(part) for part in detail['loc'])}: {detail['msg']}"


# Which views the confirming queries read, by cause and release. Grants and documents use it.


@dataclass(frozen=True, slots=True)
class TextSpan:
    """The releases on which a cause's query has one text, and the views that the text reads."""

    cause: str
    since: str
    until: str | None
    """The last release, as the cause has it. None without one, or if another text follows."""
    before: str | None
    """The release at which the next text starts."""
    views: tuple[str, ...]

    @property
    def older(self) -> bool:
        """Whether it is for releases before 12.1, which have no containers."""
        return parts(self.since) < parts(CONTAINERS_SINCE)

    @property
    def newer(self) -> bool:
        """Whether it is for 12.1 or later."""
        if self.before is not None:
            return parts(self.before) > parts(CONTAINERS_SINCE)
        return self.until is None or parts(self.until) >= parts(CONTAINERS_SINCE)


def text_spans(cause: Cause) -> tuple[TextSpan, ...]:
    """The texts of a cause's confirming query, oldest first. Empty if it has no query."""
    query = cause.confirm
    if query is None:
        return ()
    begin = max(cause.releases.since or query.since or OLDEST, query.since or "0", key=parts)
    newer = (floor for floor in query.variants() if floor and parts(floor) > parts(begin))
    later = [floor for floor in newer if cause.releases.include(floor)]
    return tuple(
        TextSpan(cause.id, floor, None if after else cause.releases.until, after, query.views(floor))
        for floor, after in zip([begin, *later], [*later, None], strict=True)
    )


def views_asked(causes: Iterable[Cause], *, containers: bool) -> dict[str, tuple[str, ...]]:
    """View → causes whose confirming query reads it on 12.1 or later (`containers`), or on a release before."""
    found: dict[str, list[str]] = {}
    for span in (span for cause in causes for span in text_spans(cause)):
        for view in span.views if (span.newer if containers else span.older) else ():
            found.setdefault(view, []).append(span.cause)
    return {view: tuple(dict.fromkeys(found[view])) for view in sorted(found)}
