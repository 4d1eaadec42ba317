"""read(): the bytes of a report → the changes over its interval, or why there are none. The entry point of this folder."""

import re
from collections.abc import Mapping

from collectors.delta import reported
from collectors.errors import InputError
from collectors.model import Delta, Missing, NotComparable, Reading, Rows
from collectors.reports import compare, html, text
from collectors.reports.decode import decode
from collectors.reports.detect import ReportKind, is_html, is_of_pdb, kind_of, looks_like_report, refusal_of
from collectors.reports.header import Header, header
from collectors.reports.readers import readers
from collectors.reports.remarks import remarks
from collectors.reports.tables import MOST_TABLES, Document, ReportTables, TooManyTables

__all__ = ["looks_like_report", "read"]

NEEDED = ("v$latch", "v$rowcache", "v$system_event")
"""The sections of every complete report."""
AFTER_RESTART = "make a report from two snapshots after the restart"
RESTART = ("span an instance shutdown", "instance was shutdown between snapshots")


def read(data: bytes, name: str) -> tuple[Delta | NotComparable, ...]:
    """One element for a report; two for a compare-periods report, in the order first, second period.

    Raises InputError, one line that starts with `name`: not a report, a report that cannot be read, or a report without a
    readable interval.
    """
    content = decode(data, name)
    kind = _kind(content, name)
    document = _document(content, name)
    if kind == "compare":
        periods = tuple(
            _period(content, compare.period(document, which), compare.header_of(document, which), kind, name)
            for which in compare.PERIODS
        )
        if all(isinstance(period, Delta) and not _tells(period) for period in periods):
            raise InputError(f"{name} {compare.UNREADABLE}")
        return periods
    return (_period(content, document, header(document), kind, name),)


def _tells(delta: Delta) -> bool:
    """Whether any figure of the row cache could be read."""
    return any(not isinstance(delta.read(view), Missing) for view in (*NEEDED, "v$mutex_sleep"))


def _document(content: str, name: str) -> Document:
    try:
        return html.parse(content) if is_html(content) else text.parse(content)
    except TooManyTables:
        raise InputError(f"{name} has more than {MOST_TABLES:,} tables; give one report at a time") from None


def _kind(content: str, name: str) -> ReportKind:
    refusal = refusal_of(content)
    if refusal:
        raise InputError(f"{name} is {refusal[0]}; {refusal[1]}")
    kind = kind_of(content)
    if kind is None:
        raise InputError(
            f"{name} is not an AWR or Statspack report; run awrrpt.sql or spreport.sql and give its output"
        )
    return kind


def _period(content: str, document: Document, head: Header, kind: ReportKind, name: str) -> Delta | NotComparable:
    if head.restarted or any(sign in content for sign in RESTART):
        why = "the instance restarted between the two snapshots, so the counters of the report are worthless"
        return NotComparable(head.database, head.release, why, AFTER_RESTART, head.dbid, "restart")
    if head.basis is None:
        raise InputError(f"{name} is a report without its begin and end time; copy it again from its first line on")
    printed = _laid_open(document, head, kind)
    readings: Mapping[str, Reading] = {view: reader.read(printed) for view, reader in readers().items()}
    of_pdb = is_of_pdb(content)
    if of_pdb and not _has_latches(readings):
        raise InputError(f"{name} is a report of one PDB, which has no latch sections; make it in CDB$ROOT instead")
    instance = {"v$instance": Rows("v$instance", (head.row,))}
    # The last section of a text may lack its end for other reasons, so check what is missing too.
    lacking = bool(document.cut) and any(isinstance(readings[view], Missing) for view in NEEDED)
    cut_off = bool(printed.cut) or lacking or _unfinished(content)
    return reported(
        head.database,
        head.release,
        head.basis,
        {**readings, **instance},
        remarks(head, printed, of_pdb, cut_off=cut_off),
        dbid=head.dbid,
        cut_off=cut_off,
    )


def _unfinished(content: str) -> bool:
    """Whether an HTML file lacks its last tag."""
    return is_html(content) and re.search("</html", content, re.IGNORECASE) is None


def _laid_open(document: Document, head: Header, kind: ReportKind) -> ReportTables:
    printed = ReportTables(document, kind)
    printed.cpus, printed.year = head.cpus, head.end.year if head.end else None
    printed.db_time_micro = None if head.db_time_minutes is None else round(head.db_time_minutes * 60e6)
    return printed


def _has_latches(readings: Mapping[str, Reading]) -> bool:
    return any(isinstance(readings[view], Rows) for view in ("v$latch", "v$mutex_sleep"))
