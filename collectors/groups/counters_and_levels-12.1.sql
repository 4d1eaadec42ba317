select /* latchscope counters_and_levels */ of_view, t1, t2, t3, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11
  from (
      select 'v$latch' as of_view, name as t1, to_char(null) as t2, to_char(null) as t3, latch# as n1, gets as n2,
             misses as n3, sleeps as n4, spin_gets as n5, wait_time as n6, to_number(null) as n7, to_number(null) as n8,
             to_number(null) as n9, to_number(null) as n10, to_number(null) as n11
        from (
              select /* latchscope v$latch */
                     max(latch#) as latch#, name, sum(gets) as gets, sum(misses) as misses, sum(sleeps) as sleeps,
                     sum(spin_gets) as spin_gets, sum(wait_time) as wait_time
                from v$latch
               where latch# in (:latch, :latch_result_cache, :latch_shared_pool, :latch_redo, :latch_session, :latch_enqueue, :latch_undo, :latch_messages)
               group by name)
      union all
      select 'v$latch_misses', parent_name, location, null, nwfail_count, sleep_count, wtr_slp_count, longhold_count, null,
             null, null, null, null, null, null
        from (
              select /* latchscope v$latch_misses */
                     parent_name, location, sum(nwfail_count) as nwfail_count, sum(sleep_count) as sleep_count,
                     sum(wtr_slp_count) as wtr_slp_count, sum(longhold_count) as longhold_count
                from v$latch_misses
               where parent_name in ('row cache objects', 'Result Cache: RC Latch')
                 and (sleep_count > 0 or wtr_slp_count > 0)
               group by parent_name, location)
      union all
      select 'v$mutex_sleep', mutex_type, location, null, sleeps, wait_time, null, null, null, null, null, null, null, null,
             null
        from (
              select /* latchscope v$mutex_sleep */
                     mutex_type, replace(location, chr(0)) as location, sum(sleeps) as sleeps,
                     sum(wait_time) as wait_time
                from v$mutex_sleep
               where mutex_type = 'Row Cache'
               group by mutex_type, replace(location, chr(0)))
      union all
      select 'v$osstat', stat_name, null, null, level_now, total, null, null, null, null, null, null, null, null, null
        from (
              select /* latchscope v$osstat */ stat_name,
                     case when stat_name in ('NUM_CPUS', 'NUM_CPU_CORES', 'LOAD', 'PHYSICAL_MEMORY_BYTES',
                                             'SWAP_FREE_BYTES')
                          then value end as level_now,
                     case when stat_name in ('BUSY_TIME', 'IDLE_TIME', 'OS_CPU_WAIT_TIME', 'RSRC_MGR_CPU_WAIT_TIME',
                                             'VM_IN_BYTES', 'VM_OUT_BYTES')
                          then value end as total
                from v$osstat
               where stat_name in ('NUM_CPUS', 'NUM_CPU_CORES', 'LOAD', 'PHYSICAL_MEMORY_BYTES', 'BUSY_TIME',
                                   'IDLE_TIME', 'OS_CPU_WAIT_TIME', 'RSRC_MGR_CPU_WAIT_TIME', 'VM_IN_BYTES',
                                   'VM_OUT_BYTES', 'SWAP_FREE_BYTES'))
      union all
      select 'v$rowcache', type, parameter, null, cache#, subordinate#, count, usage, fixed, gets, getmisses, modifications,
             dlm_requests, dlm_conflicts, fastgets
        from (
              select /* latchscope v$rowcache */ cache#, type, subordinate#, parameter, count, usage, fixed, gets, getmisses,
              modifications, dlm_requests, dlm_conflicts, fastgets from v$rowcache)
      union all
      select 'v$sys_time_model', stat_name, null, null, value, null, null, null, null, null, null, null, null, null, null
        from (
              select /* latchscope v$sys_time_model */ stat_name, value
                from v$sys_time_model
               where stat_name in ('DB time', 'DB CPU', 'parse time elapsed', 'hard parse elapsed time',
                                   'failed parse elapsed time', 'connection management call elapsed time',
                                   'sequence load elapsed time'))
      union all
      select 'v$sysstat', name, null, null, value, null, null, null, null, null, null, null, null, null, null
        from (
              select /* latchscope v$sysstat */ name, value
                from v$sysstat
               where name in ('parse count (total)', 'parse count (hard)', 'parse count (failures)',
                              'execute count', 'logons cumulative', 'user calls', 'user commits', 'user rollbacks',
                              'recursive calls', 'session cursor cache hits'))
      union all
      select 'v$system_event', event, null, null, total_waits, total_timeouts, time_waited_micro, total_waits_fg,
             time_waited_micro_fg, null, null, null, null, null, null
        from (
              select /* latchscope v$system_event */ event, total_waits, total_timeouts, time_waited_micro,
                     total_waits_fg, time_waited_micro_fg
                from v$system_event
               where event in ('latch: row cache objects', 'row cache mutex', 'row cache lock', 'latch free',
                               'library cache: mutex X', 'library cache lock', 'library cache pin',
                               'library cache load lock', 'cursor: pin S wait on X', 'cursor: mutex X',
                               'cursor: mutex S', 'latch: shared pool', 'latch: library cache',
                               'library cache: mutex S', 'library cache: bucket mutex X', 'cursor: pin S',
                               'latch: cache buffers chains', 'enq: US - contention', 'enq: SQ - contention',
                               'enq: SV -  contention', 'enq: RC - Result Cache: Contention',
                               'enq: TX - row lock contention', 'enq: TX - allocate ITL entry',
                               'LCK0 row cache object free', 'resmgr:cpu quantum', 'enq: CB - role operation',
                               'enq: HW - contention', 'enq: FB - contention', 'enq: TT - contention',
                               'Data file init write', 'cell smart file creation', 'Failed Logon Delay',
                               'optimizer stats update retry', 'SGA: allocation forcing component growth',
                               'DFS lock handle', 'library cache: dependency mutex X', 'wait for a undo record',
                               'wait for stopper event to be increased'))
      union all
      select 'v$sga_resize_ops', component, start_time, oper_type, initial_size, final_size, null, null, null, null, null,
             null, null, null, null
        from (
              select /* latchscope v$sga_resize_ops */
                     component, to_char(start_time, 'YYYY-MM-DD HH24:MI:SS') as start_time, oper_type,
                     initial_size, final_size
                from v$sga_resize_ops
               where component = 'shared pool'
                 and start_time > cast(systimestamp as date) - 10 / 1440)
      union all
      select 'v$sgastat', pool, name, null, con_id, bytes, null, null, null, null, null, null, null, null, null
        from (
              select /* latchscope v$sgastat */ con_id, pool, name, bytes
                from v$sgastat
               where pool = 'shared pool'
                 and (name like 'KQR%' or name like 'row cache%' or name = 'free memory'))
      union all
      select 'v$undostat', begin_time, null, null, con_id, undotsn, txncount, maxconcurrency, maxquerylen,
             tuned_undoretention, unexpiredblks, expiredblks, null, null, null
        from (
              select /* latchscope v$undostat */
                     con_id, begin_time, undotsn, txncount, maxconcurrency, maxquerylen, tuned_undoretention,
                     unexpiredblks, expiredblks
                from (select con_id, to_char(begin_time, 'YYYY-MM-DD HH24:MI:SS') as begin_time, undotsn, txncount,
                             maxconcurrency, maxquerylen, tuned_undoretention, unexpiredblks, expiredblks,
                             row_number() over (partition by con_id order by begin_time desc) as newest
                        from v$undostat)
               where newest = 1)
)
