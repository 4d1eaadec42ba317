"""gv$ges_blocking_enqueue: which instance of a cluster keeps others from an entry of the row cache. Read for such an entry."""

from collectors.model import Column, ColumnKind, optional_view

MOST_ROWS = 100

GES_BLOCKING_ENQUEUE = optional_view(
    view="gv$ges_blocking_enqueue",
    about="locks of row cache entries with which an instance of the cluster blocks others",
    columns=(
        Column("resource_name1", ColumnKind.KEY, "", "name of the lock, `[0x1f][0xbeef],[QI]`"),
        Column("instance", ColumnKind.KEY, "", "instance that shows it"),
        Column("owner_node", ColumnKind.KEY, "", "node that holds it, counted from 0"),
        Column("grant_level", ColumnKind.TEXT, "", "its mode: KJUSEREX exclusive, KJUSERPR share"),
    ),
    statements={
        "11.2": f"""
            select /* latchscope gv$ges_blocking_enqueue */
                   resource_name1, inst_id as instance, owner_node, grant_level
              from gv$ges_blocking_enqueue
             where blocker = 1
               and resource_name1 like '%,[Q_]%'
               and rownum <= {MOST_ROWS}""",
    },
    without="the mode in which a session of another instance holds an entry, so it gets no command",
    granted_on="sys.gv_$ges_blocking_enqueue",
)
