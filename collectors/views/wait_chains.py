"""v$wait_chains: the wait chains that Oracle itself keeps in memory, refreshed every 3 s here and every 10 s for the cluster.

It names blockers on other instances without gv$. Read only while sessions hang, and only if `defaults.wait_chains` is on.
"""

from collectors.model import Column, ColumnKind, optional_view

MOST_ROWS = 500
"""Sessions with most waiters first: they lead to the ends of the chains."""

WAIT_CHAINS = optional_view(
    view="v$wait_chains",
    about="Oracle's own wait chains: who waits for whom, over the instances of a cluster",
    columns=(
        Column("chain_id", ColumnKind.KEY, "", "number of the chain"),
        Column("instance", ColumnKind.KEY, "", "instance of the waiting session"),
        Column("sid", ColumnKind.KEY, "", "waiting session"),
        Column("sess_serial#", ColumnKind.KEY, "", "its serial number"),
        Column("chain_is_cycle", ColumnKind.TEXT, "", "TRUE if the chain closes"),
        Column("blocker_is_valid", ColumnKind.TEXT, "", "FALSE if it waits for no session"),
        Column("blocker_instance", ColumnKind.TEXT, "", "instance of the session it waits for"),
        Column("blocker_sid", ColumnKind.TEXT, "", "session it waits for"),
        Column("blocker_sess_serial#", ColumnKind.TEXT, "", "serial number of that session"),
        Column("in_wait", ColumnKind.TEXT, "", "TRUE if it waits"),
        Column("wait_event_text", ColumnKind.TEXT, "", "what it waits for"),
        Column("in_wait_secs", ColumnKind.GAUGE, "s", "time it has waited for that"),
        Column("num_waiters", ColumnKind.GAUGE, "count", "sessions that wait for it"),
    ),
    statements={
        "11.2": f"""
            select /* latchscope v$wait_chains */
                   chain_id, instance, sid, sess_serial#, chain_is_cycle, blocker_is_valid, blocker_instance, blocker_sid,
                   blocker_sess_serial#, in_wait, wait_event_text, in_wait_secs, num_waiters
              from (select chain_id, instance, sid, sess_serial#, chain_is_cycle, blocker_is_valid, blocker_instance,
                           blocker_sid, blocker_sess_serial#, in_wait, wait_event_text, in_wait_secs, num_waiters
                      from v$wait_chains
                     order by num_waiters desc)
             where rownum <= {MOST_ROWS}""",
    },
    without="Oracle's own view of who waits for whom, over all instances",
    granted_on="sys.v_$wait_chains",
    setting="defaults.wait_chains",
)
