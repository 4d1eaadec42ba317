"""row_cache_blockers: who holds the entries that sessions wait for. Read on request only, while sessions hang.

v$rowcache_parent has tens of thousands of rows, and a read walks the cache that is in trouble. So it is never polled: the
look runs once per episode (`collectors.ondemand.blockers`), and in the script. It reads nothing where nobody waits.
"""

from collectors.model import Collector, Column, ColumnKind
from collectors.views.session import BLOCKER_COLUMNS

MOST_ROWS = 20

ROW_CACHE_BLOCKERS = Collector(
    view="row_cache_blockers",
    about="the entries of v$rowcache_parent that sessions wait to lock, and the sessions that hold them",
    columns=(
        Column("cache#", ColumnKind.KEY, "", "cache id"),
        Column("key", ColumnKind.KEY, "", "the entry, in hex as Oracle keeps it"),
        Column("sid", ColumnKind.KEY, "", "session that holds it; none where it is not of this instance"),
        Column("instance", ColumnKind.KEY, "", "number of the instance it is a session of"),
        Column("cache_name", ColumnKind.TEXT, "", "name of the cache"),
        Column("lock_request", ColumnKind.TEXT, "", "strongest mode asked for, 3 share, 5 exclusive"),
        Column("waiters", ColumnKind.GAUGE, "count", "sessions that ask for the entry"),
        Column("lock_mode", ColumnKind.TEXT, "", "mode in which it is held"),
        Column("serial#", ColumnKind.TEXT, "", "serial number of the holder"),
        Column("type", ColumnKind.TEXT, "", "USER or BACKGROUND"),
        Column("program", ColumnKind.TEXT, "", "its program; of a background process its name as well"),
        Column("username", ColumnKind.TEXT, "", "its database user"),
        Column("machine", ColumnKind.TEXT, "", "where its client runs"),
        Column("module", ColumnKind.TEXT, "", "module it named"),
        Column("sql_id", ColumnKind.TEXT, "", "statement in execution"),
        Column("status", ColumnKind.TEXT, "", "ACTIVE or INACTIVE"),
        Column("state", ColumnKind.TEXT, "", "WAITING where it waits for something itself"),
        Column("event", ColumnKind.TEXT, "", "what it waits for itself"),
        Column("wait_time_micro", ColumnKind.GAUGE, "us", "time it has waited for that"),
        Column("last_call_et", ColumnKind.GAUGE, "s", "time its present call has lasted"),
        *BLOCKER_COLUMNS,
    ),
    statements={
        "11.2": f"""
            select /* latchscope row_cache_blockers */
                   cache#, cache_name, key, lock_request, waiters, lock_mode, instance, sid, serial#, type, program,
                   username, machine, module, sql_id, status, state, event, wait_time_micro, last_call_et,
                   blocking_instance, blocking_session, final_blocking_instance, final_blocking_session
              from (select w.cache#, w.cache_name, rawtohex(w.key) as key, w.lock_request, w.waiters, h.lock_mode,
                           to_number(sys_context('userenv', 'instance')) as instance, s.sid, s.serial#, s.type,
                           s.program, s.username, s.machine, s.module, s.sql_id, s.status, s.state, s.event,
                           s.wait_time_micro, s.last_call_et, s.blocking_instance, s.blocking_session,
                           s.final_blocking_instance, s.final_blocking_session
                      from (select address, cache#, cache_name, key, max(lock_request) as lock_request,
                                   count(*) as waiters
                              from v$rowcache_parent
                             where lock_request > 0
                             group by address, cache#, cache_name, key) w, v$rowcache_parent h, v$session s
                     where h.address = w.address
                       and h.lock_mode > 0
                       and s.saddr (+) = h.saddr
                       and exists (select null
                                     from v$session v
                                    where v.state = 'WAITING'
                                      and v.event in ('row cache lock', 'row cache mutex'))
                     order by w.waiters desc)
             where rownum <= {MOST_ROWS}""",
    },
    without="who holds the entry that sessions wait for, and which entry it is",
    granted_on="sys.v_$rowcache_parent",
    on_request=True,
    momentary=True,
    after=("v$instance",),
)
