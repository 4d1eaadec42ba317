"""v$system_event: waits of all processes, and of foreground sessions alone if the report prints them."""

from collections.abc import Iterable

from collectors.model import Missing, Reading, Rows, Value
from collectors.reports.numbers import decimals, micro
from collectors.reports.reader import ANOTHER, Reader, added, asked, known_cells
from collectors.reports.sections.sys_time_model import SECONDS, db_time
from collectors.reports.tables import ReportRow, ReportTables

VIEW = "v$system_event"
FOREGROUND, BACKGROUND = "Foreground Wait Events", "Background Wait Events"
WHY = "the report has no complete section Foreground Wait Events; its list of top events proves no absence"
TIME_NOTE = "times waited are what the printed seconds, average and share of DB time allow together; all are rounded"
FOREGROUND_NOTE = "background waits are not printed, so times waited are those of foreground processes alone"
TOGETHER_NOTE = "waits of foreground sessions are not printed apart, though DB time has no background work"
Headings = tuple[str, ...]
MillisecondRange = tuple[float, float]
TOTAL: Headings = ("totalwaittimes", "totalwaittimesec", "timewaiteds", "waittimes", "times")
AVERAGE: Headings = ("avgwaitms", "avgwait", "waitavgms", "avgwaittimems", "avgwaittime")
SHARE = "dbtime"


def read(printed: ReportTables) -> Reading:
    """Events we follow. AWR prints foreground and background apart, so they are added. Statspack before 11g prints the sum."""
    both = printed.section("Wait Events (fg and bg)", "Wait Events", wanted=False)
    front = printed.section(FOREGROUND, summary="This table displays Foreground Wait Events", wanted=both is None)
    if both is None and front is None:
        return Missing(VIEW, "unread", WHY, ANOTHER)
    notes = [TIME_NOTE] if front is not None else [TIME_NOTE, TOGETHER_NOTE]
    records = list(both or front or ())
    if both is None:
        back = printed.section(BACKGROUND, summary="This table displays background wait events")
        records += back or ()
        notes += [FOREGROUND_NOTE] if back is None else []
    whole = _whole(printed)
    rows = [_all(event, ones, whole) | _own(event, front, whole) for event, ones in _by_event(records).items()]
    return Rows(VIEW, tuple(known_cells(row) for row in rows), tuple(notes))


def _by_event(records: Iterable[ReportRow]) -> dict[str, list[ReportRow]]:
    found: dict[str, list[ReportRow]] = {}
    for record in records:
        event = record.name(asked(VIEW), "event")
        if event in asked(VIEW):
            found.setdefault(event, []).append(record)
    return found


def _all(event: str, ones: list[ReportRow], whole: MillisecondRange | None) -> dict[str, Value]:
    waits = added(record.count("waits") for record in ones)
    return {"event": event, "total_waits": waits, "time_waited_micro": added(waited(record, whole) for record in ones)}


def _own(event: str, front: tuple[ReportRow, ...] | None, whole: MillisecondRange | None) -> dict[str, Value]:
    """Foreground waits. The section omits events of less than a millisecond: they have no time and an unknown number."""
    if front is None:
        return {}
    ones = _by_event(front).get(event)
    if ones is None:
        return {"time_waited_micro_fg": 0}
    own = _all(event, ones, whole)
    return {"total_waits_fg": own["total_waits"], "time_waited_micro_fg": own["time_waited_micro"]}


def waited(row: ReportRow, whole: MillisecondRange | None = None) -> int | None:
    """Microseconds waited: the middle of what the printed total, average × waits and share of DB time allow together.

    `whole` is the range of DB time, in microseconds.
    """
    waits, total = row.count("waits"), row.micro("s", *TOTAL)
    unit = "ms" if any(name in row.cells for name in AVERAGE if name.endswith("ms")) else "s"
    average, share = row.micro(unit, *AVERAGE), _share(row, whole)
    nothing = total == average == 0 and not (share and share[0] > 0)
    if total is None or average is None or waits is None or waits < 0 or total < 0 or nothing:
        return total if average is None or waits is None or total is not None else round(average * waits)
    half_total, half_average = _half_step(row, "s", TOTAL), _half_step(row, unit, AVERAGE) * waits
    wide = _common(
        (total - half_total, total + half_total), (average * waits - half_average, average * waits + half_average)
    )
    narrow = _common(wide, share) if wide and share else wide
    allowed = narrow or wide
    return total if allowed is None else round(sum(allowed) / 2)


def _common(bucket: MillisecondRange, other: MillisecondRange) -> MillisecondRange | None:
    least, most = max(bucket[0], other[0]), min(bucket[1], other[1])
    return None if least > most else (least, most)


def _whole(printed: ReportTables) -> MillisecondRange | None:
    """The range of DB time that its last printed digit allows."""
    row = db_time(printed)
    micros = row.micro("s", *SECONDS) if row else None
    if row is None or micros is None:
        return None
    half = _half_step(row, "s", SECONDS)
    return micros - half, micros + half


def _share(row: ReportRow, whole: MillisecondRange | None) -> MillisecondRange | None:
    """Microseconds that the printed percentage of DB time allows."""
    percent, digits = row.real(SHARE), decimals(row.text(SHARE))
    if whole is None or percent is None or digits is None or percent < 0:
        return None
    half = 0.5 * 10.0**-digits
    return max(percent - half, 0.0) / 100 * whole[0], (percent + half) / 100 * whole[1]


def _half_step(row: ReportRow, unit: str, headings: Headings) -> float:
    """Half of the last printed digit, in microseconds."""
    cell = row.text(*headings)
    digits = cell.rstrip("abcdefghijklmnopqrstuvwxyzKMGT ")
    scale = micro("1" + cell[len(digits) :], unit)
    return 0.0 if scale is None else 0.5 * 10.0 ** -(decimals(digits) or 0) * scale


SYSTEM_EVENT = Reader(VIEW, read)
