"""v$undostat: concurrency and retention of undo in the newest ten-minute row, which is not full yet."""

from collectors.model import Collector, Column, ColumnKind

UNDOSTAT = Collector(
    view="v$undostat",
    about="the newest ten-minute row of undo statistics, of each container",
    columns=(
        Column("con_id", ColumnKind.KEY, "", "container, 12.1 and later; with local undo each has rows of its own"),
        Column("begin_time", ColumnKind.KEY, "", "start of the row, the database host's local time"),
        Column("undotsn", ColumnKind.TEXT, "", "number of the undo tablespace in use"),
        Column("txncount", ColumnKind.GAUGE, "count", "transactions in the row"),
        Column("maxconcurrency", ColumnKind.GAUGE, "count", "most transactions at one time in the row"),
        Column("maxquerylen", ColumnKind.GAUGE, "s", "longest query in the row"),
        Column(
            "tuned_undoretention",
            ColumnKind.GAUGE,
            "s",
            "retention Oracle tuned for; days hint at segments never freed",
        ),
        Column("unexpiredblks", ColumnKind.GAUGE, "count", "undo blocks not yet expired"),
        Column("expiredblks", ColumnKind.GAUGE, "count", "undo blocks expired"),
    ),
    statements={
        "11.2": """
            select /* latchscope v$undostat */
                   begin_time, undotsn, txncount, maxconcurrency, maxquerylen, tuned_undoretention,
                   unexpiredblks, expiredblks
              from (select to_char(begin_time, 'YYYY-MM-DD HH24:MI:SS') as begin_time, undotsn, txncount,
                           maxconcurrency, maxquerylen, tuned_undoretention, unexpiredblks, expiredblks
                      from v$undostat
                     order by begin_time desc)
             where rownum <= 1""",
        "12.1": """
            select /* latchscope v$undostat */
                   con_id, begin_time, undotsn, txncount, maxconcurrency, maxquerylen, tuned_undoretention,
                   unexpiredblks, expiredblks
              from (select con_id, to_char(begin_time, 'YYYY-MM-DD HH24:MI:SS') as begin_time, undotsn, txncount,
                           maxconcurrency, maxquerylen, tuned_undoretention, unexpiredblks, expiredblks,
                           row_number() over (partition by con_id order by begin_time desc) as newest
                      from v$undostat)
             where newest = 1""",
    },
    without="how many transactions ran at once, to compare with the number of undo segments",
    granted_on="sys.v_$undostat",
    every_seconds=60.0,
)
