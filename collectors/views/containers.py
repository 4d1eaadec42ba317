"""v$containers: the names of the containers, once an hour, so that waits by container have the name that people know."""

from collectors.model import Column, ColumnKind, optional_view

MOST_ROWS = 500

CONTAINERS = optional_view(
    view="v$containers",
    about="number and name of each container",
    columns=(
        Column("con_id", ColumnKind.KEY, "", "number of the container"),
        Column("name", ColumnKind.TEXT, "", "its name"),
    ),
    statements={
        "12.1": f"""
            select /* latchscope v$containers */ con_id, name
              from v$containers
             where rownum <= {MOST_ROWS}""",
    },
    without="the names of containers, which then have their number",
    granted_on="sys.v_$containers",
    every_seconds=3600.0,
)
