"""all_users: whether the database is one of Amazon RDS, where nobody but Amazon is SYS. Read once an hour, while nobody hangs.

A container database there has a name of its own, which sys_context shows. One without containers has the user RDSADMIN only.
"""

from collectors.model import Column, ColumnKind, optional_view

ALL_USERS = optional_view(
    view="all_users",
    about="the user RDSADMIN, which a database on Amazon RDS has",
    columns=(Column("username", ColumnKind.KEY, "", "RDSADMIN; no row elsewhere"),),
    statements={
        "11.2": """
            select /* latchscope all_users */
                   username
              from all_users
             where username = 'RDSADMIN'
               and rownum <= 1""",
    },
    without="whether a session is ended as Amazon RDS wants it",
    granted_on="",
    every_seconds=3600.0,
)
