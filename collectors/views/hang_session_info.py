"""v$hang_session_info: the sessions of the hangs that Oracle has found, and which of them is a critical background process."""

from collectors.model import Column, ColumnKind, optional_view

MOST_ROWS = 200

HANG_SESSION_INFO = optional_view(
    view="v$hang_session_info",
    about="sessions in the main chain of each hang that Oracle found",
    columns=(
        Column("hang_id", ColumnKind.KEY, "", "number of the hang"),
        Column("instance", ColumnKind.KEY, "", "instance of the session"),
        Column("sid", ColumnKind.KEY, "", "session"),
        Column("serial#", ColumnKind.KEY, "", "its serial number"),
        Column("fatal_background", ColumnKind.TEXT, "", "Y if it is a critical background process"),
        Column("root", ColumnKind.TEXT, "", "Y if it is the victim or final blocker"),
    ),
    statements={
        "11.2": f"""
            select /* latchscope v$hang_session_info */
                   hang_id, instance, sid, serial#, fatal_background, root
              from v$hang_session_info
             where rownum <= {MOST_ROWS}""",
    },
    without="which session of a hang is a critical background process",
    granted_on="sys.v_$hang_session_info",
    setting="defaults.wait_chains",
)
