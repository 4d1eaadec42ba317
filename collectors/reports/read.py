"""read(): the bytes of a report → the changes over its interval, or why there are none. The entry point of this folder."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from collectors.delta import reported
from collectors.errors import InputError
from collectors.model import LONG_WINDOW, Delta, Missing, NotComparable, Reading, Rows, long_window
from collectors.reports import ash, html, text
from collectors.reports.checks import checked, lost
from collectors.reports.cluster import OWN_REPORT, TITLES, Part, parts
from collectors.reports.header import Header, dbid_in, header, moment_in, release_in, whole_in
from collectors.reports.sections import READERS
from collectors.reports.tables import (
    ANOTHER,
    CUT,
    MOST_TABLES,
    RESEND,
    Document,
    ReportKind,
    ReportTables,
    Table,
    TooManyTables,
    by_titles,
    real,
)
from collectors.reports.undo import HEAD_BYTES, TAG, as_text, columns_of, is_html, undone

# AWR compare-periods reports (awrddrpt.sql): splits one document into its two periods.

PERIODS = ("1st", "2nd")
NOTE = "a compare-periods report prints no miss locations, no whole latch list and waits without their number"
UNREADABLE = (
    "is a compare-periods report without readable latches, dictionary caches or wait events in either period; "
    "make it as HTML (awrddrpt.sql, html), or run awrrpt.sql for each period"
)
UNIT_NOTE = "wait time of latches is not used: the report heads it centiseconds and prints microseconds"


def period(document: Document, which: str) -> Document:
    """The document as a report of one period only. `which` is 1st or 2nd, as in its column headings."""
    other = PERIODS[1 - PERIODS.index(which)]
    tables = tuple(_only(table, which, other) for table in document.tables)
    return replace(document, tables=tables)


def _only(table: Table, which: str, other: str) -> Table:
    kept = [
        i for i, name in enumerate(table.headings) if not name.startswith(other) and not name.endswith((other, "diff"))
    ]
    own = tuple(table.headings[i].removesuffix(which).removeprefix(which) for i in kept)
    rows = tuple(tuple(row[i] for i in kept if i < len(row)) for row in table.rows)
    widths = tuple(table.widths[i] for i in kept if i < len(table.widths))
    return replace(table, headings=own, rows=rows, widths=widths)


def header_of(document: Document, which: str) -> Header:
    """The head of one period. `document` is the whole document; its first blocks have a row per period."""
    cells = {name: cell for row in _rows_of(document, which) for name, cell in row.items() if cell}
    return Header(
        db_name=cells.get("dbname") or cells.get("uniquename", ""),
        dbid=dbid_in(cells.get("dbid", "")),
        instance=cells.get("instance", ""),
        instance_number=whole_in(cells.get("instnum", "")),
        release=release_in(cells.get("release", "")),
        cluster={"YES": True, "NO": False}.get((cells.get("cluster") or cells.get("rac", "")).upper()),
        host=cells.get("host", ""),
        cpus=_cpus(document, which),
        begin=moment_in(cells.get("beginsnaptime", "")),
        end=moment_in(cells.get("endsnaptime", "")),
        db_time_minutes=real(cells.get("dbtimemin", "")),
    )


def _rows_of(document: Document, which: str) -> list[dict[str, str]]:
    """The rows of this period in the blocks of the head, which begin "First (1st)" or "1st"."""
    return [
        dict(zip(table.headings, row, strict=False))
        for table in document.tables
        if table.headings[:1] == ("snapshotset",)
        for row in table.rows
        if re.search(rf"\b{which}\b", row[0])
    ]


def _cpus(document: Document, which: str) -> int | None:
    for table in document.tables:
        for row in table.rows:
            if row[0] == "Number of CPUs:" and which in table.headings:
                return whole_in(row[table.headings.index(which)])
    return None


# Which document a file is, by its title. For documents that latchscope does not read: why, and what to run instead.

_HEAD = r"(db name|database) db id\b"
"""What begins the head itself, where a second report has lost its title."""
_RUN_AWR = "run awrrpt.sql for one instance instead"
_APPLICATION = (
    "an application AWR report (DBMS_AWRAPP), which has statements and waits of one application, no latches and no dictionary "
    "caches",
    "run awrrpt.sql for the instance and the same snapshots",
)
_TITLES: Mapping[str, ReportKind | tuple[str, str]] = {
    r"workload repository sql report|awr sql report for": ("an AWR SQL report, which covers one statement", _RUN_AWR),
    r"workload repository compare period report \(rac\)": (
        "a compare-periods report over all instances of a cluster",
        "run awrddrpi.sql for each instance (it asks for the instance number), or awrgrpt.sql for each period",
    ),
    r"(workload repository|awr) app(lication)?(-specific)? (awr )?report": _APPLICATION,
    r"application(-specific)? (awr|workload repository) report": _APPLICATION,
    r"statspack sql report for": ("a Statspack SQL report, which covers one statement", "run spreport.sql instead"),
    r"addm report for": ("an ADDM report, which has advice and no counters", _RUN_AWR),
    r"(workload repository|awr) compare period report": "compare",
    r"workload repository report \(rac\)|workload repository (rac|global) |awr rac report for db:": "cluster",
    r"workload repository (pdb )?report|awr (pdb )?report for db:": "AWR",
    r"statspack (statistics )?report for": "Statspack",
    r"ash report (for|-)": "ASH",
}
"""Title → the kind, or of a document that is not read what it is, and what to do instead."""
_READ = tuple(title for title, what in _TITLES.items() if isinstance(what, str))


def looks_like_report(data: bytes) -> bool:
    """Whether the file calls itself a report of Oracle, refused ones included. A file that only quotes one does not count."""
    head = _lines(undone(as_text(data[:HEAD_BYTES]))[0])
    return _first(head) is not None


def _lines(text: str) -> str:
    """The head with each element of a page on a line of its own. Titles begin a line."""
    head = text[:HEAD_BYTES]
    return TAG.sub("\n", head) if is_html(head) else head


def _is_of_pdb(lines: str) -> bool:
    """Whether the report was made inside a PDB or for one."""
    head = " ".join(lines.lower().split())
    return "workload repository pdb report" in head or "(pdb snapshots)" in head or "awr pdb report" in head


def _first(lines: str) -> ReportKind | tuple[str, str] | None:
    """The meaning of the first title; of two on one line, of the first here."""
    match = _any_of(tuple(_TITLES)).search(lines)
    if match is None:
        return None
    return next(what for number, what in enumerate(_TITLES.values()) if match[f"title{number}"] is not None)


@cache
def _any_of(titles: tuple[str, ...]) -> re.Pattern[str]:
    blanks = r"\s+"
    words = (f"(?P<title{number}>{title.replace(' ', blanks)})" for number, title in enumerate(titles))
    return re.compile(rf"^[^\S\n]*(?:{'|'.join(words)})", re.IGNORECASE | re.MULTILINE)


# A file: bytes to text, what was done to it undone, and the reports in it one by one.

LIMIT_BYTES = 64 * 1024 * 1024
MOST_LINES = 1_000_000
"""Reports have some ten thousand. Lists of more would only fill the memory."""


@dataclass(frozen=True, slots=True)
class ReportFile:
    """The reports of a file, one text each; what else it holds; and what was undone before reading, in a few words each."""

    reports: tuple[str, ...]
    rest: str
    undone: tuple[str, ...]


def opened(data: bytes, name: str) -> ReportFile:
    """The file, ready to be read. Raises InputError for an empty, binary or oversized one."""
    if len(data) > LIMIT_BYTES:
        size = f"{len(data) / 2**20:,.0f} MiB"
        raise InputError(f"{name} is {size}; a report is at most {LIMIT_BYTES // 2**20} MiB, so split it")
    if not data.strip():
        raise InputError(f"{name} is empty; copy the report again, or run awrrpt.sql or spreport.sql")
    content = as_text(data)
    if "\0" in content:
        raise InputError(f"{name} is binary, not a report; unpack it first, or save the report as HTML or text")
    if content.count("\n") + content.count("\r") > MOST_LINES:
        raise InputError(f"{name} has more than {MOST_LINES:,} lines; give one report at a time")
    content, changes = undone(content)
    reports, rest = _one_by_one(content)
    return ReportFile(tuple(reports), rest, changes)


_FIGURES = re.compile(r"Begin Snap|Analysis Begin Time")
_OVER = ("</html>", "</HTML>", "End of Report")


def _one_by_one(content: str) -> tuple[list[str], str]:
    """The text of each report, and what stands between and around them. A head after a head begins another report."""
    page, starts = is_html(content), list[int]()
    if page and content.count("Begin Snap") + content.count("Analysis Begin Time") <= 1:
        starts = [max(0, content.find("<html"))]
    else:
        plain = TAG.sub(lambda tag: "\n".ljust(len(tag[0])), content) if page else content
        for title in _any_of((*_READ, _HEAD)).finditer(plain):
            if not starts or _FIGURES.search(plain, starts[-1], title.start()):
                starts.append(_opening(content, title.start()) if page else title.start())
    if not starts:
        return [content], ""
    reports, rest = [], [content[: starts[0]]]
    for begin, end in zip(starts, [*starts[1:], len(content)], strict=True):
        last = max(content.rfind(sign, begin, end) for sign in _OVER)
        over = end if last < 0 else (content.find("\n", last, end) + 1 or end)
        reports.append(content[begin:over])
        rest.append(content[over:end])
    return reports, "\n".join(rest)


def _opening(page: str, at: int) -> int:
    """Where the page begins whose title is at this place."""
    opened = page.rfind("<html", 0, at)
    return opened if page.rfind("</html", 0, at) < opened else at


# What people must know before they trust a report: its layout, its window, its missing sections.

VERIFIED = {
    ("AWR", "html"): ("11.2.0.3", "11.2.0.4", "12.1.0.2", "12.2.0.1", "19."),
    ("AWR", "text"): ("11.2.0.3", "11.2.0.4", "12.2."),
    ("Statspack", "text"): ("11.2.0.3", "12.1.0.2"),
}
"""Releases whose real reports were read and checked."""
SHORT = 5 * 60


def remarks(
    head: Header, printed: ReportTables, of_pdb: bool, cut_off: bool, gone: Sequence[str] = ()
) -> tuple[str, ...]:
    """The notes on one period, the most important first. `gone` is what the report lost."""
    notes = [*_layout(head, printed), *_window(head)]
    if printed.kind == "compare":
        notes += [NOTE, UNIT_NOTE]
    if of_pdb:
        notes.append(
            f"made inside a PDB: latches and mutexes belong to the whole instance, so make the report in CDB$ROOT; {NO_ROOT}"
        )
    if cut_off and not gone:
        notes.append("the file is cut off: it ends before the report does")
    notes += [f"lost: {'; '.join(gone)}; {RESEND}"] if gone else []
    if printed.absent and cut_off:
        notes.append(f"sections beyond the cut, or not printed: {', '.join(printed.absent)}")
    elif printed.absent and printed.kind == "compare":
        notes.append(f"sections not found, or laid out in a way that is not read: {', '.join(printed.absent)}")
    elif printed.absent:
        notes.append(f"sections the report does not have: {', '.join(printed.absent)}")
    return (*notes, *printed.notes)


def _layout(head: Header, printed: ReportTables) -> list[str]:
    known = VERIFIED.get((printed.kind, printed.document.form), ())
    if head.release and head.release.startswith(known):
        return []
    form = "HTML" if printed.document.form == "html" else "text"
    kind = {"compare": "AWR compare-periods", "cluster": "AWR cluster"}.get(printed.kind, printed.kind)
    return [f"layout not verified for {kind} {form} of release {head.release or 'unknown'}"]


def _window(head: Header) -> list[str]:
    seconds = head.seconds or 0.0
    if seconds > LONG_WINDOW:
        return [long_window(seconds)]
    if seconds < SHORT:
        return [f"a window of {seconds:,.0f} s: too short for many events to happen"]
    return []


MOST_LOST = 2
"""The headline has so many lost things. One is enough to be in doubt."""
NEEDED = ("v$latch", "v$rowcache", "v$system_event")
"""The sections of every complete report."""
TELLING = (*NEEDED, "v$mutex_sleep")
"""Without any of these a report tells nothing of the row cache."""
NO_ROOT = "where nobody may, as on an autonomous database, diagnose what `latchscope script` writes there"
RESTARTED = "the instance restarted between the two snapshots, so the counters of the report are worthless"
AFTER_RESTART = "make a report from two snapshots after the restart"
RESTART = ("span an instance shutdown", "instance was shutdown between snapshots")


def read(data: bytes, name: str) -> tuple[Delta | NotComparable, ...]:
    """One element for each report of the file; two for a compare-periods report, in the order first, second period; one for
    each instance of a report over all instances. A report that is there twice is read once.

    Raises InputError, one line that starts with `name`: not a report, a report that cannot be read, or a report without a
    readable interval.
    """
    return read_opened(opened(data, name), name)


def read_opened(file: ReportFile, name: str) -> tuple[Delta | NotComparable, ...]:
    """The same of a file that was opened before."""
    found: list[Delta | NotComparable] = []
    kind: ReportKind | None = None
    for at, content in enumerate(file.reports, 1):
        own = name if len(file.reports) == 1 else f"{name} (report {at} of {len(file.reports)})"
        lines = _lines(content)
        kind = _kind(title, own) if (title := _first(lines)) or kind is None else kind
        found += [one for one in _read(content, lines, kind, own) if one not in found]
    return tuple(_with_notes(one, file.undone) for one in found)


def _with_notes(one: Delta | NotComparable, undone: tuple[str, ...]) -> Delta | NotComparable:
    if not undone or isinstance(one, NotComparable):
        return one
    return replace(one, notes=(*one.notes, f"undone before reading: {', '.join(undone)}"))


def _read(content: str, lines: str, kind: ReportKind, name: str) -> tuple[Delta | NotComparable, ...]:
    document = _document(content, kind, name)
    if kind == "ASH":
        return (ash.read(content, header(document), name),)
    if kind == "cluster":
        return _instances(content, document, name)
    if kind == "compare":
        periods = tuple(
            _period(content, lines, period(document, which), header_of(document, which), kind, name)
            for which in PERIODS
        )
        both = [period.read(view) for period in periods if isinstance(period, Delta) for view in TELLING]
        if len(both) == 2 * len(TELLING) and all(isinstance(reading, Missing) for reading in both):
            raise InputError(f"{name} {UNREADABLE}")
        return periods
    return (_period(content, lines, document, header(document), kind, name),)


def _document(content: str, kind: ReportKind, name: str) -> Document:
    try:
        if is_html(content):
            return html.parse(content)
        if not any(columns_of(line.rstrip()) for line in content.split("\n")):
            return Document("html", *by_titles(_copied(content)))
        return text.parse(content, TITLES if kind == "cluster" else ())
    except TooManyTables:
        raise InputError(f"{name} has more than {MOST_TABLES:,} tables; give one report at a time") from None


def _copied(content: str) -> Iterator[tuple[str, ...]]:
    """The cells of a page that was copied as text: each row on a line, its cells parted by one sign."""
    sign = max("\t|;", key=lambda each: content.count(each))
    return (tuple(cell.strip() for cell in line.split(sign)) for line in content.split("\n"))


def _kind(title: ReportKind | tuple[str, str] | None, name: str) -> ReportKind:
    if isinstance(title, tuple):
        raise InputError(f"{name} is {title[0]}; {title[1]}")
    if title is None:
        raise InputError(
            f"{name} is not an AWR or Statspack report; run awrrpt.sql or spreport.sql and give its output"
        )
    return title


def _instances(content: str, document: Document, name: str) -> tuple[Delta | NotComparable, ...]:
    """One element for each instance that a report over all instances lists."""
    found = [_instance(part, document, cut_off=_unfinished(content)) for part in parts(document)]
    known = [one for one in found if one is not None]
    if not known:
        raise InputError(
            f"{name} is a report over all instances of a cluster whose list of instances cannot be read; {OWN_REPORT}"
        )
    return tuple(known)


def _instance(part: Part, document: Document, *, cut_off: bool) -> Delta | NotComparable | None:
    head = part.head
    if head.restarted:
        return NotComparable(head.database, head.release, RESTARTED, AFTER_RESTART, head.dbid, "restart")
    if head.basis is None:
        return None
    printed = ReportTables(document, "cluster")
    printed.notes |= dict.fromkeys(part.notes)
    return _delta(head, part.readings, remarks(head, printed, of_pdb=False, cut_off=cut_off))


def _delta(head: Header, readings: Mapping[str, Reading], notes: tuple[str, ...], gone: Sequence[str] = ()) -> Delta:
    assert head.basis is not None
    every = {**readings, "v$instance": Rows("v$instance", (head.row,))}
    return reported(
        head.database, head.release, head.basis, every, notes, dbid=head.dbid, lost="; ".join(gone[:MOST_LOST])
    )


def _period(
    content: str, lines: str, document: Document, head: Header, kind: ReportKind, name: str
) -> Delta | NotComparable:
    if head.restarted or any(sign in content for sign in RESTART):
        return NotComparable(head.database, head.release, RESTARTED, AFTER_RESTART, head.dbid, "restart")
    if head.basis is None and "Begin Snap" in content:
        raise InputError(f"{name} is a report whose head lost its columns, so its begin and end are not read; {RESEND}")
    if head.basis is None:
        raise InputError(f"{name} is a report without its begin and end time; copy it again from its first line on")
    printed = _laid_open(document, head, kind)
    readings = checked({view: reader(printed) for view, reader in READERS.items()}, printed, head)
    if not _has_latches(readings) and "appmap" in lines.lower():
        raise InputError(f"{name} is {_APPLICATION[0]}; {_APPLICATION[1]}")
    of_pdb = _is_of_pdb(lines)
    if of_pdb and not _has_latches(readings) and isinstance(readings["v$system_event"], Missing):
        raise InputError(f"{name} is a report of one PDB, which has no latch sections; make it in CDB$ROOT; {NO_ROOT}")
    if of_pdb:
        root = f"make it in CDB$ROOT; {NO_ROOT}"
        readings = {
            view: replace(each, way_out=root) if isinstance(each, Missing) and each.way_out == ANOTHER else each
            for view, each in readings.items()
        }
    # The last section of a text may lack its end for other reasons, so check what is missing too.
    lacking = bool(document.cut) and any(isinstance(readings[view], Missing) for view in NEEDED)
    ended = any(sign in content[-400:] for sign in _OVER)
    cut_off = not ended and (CUT in printed.unread.values() or lacking or _unfinished(content))
    gone = [*lost(content, readings, printed, head)]
    if cut_off and any(isinstance(readings[view], Missing) for view in (*NEEDED, "v$sys_time_model")):
        gone.insert(0, f"the file is cut off before {next(iter(printed.absent), 'its end')}")
    return _delta(head, readings, remarks(head, printed, of_pdb, cut_off, gone), gone)


def _unfinished(content: str) -> bool:
    """Whether an HTML file lacks its last tag."""
    return is_html(content) and "</html" not in content and re.search("</html", content, re.IGNORECASE) is None


def _laid_open(document: Document, head: Header, kind: ReportKind) -> ReportTables:
    printed = ReportTables(document, kind)
    printed.cpus, printed.year = head.cpus, head.end.year if head.end else None
    printed.db_time_micro = None if head.db_time_minutes is None else round(head.db_time_minutes * 60e6)
    return printed


def _has_latches(readings: Mapping[str, Reading]) -> bool:
    return any(isinstance(readings[view], Rows) for view in ("v$latch", "v$mutex_sleep"))
