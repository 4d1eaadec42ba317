"""Several Diagnoses at a glance: a line for each input, and the inputs of one database in order of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from collectors.model import Delta, Value
from rules.formatting import percent
from rules.model import DiagnosisBasis, Severity
from rules.trends.series import ReportSeries, series
from service.intake.inputs import DiagnosedInput

HEADINGS = ("file", "database", "period", "release", "severity", "DB time lost", "headline")


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """One input in the table of all. Every cell is in the words that people read."""

    file: str
    database: str
    period: str
    release: str
    severity: Severity
    share: str
    headline: str

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells in the order of HEADINGS."""
        return self.file, self.database, self.period, self.release, self.severity, self.share, self.headline


@dataclass(frozen=True, slots=True)
class SummaryGroup:
    """The inputs of one database, earliest first."""

    database: str
    diagnosed: tuple[DiagnosedInput, ...]
    series: ReportSeries | None
    """None with fewer than two intervals to compare."""
    notes: tuple[str, ...] = ()
    """What prevents the inputs from being one unbroken series."""


def lines(diagnosed: Sequence[DiagnosedInput]) -> list[SummaryLine]:
    """A line per Diagnosis, in the order of the inputs."""
    return [_line(entry, name) for entry, name in zip(diagnosed, _databases(diagnosed), strict=True)]


def groups(diagnosed: Sequence[DiagnosedInput]) -> list[SummaryGroup]:
    """The Diagnoses by database and instance, in order of first appearance. The DB Id decides, not the name."""
    placed: list[tuple[_Identity, str, list[DiagnosedInput]]] = []
    for entry, name in zip(diagnosed, _databases(diagnosed), strict=True):
        identity = _identity(entry)
        at = next((index for index, (known, _, _) in enumerate(placed) if _same(known, identity)), None)
        if at is None:
            placed.append((identity, name, [entry]))
            continue
        placed[at] = (_both(placed[at][0], identity), placed[at][1], [*placed[at][2], entry])
    return [_group(name, sorted(each, key=_moment)) for _, name, each in placed]


_Identity = tuple[Value, ...]


def _identity(diagnosed: DiagnosedInput) -> _Identity:
    """Name, DB Id and instance. None is unknown, which fits anything."""
    if not isinstance(diagnosed.change, Delta):
        return (diagnosed.diagnosis.database, diagnosed.change.dbid, None, None)
    row = next(iter(diagnosed.change.rows("v$instance")), {})
    return (diagnosed.diagnosis.database, diagnosed.change.dbid, row.get("instance_number"), row.get("instance_name"))


def _same(left: _Identity, other: _Identity) -> bool:
    return all(a == b or a is None or b is None for a, b in zip(left, other, strict=True))


def _both(left: _Identity, other: _Identity) -> _Identity:
    return tuple(b if a is None else a for a, b in zip(left, other, strict=True))


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


def _group(database: str, diagnosed: Sequence[DiagnosedInput]) -> SummaryGroup:
    deltas = [(entry.name, entry.change, entry.diagnosis) for entry in diagnosed if isinstance(entry.change, Delta)]
    found = series(deltas) if len(deltas) > 1 else None
    left_out = [
        f"{entry.name} has no interval: {entry.change.why}"
        for entry in diagnosed
        if not isinstance(entry.change, Delta)
    ]
    return SummaryGroup(database, tuple(diagnosed), found, (*found.notes, *left_out) if found else ())


def _line(diagnosed: DiagnosedInput, database: str) -> SummaryLine:
    diagnosis = diagnosed.diagnosis
    share = diagnosis.impact.share_of_db_time if diagnosis.impact else None
    return SummaryLine(
        file=diagnosed.name,
        database=database,
        period=period(diagnosis.basis),
        release=diagnosis.release or "unknown",
        severity=diagnosis.severity,
        share="unknown" if share is None else percent(share),
        headline=diagnosis.headline,
    )


def _moment(diagnosed: DiagnosedInput) -> datetime:
    """When the input ends, for sorting. Zones are dropped, because a report does not print its own."""
    basis = diagnosed.diagnosis.basis
    return basis.end.replace(tzinfo=None) if basis and basis.end else datetime.min  # noqa: DTZ901


def _clock(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def _zone(at: datetime) -> str:
    return " UTC" if at.tzinfo else ""
