"""v$system_event: waits of foreground and background processes together, as the view counts them."""

from collectors.model import Missing, Reading, Rows, Value
from collectors.reports.numbers import decimals, micro
from collectors.reports.readers import ANOTHER, Reader, added, asked, told
from collectors.reports.tables import Printed, Record

VIEW = "v$system_event"
FOREGROUND, BACKGROUND = "Foreground Wait Events", "Background Wait Events"
WHY = "the report has no complete section Foreground Wait Events; its list of top events proves no absence"
TIME_NOTE = "times waited are what the printed seconds and the printed average allow together; both are rounded"
FOREGROUND_NOTE = "background waits are not printed, so times waited are those of foreground processes alone"
Headings = tuple[str, ...]
TOTAL: Headings = ("totalwaittimes", "totalwaittimesec", "timewaiteds", "waittimes", "times")
AVERAGE: Headings = ("avgwaitms", "avgwait", "waitavgms", "avgwaittimems", "avgwaittime")


def read(printed: Printed) -> Reading:
    """Events we follow. Statspack prints both kinds of process in one list; AWR in two, which are added."""
    both = printed.section("Wait Events (fg and bg)", "Wait Events", wanted=False)
    front = printed.section(FOREGROUND, summary="This table displays Foreground Wait Events", wanted=both is None)
    if both is None and front is None:
        return Missing(VIEW, "unread", WHY, ANOTHER)
    notes = [TIME_NOTE]
    records = list(both or front or ())
    if both is None:
        back = printed.section(BACKGROUND, summary="This table displays background wait events")
        records += back or ()
        notes += [FOREGROUND_NOTE] if back is None else []
    return Rows(VIEW, tuple(_rows(records)), tuple(notes))


def _rows(records: list[Record]) -> list[dict[str, Value]]:
    found: dict[str, list[Record]] = {}
    for one in records:
        event = one.name(asked(VIEW), "event")
        if event in asked(VIEW):
            found.setdefault(event, []).append(one)
    rows: list[dict[str, Value]] = []
    for event, ones in found.items():
        waits = added(one.count("waits") for one in ones)
        rows.append({"event": event, "total_waits": waits, "time_waited_micro": added(waited(one) for one in ones)})
    return [dict(told(row)) for row in rows]


def waited(one: Record) -> int | None:
    """Microseconds waited: the middle of what the printed total and waits × the printed average allow together."""
    waits, total = one.count("waits"), one.micro("s", *TOTAL)
    unit = "ms" if any(name in one.cells for name in AVERAGE if name.endswith("ms")) else "s"
    average = one.micro(unit, *AVERAGE)
    if total is None or average is None or waits is None or waits < 0 or total < 0 or total == average == 0:
        return total if average is None or waits is None or total is not None else round(average * waits)
    half_total, half_average = _half_step(one, "s", TOTAL), _half_step(one, unit, AVERAGE) * waits
    least = max(total - half_total, average * waits - half_average)
    most = min(total + half_total, average * waits + half_average)
    return total if least > most else round((least + most) / 2)


def _half_step(one: Record, unit: str, headings: Headings) -> float:
    """Half of the last printed digit, in microseconds."""
    cell = one.text(*headings)
    digits = cell.rstrip("abcdefghijklmnopqrstuvwxyzKMGT ")
    scale = micro("1" + cell[len(digits) :], unit)
    return 0.0 if scale is None else 0.5 * 10.0 ** -(decimals(digits) or 0) * scale


SYSTEM_EVENT = Reader(VIEW, read)
