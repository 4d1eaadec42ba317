"""patches_applied: what datapatch applied or rolled back. Read for the timeline of changes, never in a poll."""

from collectors.model import Column, ColumnKind, lately, optional_view, utc_of_local

MOST_ROWS = 50

PATCHES_APPLIED = optional_view(
    view="patches_applied",
    about="patches that datapatch applied or rolled back, 12.1 and later",
    columns=(
        Column("con_id", ColumnKind.KEY, "", "its container"),
        Column("patch_id", ColumnKind.KEY, "", "number of the patch"),
        Column("action", ColumnKind.KEY, "", "APPLY or ROLLBACK"),
        Column("happened_at", ColumnKind.KEY, "", "when it was done in UTC, from the host's clock"),
        Column("status", ColumnKind.TEXT, "", "SUCCESS or WITH ERRORS"),
    ),
    statements={
        "12.1": f"""
            select /* latchscope patches_applied */ con_id, patch_id, action, happened_at, status
              from (select con_id, patch_id, action, {utc_of_local("action_time")} as happened_at, status
                    from cdb_registry_sqlpatch
                   where {lately("cast(action_time as date)", zoned=False)}
                   order by action_time desc)
             where rownum <= {MOST_ROWS}""",
    },
    without="which patches were applied before the waits began",
    granted_on="sys.dba_registry_sqlpatch",
    for_changes=True,
)
