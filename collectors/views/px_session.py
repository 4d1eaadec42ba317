"""v$px_session: the coordinator of a parallel slave. Read on request, when a slave holds what sessions hang on."""

from collectors.model import Column, ColumnKind, optional_view

MOST_ROWS = 4000
"""More than parallel_max_servers can be, so that the slave that blocks is among them."""

PX_SESSION = optional_view(
    view="v$px_session",
    about="parallel slaves of this instance, each with the session that coordinates it",
    columns=(
        Column("sid", ColumnKind.KEY, "", "session of the slave"),
        Column("serial#", ColumnKind.KEY, "", "its serial number"),
        Column("qcinst_id", ColumnKind.TEXT, "", "instance of its coordinator"),
        Column("qcsid", ColumnKind.TEXT, "", "session of its coordinator"),
        Column("qcserial#", ColumnKind.TEXT, "", "serial number of its coordinator"),
    ),
    statements={
        "11.2": f"""
            select /* latchscope v$px_session */
                   sid, serial#, qcinst_id, qcsid, qcserial#
              from v$px_session
             where qcserial# is not null
               and rownum <= {MOST_ROWS}""",
    },
    without="the coordinator of a parallel slave that blocks, which is the session to end",
    granted_on="sys.v_$px_session",
    most_rows=MOST_ROWS,
)
