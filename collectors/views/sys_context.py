"""sys_context: which container of a CDB this session is in; a session inside a PDB does not see the whole instance."""

from collectors.model import Collector, Column, ColumnKind

SYS_CONTEXT = Collector(
    view="sys_context",
    about="container and database of the session; one row, read once per start",
    columns=(
        Column("db_unique_name", ColumnKind.KEY, "", "unique name of the database"),
        Column("con_id", ColumnKind.TEXT, "", "0 no CDB, 1 CDB$ROOT, above 2 a PDB; absent before 12.1"),
        Column("con_name", ColumnKind.TEXT, "", "name of the container"),
        Column("cdb_name", ColumnKind.TEXT, "", "name of the CDB, null where there is none"),
        Column("session_user", ColumnKind.TEXT, "", "user of the session"),
        Column("cloud_service", ColumnKind.TEXT, "", "such as OLTP or DWCS on Autonomous Database; null elsewhere"),
    ),
    statements={
        "11.2": """
            select /* latchscope sys_context */
                   sys_context('userenv', 'db_unique_name') as db_unique_name,
                   sys_context('userenv', 'session_user') as session_user
              from dual""",
        "12.1": """
            select /* latchscope sys_context */
                   sys_context('userenv', 'db_unique_name') as db_unique_name,
                   to_number(sys_context('userenv', 'con_id')) as con_id,
                   sys_context('userenv', 'con_name') as con_name,
                   sys_context('userenv', 'cdb_name') as cdb_name,
                   sys_context('userenv', 'session_user') as session_user
              from dual""",
        "18": """
            select /* latchscope sys_context */
                   sys_context('userenv', 'db_unique_name') as db_unique_name,
                   to_number(sys_context('userenv', 'con_id')) as con_id,
                   sys_context('userenv', 'con_name') as con_name,
                   sys_context('userenv', 'cdb_name') as cdb_name,
                   sys_context('userenv', 'session_user') as session_user,
                   sys_context('userenv', 'cloud_service') as cloud_service
              from dual""",
    },
    without="whether the session is inside a PDB and sees only its part",
    granted_on="",
    once=True,
)
