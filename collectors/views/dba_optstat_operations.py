"""dba_optstat_operations: runs that gathered optimizer statistics. Read for the timeline of changes, never in a poll."""

from collectors.model import Column, ColumnKind, by_container, lately, optional_view, utc_of_zoned

MOST_ROWS = 50

DBA_OPTSTAT_OPERATIONS = optional_view(
    view="dba_optstat_operations",
    about="runs that gathered, set, restored or deleted optimizer statistics",
    columns=(
        Column("con_id", ColumnKind.KEY, "", "its container, 12.1 and later"),
        Column("operation", ColumnKind.KEY, "", "what ran, such as gather_table_stats"),
        Column("target", ColumnKind.KEY, "", "on what; null for the whole database", long=True),
        Column("happened_at", ColumnKind.KEY, "", "its begin in UTC"),
    ),
    statements=by_container(
        f"""
            select /* latchscope dba_optstat_operations */ con_id, operation, target, happened_at
              from (select con_id, operation, target, {utc_of_zoned("start_time")} as happened_at
                    from cdb_optstat_operations
                   where {lately("start_time", zoned=True)}
                   order by start_time desc)
             where rownum <= {MOST_ROWS}"""
    ),
    without="which runs of statistics began before the waits",
    granted_on="sys.dba_optstat_operations",
    for_changes=True,
)
