"""What people must know before they trust a report: its layout, its window, its missing sections."""

from collectors.durations import LONG_WINDOW, long_window
from collectors.reports import compare
from collectors.reports.header import Header
from collectors.reports.tables import ReportTables

VERIFIED = {
    ("AWR", "html"): ("11.2.0.3", "11.2.0.4", "12.1.0.2", "12.2.0.1", "19."),
    ("AWR", "text"): ("11.2.0.3", "11.2.0.4", "12.2."),
    ("Statspack", "text"): ("11.2.0.3", "12.1.0.2"),
}
"""Releases whose real reports were read and checked."""
SHORT = 5 * 60


def remarks(head: Header, printed: ReportTables, of_pdb: bool, *, cut_off: bool = False) -> tuple[str, ...]:
    """The notes on one period, the most important first."""
    said = [*_layout(head, printed), *_window(head)]
    if printed.kind == "compare":
        said += [compare.NOTE, compare.UNIT_NOTE]
    if of_pdb:
        said.append(
            "made inside a PDB: latches and mutexes belong to the whole instance, so make the report in CDB$ROOT"
        )
    if printed.cut:
        said.append(f"the file ends inside {', '.join(printed.cut)}, which is therefore not used")
    elif cut_off:
        said.append("the file is cut off: it ends before the report does")
    if printed.absent and cut_off:
        said.append(f"sections beyond the cut, or not printed: {', '.join(printed.absent)}")
    elif printed.absent and printed.kind == "compare":
        said.append(f"sections not found, or laid out in a way that is not read: {', '.join(printed.absent)}")
    elif printed.absent:
        said.append(f"sections the report does not have: {', '.join(printed.absent)}")
    return (*said, *printed.notes)


def _layout(head: Header, printed: ReportTables) -> list[str]:
    known = VERIFIED.get((printed.kind, printed.document.form), ())
    if head.release and head.release.startswith(known):
        return []
    form = "HTML" if printed.document.form == "html" else "text"
    kind = "AWR compare-periods" if printed.kind == "compare" else printed.kind
    return [f"layout not verified for {kind} {form} of release {head.release or 'unknown'}"]


def _window(head: Header) -> list[str]:
    seconds = head.seconds or 0.0
    if seconds > LONG_WINDOW:
        return [long_window(seconds)]
    if seconds < SHORT:
        return [f"a window of {seconds:,.0f} s: too short for many events to happen"]
    return []
