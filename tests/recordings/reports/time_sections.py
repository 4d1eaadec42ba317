"""The sections about time and work: time model, host, wait events, instance activity, parameters."""

from collections.abc import Iterable

from .interval import Interval, Wait
from .tables import Cell, Column, Table, count, decimal, name

TIMEOUTS = "%Timeouts: value of 0 indicates value was < .5%.  Value of null is truly 0"
SHOWN = "Only events with Total Wait Time (s) >= .001 are shown"
SECONDS = "s  - second, ms - millisecond -    1000th of a second"
ORDER = "ordered by wait time desc, waits desc (idle events last)"


def average(wait: Wait, units: bool) -> Cell:
    """The mean wait in whole milliseconds, from 12.2 on with its unit."""
    milliseconds = 1000 * wait.seconds / wait.waits
    if not units:
        return milliseconds
    return f"{milliseconds:.2f}ms" if milliseconds >= 1 else f"{1000 * milliseconds:.2f}us"


def time_model(told: Interval, statspack: bool) -> Table | None:
    """Time Model Statistics; not before 10g."""
    if not told.time_model:
        return None
    rows = [(stat, seconds, 100 * seconds / told.db_time) for stat, seconds in told.time_model.items()]
    rows.sort(key=lambda row: -row[1])
    printed = (*rows, ("DB time", told.db_time, None), ("background elapsed time", 0.02 * told.db_time, None))
    if statspack:
        columns = (name("Statistic", 35), decimal("Time (s)", 20, 1), decimal("% DB time", 9, 1, bare=True))
        return Table("Time Model System Stats", "", ("Ordered by % of DB time desc, Statistic name",), columns, printed)
    notes = (f"Total time in database user-calls (DB Time): {told.db_time:.1f}s", "Ordered by % or DB time desc")
    columns = (name("Statistic Name", 42), decimal("Time (s)", 18, 2), decimal("% of DB Time", 12, 2, bare=True))
    if told.version >= (12, 1):
        columns = (*columns[:2], decimal("% of|DB Time", 7, 2, bare=True), decimal("% of Total|CPU Time", 10, 2))
        printed = tuple((*row, None) for row in printed)
    summary = (
        "This table displays different time model statistics. For each statistic, time and % of DB time are displayed"
    )
    return Table("Time Model Statistics", summary, notes, columns, printed)


def host(told: Interval, statspack: bool) -> Table | None:
    """Operating System Statistics: differences of times, levels of the rest."""
    if not told.host:
        return None
    rows: tuple[tuple[Cell, ...], ...] = tuple((stat, *values) for stat, values in told.host.items())
    columns = (name("Statistic", 25), count("Value", 22), count("End Value", 16))
    if statspack or told.version < (11,):
        columns, rows = (columns[0], count("Total", 22)), tuple(row[:2] for row in rows)
    summary = (
        "This table displays operating systems statistics. For each statistic, actual value is displayed. "
        "If the end value is different, it is also displayed"
    )
    notes = ("ordered by statistic type (CPU Use, Virtual Memory, Hardware Config), Name",)
    return Table("OS Statistics" if statspack else "Operating System Statistics", summary, notes, columns, rows)


def top(told: Interval) -> Table:
    """The top events of an AWR report, with processor time among them."""
    cpu = told.time_model.get("DB CPU", 0.0)
    shown = sorted((*told.foreground, Wait("DB CPU", 0, cpu, wait_class="")), key=lambda wait: -wait.seconds)
    ten = told.version >= (11, 2, 0, 4)
    units = told.version >= (12, 2)
    rows = tuple(
        (
            wait.event,
            wait.waits or None,
            wait.seconds,
            average(wait, units) if wait.waits else None,
            100 * wait.seconds / told.db_time,
            wait.wait_class or None,
        )
        for wait in shown[: 10 if ten else 5]
    )
    title = "Top 10 Foreground Events by Total Wait Time" if ten else "Top 5 Timed Foreground Events"
    if told.version < (11,):
        title = "Top 5 Timed Events"
    columns = (
        name("Event", 30),
        count("Waits", 11),
        decimal("Total Wait|Time (sec)" if ten else "Time(s)", 10, 1 if ten else 0, 1 if ten else 0),
        count("Avg Wait" if units else "Wait|Avg(ms)" if ten else "Avg|wait|(ms)", 9),
        decimal("% DB|time", 6, 1, bare=True),
        name("Wait|Class" if ten else "Wait Class", 8),
    )
    summary = "This table displays top 10 wait events by total wait time" if ten else title
    return Table(title, summary, (), columns, rows)


def _events(
    told: Interval, waits: Iterable[Wait], statspack: bool, part: str
) -> tuple[tuple[Column, ...], list[tuple[Cell, ...]]]:
    units = told.version >= (12, 2) and not statspack
    rows: list[tuple[Cell, ...]] = []
    for wait in sorted(waits, key=lambda wait: -wait.seconds):
        out = 100 * wait.timeouts / wait.waits if wait.timeouts else None
        share = 100 * wait.seconds / told.db_time
        rows.append((wait.event, wait.waits, out, wait.seconds, average(wait, units), wait.waits / 54321, share))
    if statspack:
        widths, heads = (
            (28, 12, 4, 10, 6, 8, 6),
            ("%Tim|out", "Total Wait|Time (s)", "Avg|wait|(ms)", "%Total|Call|Time"),
        )
    elif units:
        widths, heads = (26, 11, 5, 8, 9, 8, 6), ("%Time|-outs", "Total|Wait|Time (s)", "Avg wait", f"% {part}|time")
    else:
        widths, heads = (
            (26, 12, 5, 10, 7, 8, 6),
            ("%Time|-outs", "Total Wait|Time (s)", "Avg|wait|(ms)", f"% {part}|time"),
        )
    columns = (
        name("Event", widths[0]),
        count("Waits", widths[1]),
        count(heads[0], widths[2]),
        count(heads[1], widths[3]),
        count(heads[2], widths[4]),
        decimal("Waits|/txn", widths[5], 2),
        decimal(heads[3], widths[6], 2, bare=True),
    )
    if told.version < (11,):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    if told.version < (10,):
        columns = (*columns[:2], count("Timeouts", 10), *columns[3:])
        rows = [(*row[:2], 0, *row[3:]) for row in rows]
    return columns, rows


def foreground(told: Interval, statspack: bool) -> Table:
    """Waits of sessions. Before 11g there is one list of all waits, background processes included."""
    old = told.version < (11,)
    waits = together(told) if old else told.foreground
    columns, rows = _events(told, waits, statspack, "DB")
    title = "Wait Events" if old else "Foreground Wait Events"
    summary = "This table displays Foreground Wait Events and their wait statistics"
    return Table(title, summary, (SECONDS, SHOWN, ORDER, TIMEOUTS), columns, tuple(rows))


def background(told: Interval, statspack: bool) -> Table:
    """Waits of background processes."""
    columns, rows = _events(told, told.background, statspack, "bg")
    summary = "This table displays background wait events statistics"
    return Table("Background Wait Events", summary, (ORDER, SHOWN, TIMEOUTS), columns, tuple(rows))


def both(told: Interval) -> Table:
    """The third list of a Statspack report from 11g on: sessions and background processes together."""
    columns, rows = _events(told, together(told), True, "DB")
    return Table("Wait Events (fg and bg)", "", (TIMEOUTS, SHOWN), columns, tuple(rows))


def together(told: Interval) -> tuple[Wait, ...]:
    """All waits of the instance by event."""
    events = dict.fromkeys(wait.event for wait in (*told.foreground, *told.background))
    found = [[wait for wait in (*told.foreground, *told.background) if wait.event == event] for event in events]
    return tuple(
        Wait(same[0].event, sum(wait.waits for wait in same), sum(wait.seconds for wait in same)) for same in found
    )


def activity(told: Interval, statspack: bool) -> Table:
    """Instance Activity Stats: totals, rates per second and per transaction."""
    first, total = (33, 18) if statspack else (32, 18)
    last = 12 if statspack else 13
    columns = (
        name("Statistic", first),
        count("Total", total),
        decimal("per Second", 14, 2),
        decimal("per Trans", last, 2),
    )
    rows = tuple((stat, value, value / told.seconds, value / 54321) for stat, value in sorted(told.activity.items()))
    summary = (
        "This table displays Instance activity statistics. For each instance, activity total, activity per second, "
        "and activity per transaction are displayed"
    )
    return Table("Instance Activity Stats", summary, ("Ordered by statistic name",), columns, rows)


def absolute(told: Interval, statspack: bool) -> Table:
    """Statistics that are levels; a reader must not take them for totals."""
    columns = (name("Statistic", 32), count("Begin Value", 15), count("End Value", 15))
    rows = (("logons current", 212, 219), ("opened cursors current", 4_811, 4_902))
    summary = (
        "This table displays absolute values of instance-related features. For each instance, activity begin value "
        "and end value are displayed"
    )
    title = "Instance Activity Stats" if statspack else "Instance Activity Stats - Absolute Values"
    return Table(title, summary, ("Statistics with absolute values (should not be diffed)",), columns, rows)


def parameters(told: Interval) -> Table | None:
    """Changed initialisation parameters; from 12c on under another title."""
    if not told.parameters:
        return None
    new = told.version >= (12, 1)
    columns = (name("Parameter Name", 29), name("Begin value", 33), name("End value|(if different)", 14))
    rows = tuple((key, value, None) for key, value in sorted(told.parameters.items()))
    what = "the modified initialization parameters" if new else "init.ora parameters"
    title = "Modified Parameters" if new else "init.ora Parameters"
    return Table(title, f"This table displays name and value of {what}", (), columns, rows)
