"""v$cleanup_process: PMON and the processes that clean up for it. Read on request, for a holder that is dead or killed."""

from collectors.model import Column, ColumnKind, optional_view

MOST_ROWS = 50

CLEANUP_PROCESS = optional_view(
    view="v$cleanup_process",
    about="the processes that clean up after dead processes and killed sessions, and what each does",
    columns=(
        Column("name", ColumnKind.KEY, "", "PMON, CLMN or a slave of theirs"),
        Column("state", ColumnKind.TEXT, "", "BUSY or IDLE"),
        Column("cleanup_time", ColumnKind.GAUGE, "s", "time spent on what it cleans up now"),
    ),
    statements={
        "12.2": f"""
            select /* latchscope v$cleanup_process */
                   name, state, cleanup_time
              from v$cleanup_process
             where rownum <= {MOST_ROWS}""",
    },
    without="which process cleans up after a holder that is dead or killed",
    granted_on="sys.v_$cleanup_process",
)
