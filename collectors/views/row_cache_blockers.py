"""row_cache_blockers: who holds the entries that sessions wait for. Read on request only, while sessions hang.

v$rowcache_parent has tens of thousands of rows, and a read walks the cache that is in trouble. So it is never polled: the
look runs only while sessions hang (`collectors.ondemand.blockers`), and in the script. It reads nothing where nobody waits, and
walks the cache once.
"""

from collectors.model import Collector, Column, ColumnKind
from collectors.views.chain_sessions import READ_OF_SESSION, SESSION_COLUMNS

MOST_ROWS = 20
_OF_SESSION = ", ".join(f"s.{column.name}" for column in SESSION_COLUMNS)

ROW_CACHE_BLOCKERS = Collector(
    view="row_cache_blockers",
    about="the entries of v$rowcache_parent that sessions wait to lock, and the sessions that hold them",
    columns=(
        Column("cache#", ColumnKind.KEY, "", "cache id"),
        Column("key", ColumnKind.KEY, "", "the entry, in hex as Oracle keeps it", long=True),
        Column("sid", ColumnKind.KEY, "", "session that holds it; none where it is not of this instance"),
        Column("instance", ColumnKind.KEY, "", "number of the instance it is a session of"),
        Column("cache_name", ColumnKind.TEXT, "", "name of the cache"),
        Column("lock_request", ColumnKind.TEXT, "", "strongest mode asked for, 3 share, 5 exclusive"),
        Column("waiters", ColumnKind.GAUGE, "count", "rows that ask for the entry, which may be one of many sessions"),
        Column("lock_mode", ColumnKind.TEXT, "", "mode in which it is held"),
        Column(
            "saddr", ColumnKind.TEXT, "", "address of the session that holds it, in hex, even where v$session has none"
        ),
        Column("txn", ColumnKind.TEXT, "", "address of its transaction, in hex"),
        Column("inst_lock_request", ColumnKind.TEXT, "", "in a cluster: mode in which the instance asks for the entry"),
        Column(
            "inst_lock_type", ColumnKind.TEXT, "", "in a cluster: type of the lock between instances, Q and a letter"
        ),
        Column("inst_lock_id1", ColumnKind.TEXT, "", "in a cluster: its first identifier, in hex"),
        Column("inst_lock_id2", ColumnKind.TEXT, "", "in a cluster: its second identifier, in hex"),
        *SESSION_COLUMNS,
    ),
    statements={
        "11.2": f"""
            select /* latchscope row_cache_blockers */
                   cache#, cache_name, key, lock_request, waiters, lock_mode, saddr, txn, inst_lock_request,
                   inst_lock_type, inst_lock_id1, inst_lock_id2, instance, sid,
                   {READ_OF_SESSION}
              from (select p.cache#, p.cache_name, rawtohex(p.key) as key, p.asked as lock_request, p.waiters,
                           p.lock_mode, rawtohex(p.saddr) as saddr, rawtohex(p.txn) as txn, p.inst_lock_request,
                           p.inst_lock_type, rawtohex(p.inst_lock_id1) as inst_lock_id1,
                           rawtohex(p.inst_lock_id2) as inst_lock_id2,
                           to_number(sys_context('userenv', 'instance')) as instance, s.sid,
                           {_OF_SESSION}
                      from (select /*+ no_merge */
                                   cache#, cache_name, key, lock_mode, saddr, txn, inst_lock_request, inst_lock_type,
                                   inst_lock_id1, inst_lock_id2, max(lock_request) over (partition by address) as asked,
                                   count(case when lock_request > 0 then 1 end) over (partition by address) as waiters
                              from v$rowcache_parent
                             where lock_mode > 0
                                or lock_request > 0) p, v$session s
                     where p.lock_mode > 0
                       and p.asked > 0
                       and s.saddr (+) = p.saddr
                       and exists (select null
                                     from v$session v
                                    where v.state = 'WAITING'
                                      and v.event in ('row cache lock', 'row cache mutex'))
                     order by p.waiters desc)
             where rownum <= {MOST_ROWS}""",
    },
    without="who holds the entry that sessions wait for, and which entry it is",
    granted_on="sys.v_$rowcache_parent",
    on_request=True,
    momentary=True,
)
