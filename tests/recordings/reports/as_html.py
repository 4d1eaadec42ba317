"""An interval as the AWR report in HTML, in the layout of its release."""

from html import escape

from . import row_cache_sections as cache
from . import time_sections as time
from .interval import Interval
from .tables import Cell, Column, Table


def page(told: Interval) -> str:
    """The whole report. 10.2 writes attributes without summary; 11.2.0.4 and later a class of tables."""
    title = f"AWR Report for DB: {told.database}, Inst: {told.instance}, Snaps: {told.snaps[0]}-{told.snaps[1]}"
    parts = [f'\n<html lang="en"><head><title>{title}</title>\n\n<style type="text/css">', STYLE, "</style></head>"]
    parts += ['<body class="awr">', '<h1 class="awr">', "WORKLOAD REPOSITORY report for", "", "</h1>", "<p />"]
    parts += [*_head(told), '<h3 class="awr"><a class="awr" name="99999"></a>Report Summary</h3>', *_top(told)]
    parts += ['<a class="awr" name="top"></a>', '<h2 class="awr">', "Main Report", "</h2>", *_contents(told)]
    for table in sections(told):
        parts += _section(told, table)
    return "\n".join((*parts, "", "</body></html>", ""))


STYLE = """body.awr {font:bold 10pt Arial,Helvetica,Geneva,sans-serif;color:black; background:White;}
h3.awr {font:bold 16pt Arial,Helvetica,Geneva,sans-serif;color:#336699;background-color:White;}
td.awrc {font:8pt Arial,Helvetica,Geneva,sans-serif;color:black;background:#FFFFCC; vertical-align:top;}"""


def sections(told: Interval) -> tuple[Table, ...]:
    """The sections of the report in order. Some have nothing about the row cache."""
    found = (
        time.time_model(told, False),
        time.host(told, False),
        time.foreground(told, False),
        time.background(told, False),
        time.activity(told, False),
        time.absolute(told, False),
        cache.activity(told, False),
        cache.breakdown(told, False),
        cache.sources(told),
        cache.mutexes(told, False),
        cache.parents(),
        cache.children(told),
        cache.caches(told, False),
        cache.cluster(told),
        cache.library(told),
        time.parameters(told),
    )
    return tuple(table for table in found if table is not None)


def _contents(told: Interval) -> list[str]:
    links = [f'<li class="awr"><a class="awr" href="#{n}">{one.name}</a></li>' for n, one in enumerate(sections(told))]
    return ["<ul>", *links, "</ul>"]


def _head(told: Interval) -> list[str]:
    """The three or four tables with the database, the host and the snapshots."""
    yes = {True: "YES", False: "NO"}
    started = told.startup.strftime("%d-%b-%y %H:%M")
    what: list[tuple[str, list[str], list[Cell]]]
    base = "This table displays database instance information"
    if told.version >= (12, 2):
        heads = ["DB Name", "DB Id", "Unique Name", "Role", "Edition", "Release", "RAC", "CDB"]
        own = [told.database, "3141592653", told.database, "PRIMARY", "EE", told.release, yes[told.cluster]]
        what = [(base, heads, [*own, yes[told.container]])]
        what += [(base, ["Instance", "Inst Num", "Startup Time"], [told.instance, "1", started])]
    elif told.version >= (11,):
        heads = ["DB Name", "DB Id", "Instance", "Inst num", "Startup Time", "Release", "RAC"]
        own = [told.database, "3141592653", told.instance, "1", started, told.release, yes[told.cluster]]
        what = [(base, heads, [*own])]
    else:
        heads = ["DB Name", "DB Id", "Instance", "Inst num", "Release", "RAC", "Host"]
        own = [told.database, "3141592653", told.instance, "1", told.release, yes[told.cluster], "db-node-a"]
        what = [(base, heads, [*own])]
    if told.version >= (11,):
        heads = ["Host Name", "Platform", "CPUs", "Cores", "Sockets", "Memory (GB)"]
        machine: list[Cell] = ["db-node-a", "Linux x86 64-bit", f"{told.cpus}", f"{told.cpus // 2}", "2", "  126.00"]
        what += [("This table displays host information", heads, machine)]
    lines = [line for summary, heads, row in what for line in (*_plain(told, summary, heads, [row]), "<p />")]
    return lines + _snapshots(told)


def _snapshots(told: Interval) -> list[str]:
    stamp = "%d-%b-%y %H:%M:%S"
    rows: list[list[Cell]] = [
        ["Begin Snap:", f"{told.snaps[0]}", told.begin.strftime(stamp), "212", "      3.1"],
        ["End Snap:", f"{told.snaps[1]}", told.end.strftime(stamp), "219", "      3.2"],
        ["Elapsed:", None, f"{told.minutes:20,.2f} (mins)", None, None],
        ["DB Time:", None, f"{told.db_time / 60:20,.2f} (mins)", None, None],
    ]
    heads = ["", "Snap Id", "Snap Time", "Sessions", "Cursors/Session"]
    if told.cluster:
        heads, rows = [*heads, "Instances"], [[*row, "2" if row[1] else None] for row in rows]
    return [*_plain(told, "This table displays snapshot information", heads, rows), "<p />"]


def _top(told: Interval) -> list[str]:
    table = time.top(told)
    return [f"<p />{table.name}<p />", "<ul>", "</ul>", _table(told, table), "<p />"]


def _section(told: Interval, table: Table) -> list[str]:
    heading = f'<h3 class="awr">{table.name}</h3>'
    if not table.rows:
        empty = "                  No data exists for this section of the report."
        return [heading, "", "<p />", empty, "<p />", '<br /><a class="awr" href="#top">Back to Top</a><p />']
    notes = [f'<li class="awr"> {escape(note)}</li>' for note in table.notes]
    back = '<br /><a class="awr" href="#top">Back to Top</a><p />'
    return [heading, "<ul>", *notes, "</ul>", _table(told, table), "<p />", back]


def _opening(told: Interval, summary: str, wide: bool) -> str:
    if told.version < (11,):
        return "<table border=1 width=500>" if wide else "<table border=1>"
    width = ' width="600"' if wide and told.version >= (11, 2, 0, 4) else ' width="500"' if wide else ""
    kind = f'border="0"{width} class="tdiff"' if told.version >= (11, 2, 0, 4) else f'border="1"{width}'
    return f'<table {kind} summary="{summary}">'


def _plain(told: Interval, summary: str, heads: list[str], rows: list[list[Cell]]) -> list[str]:
    first = "".join(f'<th class="{"awrbg" if head else "awrnobg"}" scope="col">{head}</th>' for head in heads)
    lines = [_opening(told, summary, True), f"<tr>{first}</tr>"]
    for number, row in enumerate(rows):
        style = "awrc" if number % 2 else "awrnc"
        cells = "".join(f"<td class='{style}'>{'&#160;' if cell is None else cell}</td>" for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    return [*lines, "</table>"]


def _table(told: Interval, table: Table) -> str:
    heads = [column.head.replace("|", " ") for column in table.columns] + (["PDB Name"] if table.containers else [])
    first = "".join(f'<th class="awrbg" scope="col">{escape(head)}</th>' for head in heads)
    lines = [f"{_opening(told, escape(table.summary), False)}<tr>{first}</tr>"]
    for number, row in enumerate(table.rows):
        style = "awrnc" if number % 2 else "awrc"
        cells = [_cell(column, cell, style) for column, cell in zip(table.columns, row, strict=True)]
        pdb = f"\n<td class='{style}'>\n{table.containers[number]}\n</td>" if table.containers else ""
        lines.append(f"<tr>{''.join(cells)}{pdb}</tr>")
    return "\n".join((*lines, "</table>"))


def _cell(column: Column, cell: Cell, style: str) -> str:
    written = "&#160;" if cell is None else escape(column.html(cell))
    return (
        f"<td class='{style}'>{written}</td>" if column.left else f"<td align=\"right\" class='{style}'>{written}</td>"
    )
