"""v$hang_info: the hangs that Oracle has found, and whether it means to end one itself. Read only while sessions hang."""

from collectors.model import Column, ColumnKind, optional_view

MOST_ROWS = 20

_SINCE_11 = """hang_id, hang_type, hang_create_time, hang_resolve_time, ignored_hang, resolution_attempted,
                   resolution_status, victim_instance, victim_session_id, victim_serial#, fatal_background, wait_event_text"""


def _statement(columns: str) -> str:
    return f"""
            select /* latchscope v$hang_info */
                   {columns}
              from v$hang_info
             where rownum <= {MOST_ROWS}"""


HANG_INFO = optional_view(
    view="v$hang_info",
    about="hangs that Oracle found in the cluster, their victims, and what it does about them",
    columns=(
        Column("hang_id", ColumnKind.KEY, "", "number of the hang"),
        Column("hang_type", ColumnKind.TEXT, "", "Hang, or Deadlock if the chain closes"),
        Column("hang_create_time", ColumnKind.TEXT, "", "when it was detected"),
        Column("hang_resolve_time", ColumnKind.TEXT, "", "when it may be resolved automatically"),
        Column("ignored_hang", ColumnKind.TEXT, "", "Y if Oracle will not resolve it at this time"),
        Column("resolution_attempted", ColumnKind.TEXT, "", "Y if an attempt was made to resolve it"),
        Column("resolution_status", ColumnKind.TEXT, "", "why it was resolved or ignored"),
        Column("victim_instance", ColumnKind.TEXT, "", "instance of the victim or final blocker"),
        Column("victim_session_id", ColumnKind.TEXT, "", "session of the victim or final blocker"),
        Column("victim_serial#", ColumnKind.TEXT, "", "its serial number"),
        Column("fatal_background", ColumnKind.TEXT, "", "Y if the victim is a critical background process"),
        Column("wait_event_text", ColumnKind.TEXT, "", "what the victim waits for"),
        Column("hang_status", ColumnKind.TEXT, "", "such as Pending Resolution, 23 and later"),
    ),
    statements={"11.2": _statement(_SINCE_11), "23": _statement(f"{_SINCE_11}, hang_status")},
    without="whether Oracle itself has seen the hang, and when it may end it",
    granted_on="sys.v_$hang_info",
    setting="defaults.wait_chains",
)
