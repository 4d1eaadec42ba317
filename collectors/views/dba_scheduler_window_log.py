"""dba_scheduler_window_log: maintenance windows that opened or closed. Read for the timeline of changes, never in a poll."""

from collectors.model import Column, ColumnKind, by_container, lately, optional_view, utc_of_zoned

MOST_ROWS = 50

DBA_SCHEDULER_WINDOW_LOG = optional_view(
    view="dba_scheduler_window_log",
    about="scheduler windows that opened or closed",
    columns=(
        Column("con_id", ColumnKind.KEY, "", "its container, 12.1 and later"),
        Column("window_name", ColumnKind.KEY, "", "name of the window"),
        Column("operation", ColumnKind.KEY, "", "OPEN or CLOSE"),
        Column("happened_at", ColumnKind.KEY, "", "time of it in UTC"),
    ),
    statements=by_container(
        f"""
            select /* latchscope dba_scheduler_window_log */ con_id, window_name, operation, happened_at
              from (select con_id, window_name, operation, {utc_of_zoned("log_date")} as happened_at
                    from cdb_scheduler_window_log
                   where {lately("log_date", zoned=True)}
                     and operation in ('OPEN', 'CLOSE')
                   order by log_date desc)
             where rownum <= {MOST_ROWS}"""
    ),
    without="which scheduler windows opened or closed before the waits began",
    granted_on="sys.dba_scheduler_window_log",
    for_changes=True,
)
