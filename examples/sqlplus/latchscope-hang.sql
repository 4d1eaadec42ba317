-- latchscope-hang.sql, made by `latchscope script`
-- What it does   Reads the views in which an Oracle instance tells about its dictionary cache, twice, 10 s apart. Writes
--                ONE text file, latchscope_INSTANCE_TIME.txt, into the directory you start it from, which you must be
--                able to write to. Take that file to wherever latchscope is:  latchscope diagnose FILE
-- How to run it  sqlplus / as sysdba @latchscope-hang.sql      (any user with the grants of `latchscope grants` will do)
--                sql / as sysdba @latchscope-hang.sql          (SQLcl)
--                In a session of its own. In CDB$ROOT, on the instance that is slow. Then type  exit.
-- What it reads  v$instance, v$rowcache, v$rowcache_parent, v$session
-- What it costs  8 SELECTs, one at a time, in 10 s and what they take themselves.
--                Each holds a comment with the word latchscope, by which v$sql shows whose it is.
--                6 of them are different texts: each is hard parsed once, as SYS if SYS runs this, on the instance that is
--                sick. Where parsing is what it is sick of, each may take seconds; only the first snapshot has to bear it.
-- Licences       None is needed: it reads no session history, no workload repository, no SQL monitor.
-- Safety         SELECTs, and blocks that sleep, open a SELECT or name the session. In the database it creates, changes
--                and locks nothing. Of its own session it changes the module in v$session, which it puts back at the
--                end, and SET options of SQL*Plus, most of which stay: leave the session afterwards.
-- If it hangs    Ctrl-C ends the statement that hangs. If a prompt comes back (not with </dev/null), type  spool off  and  exit.
--                The file is good up to there, and says what is missing. kill -9 loses what was not yet written.

set termout off
whenever sqlerror continue
whenever oserror continue
-- Put back what a login script may have changed; an option that this program does not know does no harm.
set sqlformat default
set markup html off
set markup csv off
set serveroutput off
set null ''
set colsep ' '
set blockterminator .
set echo off verify off feedback off timing off time off
set autotrace off
set define on escape off
set sqlblanklines on sqlterminator on
set heading off pagesize 0 newpage none
set recsep off embedded off
set wrap on tab off trimout on trimspool on linesize 32767
set arraysize 100 pause off
set flush on

column ls_file new_value ls_file noprint
define ls_file = latchscope.txt
select 'latchscope_' || translate(lower(sys_context('userenv', 'instance_name')), 'x/\:*?"<>| ', 'x')
       || '_' || to_char(sysdate, 'YYYYMMDD_HH24MISS') || '.txt' as ls_file
  from dual
/

set termout on
prompt latchscope: writing &ls_file in the directory you started from
prompt latchscope: if this file cannot be created, cd to a directory that you can write to and start again
whenever oserror exit failure
spool &ls_file
whenever oserror continue
prompt latchscope: reading this instance for about 10 s; Ctrl-C ends a statement that hangs
prompt latchscope: if a prompt comes back (not with </dev/null), type  spool off  and  exit
prompt {ls|head|latchscope-spool-1|open|0|}
set termout off

-- One text for both snapshots, told apart by a bind, so that the second is no new statement to be parsed.
variable ls_part varchar2(1)
variable ls_module varchar2(64)
variable ls_action varchar2(64)
begin
  :ls_part := '1';
  dbms_application_info.read_module(:ls_module, :ls_action);
  dbms_application_info.set_module('latchscope', 'script');
end;
/

set termout on
prompt reading {ls|1|v$instance|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$instance|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.instance_number, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.instance_number, 1, 200) || chr(1) || decode(substr(dump(q.instance_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.instance_name, 1, 200) || chr(1) || decode(substr(dump(q.host_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.host_name, 1, 200)
                       || chr(1) || decode(substr(dump(q.version, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.version, 1, 200) || chr(1) || decode(substr(dump(q.status, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.status, 1, 200) || chr(1) || decode(substr(dump(q.parallel, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.parallel, 1, 200)
                       || chr(1) || decode(substr(dump(q.startup_time, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.startup_time, 1, 200) || chr(1) || to_char(q.uptime_seconds, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.taken_at, 'YYYY-MM-DD"T"HH24:MI:SS.FF3') as cells
                  from (select /* latchscope v$instance */
                               instance_number, instance_name, host_name, version, status, parallel,
                               to_char(startup_time, 'YYYY-MM-DD HH24:MI:SS') as startup_time,
                               round((cast(systimestamp as date) - startup_time) * 86400) as uptime_seconds,
                               sys_extract_utc(systimestamp) as taken_at
                          from v$instance) q))
union all
select '{ls|' || :ls_part || '|v$instance|' || 'end|100|instance_number|instance_name|host_name|version|status|parallel|startup_time|uptime_seconds|taken_at}' from dual
)
/

set termout on
prompt reading {ls|1|v$rowcache|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$rowcache|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       to_char(q.cache#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.type, 1, 200) || chr(1) || to_char(q.subordinate#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.parameter, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.parameter, 1, 200)
                       || chr(1) || to_char(q.count, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.usage, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.fixed, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.gets, 'TM9', 'nls_numeric_characters=''.,''')
                       || chr(1) || to_char(q.getmisses, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.modifications, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.dlm_requests, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.dlm_conflicts, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$rowcache */ cache#, type, subordinate#, parameter, count, usage, fixed, gets, getmisses,
                        modifications, dlm_requests, dlm_conflicts from v$rowcache) q))
union all
select '{ls|' || :ls_part || '|v$rowcache|' || 'end|108|cache#|type|subordinate#|parameter|count|usage|fixed|gets|getmisses|modifications|dlm_requests|dlm_conflicts}' from dual
)
/

begin
  sys.dbms_lock.sleep(10);
end;
/

begin
  :ls_part := '2';
end;
/

set termout on
prompt reading {ls|2|v$instance|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$instance|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.instance_number, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.instance_number, 1, 200) || chr(1) || decode(substr(dump(q.instance_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.instance_name, 1, 200) || chr(1) || decode(substr(dump(q.host_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.host_name, 1, 200)
                       || chr(1) || decode(substr(dump(q.version, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.version, 1, 200) || chr(1) || decode(substr(dump(q.status, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.status, 1, 200) || chr(1) || decode(substr(dump(q.parallel, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.parallel, 1, 200)
                       || chr(1) || decode(substr(dump(q.startup_time, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.startup_time, 1, 200) || chr(1) || to_char(q.uptime_seconds, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.taken_at, 'YYYY-MM-DD"T"HH24:MI:SS.FF3') as cells
                  from (select /* latchscope v$instance */
                               instance_number, instance_name, host_name, version, status, parallel,
                               to_char(startup_time, 'YYYY-MM-DD HH24:MI:SS') as startup_time,
                               round((cast(systimestamp as date) - startup_time) * 86400) as uptime_seconds,
                               sys_extract_utc(systimestamp) as taken_at
                          from v$instance) q))
union all
select '{ls|' || :ls_part || '|v$instance|' || 'end|100|instance_number|instance_name|host_name|version|status|parallel|startup_time|uptime_seconds|taken_at}' from dual
)
/

set termout on
prompt reading {ls|2|v$rowcache|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$rowcache|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       to_char(q.cache#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.type, 1, 200) || chr(1) || to_char(q.subordinate#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.parameter, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.parameter, 1, 200)
                       || chr(1) || to_char(q.count, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.usage, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.fixed, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.gets, 'TM9', 'nls_numeric_characters=''.,''')
                       || chr(1) || to_char(q.getmisses, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.modifications, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.dlm_requests, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.dlm_conflicts, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$rowcache */ cache#, type, subordinate#, parameter, count, usage, fixed, gets, getmisses,
                        modifications, dlm_requests, dlm_conflicts from v$rowcache) q))
union all
select '{ls|' || :ls_part || '|v$rowcache|' || 'end|108|cache#|type|subordinate#|parameter|count|usage|fixed|gets|getmisses|modifications|dlm_requests|dlm_conflicts}' from dual
)
/

set termout on
prompt reading {ls|once|chain_sessions|open|0|}
set termout off
select ls_line from (
select '{ls|once|chain_sessions|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.instance, 1, 200) || chr(1) || decode(substr(dump(q.sid, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.sid, 1, 200) || chr(1) || decode(substr(dump(q.saddr, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.saddr, 1, 200)
                       || chr(1) || to_char(q.serial#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.type, 1, 200) || chr(1) || decode(substr(dump(q.program, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.program, 1, 200)
                       || chr(1) || decode(substr(dump(q.username, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.username, 1, 200) || chr(1) || decode(substr(dump(q.machine, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.machine, 1, 200) || chr(1) || decode(substr(dump(q.module, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.module, 1, 200)
                       || chr(1) || decode(substr(dump(q.sql_id, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.sql_id, 1, 200) || chr(1) || decode(substr(dump(q.status, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.status, 1, 200) || chr(1) || decode(substr(dump(q.state, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.state, 1, 200)
                       || chr(1) || decode(substr(dump(q.event, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.event, 1, 200) || chr(1) || to_char(q.seq#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.p1, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p1, 1, 200)
                       || chr(1) || decode(substr(dump(q.p2, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p2, 1, 200) || chr(1) || decode(substr(dump(q.p3, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p3, 1, 200) || chr(1) || to_char(q.wait_time_micro, 'TM9', 'nls_numeric_characters=''.,''')
                       || chr(1) || to_char(q.last_call_et, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.blocking_instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_instance, 1, 200) || chr(1) || decode(substr(dump(q.blocking_session, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_session, 1, 200)
                       || chr(1) || decode(substr(dump(q.final_blocking_instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_instance, 1, 200) || chr(1) || decode(substr(dump(q.final_blocking_session, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_session, 1, 200)
                       || chr(1) || decode(substr(dump(q.blocking_session_status, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_session_status, 1, 200) || chr(1) || decode(substr(dump(q.final_blocking_session_status, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_session_status, 1, 200) as cells
                  from (select /* latchscope chain_sessions */
                               to_number(sys_context('userenv', 'instance')) as instance, sid, rawtohex(saddr) as saddr,
                               serial#, type, program, username, machine, module, sql_id, status, state, event, seq#, p1, p2, p3, wait_time_micro, last_call_et, blocking_instance, blocking_session, final_blocking_instance, final_blocking_session, blocking_session_status, final_blocking_session_status
                          from v$session
                         where sid in (select blocking_session
                                         from v$session
                                        where state = 'WAITING'
                                           and event in ('latch: row cache objects', 'row cache mutex', 'row cache lock')
                                          and blocking_instance = to_number(sys_context('userenv', 'instance'))
                                        union
                                       select final_blocking_session
                                         from v$session
                                        where state = 'WAITING'
                                           and event in ('latch: row cache objects', 'row cache mutex', 'row cache lock')
                                          and final_blocking_instance = to_number(sys_context('userenv', 'instance'))
                                        union
                                       select b.blocking_session
                                         from v$session b
                                        where b.blocking_instance = to_number(sys_context('userenv', 'instance'))
                                          and b.sid in (select blocking_session
                                                          from v$session
                                                         where state = 'WAITING'
                                           and event in ('latch: row cache objects', 'row cache mutex', 'row cache lock')
                                                           and blocking_instance = to_number(sys_context('userenv', 'instance'))))
                           and rownum <= 50) q))
union all
select '{ls|once|chain_sessions|' || 'end|268|instance|sid|saddr|serial#|type|program|username|machine|module|sql_id|status|state|event|seq#|p1|p2|p3|wait_time_micro|last_call_et|blocking_instance|blocking_session|final_blocking_instance|final_blocking_session|blocking_session_status|final_blocking_session_status}' from dual
)
/

set termout on
prompt reading {ls|once|row_cache_blockers|open|0|}
set termout off
select ls_line from (
select '{ls|once|row_cache_blockers|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       to_char(q.cache#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.key, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.key, 1, 200) || chr(1) || decode(substr(dump(q.sid, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.sid, 1, 200)
                       || chr(1) || decode(substr(dump(q.instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.instance, 1, 200) || chr(1) || decode(substr(dump(q.cache_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.cache_name, 1, 200) || chr(1) || decode(substr(dump(q.lock_request, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.lock_request, 1, 200)
                       || chr(1) || to_char(q.waiters, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.lock_mode, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.lock_mode, 1, 200) || chr(1) || decode(substr(dump(q.saddr, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.saddr, 1, 200)
                       || chr(1) || decode(substr(dump(q.txn, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.txn, 1, 200) || chr(1) || decode(substr(dump(q.inst_lock_request, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.inst_lock_request, 1, 200)
                       || chr(1) || decode(substr(dump(q.inst_lock_type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.inst_lock_type, 1, 200) || chr(1) || decode(substr(dump(q.inst_lock_id1, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.inst_lock_id1, 1, 200)
                       || chr(1) || decode(substr(dump(q.inst_lock_id2, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.inst_lock_id2, 1, 200) || chr(1) || to_char(q.serial#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.type, 1, 200)
                       || chr(1) || decode(substr(dump(q.program, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.program, 1, 200) || chr(1) || decode(substr(dump(q.username, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.username, 1, 200) || chr(1) || decode(substr(dump(q.machine, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.machine, 1, 200)
                       || chr(1) || decode(substr(dump(q.module, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.module, 1, 200) || chr(1) || decode(substr(dump(q.sql_id, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.sql_id, 1, 200) || chr(1) || decode(substr(dump(q.status, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.status, 1, 200)
                       || chr(1) || decode(substr(dump(q.state, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.state, 1, 200) || chr(1) || decode(substr(dump(q.event, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.event, 1, 200) || chr(1) || to_char(q.seq#, 'TM9', 'nls_numeric_characters=''.,''')
                       || chr(1) || decode(substr(dump(q.p1, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p1, 1, 200) || chr(1) || decode(substr(dump(q.p2, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p2, 1, 200) || chr(1) || decode(substr(dump(q.p3, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p3, 1, 200)
                       || chr(1) || to_char(q.wait_time_micro, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.last_call_et, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.blocking_instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_instance, 1, 200)
                       || chr(1) || decode(substr(dump(q.blocking_session, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_session, 1, 200) || chr(1) || decode(substr(dump(q.final_blocking_instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_instance, 1, 200)
                       || chr(1) || decode(substr(dump(q.final_blocking_session, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_session, 1, 200) || chr(1) || decode(substr(dump(q.blocking_session_status, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_session_status, 1, 200)
                       || chr(1) || decode(substr(dump(q.final_blocking_session_status, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_session_status, 1, 200) as cells
                  from (select /* latchscope row_cache_blockers */
                               cache#, cache_name, key, lock_request, waiters, lock_mode, saddr, txn, inst_lock_request,
                               inst_lock_type, inst_lock_id1, inst_lock_id2, instance, sid,
                               serial#, type, program, username, machine, module, sql_id, status, state, event, seq#, p1, p2, p3, wait_time_micro, last_call_et, blocking_instance, blocking_session, final_blocking_instance, final_blocking_session, blocking_session_status, final_blocking_session_status
                          from (select p.cache#, p.cache_name, rawtohex(p.key) as key, p.asked as lock_request, p.waiters,
                                       p.lock_mode, rawtohex(p.saddr) as saddr, rawtohex(p.txn) as txn, p.inst_lock_request,
                                       p.inst_lock_type, rawtohex(p.inst_lock_id1) as inst_lock_id1,
                                       rawtohex(p.inst_lock_id2) as inst_lock_id2,
                                       to_number(sys_context('userenv', 'instance')) as instance, s.sid,
                                       s.serial#, s.type, s.program, s.username, s.machine, s.module, s.sql_id, s.status, s.state, s.event, s.seq#, s.p1, s.p2, s.p3, s.wait_time_micro, s.last_call_et, s.blocking_instance, s.blocking_session, s.final_blocking_instance, s.final_blocking_session, s.blocking_session_status, s.final_blocking_session_status
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
                         where rownum <= 20) q))
union all
select '{ls|once|row_cache_blockers|' || 'end|386|cache#|key|sid|instance|cache_name|lock_request|waiters|lock_mode|saddr|txn|inst_lock_request|inst_lock_type|inst_lock_id1|inst_lock_id2|serial#|type|program|username|machine|module|sql_id|status|state|event|seq#|p1|p2|p3|wait_time_micro|last_call_et|blocking_instance|blocking_session|final_blocking_instance|final_blocking_session|blocking_session_status|final_blocking_session_status}' from dual
)
/

set termout on
prompt reading {ls|once|waiting_sessions|open|0|}
set termout off
select ls_line from (
select '{ls|once|waiting_sessions|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.sid, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.sid, 1, 200) || chr(1) || to_char(q.serial#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.seq#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.event, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.event, 1, 200)
                       || chr(1) || decode(substr(dump(q.p1, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p1, 1, 200) || chr(1) || decode(substr(dump(q.p1raw, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p1raw, 1, 200) || chr(1) || decode(substr(dump(q.p2, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p2, 1, 200)
                       || chr(1) || decode(substr(dump(q.p3, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p3, 1, 200) || chr(1) || decode(substr(dump(q.sql_id, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.sql_id, 1, 200) || chr(1) || decode(substr(dump(q.module, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.module, 1, 200)
                       || chr(1) || decode(substr(dump(q.program, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.program, 1, 200) || chr(1) || decode(substr(dump(q.username, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.username, 1, 200) || chr(1) || decode(substr(dump(q.type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.type, 1, 200)
                       || chr(1) || decode(substr(dump(q.blocking_instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_instance, 1, 200) || chr(1) || decode(substr(dump(q.blocking_session, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_session, 1, 200)
                       || chr(1) || decode(substr(dump(q.final_blocking_instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_instance, 1, 200) || chr(1) || decode(substr(dump(q.final_blocking_session, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_session, 1, 200)
                       || chr(1) || to_char(q.wait_time_micro, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.met, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope waiting_sessions */
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
                         where rownum <= 200) q))
union all
select '{ls|once|waiting_sessions|' || 'end|175|sid|serial#|seq#|event|p1|p1raw|p2|p3|sql_id|module|program|username|type|blocking_instance|blocking_session|final_blocking_instance|final_blocking_session|wait_time_micro|met}' from dual
)
/

begin
  dbms_application_info.set_module(:ls_module, :ls_action);
end;
/
set termout on
spool off
prompt latchscope: read to the end. Unless an error above says that the file could not be created,
prompt latchscope: take &ls_file home, from the directory you started from
set feedback on heading on pagesize 14 linesize 80
