"""dba_registry_sqlpatch: the patches with SQL that datapatch applied or rolled back. Read once an hour, while nobody hangs.

A patch without SQL is not in it, so that what it lacks may be installed all the same; `opatch lspatches` lists them all.
"""

from collectors.model import Column, ColumnKind, optional_view

MOST_ROWS = 200

REGISTRY_SQLPATCH = optional_view(
    view="dba_registry_sqlpatch",
    about="patches with SQL that were applied or rolled back in this database, the latest first",
    columns=(
        Column("patch_id", ColumnKind.KEY, "", "number of the patch, which of a single fix is mostly that of its bug"),
        Column("action", ColumnKind.KEY, "", "APPLY or ROLLBACK"),
        Column("action_time", ColumnKind.KEY, "", "when it was done, by the clock of the database's host"),
        Column("status", ColumnKind.TEXT, "", "SUCCESS, or WITH ERRORS"),
        Column("description", ColumnKind.TEXT, "", "what the patch says it is", long=True),
    ),
    statements={
        "12.1": f"""
            select /* latchscope dba_registry_sqlpatch */
                   patch_id, action, to_char(action_time, 'YYYY-MM-DD HH24:MI:SS') as action_time, status, description
              from (select patch_id, action, action_time, status, description
                      from dba_registry_sqlpatch
                     order by action_time desc)
             where rownum <= {MOST_ROWS}""",
    },
    without="whether the patch of a bug that fits is installed, as far as patches with SQL are listed",
    granted_on="sys.dba_registry_sqlpatch",
    every_seconds=3600.0,
)
