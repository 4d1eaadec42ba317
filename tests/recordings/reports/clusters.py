"""Several instances of one database in one report over the cluster (awrgrpt.sql), as HTML and as text.

The order of sections and columns follows what is published about the report:
https://github.com/Azure/Oracle-Workloads-for-Azure (its parser of AWR files, HTML) and the statements of awrgrpt.sql.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from .interval import Interval, Wait

Group = tuple[str, tuple[str, ...]]
STAMP = "%d-%b-%y %H:%M"
HARD_BLANK = "&#160;"
LONGEST = 10
"""Events of one instance that the report lists."""


@dataclass(frozen=True)
class Section:
    """One section: groups of columns, and its rows as printed."""

    title: str
    groups: tuple[Group, ...]
    rows: tuple[tuple[str, ...], ...]


def page(instances: Sequence[Interval], dbid: str = "3141592653") -> str:
    """The report as HTML: two rows of headings where columns form groups."""
    name = instances[0].database
    parts = [f'<html lang="en"><head><title>AWR RAC Report for DB: {name}, Snaps: 4711-4712</title></head>']
    parts += ['<body class="awr"><h1 class="awr">WORKLOAD REPOSITORY REPORT (RAC)</h1><p />']
    for number, section in enumerate(sections(instances, dbid)):
        if number > 1:  # the first two have no heading of their own
            parts.append(f'<h3 class="awr">{escape(section.title)}</h3>')
        parts += _table(section)
    return "\n".join((*parts, "</body></html>", ""))


def text(instances: Sequence[Interval], dbid: str = "3141592653", *, beside: bool = True) -> str:
    """The report as text. `beside`: each title has the database beside it; without, it is alone on its line."""
    lines = ["WORKLOAD REPOSITORY REPORT (RAC)", ""]
    for section in sections(instances, dbid):
        mark = f"DB/Inst: {instances[0].database}/{instances[0].database}1  Snaps: 4711-4712" if beside else ""
        lines += [f"{section.title:<40}{mark}".rstrip(), *_printed(section)]
        lines += ["          -------------------------------------------------------------", ""]
    return "\n".join((*lines, "End of Report", ""))


def sections(instances: Sequence[Interval], dbid: str) -> tuple[Section, ...]:
    """The sections in the report's order, of the sections that it has."""
    first = instances[0]
    minutes = f"{first.minutes:,.2f}"
    whole = f"{sum(one.db_time for one in instances) / 60:,.2f}"
    many = f"{len(instances)}"
    summary = (dbid, first.database, "YES", "8192", "4711", "4712", many, many, many, many, whole, minutes)
    return (
        Section(
            "Database Summary",
            (
                ("Database", ("Id", "Name", "RAC", "Block Size")),
                ("Snapshot Ids", ("Begin", "End")),
                ("Number of Instances", ("In Report", "Total")),
                ("Number of Hosts", ("In Report", "Total")),
                ("Report Total (minutes)", ("DB time", "Elapsed time")),
            ),
            (summary,),
        ),
        Section("Database Instances Included In Report", (("", INSTANCE),), tuple(_instances(instances))),
        Section("OS Statistics By Instance", OS, tuple(_hosts(instances))),
        Section("Time Model", (("", TIMES),), tuple(_times(instances))),
        Section("Top Timed Events", EVENTS, tuple(_events(instances, both=True))),
        Section("Top Timed Foreground Events", EVENTS, tuple(_events(instances, both=False))),
        Section("System Statistics", (("", COUNTS),), tuple(_counts(instances))),
        Section("init.ora Parameters", (("", SETTINGS),), tuple(_settings(instances))),
    )


INSTANCE = ("I#", "Instance", "Host", "Startup", "Begin Snap Time", "End Snap Time", "Release", "Elapsed Time(min)",
            "DB time(min)", "Up Time(hrs)", "Avg Active Sessions", "Platform")  # fmt: skip
OS: tuple[Group, ...] = (
    ("CPU", ("I#", "#CPUs", "#Core", "#Sckt")),
    ("Load", ("Begin", "End")),
    ("% CPU", ("% Busy", "% Usr", "% Sys", "% WIO", "% Idl")),
    ("Time (s)", ("Busy", "Idle", "Total")),
    ("Memory", ("MB",)),
)
TIMES = ("I#", "DB time (s)", "DB CPU (s)", "SQL Exec Ela (s)", "Parse Ela (s)", "Hard Parse Ela (s)", "PL/SQL Ela (s)",
         "Java Ela (s)", "bg time (s)", "bg CPU (s)")  # fmt: skip
EVENTS: tuple[Group, ...] = (
    ("Wait", ("I#", "Class")),
    ("Event", ("Event",)),
    ("Wait Time", ("Waits", "%Timeouts", "Total(s)", "Avg(ms)", "%DB time")),
    ("Summary Avg Wait Time (ms)", ("Avg", "Min", "Max", "Std Dev", "Cnt")),
)
COUNTS = ("I#", "Logical Reads", "Physical Reads", "Physical Writes", "Redo Size (k)", "Block Changes", "User Calls", "Execs",
          "Parses", "Logons", "Txns")  # fmt: skip
SETTINGS = ("Parameter Name", "I#", "Begin value", "End value (if different)")


def _numbered(instances: Sequence[Interval]) -> Iterable[tuple[str, Interval]]:
    return ((f"{number}", one) for number, one in enumerate(instances, 1))


def _instances(instances: Sequence[Interval]) -> Iterable[tuple[str, ...]]:
    for number, one in _numbered(instances):
        times = (one.startup.strftime(STAMP), one.begin.strftime(STAMP), one.end.strftime(STAMP))
        spent = (f"{one.minutes:,.2f}", f"{one.db_time / 60:,.2f}", "92.50", f"{one.db_time / one.seconds:,.2f}")
        yield (number, f"{one.database}{number}", f"db-node-{number}", *times, one.release, *spent, "Linux x86 64-bit")


def _hosts(instances: Sequence[Interval]) -> Iterable[tuple[str, ...]]:
    for number, one in _numbered(instances):
        busy, idle = (one.host.get(name, (0, None))[0] / 100 for name in ("BUSY_TIME", "IDLE_TIME"))
        shares = ("1.0", "2.0", f"{100 * busy / ((busy + idle) or 1):.1f}", "9.0", "2.0", "0.1", "80.0")
        times = (f"{busy:,.2f}", f"{idle:,.2f}", f"{busy + idle:,.2f}")
        yield (number, f"{one.cpus}", f"{one.cpus // 2}", "2", *shares, *times, "129,024")


def _times(instances: Sequence[Interval]) -> Iterable[tuple[str, ...]]:
    kept = ("DB CPU", "sql execute elapsed time", "parse time elapsed", "hard parse elapsed time")
    for number, one in _numbered(instances):
        own = (f"{one.time_model.get(name, 0.0):,.2f}" for name in kept)
        yield (number, f"{one.db_time:,.2f}", *own, "0.40", "0.00", "12.00", "3.00")
    yield ("Sum", f"{sum(one.db_time for one in instances):,.2f}", *["1.00"] * 8)


def _events(instances: Sequence[Interval], *, both: bool) -> Iterable[tuple[str, ...]]:
    everyone = {wait.event: wait for one in instances for wait in listed(one, both=both)}
    for place, event in enumerate(everyone):
        same = [wait for one in instances for wait in listed(one, both=both) if wait.event == event]
        total = Wait(event, sum(wait.waits for wait in same), sum(wait.seconds for wait in same))
        yield ("" if place else "*", *_event(total), "1.0", "0.1", "2.0", "0.4", f"{len(same)}")
    for number, one in _numbered(instances):
        for place, wait in enumerate(listed(one, both=both)):
            yield ("" if place else number, *_event(wait), "", "", "", "", "")


def listed(one: Interval, *, both: bool) -> tuple[Wait, ...]:
    """The longest waits of an instance: of foreground sessions alone, or of background processes too."""
    waits = {wait.event: wait for wait in one.foreground}
    for wait in one.background if both else ():
        had = waits.get(wait.event, Wait(wait.event, 0, 0.0))
        waits[wait.event] = Wait(wait.event, had.waits + wait.waits, had.seconds + wait.seconds)
    return tuple(sorted(waits.values(), key=lambda wait: -wait.seconds)[:LONGEST])


def _event(wait: Wait) -> tuple[str, ...]:
    average = 1000 * wait.seconds / wait.waits if wait.waits else 0.0
    return (wait.wait_class, wait.event, f"{wait.waits:,}", "0.0", f"{wait.seconds:,.2f}", f"{average:,.1f}", "4.20")


def _counts(instances: Sequence[Interval]) -> Iterable[tuple[str, ...]]:
    kept = ("user calls", "execute count", "parse count (total)", "logons cumulative")
    for number, one in _numbered(instances):
        yield (number, "9,000", "100", "50", "700", "800", *(f"{one.activity.get(name, 0):,}" for name in kept), "77")


def _settings(instances: Sequence[Interval]) -> Iterable[tuple[str, ...]]:
    yield ("open_cursors", "*", "600", "")
    for number, one in _numbered(instances):
        yield ("cpu_count" if number == "1" else "", number, f"{one.cpus}", "")


def _table(section: Section) -> list[str]:
    """The table in HTML, with the names of groups above those of columns where there are any."""
    lines = [f'<table border="0" class="tdiff" summary="{escape(section.title)}. . figures">']
    if len(section.groups) > 1:
        cells = (f'<th class="awrbg" colspan="{len(columns)}">{escape(name)}</th>' for name, columns in section.groups)
        lines.append(f"<tr>{''.join(cells)}</tr>")
    lines.append(
        f"<tr>{''.join(f'<th>{escape(column)}</th>' for _, columns in section.groups for column in columns)}</tr>"
    )
    for row in section.rows:
        lines.append(f"<tr>{''.join(f'<td>{escape(cell) or HARD_BLANK}</td>' for cell in row)}</tr>")
    return [*lines, "</table><p />"]


def _printed(section: Section) -> list[str]:
    """The table as text: a ruler of dashes gives the columns, and another one above it the groups."""
    columns = [column for _, names in section.groups for column in names]
    widths = [max(len(column), *(len(row[i]) for row in section.rows), 4) for i, column in enumerate(columns)]
    lines: list[str] = []
    if len(section.groups) > 1:
        names, strokes, at = [], [], 0
        for name, own in section.groups:
            width = sum(widths[at : at + len(own)]) + len(own) - 1
            names.append(name[:width].ljust(width))
            strokes.append("-" * width)
            at += len(own)
        lines += [" ".join(names).rstrip(), " ".join(strokes)]
        lines[-1] = " " + lines[-1][1:]
    lines += [" ".join(column.ljust(width) for column, width in zip(columns, widths, strict=True)).rstrip()]
    lines += [" ".join("-" * width for width in widths)]
    left = {"Event", "Class", "Instance", "Host", "Parameter Name", "Platform"}
    for row in section.rows:
        cells = (
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, cell, width in zip(columns, row, widths, strict=True)
        )
        lines.append(" ".join(cells).rstrip())
    return lines
