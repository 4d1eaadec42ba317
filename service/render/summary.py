"""Several Diagnoses at a glance: a line for each input, by database in order of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from collectors.model import Delta, Value, text
from rules.formatting import percent
from rules.model import CANNOT_TELL, Diagnosis, DiagnosisBasis, Finding, Severity, worst
from service.intake.inputs import DiagnosedInput

HEADINGS = ("file", "state", "DB time lost", "cause", "cache", "confidence", "period", "database")
NOTHING = "–"
_ORDER = ("Critical", "Warning", "Notice", CANNOT_TELL, "Elsewhere", "Quiet", "Fine")
"""The worst first; what could not be judged before what is fine, because it asks for another report."""


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """One input in the table of all. Every cell is in the words that people read."""

    file: str
    database: str
    period: str
    release: str
    state: str
    share: str
    cause: str
    cache: str
    confidence: str
    headline: str

    @property
    def cells(self) -> tuple[str, ...]:
        verdict = self.cause, self.cache, self.confidence
        return self.file, self.state, self.share, *verdict, self.period, self.database


@dataclass(frozen=True, slots=True)
class SummaryGroup:
    """The inputs of one database, earliest first."""

    database: str
    diagnosed: tuple[DiagnosedInput, ...]
    notes: tuple[str, ...]
    """What a reader of the table must know about their order or their owner."""


def worst_first(diagnosed: Sequence[DiagnosedInput]) -> list[DiagnosedInput]:
    """By state, then by what it costs; among equals the one that tells most of its cause, then the order of the inputs."""
    return sorted(diagnosed, key=_rank)


def _rank(entry: DiagnosedInput) -> tuple[float, ...]:
    diagnosis = entry.diagnosis
    cost = diagnosis.impact.share_of_db_time if diagnosis.impact else None
    sure = diagnosis.findings[0].confidence.rank if diagnosis.findings else -1
    named = bool(diagnosis.findings) and diagnosis.findings[0].cache is not None
    return _ORDER.index(diagnosis.standing), -round(cost or 0.0, 3), -sure, -named, -len(diagnosis.steps)


def lines(diagnosed: Sequence[DiagnosedInput]) -> list[SummaryLine]:
    """A line per Diagnosis: the worst database first, the inputs of each in order of time."""
    return [_summary_line(entry, group.database) for group in groups(diagnosed) for entry in group.diagnosed]


def groups(diagnosed: Sequence[DiagnosedInput]) -> list[SummaryGroup]:
    """The Diagnoses by database and instance, the worst first. The DB Id decides, not the name."""
    placed: list[tuple[_Identity, str, list[DiagnosedInput]]] = []
    for entry, name in zip(diagnosed, _databases(diagnosed), strict=True):
        identity = _identity(entry)
        at = next((place for place, (known, _, _) in enumerate(placed) if _same(known, identity)), None)
        if at is None:
            placed.append((identity, name, [entry]))
        else:
            known, name, entries = placed[at]
            both = tuple(b if a is None else a for a, b in zip(known, identity, strict=True))
            placed[at] = (both, name, [*entries, entry])
    found = [SummaryGroup(name, tuple(sorted(entries, key=_moment)), _zones(entries)) for _, name, entries in placed]
    return sorted(found, key=lambda group: -worst(entry.diagnosis.severity for entry in group.diagnosed).rank)


def _moment(entry: DiagnosedInput) -> datetime:
    """When the input begins; its end if only that is known. Zones are dropped, because a report does not print its own."""
    basis = entry.diagnosis.basis
    known = basis and (basis.begin or basis.end)
    return known.replace(tzinfo=None) if known else datetime.max  # noqa: DTZ901


def _zones(entries: Sequence[DiagnosedInput]) -> tuple[str, ...]:
    """That the order may be wrong, because some times have a zone and some do not."""
    begins = [basis.begin for entry in entries if (basis := entry.diagnosis.basis) and basis.begin]
    if len({begin.tzinfo is None for begin in begins}) < 2:
        return ()
    return ("reports print the host's local time and captures UTC, so the order of the two may be wrong",)


def same_interval(one: DiagnosedInput, other: DiagnosedInput) -> bool:
    """Whether two inputs have one owner and one interval."""
    basis = one.diagnosis.basis
    known = basis is not None and basis.begin is not None
    return known and (_owner(one), basis) == (_owner(other), other.diagnosis.basis)


def _owner(entry: DiagnosedInput) -> tuple[Value, ...]:
    """Database, instance, release and container: inputs that differ in one of them are not of the same thing."""
    rows = entry.change.rows("sys_context") if isinstance(entry.change, Delta) else ()
    return (*_identity(entry), entry.diagnosis.release, text(next(iter(rows), {}).get("con_name")))


_Identity = tuple[Value, ...]


def _identity(diagnosed: DiagnosedInput) -> _Identity:
    """The name as the input has it, DB Id and instance. None is unknown, which fits anything."""
    if not isinstance(diagnosed.change, Delta):
        return (diagnosed.change.database, diagnosed.change.dbid, None, None)
    row = next(iter(diagnosed.change.rows("v$instance")), {})
    return (diagnosed.change.database, diagnosed.change.dbid, row.get("instance_number"), row.get("instance_name"))


def _same(left: _Identity, other: _Identity) -> bool:
    return all(a == b or a is None or b is None for a, b in zip(left, other, strict=True))


def _databases(diagnosed: Sequence[DiagnosedInput]) -> list[str]:
    """The name for the database of each input: its name, and its DB Id if another has the same name."""
    ids = [(entry.diagnosis.database, entry.change.dbid) for entry in diagnosed]
    many = {name for name, _ in ids if len({id for of, id in ids if of == name and id is not None}) > 1}
    return [f"{name} (DB Id {id or 'unknown'})" if name in many else name for name, id in ids]


def period(basis: DiagnosisBasis | None) -> str:
    """2026-03-01 12:00 to 12:30 UTC. A report's own times have no zone and are shown without one."""
    if basis is None:
        return "none"
    if basis.begin is None or basis.end is None:
        return "totals" if basis.end is None else f"totals to {_clock(basis.end)}{_zone(basis.end)}"
    same_day = basis.begin.date() == basis.end.date()
    end = f"{basis.end:%H:%M}" if same_day else _clock(basis.end)
    return f"{_clock(basis.begin)} to {end}{_zone(basis.end)}"


def troubles(diagnosis: Diagnosis) -> list[Finding]:
    """The findings that ask for something to be done."""
    return [finding for finding in diagnosis.findings if finding.severity is not Severity.INFO]


def _summary_line(diagnosed: DiagnosedInput, database: str) -> SummaryLine:
    diagnosis = diagnosed.diagnosis
    share = diagnosis.impact.share_of_db_time if diagnosis.impact else None
    found = troubles(diagnosis)
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    open_ = NOTHING if diagnosis.severity is Severity.INFO else "not known"
    return SummaryLine(
        file=diagnosed.name,
        database=database,
        period=period(diagnosis.basis),
        release=diagnosis.release or "unknown",
        state=diagnosis.standing,
        share="unknown" if share is None else percent(share),
        cause=f"{found[0].cause}{more}" if found else open_,
        cache=_cache(found[0]) if found else NOTHING,
        confidence=found[0].confidence if found else NOTHING,
        headline=diagnosis.headline,
    )


def _cache(finding: Finding) -> str:
    perhaps = "perhaps " if finding.identity == "candidate" else ""
    return f"{perhaps}{finding.cache}" if finding.cache else NOTHING


def _clock(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def _zone(at: datetime) -> str:
    return " UTC" if at.tzinfo else ""
