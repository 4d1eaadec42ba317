"""Two intervals of one database as the AWR compare periods report in HTML."""

from html import escape

from .interval import Interval, Latch
from .tables import Cell

Groups = tuple[tuple[str, tuple[str, ...]], ...]
PERIODS = ("1st", "2nd", "%Diff")


def page(first: Interval, second: Interval) -> str:
    """The whole report. Each group of columns has a first, a second and a difference."""
    parts = [
        '<html lang="en"><head><title>AWR Compare Period Report for DB: '
        f"{first.database}, Inst: {first.instance}, Snaps: {first.snaps[0]}-{first.snaps[1]}, DB: {second.database}, "
        f"Inst: {second.instance}, Snaps: {second.snaps[0]}-{second.snaps[1]}</title></head>"
    ]
    parts += ['<body class="awr">', '<h1 class="awr">', "WORKLOAD REPOSITORY COMPARE PERIOD REPORT", "</h1>", "<p />"]
    parts += [*_head(first, second), *_events(first, second), *_latches(first, second), *_caches(first, second)]
    return "\n".join((*parts, "</body></html>", ""))


def _head(first: Interval, second: Interval) -> list[str]:
    pair = (("First (1st)", first), ("Second (2nd)", second))
    heads = ("Snapshot Set", "DB Name", "DB Id", "Instance", "Inst num", "Release", "Cluster", "Host", "Std Block Size")
    rows = [
        (label, one.database, "3141592653", one.instance, "1", one.release, "NO", "db-node-a", "8192")
        for label, one in pair
    ]
    stamp = "%d-%b-%y %H:%M:%S (%a)"
    times = (
        "Snapshot Set",
        "Begin Snap Id",
        "Begin Snap Time",
        "End Snap Id",
        "End Snap Time",
        "Avg Active Users",
        "Elapsed Time (min)",
        "DB time (min)",
    )
    spans = [
        (
            label[-4:-1],
            f"{one.snaps[0]}",
            one.begin.strftime(stamp),
            f"{one.snaps[1]}",
            one.end.strftime(stamp),
            f"{one.db_time / one.seconds:,.1f}",
            f"{one.minutes:,.1f}",
            f"{one.db_time / 60:,.1f}",
        )
        for label, one in pair
    ]
    lines = _table("This table displays database instance information", tuple((head, ()) for head in heads), rows)
    return lines + _table("This table displays snapshot set information", tuple((head, ()) for head in times), spans)


def _events(first: Interval, second: Interval) -> list[str]:
    names = dict.fromkeys(wait.event for one in (first, second) for wait in one.foreground)
    before, after = ({wait.event: wait for wait in one.foreground} for one in (first, second))
    rows: list[tuple[Cell, ...]] = []
    for event in names:
        old, new = before.get(event), after.get(event)
        cells: list[Cell] = [event]
        for get in ("waits", "seconds"):
            pair = [getattr(wait, get) if wait else None for wait in (old, new)]
            cells += [*pair, _difference(*pair)]
        rows.append(tuple(cells))
    groups = (("Event", ()), ("# Waits", PERIODS), ("Total Wait Time (sec)", PERIODS))
    return ['<h3 class="awr">Wait Events</h3>', *_table("This table displays wait events", groups, rows)]


def _latches(first: Interval, second: Interval) -> list[str]:
    totals = [sum(one.sleeps for one in told.latches) for told in (first, second)]
    groups: Groups = (
        ("Latch Name", ()),
        ("% of Total Sleeps", ("1st", "2nd", "Diff")),
        ("Get Requests", PERIODS),
        ("Misses", PERIODS),
        ("Spin Gets", PERIODS),
        ("Sleeps", PERIODS),
        ("Wait Time (cs)", PERIODS),
    )
    after = {one.name: one for one in second.latches}
    rows = [_latch(one, after[one.name], totals) for one in first.latches if one.name in after and one.gets]
    summary = "This table displays latch sleep statistics"
    return ['<h3 class="awr">Latch Sleep Breakdown</h3>', *_table(summary, groups, rows)]


def _latch(old: Latch, new: Latch, totals: list[int]) -> tuple[Cell, ...]:
    shares = [100 * one.sleeps / total if total else 0.0 for one, total in zip((old, new), totals, strict=True)]
    cells: list[Cell] = [old.name, *shares, shares[1] - shares[0]]
    for get in ("gets", "misses", "spin_gets", "sleeps"):
        pair = [getattr(old, get), getattr(new, get)]
        cells += [*pair, _difference(*pair)]
    # Headed centiseconds, printed in microseconds: Oracle's own slip.
    waited = [round(1_000_000 * one.seconds) for one in (old, new)]
    return (*cells, *waited, _difference(*waited))


def _caches(first: Interval, second: Interval) -> list[str]:
    groups: Groups = (
        ("Cache", ()),
        ("Gets per sec (DB time)", PERIODS),
        ("Gets per sec (elapsed)", PERIODS),
        ("Get Requests", PERIODS),
        ("Pct Miss", ("1st", "2nd")),
        ("Mod Reqs", PERIODS),
        ("Final Usage", PERIODS),
    )
    after = {one.name: one for one in second.caches}
    rows: list[tuple[Cell, ...]] = []
    for old in first.caches:
        new = after[old.name]
        gets = [old.gets, new.gets]
        cells: list[Cell] = [old.name]
        for span in ([first.db_time, second.db_time], [first.seconds, second.seconds]):
            rate = [count / seconds for count, seconds in zip(gets, span, strict=True)]
            cells += [*rate, _difference(*rate)]
        cells += [*gets, _difference(*gets), 0.0, 0.0]
        for pair in ([old.modifications, new.modifications], [old.usage, new.usage]):
            cells += [*pair, _difference(*pair)]
        rows.append(tuple(cells))
    summary = "This table displays dictionary cache statistics"
    return ['<h3 class="awr">Dictionary Cache Statistics</h3>', *_table(summary, groups, rows)]


def _difference(old: float | None, new: float | None) -> float | None:
    return 100 * (new - old) / old if old and new is not None else None


def _table(summary: str, groups: Groups, rows: list[tuple[Cell, ...]] | list[tuple[str, ...]]) -> list[str]:
    deep = any(below for _, below in groups)
    upper = "".join(
        f'<th class="awrbg" colspan="{len(below)}" scope="col">{escape(head)}</th>'
        if below
        else f'<th class="{"awrnobg" if deep else "awrbg"}" scope="col">{"" if deep else escape(head)}</th>'
        for head, below in groups
    )
    lower = "".join(f'<th class="awrbg" scope="col">{part}</th>' for head, below in groups for part in below or (head,))
    lines = [f'<table border="0" class="tdiff" summary="{summary}">', f"<tr>{upper}</tr>"]
    lines += [f"<tr>{lower}</tr>"] if deep else []
    for row in rows:
        cells = "".join(f"<td class='awrc'>{_written(cell)}</td>" for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    return [*lines, "</table>", "<p />"]


def _written(cell: Cell) -> str:
    if cell is None:
        return "&#160;"
    if isinstance(cell, str):
        return escape(cell)
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.2f}"
