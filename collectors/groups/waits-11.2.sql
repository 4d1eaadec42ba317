select /* latchscope waits */ of_view, t1, t2, t3, t4, t5, t6, t7, t8, t9, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12
  from (
      select 'v$latch_children' as of_view, addr as t1, to_char(null) as t2, to_char(null) as t3, to_char(null) as t4,
             to_char(null) as t5, to_char(null) as t6, to_char(null) as t7, to_char(null) as t8, to_char(null) as t9,
             latch# as n1, child# as n2, gets as n3, misses as n4, sleeps as n5, immediate_gets as n6,
             immediate_misses as n7, spin_gets as n8, wait_time as n9, to_number(null) as n10, to_number(null) as n11,
             to_number(null) as n12
        from (
              select /* latchscope v$latch_children */
                     latch#, child#, rawtohex(addr) as addr,
                     gets, misses, sleeps, immediate_gets, immediate_misses, spin_gets, wait_time
                from v$latch_children
               where latch# = :latch)
      union all
      select 'waiting_sessions', event, p1raw, sql_id, module, program, username, type, null, null, sid, serial#, seq#, p1,
             p2, p3, blocking_instance, blocking_session, final_blocking_instance, final_blocking_session, wait_time_micro,
             met
        from (
              select /* latchscope waiting_sessions */
                     sid, serial#, seq#, event, p1, p1raw, p2, p3, sql_id, module, program, username, type,
                     blocking_instance, blocking_session, final_blocking_instance, final_blocking_session,
                     wait_time_micro, met
                from (select sid, serial#, seq#, event, p1, rawtohex(p1raw) as p1raw, p2, p3, sql_id, module, program, username, type,
                     blocking_instance, blocking_session, final_blocking_instance, final_blocking_session,
                     wait_time_micro, count(*) over () as met
                        from v$session
                       where state = 'WAITING'
                         and event in ('latch: row cache objects', 'row cache mutex', 'row cache lock', 'latch free')
                         and sid <> to_number(sys_context('userenv', 'sid'))
                       order by wait_time_micro desc)
               where rownum <= 200)
      union all
      select 'library_cache_sessions', event, p1raw, sql_id, module, action, program, machine, username, type, sid, serial#,
             p3, blocking_instance, blocking_session, final_blocking_instance, final_blocking_session, wait_time_micro, met,
             null, null, null
        from (
              select /* latchscope library_cache_sessions */
                     sid, serial#, event, p1raw, p3, sql_id, module, action, program, machine, username, type,
                     blocking_instance, blocking_session, final_blocking_instance, final_blocking_session,
                     wait_time_micro, met
                from (select sid, serial#, event, rawtohex(p1raw) as p1raw, p3, sql_id, module, action, program, machine, username, type,
                     blocking_instance, blocking_session, final_blocking_instance, final_blocking_session,
                     wait_time_micro, count(*) over () as met
                        from v$session
                       where state = 'WAITING'
                         and event in ('library cache lock', 'library cache pin')
                         and sid <> to_number(sys_context('userenv', 'sid'))
                       order by wait_time_micro desc)
               where rownum <= 200)
)
