"""Several Diagnoses at a glance: a line for each input, and the inputs of one database in the order of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from collectors.model import Delta
from rules.model import Diagnosis, DiagnosisBasis, Severity
from rules.series import Series, series
from rules.words import percent
from service.inputs import Diagnosed

HEADINGS = ("file", "database", "period", "release", "severity", "DB time lost", "headline")


@dataclass(frozen=True, slots=True)
class Line:
    """One input in the table of all; every cell in the words that people read."""

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
class Group:
    """The inputs of one database, earliest first."""

    database: str
    told: tuple[Diagnosed, ...]
    series: Series | None
    """None where there are not two intervals to set beside each other."""


def lines(told: Sequence[Diagnosed]) -> list[Line]:
    """A line per Diagnosis, in the order of the inputs."""
    return [_line(one.name, one.diagnosis) for one in told]


def groups(told: Sequence[Diagnosed]) -> list[Group]:
    """The Diagnoses by database, databases in the order in which they first came."""
    by_database: dict[str, list[Diagnosed]] = {}
    for one in told:
        by_database.setdefault(one.diagnosis.database, []).append(one)
    return [_group(database, sorted(each, key=_moment)) for database, each in by_database.items()]


def period(basis: DiagnosisBasis | None) -> str:
    """2026-03-01 12:00 to 12:30 UTC; a report's own times have no zone and are shown without one."""
    if basis is None:
        return "none"
    if basis.begin is None or basis.end is None:
        return "totals" if basis.end is None else f"totals to {_clock(basis.end)}{_zone(basis.end)}"
    same_day = basis.begin.date() == basis.end.date()
    end = f"{basis.end:%H:%M}" if same_day else _clock(basis.end)
    return f"{_clock(basis.begin)} to {end}{_zone(basis.end)}"


def _group(database: str, told: Sequence[Diagnosed]) -> Group:
    deltas = [(one.name, one.change, one.diagnosis) for one in told if isinstance(one.change, Delta)]
    return Group(database, tuple(told), series(deltas) if len(deltas) > 1 else None)


def _line(name: str, one: Diagnosis) -> Line:
    share = one.impact.share_of_db_time if one.impact else None
    return Line(
        file=name,
        database=one.database,
        period=period(one.basis),
        release=one.release or "unknown",
        severity=one.severity,
        share="unknown" if share is None else percent(share),
        headline=one.headline,
    )


def _moment(one: Diagnosed) -> datetime:
    """When the input ends, for sorting: zones are dropped, because a report does not print its own."""
    basis = one.diagnosis.basis
    return basis.end.replace(tzinfo=None) if basis and basis.end else datetime.min  # noqa: DTZ901


def _clock(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def _zone(at: datetime) -> str:
    return " UTC" if at.tzinfo else ""
