"""Inputs of one time joined into one incident: what each of them says when, where they agree, and where they disagree.

An alert log, traces, reports and captures of one database go into one story. It adds no verdict: the cause is that of one input.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations, product
from typing import Literal

from pydantic import Field

from collectors.logs.phrases import KINDS
from collectors.model import Delta, EventKind, LoggedEvent
from collectors.release import parts
from rules.base import Frozen
from rules.formatting import counted, listed, within
from rules.hangs.blockers import described_session
from rules.model import CANNOT_TELL, Confidence, Diagnosis, Finding, Severity
from service.intake.inputs import DiagnosedInput

SIGNS: Mapping[EventKind, int] = {kind: said["sign"] for kind, said in KINDS.items() if "sign" in said}
"""Lines that make an incident, and how much each weighs when the folder holds several. Others are context."""
INTERVAL_WEIGHT = 3
"""The same for an interval with a problem, times its severity."""
MOST_EACH = 10
"""Lines of one kind in one file that weigh something. A thousand equal lines are not a thousand incidents."""
GAP = timedelta(hours=1)
"""Signs further apart than this are of two incidents."""
AROUND = timedelta(hours=1)
"""What else the logs say belongs to it from this long before the first sign until this long after the last one."""
LONG = timedelta(hours=4)
"""An interval longer than this says too little of when. It joins an incident and makes none."""
MOST_MOMENTS = 60
MOST_TRACES = 3

UNNAMED = frozenset({"", "unknown"})

MomentKind = EventKind | Literal["interval"]


class Moment(Frozen):
    """One thing that an input says, and when."""

    at: datetime | None = Field(description="by the clock of `Incident.clock`, without a zone; null if it has no time")
    until: datetime | None = Field(
        None, description="end of an interval, or the last line of the same kind; null for one line"
    )
    file: str
    line: int | None = Field(None, description="line of the file, from 1; null for an interval")
    kind: MomentKind = Field(description="`interval` for a report, a capture, or the script's output")
    text: str
    times: int = Field(1, description="how many such lines it stands for")


class Incident(Frozen):
    """One story of several inputs."""

    database: str
    instances: tuple[str, ...] = Field((), description="instances that the inputs are of, where they name them")
    begin: datetime | None = Field(description="first sign, by `clock`, without a zone")
    end: datetime | None = Field(description="last sign")
    clock: Literal["host", "UTC"] = Field(description="whose clock all times are by")
    headline: str
    cause: str | None = Field(description="of the surest finding of all inputs; null if none has one")
    cache: str | None = Field(description="that the finding names, or else the log lines")
    confidence: Confidence | None = Field(description="as in that finding; joining adds nothing to it")
    rests_on: str | None = Field(description="the input with that finding")
    do_now: str | None = Field(None, description="as in that finding")
    do_not: str | None = Field(None, description="as in that finding")
    moments: tuple[Moment, ...] = Field(
        (), max_length=MOST_MOMENTS, description="oldest first, those without a time last"
    )
    left_out: int = Field(0, description="moments that are not listed")
    agreements: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = Field((), description="where two inputs say different things; both are kept")
    bring: tuple[str, ...] = Field((), description="trace files that the logs name and that were not given")
    files: tuple[str, ...] = Field(description="inputs that belong to it")
    apart: tuple[str, ...] = Field((), description="inputs that do not, each with the reason")
    notes: tuple[str, ...] = ()

    @property
    def mixed(self) -> bool:
        """Whether it says more than its inputs one by one: several files, one of them a log, or several instances."""
        logged = any(moment.kind != "interval" for moment in self.moments)
        return len(self.files) > 1 and (logged or len(self.instances) > 1)


class Story(Frozen):
    """What `latchscope diagnose --story` prints: the incident of the inputs, and the Diagnosis of each."""

    incident: Incident | None = Field(description="null if no input shows a problem that has a time")
    diagnoses: tuple[Diagnosis, ...]


def story(diagnosed: Sequence[DiagnosedInput]) -> Story:
    """The inputs as one object."""
    return Story(incident=incident(diagnosed), diagnoses=tuple(entry.diagnosis for entry in diagnosed))


def incident(diagnosed: Sequence[DiagnosedInput]) -> Incident | None:
    """The incident with the heaviest signs. None if no input has a sign with a time."""
    found = _joined(diagnosed)
    return found.incident() if found else None


def under_one_name(diagnosed: Sequence[DiagnosedInput]) -> list[DiagnosedInput]:
    """The inputs, those of the incident with one name of their database, which each file writes in its own way.

    ERP1 and ERP2 may be two instances or two databases: they keep their names unless a report says that it is of a cluster.
    """
    found = _joined(diagnosed)
    if found is None or len(found.joined) < 2:
        return list(diagnosed)
    names = {
        id(each.entry): found.called([each])
        for each in found.joined
        if found.clustered or each.entry.change.database.casefold() == found.database.casefold()
    }
    return [
        replace(entry, diagnosis=entry.diagnosis.model_copy(update={"database": names[id(entry)]}))
        if id(entry) in names
        else entry
        for entry in diagnosed
    ]


# One clock for all: that of the host, because reports print no other.


@dataclass(frozen=True, slots=True)
class _Clock:
    """Puts times on the host's clock, without a zone. Reports and old logs are on it; captures are UTC."""

    offset: timedelta | None
    """What the host's clock is ahead of UTC, as an alert log or trace prints it. None if no file says it."""
    name: Literal["host", "UTC"]
    guessed: bool
    """Whether captures in UTC come together with files on a host's clock whose zone nobody prints."""

    @classmethod
    def of(cls, diagnosed: Sequence[DiagnosedInput]) -> "_Clock":
        changes = [entry.change for entry in diagnosed if isinstance(entry.change, Delta)]
        zoned = (event.at.utcoffset() for delta in changes for event in delta.events if event.at)
        offset = next((each for each in zoned if each is not None), None)
        sources = {delta.source for delta in changes}
        alone = sources <= {"views"}
        return cls(offset, "UTC" if alone else "host", not alone and "views" in sources and offset is None)

    def put(self, moment: datetime) -> datetime:
        if moment.tzinfo is None:
            return moment
        return moment.astimezone(UTC).replace(tzinfo=None) + (self.offset or timedelta())


class _Input:
    """One input as the story reads it. Times are on the common clock."""

    def __init__(self, entry: DiagnosedInput, clock: _Clock) -> None:
        self.entry, self.name, self.dbid = entry, entry.name, entry.change.dbid
        delta = entry.change if isinstance(entry.change, Delta) else None
        row = next(iter(delta.rows("v$instance")), {}) if delta else {}
        called = row.get("instance_name") or row.get("instance_number")
        self.instance = str(called) if called else None
        named = {entry.change.database.casefold(), str(row.get("instance_name") or "").casefold()} - UNNAMED
        self.names = frozenset(re.sub(r"[/_]?\d$", "", name) for name in named)
        """Of database and instance, without case and without the number of an instance."""
        events = delta.events if delta else ()
        self.events = tuple((clock.put(event.at) if event.at else None, event) for event in events)
        basis = delta.basis if delta and delta.source in ("views", "report") else None
        placed = basis and basis.begin and basis.end and (clock.put(basis.begin), clock.put(basis.end))
        self.window: tuple[datetime, datetime] | None = placed or None
        release = parts(entry.diagnosis.release or "")
        self.release = release[: 1 if release >= (18,) else 4]
        """As far as every kind of input writes it: from 18 on some have 19.21.0.0.0 where others have 19.0.0.0.0."""

    @property
    def troubled(self) -> bool:
        """Whether its interval has a problem with the row cache."""
        return self.window is not None and self.entry.diagnosis.severity is not Severity.INFO

    @property
    def findings(self) -> list[Finding]:
        return [each for each in self.entry.diagnosis.findings if each.severity is not Severity.INFO]

    @property
    def caches(self) -> set[str]:
        """That it names: in a line, in a finding, or as what its sessions hang on."""
        lines = {str(event.facts["cache"]) for _, event in self.events if event.facts.get("cache")}
        hanging = {group.cache for group in self.entry.diagnosis.waiting if group.hanging}
        return lines | hanging | {each.cache for each in self.findings if each.cache}

    def within(self, begin: datetime, end: datetime) -> bool:
        """Whether it says something of this time, or something without a time."""
        if self.window is not None:
            return self.window[0] <= end and self.window[1] >= begin
        return any(at is None or begin <= at <= end for at, _ in self.events)

    def owner_of(self, other: "_Input") -> bool:
        """Whether both may be of one database. An input that names none may be of any. None runs two releases at a time."""
        differ = self.release and other.release and self.release != other.release
        if differ and self.window and other.window and other.within(*self.window):
            return False
        if self.dbid is not None and other.dbid is not None:
            return self.dbid == other.dbid
        return not self.names or not other.names or bool(self.names & other.names)


def _by_database(inputs: Sequence[_Input]) -> list[list[_Input]]:
    """The inputs of each database; those that name none are in every group."""
    known = [each for each in inputs if each.names or each.dbid]
    groups: list[list[_Input]] = []
    for each in known or inputs:
        own = next((group for group in groups if all(each.owner_of(other) for other in group)), None)
        if own is None:
            groups.append([each])
        else:
            own.append(each)
    return [[each for each in inputs if each in group or not (each.names or each.dbid)] for group in groups]


@dataclass(frozen=True, slots=True)
class _Span:
    """Signs of one database without a long gap between them."""

    begin: datetime
    end: datetime
    weight: float
    group: Sequence[_Input]


def _spans(group: Sequence[_Input]) -> list[_Span]:
    spans: list[_Span] = []
    for begin, end, weight in sorted(sign for each in group for sign in _signs(each)):
        if spans and begin - spans[-1].end <= GAP:
            last = spans.pop()
            begin, end, weight = last.begin, max(last.end, end), last.weight + weight
        spans.append(_Span(begin, end, weight, group))
    return spans


def _signs(each: _Input) -> Iterator[tuple[datetime, datetime, float]]:
    """Begin, end and weight of each sign of an input."""
    if each.window and each.troubled and each.window[1] - each.window[0] <= LONG:
        yield *each.window, float(INTERVAL_WEIGHT * each.entry.diagnosis.severity.rank)
    counted: dict[EventKind, int] = defaultdict(int)
    for at, event in each.events:
        if at is not None and event.kind in SIGNS:
            counted[event.kind] += 1
            yield at, at, float(SIGNS[event.kind]) if counted[event.kind] <= MOST_EACH else 0.0


# The story itself.


def _joined(diagnosed: Sequence[DiagnosedInput]) -> "_Joined | None":
    """The incident with the heaviest signs."""
    clock = _Clock.of(diagnosed)
    inputs = [_Input(entry, clock) for entry in diagnosed]
    spans = [span for group in _by_database(inputs) for span in _spans(group)]
    return _Joined(max(spans, key=lambda each: (each.weight, each.end)), inputs, clock) if spans else None


class _Joined:
    """The inputs of one incident, and what they tell together."""

    def __init__(self, span: _Span, inputs: Sequence[_Input], clock: _Clock) -> None:
        self.span, self.inputs, self.clock = span, inputs, clock
        self.begin, self.end = span.begin - AROUND, span.end + AROUND
        self.joined = [each for each in span.group if each.within(self.begin, self.end)]
        self.lines = [
            (at, event)
            for each in self.joined
            for at, event in each.events
            if at is not None and event.kind in SIGNS and span.begin <= at <= span.end
        ]
        found = [(each, finding) for each in self.joined for finding in each.findings[:1]]
        self.surest = max(found, key=lambda pair: (pair[1].confidence.rank, pair[1].severity.rank), default=None)
        """The finding of the highest confidence, then severity, and its input."""
        self.clustered = any(re.search(r"/\d+$", each.entry.change.database) for each in self.joined)
        """Whether one of them says which instance of its database it is of."""

    def incident(self) -> Incident:
        """All of it."""
        begin = min((at for at, _ in self.lines), default=self.span.begin)
        end = max((at for at, _ in self.lines), default=self.span.end)
        where, finding = self.surest or (None, None)
        said = sorted(self._events(), key=lambda moment: (moment.at is None, moment.at or self.span.end))
        kept = _kept(said)
        cache = (finding.cache if finding else None) or self._most_named()
        advice = {name: getattr(finding, name, None) for name in ("cause", "confidence", "do_now", "do_not")}
        return Incident(
            database=self.called(self.joined),
            instances=tuple(sorted({each.instance for each in self.joined if each.instance})),
            begin=begin,
            end=end,
            clock=self.clock.name,
            headline=self._headline(spoken(begin, end), cache),
            cache=cache,
            rests_on=where and where.name,
            moments=tuple(kept),
            left_out=len(said) - len(kept),
            agreements=tuple(self._agreements()),
            disagreements=(*self._other_caches(), *self._against_logs(), *self._other_releases()),
            bring=tuple(self._to_bring()),
            files=tuple(each.name for each in self.joined),
            apart=tuple(self._apart(each) for each in self.inputs if each not in self.joined),
            notes=tuple(self._notes()),
            **advice,
        )

    @property
    def database(self) -> str:
        """Its name as reports and captures have it, which a log may not know; of a cluster without the number of the instance."""
        named = sorted((each.dbid is None, place, each) for place, each in enumerate(self.joined) if each.names)
        return re.sub(r"/\d+$", "", named[0][2].entry.change.database) if named else "the database"

    def called(self, those: Sequence[_Input]) -> str:
        """The name of the database, and in a cluster the number of the instance if some of its inputs are of one: ORDERS/1."""
        numbers = {found[0] for each in those if (found := re.search(r"(?<!\d)\d+$", each.instance or ""))}
        return f"{self.database}/{numbers.pop()}" if self.clustered and len(numbers) == 1 else self.database

    def _most_named(self) -> str | None:
        """The cache that most lines name."""
        named = Counter[str]()
        for _, event in self.lines:
            named[str(event.facts.get("cache") or "")] += event.times
        del named[""]
        return next((cache for cache, _ in named.most_common(1)), None)

    def _headline(self, when: str, cache: str | None) -> str:
        words = [f"{self.called(self.joined)}, {when}"]
        if self.lines:
            at, first = min(self.lines, key=lambda line: (-SIGNS[line[1].kind], line[0]))
            words.append(f"{at:%H:%M:%S} {first.text}{f' on {cache}' if cache and cache not in first.text else ''}")
        elif cache:
            words.append(f"waits on {cache}")
        looks = [each.entry.diagnosis.blockers for each in self.joined]
        chains = [chain for found in looks if found for chain in found.chains if chain.end]
        longest = max(chains, key=lambda chain: chain.waiting, default=None)
        if longest and longest.end:
            words.append(f"at the end of the chain {described_session(longest.end)}")
        if self.surest:
            where, of = self.surest
            words.append(f"cause {within(of.name)} ({of.cause}), confidence {of.confidence}, from {where.name}")
        else:
            words.append("no input names the cause")
        return "; ".join([": ".join(words[:2]), *words[2:]])

    def _events(self) -> Iterator[Moment]:
        """Intervals, and the lines around the incident; lines of one kind and cache in one file are one moment."""
        for each in self.joined:
            if each.window is not None:
                begin, end = each.window
                what = "capture" if each.entry.source == "views" else each.entry.source
                text = f"{what}: {each.entry.diagnosis.headline}"
                yield Moment(at=begin, until=end, file=each.name, line=None, kind="interval", text=text)
            alike: dict[tuple[EventKind, object], list[tuple[datetime | None, LoggedEvent]]] = defaultdict(list)
            for at, event in each.events:
                if at is None or self.begin <= at <= self.end:
                    alike[event.kind, _stem(event)].append((at, event))
            for (at, first), *others in alike.values():
                last = next((moment for moment, _ in reversed(others) if moment is not None), at)
                about = {"file": each.name, "line": first.line, "kind": first.kind, "text": first.text}
                times = first.times + sum(event.times for _, event in others)
                yield Moment(at=at, until=last if last != at else None, times=times, **about)

    def _agreements(self) -> Iterator[str]:
        findings = {each.name: {finding.cause for finding in each.findings} for each in self.joined}
        for verb, said in (("name", {each.name: each.caches for each in self.joined}), ("find", findings)):
            for what in sorted(set().union(*said.values())):
                names = [name for name in said if what in said[name]]
                if len(names) > 1:
                    yield f"{listed(names)} {verb} {what}"

    def _other_caches(self) -> Iterator[str]:
        """Two inputs that both name caches and share none."""
        for one, other in combinations([each for each in self.joined if each.caches], 2):
            if not one.caches & other.caches:
                yield (
                    f"{one.name} names {listed(sorted(one.caches))}, {other.name} names {listed(sorted(other.caches))}: an "
                    "interval adds up all of its time, a line or a trace shows one moment of it"
                )

    def _against_logs(self) -> Iterator[str]:
        """Intervals in which a log has what their figures do not show."""
        for each, log in product(self.joined, self.joined):
            if each.window is None:
                continue
            begin, end = each.window
            inside = [(at, event) for at, event in log.events if at is not None and begin <= at <= end]
            timeouts = sum(event.times for _, event in inside if event.kind == "row_cache_timeout")
            if timeouts and not each.troubled and each.entry.diagnosis.standing != CANNOT_TELL:
                many = counted(timeouts, "row cache timeouts")
                yield (
                    f"{log.name} has {many} between {begin:%H:%M} and {end:%H:%M}, where {each.name} shows no problem: waits "
                    "that have not ended are not in its figures, and an average over the interval hides a short stall"
                )
            started = [at for at, event in inside if event.kind == "instance_start" and at > begin]
            if started:
                yield (
                    f"{log.name} has an instance start at {started[0]:%H:%M:%S}, within the interval of {each.name}: its figures "
                    "cannot be of all of it, unless they are of another instance"
                )

    def _other_releases(self) -> Iterator[str]:
        releases: dict[str, list[str]] = defaultdict(list)
        for each in self.joined:
            if each.entry.diagnosis.release:
                releases[".".join(each.entry.diagnosis.release.split(".")[:2])].append(each.name)
        if len(releases) > 1:
            yield "; ".join(f"{listed(names)}: release {release}" for release, names in releases.items())

    def _to_bring(self) -> list[str]:
        """The traces of the heaviest lines."""
        given = {re.split(r"[/\\!]", each.name)[-1].casefold().removesuffix(".gz") for each in self.inputs}
        signs = (event for each in self.joined for _, event in each.events if event.kind in SIGNS)
        heaviest = sorted(signs, key=lambda event: -SIGNS[event.kind])
        named = dict.fromkeys(event.trace_file for event in heaviest if event.trace_file)
        return [name for name in named if name.casefold() not in given][:MOST_TRACES]

    def _apart(self, each: _Input) -> str:
        if not any(each is other for other in self.span.group):
            return f"{each.name} is of another database, {each.entry.change.database}"
        if each.window is None and not each.events:
            return f"{each.name} has no interval and no line that could be placed"
        return f"{each.name} is of another time"

    def _notes(self) -> Iterator[str]:
        where = self.surest and self.surest[0]
        waits = [at for at, event in self.lines if event.kind == "row_cache_timeout"]
        if where and where.window and waits and not any(where.window[0] <= at <= where.window[1] for at in waits):
            yield (
                f"{where.name} is of {spoken(*where.window)}: it does not prove that the waits of {spoken(waits[0], waits[-1])} "
                "had the same cause"
            )
        if self.clock.guessed:
            yield (
                "captures are in UTC, and no file says in which zone the host is: they are placed as if it were UTC; an alert "
                "log of 12.2 or later says it"
            )
        nameless = [each.name for each in self.joined if not each.names and each.dbid is None]
        if nameless and len(nameless) < len(self.joined):
            do = "do" if len(nameless) > 1 else "does"
            yield f"{listed(nameless)} {do} not say which database it is of; taken as this one's"


def spoken(begin: datetime, end: datetime) -> str:
    """A stretch of time in words: 2009-11-24 13:58:01 to 14:40:12."""
    until = f"{end:%H:%M:%S}" if begin.date() == end.date() else f"{end:%Y-%m-%d %H:%M:%S}"
    return f"{begin:%Y-%m-%d %H:%M:%S}" + (f" to {until}" if begin != end else "")


def _stem(event: LoggedEvent) -> object:
    """What tells two lines of one kind apart: the cache, the error, or else the words without their numbers."""
    facts = event.facts
    return facts.get("cache") or facts.get("error") or re.sub(r"\d+", "", event.text)


def _kept(said: Sequence[Moment]) -> list[Moment]:
    """The signs and intervals first if there are too many, in order of time."""
    weighty = sorted(said, key=lambda each: each.kind != "interval" and each.kind not in SIGNS)[:MOST_MOMENTS]
    return [moment for moment in said if moment in weighty][:MOST_MOMENTS]
