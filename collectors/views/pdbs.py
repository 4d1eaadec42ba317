"""v$pdbs: containers that were opened lately. Read for the timeline of changes, never in a poll.

In 12.1 and 12.2 open_time is read as one of the host's clock: the Reference of 12.1 has it without a time zone.
"""

from collectors.model import Column, ColumnKind, lately, optional_view, utc_of_local, utc_of_zoned

MOST_ROWS = 50

_ROWS = f"""
                     and name <> 'PDB$SEED'
                   order by open_time desc)
             where rownum <= {MOST_ROWS}"""

PDBS = optional_view(
    view="v$pdbs",
    about="containers that were opened, 12.1 and later",
    columns=(
        Column("con_id", ColumnKind.KEY, "", "container"),
        Column("name", ColumnKind.KEY, "", "its name"),
        Column("open_mode", ColumnKind.TEXT, "", "READ WRITE, READ ONLY, MIGRATE or MOUNTED"),
        Column("happened_at", ColumnKind.TEXT, "", "when it was opened, in UTC"),
    ),
    statements={
        "12.1": f"""
            select /* latchscope v$pdbs */ con_id, name, open_mode, happened_at
              from (select con_id, name, open_mode, {utc_of_local("open_time")} as happened_at
                    from v$pdbs
                   where {lately("cast(open_time as date)", zoned=False)}{_ROWS}""",
        "18": f"""
            select /* latchscope v$pdbs */ con_id, name, open_mode, happened_at
              from (select con_id, name, open_mode, {utc_of_zoned("open_time")} as happened_at
                    from v$pdbs
                   where {lately("open_time", zoned=True)}{_ROWS}""",
    },
    without="which containers were opened before the waits began",
    granted_on="sys.v_$pdbs",
    for_changes=True,
)
