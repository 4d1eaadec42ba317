"""The head of a report: the instance, its database and release, and the interval."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from collectors.model import Basis, Row, dated
from collectors.reports.tables import Document, Table, count, real

_MOMENT = r"(\d{1,2})-([^\s\d-]{3,5}|\d{1,2}[^\s\d-]?)\s?-(\d{2,4})\s+(\d{1,2}):(\d{2})(?::(\d{2}))?"
_SNAP = re.compile(rf"^\s*(Begin|End) Snap:\s+\d+\s+{_MOMENT}")
_ELAPSED = re.compile(r"^\s*Elapsed:\s+([\d,.]+)\s*\(mins?\)")
_DB_TIME = re.compile(r"^\s*DB time:\s+([\d,.]+)\s*\(mins?\)", re.IGNORECASE)
_MONTHS = ("jan ene gen", "feb fev fév", "mar mär mrz mars", "apr avr abr avri", "may mai mag maj mei", "jun juin giu",
           "jul juil lug", "aug aou aoû ago août", "sep set sept", "oct okt out ott", "nov", "dec dez dic déc des")  # fmt: skip
"""Short names of the months in the usual session languages. The first three letters decide, else four."""


@dataclass(frozen=True, slots=True)
class Header:
    """The figures of a report's head. None where the head does not say. Times are the host's, without a zone."""

    db_name: str = ""
    dbid: str | None = None
    instance: str = ""
    instance_number: int | None = None
    release: str | None = None
    cluster: bool | None = None
    host: str = ""
    cpus: int | None = None
    startup: datetime | None = None
    begin: datetime | None = None
    end: datetime | None = None
    elapsed_minutes: float | None = None
    db_time_minutes: float | None = None

    @property
    def database(self) -> str:
        """The display name: the database's name, in a cluster with the instance number, else the instance's name."""
        name = self.db_name or self.instance or "unknown"
        number = self.instance_number if self.instance_number is not None else self.instance
        return f"{name}/{number}" if self.cluster and self.db_name and number else name

    @property
    def seconds(self) -> float | None:
        """Length of the interval: as printed, else end − begin. A changed clock spoils only the second."""
        if self.elapsed_minutes:
            return float(round(self.elapsed_minutes * 60)) or self.elapsed_minutes * 60
        if self.begin and self.end:
            return (self.end - self.begin).total_seconds()
        return None

    @property
    def basis(self) -> Basis | None:
        """The interval. None if the head does not give it."""
        return Basis("interval", self.begin, self.end, self.seconds) if self.seconds and self.seconds > 0 else None

    @property
    def restarted(self) -> bool:
        """Whether the instance started after the interval began. The report prints the start to the minute."""
        return bool(self.startup and self.begin and self.startup > self.begin + timedelta(minutes=1))

    @property
    def row(self) -> Row:
        """The row of v$instance."""
        known = {
            "instance_number": self.instance_number,
            "instance_name": self.instance or None,
            "host_name": self.host or None,
            "version": self.release,
            "parallel": None if self.cluster is None else ("YES" if self.cluster else "NO"),
            "startup_time": self.startup.strftime("%Y-%m-%d %H:%M:%S") if self.startup else None,
        }
        return {name: value for name, value in known.items() if value is not None}


def header(document: Document) -> Header:
    """The head of an AWR or Statspack report."""
    lines = list(_lines(document))
    moments = {match[1]: _moment(match.groups()[1:]) for line in lines if (match := _SNAP.match(line))}
    return Header(
        db_name=_cell(document, "dbname", "database"),
        dbid=dbid_in(_cell(document, "dbid")),
        instance=_cell(document, "instance"),
        instance_number=whole_in(_cell(document, "instnum")),
        release=release_in(_cell(document, "release")),
        cluster={"YES": True, "NO": False}.get((_cell(document, "rac", "cluster", "ops")).upper()),
        host=_host(document),
        cpus=whole_in(_cell(document, "cpus", beside="platform")),
        startup=moment_in(_cell(document, "startuptime")),
        begin=moments.get("Begin"),
        end=moments.get("End"),
        elapsed_minutes=_minutes(_ELAPSED, lines),
        db_time_minutes=_minutes(_DB_TIME, lines),
    )


def _lines(document: Document) -> Iterator[str]:
    """Lines of the snapshot block: of a text report as printed, of HTML its rows."""
    if document.form == "text":
        yield from document.head.split("\n")
    for table in document.tables:
        if "snaptime" in table.headings:
            yield from (" ".join(row) for row in table.rows)
            return


def _cell(document: Document, *headings: str, beside: str = "") -> str:
    """The cell in the first row of the first block that has one of the headings, and also `beside`."""
    for table in _blocks(document):
        for heading in headings:
            if heading in table.headings and (not beside or beside in table.headings) and table.rows:
                at = table.headings.index(heading)
                return table.rows[0][at] if at < len(table.rows[0]) else ""
    return ""


def _blocks(document: Document) -> Iterator[Table]:
    """The tables of the head: all tables before the first section."""
    return (table for table in document.tables[:8] if {"release", "startuptime", "platform"} & set(table.headings))


def _host(document: Document) -> str:
    named = _cell(document, "hostname", "host")
    if named:
        return named
    # Statspack heads two columns with the two words of "Host Name" and leaves the first one empty.
    for table in _blocks(document):
        if table.headings[0].startswith("host") and table.rows and len(table.rows[0]) > 1:
            return table.rows[0][1]
    return ""


def release_in(cell: str) -> str | None:
    """The release at the start of a cell, or None."""
    match = re.match(r"\d+(\.\d+)+", cell)
    return match[0] if match else None


def dbid_in(cell: str) -> str | None:
    """A DB Id, which has digits only, or None."""
    return cell if cell.isascii() and cell.isdigit() else None


def whole_in(cell: str) -> int | None:
    """A number without decimals, or None."""
    number = count(cell)
    return number if isinstance(number, int) else None


def _minutes(pattern: re.Pattern[str], lines: list[str]) -> float | None:
    return next((real(match[1]) for line in lines if (match := pattern.match(line))), None)


def moment_in(cell: str) -> datetime | None:
    """The moment at the start of a cell (23-Apr-14 18:30:05), or None."""
    match = re.match(_MOMENT, cell)
    return _moment(match.groups()) if match else None


def _moment(parts: tuple[str | None, ...]) -> datetime | None:
    """Day, short name of the month in any of the usual languages, year, hour, minute, second. None if it is no date."""
    day, month, year, hour, minute, second = (part or "0" for part in parts)
    number = month_of(month)
    full = int(year) + (2000 if len(year) == 2 else 0)
    try:
        # The host's local time; a report does not say in which zone.
        moment = datetime(full, number or 0, int(day), int(hour), int(minute), int(second))  # noqa: DTZ001
    except ValueError:
        return None
    return moment if dated(moment) else None


def month_of(name: str) -> int | None:
    """1 to 12, from a short name or from a number with a sign (4月)."""
    digits = re.match(r"\d{1,2}", name)
    if digits:
        return int(digits[0])
    for length in (4, 3):
        for number, names in enumerate(_MONTHS, start=1):
            if name.lower().rstrip(".")[:length] in names.split():
                return number
    return None
