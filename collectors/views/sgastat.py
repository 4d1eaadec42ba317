"""v$sgastat: how much of the shared pool the row cache holds, and what is free."""

from collectors.model import Collector, Column, ColumnKind, by_container

SGASTAT = Collector(
    view="v$sgastat",
    about="row cache memory and free memory of the shared pool",
    columns=(
        Column("con_id", ColumnKind.KEY, "", "container, 12.1 and later; a CDB lists a component once for each"),
        Column("pool", ColumnKind.KEY, "", "pool of the SGA"),
        Column("name", ColumnKind.KEY, "", "component; KQR… are row cache objects"),
        Column("bytes", ColumnKind.GAUGE, "bytes", "size now"),
    ),
    statements=by_container(
        """
            select /* latchscope v$sgastat */ con_id, pool, name, bytes
              from v$sgastat
             where pool = 'shared pool'
               and (name like 'KQR%' or name like 'row cache%' or name = 'free memory')"""
    ),
    without="whether row cache objects grow without end",
    granted_on="sys.v_$sgastat",
    most_rows=20_000,  # of thousands of containers
    every_seconds=60.0,
    repeats="sum",
)
