"""v$transaction: the undo that the end of a session would roll back. Read on request, while sessions hang."""

from collectors.model import Column, ColumnKind, optional_view

MOST_ROWS = 500

TRANSACTION = optional_view(
    view="v$transaction",
    about="undo blocks of the open transactions, by session, the largest first",
    columns=(
        Column("sid", ColumnKind.KEY, "", "session of the transaction"),
        Column("serial#", ColumnKind.KEY, "", "its serial number"),
        Column("used_ublk", ColumnKind.GAUGE, "count", "undo blocks it has used"),
    ),
    statements={
        "11.2": f"""
            select /* latchscope v$transaction */
                   sid, serial#, used_ublk
              from (select s.sid, s.serial#, sum(t.used_ublk) as used_ublk
                      from v$transaction t, v$session s
                     where s.saddr = t.ses_addr
                     group by s.sid, s.serial#
                     order by 3 desc)
             where rownum <= {MOST_ROWS}""",
    },
    without="how much undo the end of the holder would roll back",
    granted_on="sys.v_$transaction",
)
