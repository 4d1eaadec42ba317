"""v$lock: the mode of the enqueue that the session at the end of a chain holds. Read on request, if one waits so."""

from collectors.model import Column, ColumnKind, optional_view
from collectors.views.chain_sessions import NAMED

MOST_ROWS = 200

LOCK = optional_view(
    view="v$lock",
    about="enqueues that a session holds while another one asks for them",
    columns=(
        Column("sid", ColumnKind.KEY, "", "session that holds it"),
        Column("type", ColumnKind.KEY, "", "type of the enqueue, such as TM"),
        Column("id1", ColumnKind.KEY, "", "first identifier"),
        Column("id2", ColumnKind.KEY, "", "second identifier"),
        Column("lmode", ColumnKind.TEXT, "", "mode in which it is held; 6 is exclusive"),
    ),
    statements={
        "11.2": f"""
            select /* latchscope v$lock */
                   sid, type, id1, id2, lmode
              from v$lock
             where lmode > 0
               and block > 0
               and sid in ({NAMED})
               and rownum <= {MOST_ROWS}""",
    },
    without="whether the end of a chain holds an enqueue exclusively",
    granted_on="sys.v_$lock",
)
