"""v$rowcache from Dictionary Cache Stats, which sums parents and subordinates of one name and knows no cache numbers."""

from collectors.model import Reading, Rows, Value
from collectors.reports.reader import Reader, known_cells, missing
from collectors.reports.tables import ReportRow, ReportTables

VIEW = "v$rowcache"
TITLE = "Dictionary Cache Stats"
MERGED_NOTE = "a report sums the parent and the subordinate caches of one name, and lists only caches with activity"
MISSES_NOTE = "getmisses and scanmisses are gets and scans times a percentage that is printed rounded"


def read(printed: ReportTables) -> Reading:
    """Dictionary caches by name. Cluster counters where the report has a filled RAC section (up to 12.1)."""
    records = printed.section(
        TITLE, "Dictionary Cache Statistics", summary="This table displays dictionary cache statistics. Get requests"
    )
    if records is None:
        return missing(VIEW, TITLE)
    cluster = _cluster(printed)
    rows = [_row(record, printed) | cluster.get(record.text("cache"), {}) for record in records if record.text("cache")]
    return Rows(VIEW, tuple(known_cells(row) for row in rows), (MERGED_NOTE, MISSES_NOTE))


def _row(row: ReportRow, printed: ReportTables) -> dict[str, Value]:
    gets, scans = row.count("getrequests"), row.count("scanreqs", "scanrequests")
    return {
        "parameter": row.text("cache"),
        "usage": row.count("finalusage"),
        "gets": gets,
        "getmisses": _share(gets, row, "pctmiss", printed),
        "scans": scans,
        "scanmisses": _share(scans, row, "pctmiss#2", printed),
        "modifications": row.count("modreqs", "modrequests"),
    }


def _share(whole: int | float | None, row: ReportRow, heading: str, printed: ReportTables) -> int | None:
    """The whole times the printed percentage. Zero of zero; unknown if the percentage cannot be right."""
    if whole == 0:
        return 0
    percent = row.real(heading)
    if percent is not None and not 0 <= percent <= 100:
        note = f"{TITLE}: {percent:g} % misses of {row.text('cache')} cannot be right and is not used"
        printed.notes[note] = None
        return None
    return None if whole is None or whole < 0 or percent is None else round(whole * percent / 100)


def _cluster(printed: ReportTables) -> dict[str, dict[str, Value]]:
    summary = "This table displays dictionary cache statistics. Ges requests"
    records = printed.section(f"{TITLE} (RAC)", summary=summary, wanted=False) or ()
    return {
        record.text("cache"): {
            "dlm_requests": record.count("gesrequests"),
            "dlm_conflicts": record.count("gesconflicts"),
            "dlm_releases": record.count("gesreleases"),
        }
        for record in records
    }


ROWCACHE = Reader(VIEW, read)
