"""dba_optstat_operations: runs that gathered optimizer statistics. Read for the timeline of changes, never in a poll."""

from collectors.model import Column, ColumnKind, lately, optional_view, utc_of_zoned

MOST_ROWS = 50

_ROWS = f"""
                   order by start_time desc)
             where rownum <= {MOST_ROWS}"""
_CELLS = f"operation, target, {utc_of_zoned('start_time')} as happened_at"

DBA_OPTSTAT_OPERATIONS = optional_view(
    view="dba_optstat_operations",
    about="runs that gathered, set, restored or deleted optimizer statistics",
    columns=(
        Column("con_id", ColumnKind.KEY, "", "its container, 12.1 and later"),
        Column("operation", ColumnKind.KEY, "", "what ran, such as gather_table_stats"),
        Column("target", ColumnKind.KEY, "", "on what; null for the whole database", long=True),
        Column("happened_at", ColumnKind.KEY, "", "its begin in UTC"),
    ),
    statements={
        "11.2": f"""
            select /* latchscope dba_optstat_operations */ operation, target, happened_at
              from (select {_CELLS}
                    from dba_optstat_operations
                   where {lately("start_time", zoned=True)}{_ROWS}""",
        "12.1": f"""
            select /* latchscope dba_optstat_operations */ con_id, operation, target, happened_at
              from (select con_id, {_CELLS}
                    from cdb_optstat_operations
                   where {lately("start_time", zoned=True)}{_ROWS}""",
    },
    without="which runs of statistics began before the waits",
    granted_on="sys.dba_optstat_operations",
    for_changes=True,
)
