select /* latchscope sessions */ of_view, t1, t2, t3, t4, t5, t6, t7, t8, t9, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12
  from (
      select 'waiting_sessions' as of_view, event as t1, p1raw as t2, sql_id as t3, module as t4, program as t5,
             username as t6, type as t7, to_char(null) as t8, to_char(null) as t9, sid as n1, serial# as n2, seq# as n3,
             p1 as n4, p2 as n5, p3 as n6, blocking_instance as n7, blocking_session as n8, final_blocking_instance as n9,
             final_blocking_session as n10, wait_time_micro as n11, met as n12
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
