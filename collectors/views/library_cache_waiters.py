"""library_cache_waiters: who waits in the library cache while others wait for the row cache, and for whom.

A row cache lock guards an entry of the dictionary cache, a library cache lock or pin an object of the library cache. If
sessions wait for both, one session may hold both, or two may block each other. Read on request, while sessions hang.
"""

from collectors.model import Collector, Column, ColumnKind

MOST_GROUPS = 20

LIBRARY_CACHE_WAITERS = Collector(
    view="library_cache_waiters",
    about="sessions that wait for library cache lock or pin while others wait for the row cache, by the session they wait for",
    columns=(
        Column("event", ColumnKind.KEY, "", "library cache lock or library cache pin"),
        Column("p3", ColumnKind.KEY, "", "type of the object and mode, packed into one number"),
        Column("blocking_instance", ColumnKind.KEY, "", "instance of the session that holds it, where Oracle knows"),
        Column("blocking_session", ColumnKind.KEY, "", "session that holds it, where Oracle knows"),
        Column("final_blocking_instance", ColumnKind.KEY, "", "instance of the session at the end of the chain"),
        Column("final_blocking_session", ColumnKind.KEY, "", "session at the end of the chain of blockers"),
        Column("sessions", ColumnKind.GAUGE, "count", "sessions that wait so"),
        Column("wait_time_micro", ColumnKind.GAUGE, "us", "the longest of their waits so far"),
    ),
    statements={
        "11.2": f"""
            select /* latchscope library_cache_waiters */
                   event, p3, blocking_instance, blocking_session, final_blocking_instance, final_blocking_session,
                   sessions, wait_time_micro
              from (select event, p3, blocking_instance, blocking_session, final_blocking_instance,
                           final_blocking_session, count(*) as sessions, max(wait_time_micro) as wait_time_micro
                      from v$session
                     where state = 'WAITING'
                       and event in ('library cache lock', 'library cache pin')
                       and sid <> to_number(sys_context('userenv', 'sid'))
                       and exists (select null
                                     from v$session v
                                    where v.state = 'WAITING'
                                      and v.event in ('row cache lock', 'row cache mutex'))
                     group by event, p3, blocking_instance, blocking_session, final_blocking_instance,
                              final_blocking_session
                     order by count(*) desc)
             where rownum <= {MOST_GROUPS}""",
    },
    without="whether sessions wait in the library cache as well, and behind whom",
    granted_on="sys.v_$session",
    on_request=True,
    momentary=True,
)
