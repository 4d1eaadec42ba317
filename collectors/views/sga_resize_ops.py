"""v$sga_resize_ops: whether the shared pool was made smaller lately, which empties dictionary caches.

Each row is one move of a granule. Several happen within one second and then look alike, and each of them counts.
start_time is in the host's time zone; where a parameter puts the clock of SQL into another one, the window is not known
(`collectors.model`).
"""

from collectors.model import Collector, Column, ColumnKind

SGA_RESIZE_OPS = Collector(
    view="v$sga_resize_ops",
    about="resizes of the shared pool in the last ten minutes",
    columns=(
        Column("component", ColumnKind.KEY, "", "component of the SGA"),
        Column("start_time", ColumnKind.KEY, "", "start of the resize, the database host's local time"),
        Column("oper_type", ColumnKind.TEXT, "", "GROW or SHRINK"),
        Column("initial_size", ColumnKind.GAUGE, "bytes", "size before"),
        Column("final_size", ColumnKind.GAUGE, "bytes", "size after"),
    ),
    statements={
        "11.2": """
            select /* latchscope v$sga_resize_ops */
                   component, to_char(start_time, 'YYYY-MM-DD HH24:MI:SS') as start_time, oper_type,
                   initial_size, final_size
              from v$sga_resize_ops
             where component = 'shared pool'
               and start_time > cast(systimestamp as date) - 10 / 1440""",
    },
    without="whether a shrinking shared pool throws dictionary entries out",
    granted_on="sys.v_$sga_resize_ops",
    every_seconds=60.0,
    repeats="kept",
)
