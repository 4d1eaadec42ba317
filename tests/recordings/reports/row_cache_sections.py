"""The sections the project is about: latches, mutexes and dictionary caches."""

from dataclasses import replace

from .interval import Interval, Latch
from .tables import Cell, Table, count, decimal, name

BREAKDOWN = (
    "This table displays latch sleep statistics. Get requests, misses, sleeps, spin gets are displayed for each latch"
)
NO_DATA: tuple[tuple[Cell, ...], ...] = ()


def activity(told: Interval, statspack: bool) -> Table:
    """Latch Activity: every latch with gets."""
    rows = tuple(_latch(one) for one in sorted(told.latches, key=lambda one: one.name))
    columns = (
        name("Latch" if statspack else "Latch Name", 24),
        count("Get|Requests", 14),
        decimal("Pct|Get|Miss", 6, 2),
        decimal("Avg|Slps|/Miss", 6, 2),
        count("Wait|Time|(s)", 6),
        count("NoWait|Requests", 12),
        decimal("Pct|NoWait|Miss", 6, 2, empty="N/A"),
    )
    notes = (
        '"Get Requests", "Pct Get Miss" and "Avg Slps/Miss" are statistics for     willing-to-wait latch get requests',
        '"NoWait Requests", "Pct NoWait Miss" are for no-wait latch get requests',
        '"Pct Misses" for both should be very close to 0.0',
    )
    summary = (
        "This table displays latch statistics. Get requests, % get miss, wait time, noWait requests are displayed "
        "for each latch"
    )
    return Table("Latch Activity", summary, notes, columns, rows)


def _latch(one: Latch) -> tuple[Cell, ...]:
    return (
        one.name,
        one.gets,
        100 * one.misses / one.gets if one.gets else None,
        one.sleeps / one.misses if one.misses else None,
        one.seconds,
        one.nowait,
        100 * one.nowait_misses / one.nowait if one.nowait else None,
    )


def breakdown(told: Interval, statspack: bool) -> Table:
    """Latch Sleep Breakdown: exact misses, sleeps and spin gets of the latches that slept."""
    slept = sorted((one for one in told.latches if one.sleeps), key=lambda one: -one.misses)
    title = "Latch Sleep breakdown" if statspack else "Latch Sleep Breakdown"
    first = (name("Latch Name", 26), count("Get|Requests", 15), count("Misses", 12), count("Sleeps", 11))
    if told.version < (10,):
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (one.name, one.gets, one.misses, one.sleeps, f"{one.spin_gets}/{one.sleeps}/0/0/0") for one in slept
        )
        columns = (first[0], count("Get|Requests", 14), count("Misses", 11), first[3], name("Spin &|Sleeps 1->4", 12))
        return Table(title, "", ("ordered by misses desc",), columns, rows)
    rows = tuple((one.name, one.gets, one.misses, one.sleeps, one.spin_gets) for one in slept)
    columns = (*first, count("Spin|Gets", 11))
    if told.version < (11,) and not statspack:
        columns = (
            first[0],
            count("Get Requests", 14),
            count("Misses", 11),
            count("Sleeps", 11),
            count("Spin Gets", 10),
        )
        columns = (*columns, count("Sleep1", 8), count("Sleep2", 8), count("Sleep3", 8))
        rows = tuple((*row, 0, 0, 0) for row in rows)
    if told.container:
        return _by_container(Table(title, BREAKDOWN, ("ordered by misses desc",), columns, rows))
    return Table(title, BREAKDOWN, ("ordered by misses desc",), columns, rows)


def _by_container(table: Table) -> Table:
    """The table with the rows of one latch in two parts, as for a latch of a PDB."""
    rows: list[tuple[Cell, ...]] = []
    containers: list[str] = []
    for row in table.rows:
        parts = [row]
        if row[0] == "shared pool":
            small = [cell // 3 for cell in row if isinstance(cell, int)]
            large = [cell - third for cell, third in zip((c for c in row if isinstance(c, int)), small, strict=True)]
            parts = [(row[0], *large), (row[0], *small)]
        rows += parts
        containers += ["CDB$ROOT", "SALESPDB"][: len(parts)]
    return replace(table, rows=tuple(rows), containers=tuple(containers))


def sources(told: Interval) -> Table:
    """Latch Miss Sources: the places where latches with sleeps were held and waited for."""
    rows = tuple(
        (one.latch, one.where, one.nowait_misses, one.sleeps, one.waiter_sleeps)
        for one in sorted(told.sources, key=lambda one: (one.latch, -one.sleeps))
    )
    columns = (
        name("Latch Name", 24),
        name("Where", 26),
        count("NoWait|Misses", 7),
        count("   Sleeps", 10),
        count("Waiter|Sleeps", 8),
    )
    notes = ("only latches with sleeps are shown", "ordered by name, sleeps desc")
    summary = (
        "This table displays latch miss sources. Place where latch was requested, no-wait misses, sleeps, waiter sleeps "
        "are displayed for each missed latch"
    )
    containers = ("CDB$ROOT",) * len(rows) if told.container else None
    return Table("Latch Miss Sources", summary, notes, columns, rows, containers)


def mutexes(told: Interval, statspack: bool) -> Table | None:
    """Mutex Sleep Summary; Statspack prints seconds and calls it Mutex Sleep."""
    if told.version < (11,):
        return None
    summary = (
        "This table displays the mutex sleep summary. Location, sleeps and wait time are displayed for each mutex type"
    )
    ordered = sorted(told.mutexes, key=lambda one: -one.sleeps)
    if statspack:
        columns = (name("Mutex Type", 18), name("Location", 32), count("Sleeps", 14), decimal("Wait|Time (s)", 12, 1))
        rows = tuple((one.kind, one.location, one.sleeps, one.milliseconds / 1000) for one in ordered)
        return Table("Mutex Sleep", "", ("ordered by Wait Time desc",), columns, rows)
    columns = (name("Mutex Type", 21), name("Location", 32), count("Sleeps", 12), count("Wait   |Time (ms)", 12))
    printed = tuple((one.kind, one.location, one.sleeps, one.milliseconds) for one in ordered)
    return Table("Mutex Sleep Summary", summary, ("ordered by number of sleeps desc",), columns, printed)


def parents() -> Table:
    """Parent Latch Statistics, which are always empty."""
    return Table("Parent Latch Statistics", "", (), (), NO_DATA)


def children(told: Interval) -> Table:
    """Child Latch Statistics, empty unless everything is recorded."""
    columns = (
        name("Latch Name", 22),
        count("Child|Num", 7),
        count("Get|Requests", 12),
        count("Misses", 11),
        count("Sleeps", 10),
        count("Spin|Gets", 11),
    )
    rows = tuple((one.name, one.number, one.gets, one.misses, one.sleeps, one.spin_gets) for one in told.children)
    notes = ("only latches with sleeps/gets > 1/100000 are shown", "ordered by Latch Name, Gets desc")
    summary = "This table displays child latch statistics. Child number, get requests, misses, sleeps are displayed"
    return Table("Child Latch Statistics", summary, notes if rows else (), columns if rows else (), rows)


def caches(told: Interval, statspack: bool) -> Table:
    """Dictionary Cache Stats: caches with gets, parents and subordinates together."""
    rows = tuple(
        (
            one.name,
            one.gets,
            100 * one.misses / one.gets if one.gets else None,
            one.scans,
            100 * one.scan_misses / one.scans if one.scans else None,
            one.modifications,
            one.usage,
        )
        for one in sorted(told.caches, key=lambda one: one.name)
    )
    columns = (
        name("Cache", 25),
        count("Get|Requests", 12),
        decimal("Pct|Miss", 6, 2),
        count("Scan|Reqs", 7),
        decimal("Pct|Miss", 5, 2, empty="N/A"),
        count("Mod|Reqs", 8),
        count("Final|Usage", 10),
    )
    end = " in End Snapshot" if statspack else ""
    notes = (
        '"Pct Misses"  should be very low (< 2% in most cases)',
        f'"Final Usage" is the number of cache entries being used{end}',
    )
    summary = (
        "This table displays dictionary cache statistics. Get requests, % misses, scan requests, final usage, etc. are "
        "displayed for each cache"
    )
    return Table("Dictionary Cache Stats", summary, notes, columns, rows)


def cluster(told: Interval) -> Table | None:
    """Dictionary Cache Stats (RAC), which later releases leave empty."""
    if not told.cluster:
        return None
    told_of = [one for one in told.caches if one.cluster and told.version < (12, 2)]
    columns = (name("Cache", 25), count("GES|Requests", 12), count("GES|Conflicts", 12), count("GES|Releases", 12))
    rows = tuple((one.name, *(one.cluster or ())) for one in told_of)
    summary = (
        "This table displays dictionary cache statistics. Ges requests, GES conflicts , GES releases are displayed "
        "for each cache"
    )
    return Table("Dictionary Cache Stats (RAC)", summary, (), columns if rows else (), rows)


def library(told: Interval) -> Table:
    """Library Cache Activity, which looks like the dictionary cache but is unrelated."""
    columns = (
        name("Namespace", 15),
        count("Get|Requests", 12),
        decimal("Pct|Miss", 6, 2),
        count("Pin|Requests", 14),
        decimal("Pct|Miss", 6, 2, empty="N/A"),
        count("Reloads", 10),
        count("Invali-|dations", 8),
    )
    rows = (("BODY", 3_021, 0.4, 41_207, 0.1, 3, 0), ("SQL AREA", 812_440, 7.7, 9_120_377, 1.2, 5_120, 44))
    summary = (
        "This table displays library cache statistics. Get requests, % misses, pin request, % miss, reloads, etc. are "
        "displayed for each library cache namespace"
    )
    return Table("Library Cache Activity", summary, ('"Pct Misses"  should be very low',), columns, rows)
