"""dba_objects: the objects that DDL changed last. Read for the timeline of changes, never in a poll and never in a hang.

last_ddl_time is the time of the last DDL alone, grants and revokes included, so an earlier one of the same object is lost. What
belongs to SYS is left out, and so are partitions, whose table has the time too.
"""

from collectors.model import Column, ColumnKind, by_container, lately, optional_view, utc_of_local

MOST_ROWS = 50

DBA_OBJECTS = optional_view(
    view="dba_objects",
    about="objects that DDL changed, grants and revokes included",
    columns=(
        Column("con_id", ColumnKind.KEY, "", "its container, 12.1 and later"),
        Column("owner", ColumnKind.KEY, "", "owner of the object"),
        Column("object_name", ColumnKind.KEY, "", "object"),
        Column("object_type", ColumnKind.KEY, "", "TABLE, INDEX, PACKAGE and so on"),
        Column("happened_at", ColumnKind.TEXT, "", "time of its last DDL in UTC, from the host's clock"),
        Column("is_new", ColumnKind.TEXT, "", "YES if that DDL created it"),
    ),
    statements=by_container(
        f"""
            select /* latchscope dba_objects */ con_id, owner, object_name, object_type, happened_at, is_new
              from (select con_id, owner, object_name, object_type, {utc_of_local("last_ddl_time")} as happened_at,
                         case when created = last_ddl_time then 'YES' else 'NO' end as is_new
                    from cdb_objects
                   where {lately("last_ddl_time", zoned=False)}
                     and owner <> 'SYS'
                     and subobject_name is null
                   order by last_ddl_time desc)
             where rownum <= {MOST_ROWS}"""
    ),
    without="which objects DDL changed before the waits began",
    granted_on="sys.dba_objects",
    for_changes=True,
)
