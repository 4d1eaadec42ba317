"""v$containers: the containers, once an hour: the names that people know, and how many a cdb_ view would parse in."""

from collectors.model import Column, ColumnKind, optional_view

MOST_ROWS = 500

CONTAINERS = optional_view(
    view="v$containers",
    about="number and name of each container, and whether it is open",
    columns=(
        Column("con_id", ColumnKind.KEY, "", "number of the container"),
        Column("name", ColumnKind.TEXT, "", "its name"),
        Column("open_mode", ColumnKind.TEXT, "", "MOUNTED, or how it is open"),
    ),
    statements={
        "12.1": f"""
            select /* latchscope v$containers */ con_id, name, open_mode
              from v$containers
             where rownum <= {MOST_ROWS}""",
    },
    without="the names of containers, which then have their number, and whether few enough are open to ask them all what changed",
    granted_on="sys.v_$containers",
    every_seconds=3600.0,
)
