-- latchscope.sql, made by `latchscope script`
-- What it does   Reads the views in which an Oracle instance tells about its dictionary cache, twice, 30 s apart, and
--                looks 30 times in between at who waits. Writes
--                ONE text file, latchscope_INSTANCE_TIME.txt, into the directory you start it from, which you must be
--                able to write to. Take that file to wherever latchscope is:  latchscope diagnose FILE
-- How to run it  sqlplus / as sysdba @latchscope.sql      (any user with the grants of `latchscope grants` will do)
--                sql / as sysdba @latchscope.sql          (SQLcl)
--                In a session of its own. In CDB$ROOT, on the instance that is slow. Then type  exit.
-- What it reads  latchscope_kqrst, v$event_name, v$instance, v$latch, v$latch_children, v$latch_misses,
--                v$latchname, v$mutex_sleep, v$osstat, v$rowcache, v$rowcache_parent, v$session,
--                v$sga_resize_ops, v$sgastat, v$sys_time_model, v$sysstat, v$system_event, v$system_parameter,
--                v$undostat, x$kqrst, x_$kqrst
-- What it costs  68 SELECTs, one at a time, in 30 s and what they take themselves; 30 of them one a second at v$session.
--                Each holds a comment with the word latchscope, by which v$sql shows whose it is.
--                29 of them are different texts: each is hard parsed once, as SYS if SYS runs this, on the instance that is
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

-- What the release decides: a text that is not for it is commented out. Oldest texts, should the release be hidden.
column ls_from_12_1 new_value ls_from_12_1 noprint
define ls_from_12_1 = '--'
column ls_below_12_1 new_value ls_below_12_1 noprint
define ls_below_12_1 = '/* */'
column ls_from_12_2 new_value ls_from_12_2 noprint
define ls_from_12_2 = '--'
column ls_below_12_2 new_value ls_below_12_2 noprint
define ls_below_12_2 = '/* */'
column ls_from_18 new_value ls_from_18 noprint
define ls_from_18 = '--'
column ls_below_18 new_value ls_below_18 noprint
define ls_below_18 = '/* */'

select
       case when release >= 12010000 then '/* */' else '--' end as ls_from_12_1,
       case when release >= 12010000 then '--' else '/* */' end as ls_below_12_1,
       case when release >= 12020000 then '/* */' else '--' end as ls_from_12_2,
       case when release >= 12020000 then '--' else '/* */' end as ls_below_12_2,
       case when release >= 18000000 then '/* */' else '--' end as ls_from_18,
       case when release >= 18000000 then '--' else '/* */' end as ls_below_18,
       null as nothing
  from (select nvl(to_number(regexp_substr(version, '[0-9]+', 1, 1)), 0) * 1000000
               + nvl(to_number(regexp_substr(version, '[0-9]+', 1, 2)), 0) * 10000
               + nvl(to_number(regexp_substr(version, '[0-9]+', 1, 3)), 0) * 100
               + nvl(to_number(regexp_substr(version, '[0-9]+', 1, 4)), 0) as release
          from v$instance)
/

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
prompt latchscope: reading this instance for about 30 s; Ctrl-C ends a statement that hangs
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

-- How to wait without burning a processor: what this release has and this user may run; nothing, if neither.
variable ls_wait varchar2(60)
variable ls_look refcursor
variable ls_n number
declare
  procedure try(how in varchar2) is
  begin
    if :ls_wait is null then
      execute immediate how using 0;
      :ls_wait := how;
    end if;
  exception
    when others then null; -- not there on this release, or not granted
  end;
begin
  :ls_n := 0;
  try('begin sys.dbms_session.sleep(:s); end;');
  try('begin sys.dbms_lock.sleep(:s); end;');
end;
/
prompt {ls|head|wait|open|0|}
select '{ls|head|wait|1/1|' || length(how) || '|' || how || '}' as ls_line
  from (select nvl(translate(:ls_wait, 'x ', 'x'), 'none') as how from dual)
/

set termout on
prompt reading {ls|1|v$instance|open|0|}
set termout off
select ls_line from (
&ls_below_18 select '{ls|' || :ls_part || '|v$instance|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_below_18   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_below_18           from (select rownum as n, count(*) over () as total,
&ls_below_18                        decode(substr(dump(q.instance_number, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.instance_number, 1, 200) || chr(1) || decode(substr(dump(q.instance_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.instance_name, 1, 200) || chr(1) || decode(substr(dump(q.host_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.host_name, 1, 200)
&ls_below_18                        || chr(1) || decode(substr(dump(q.version, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.version, 1, 200) || chr(1) || decode(substr(dump(q.status, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.status, 1, 200) || chr(1) || decode(substr(dump(q.parallel, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.parallel, 1, 200)
&ls_below_18                        || chr(1) || decode(substr(dump(q.startup_time, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.startup_time, 1, 200) || chr(1) || to_char(q.uptime_seconds, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.taken_at, 'YYYY-MM-DD"T"HH24:MI:SS.FF3') as cells
&ls_below_18                   from (select /* latchscope v$instance */
&ls_below_18                                instance_number, instance_name, host_name, version, status, parallel,
&ls_below_18                                to_char(startup_time, 'YYYY-MM-DD HH24:MI:SS') as startup_time,
&ls_below_18                                round((cast(systimestamp as date) - startup_time) * 86400) as uptime_seconds,
&ls_below_18                                sys_extract_utc(systimestamp) as taken_at
&ls_below_18                           from v$instance) q))
&ls_below_18 union all
&ls_below_18 select '{ls|' || :ls_part || '|v$instance|' || 'end|100|instance_number|instance_name|host_name|version|status|parallel|startup_time|uptime_seconds|taken_at}' from dual
&ls_from_18 select '{ls|' || :ls_part || '|v$instance|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_from_18   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_from_18           from (select rownum as n, count(*) over () as total,
&ls_from_18                        decode(substr(dump(q.instance_number, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.instance_number, 1, 200) || chr(1) || decode(substr(dump(q.instance_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.instance_name, 1, 200) || chr(1) || decode(substr(dump(q.host_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.host_name, 1, 200)
&ls_from_18                        || chr(1) || decode(substr(dump(q.version, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.version, 1, 200) || chr(1) || decode(substr(dump(q.version_full, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.version_full, 1, 200) || chr(1) || decode(substr(dump(q.status, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.status, 1, 200)
&ls_from_18                        || chr(1) || decode(substr(dump(q.parallel, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.parallel, 1, 200) || chr(1) || decode(substr(dump(q.startup_time, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.startup_time, 1, 200) || chr(1) || to_char(q.uptime_seconds, 'TM9', 'nls_numeric_characters=''.,''')
&ls_from_18                        || chr(1) || to_char(q.taken_at, 'YYYY-MM-DD"T"HH24:MI:SS.FF3') as cells
&ls_from_18                   from (select /* latchscope v$instance */
&ls_from_18                                instance_number, instance_name, host_name, version, version_full, status, parallel,
&ls_from_18                                to_char(startup_time, 'YYYY-MM-DD HH24:MI:SS') as startup_time,
&ls_from_18                                round((cast(systimestamp as date) - startup_time) * 86400) as uptime_seconds,
&ls_from_18                                sys_extract_utc(systimestamp) as taken_at
&ls_from_18                           from v$instance) q))
&ls_from_18 union all
&ls_from_18 select '{ls|' || :ls_part || '|v$instance|' || 'end|113|instance_number|instance_name|host_name|version|version_full|status|parallel|startup_time|uptime_seconds|taken_at}' from dual
)
/

set termout on
prompt reading {ls|1|v$latch_misses|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$latch_misses|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.parent_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.parent_name, 1, 200) || chr(1) || decode(substr(dump(q.location, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.location, 1, 200) || chr(1) || to_char(q.nwfail_count, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.sleep_count, 'TM9', 'nls_numeric_characters=''.,''')
                       || chr(1) || to_char(q.wtr_slp_count, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.longhold_count, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$latch_misses */
                               parent_name, location, sum(nwfail_count) as nwfail_count, sum(sleep_count) as sleep_count,
                               sum(wtr_slp_count) as wtr_slp_count, sum(longhold_count) as longhold_count
                          from v$latch_misses
                         where parent_name in ('row cache objects', 'Result Cache: RC Latch')
                           and (sleep_count > 0 or wtr_slp_count > 0)
                         group by parent_name, location) q))
union all
select '{ls|' || :ls_part || '|v$latch_misses|' || 'end|74|parent_name|location|nwfail_count|sleep_count|wtr_slp_count|longhold_count}' from dual
)
/

set termout on
prompt reading {ls|1|v$mutex_sleep|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$mutex_sleep|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.mutex_type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.mutex_type, 1, 200) || chr(1) || decode(substr(dump(q.location, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.location, 1, 200) || chr(1) || to_char(q.sleeps, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.wait_time, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$mutex_sleep */
                               mutex_type, replace(location, chr(0)) as location, sum(sleeps) as sleeps,
                               sum(wait_time) as wait_time
                          from v$mutex_sleep
                         where mutex_type = 'Row Cache'
                         group by mutex_type, replace(location, chr(0))) q))
union all
select '{ls|' || :ls_part || '|v$mutex_sleep|' || 'end|36|mutex_type|location|sleeps|wait_time}' from dual
)
/

set termout on
prompt reading {ls|1|v$osstat|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$osstat|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.stat_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.stat_name, 1, 200) || chr(1) || to_char(q.level_now, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.total, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$osstat */ stat_name,
                               case when stat_name in ('NUM_CPUS', 'NUM_CPU_CORES', 'LOAD', 'PHYSICAL_MEMORY_BYTES',
                                                       'SWAP_FREE_BYTES')
                                    then value end as level_now,
                               case when stat_name in ('BUSY_TIME', 'IDLE_TIME', 'OS_CPU_WAIT_TIME', 'RSRC_MGR_CPU_WAIT_TIME',
                                                       'VM_IN_BYTES', 'VM_OUT_BYTES')
                                    then value end as total
                          from v$osstat
                         where stat_name in ('NUM_CPUS', 'NUM_CPU_CORES', 'LOAD', 'PHYSICAL_MEMORY_BYTES', 'BUSY_TIME',
                                             'IDLE_TIME', 'OS_CPU_WAIT_TIME', 'RSRC_MGR_CPU_WAIT_TIME', 'VM_IN_BYTES',
                                             'VM_OUT_BYTES', 'SWAP_FREE_BYTES')) q))
union all
select '{ls|' || :ls_part || '|v$osstat|' || 'end|25|stat_name|level_now|total}' from dual
)
/

set termout on
prompt reading {ls|1|v$rowcache|open|0|}
set termout off
select ls_line from (
&ls_below_12_1 select '{ls|' || :ls_part || '|v$rowcache|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_below_12_1   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_below_12_1           from (select rownum as n, count(*) over () as total,
&ls_below_12_1                        to_char(q.cache#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.type, 1, 200) || chr(1) || to_char(q.subordinate#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.parameter, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.parameter, 1, 200)
&ls_below_12_1                        || chr(1) || to_char(q.count, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.usage, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.fixed, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.gets, 'TM9', 'nls_numeric_characters=''.,''')
&ls_below_12_1                        || chr(1) || to_char(q.getmisses, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.modifications, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.dlm_requests, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.dlm_conflicts, 'TM9', 'nls_numeric_characters=''.,''') as cells
&ls_below_12_1                   from (select /* latchscope v$rowcache */ cache#, type, subordinate#, parameter, count, usage, fixed, gets, getmisses,
&ls_below_12_1                         modifications, dlm_requests, dlm_conflicts from v$rowcache) q))
&ls_below_12_1 union all
&ls_below_12_1 select '{ls|' || :ls_part || '|v$rowcache|' || 'end|108|cache#|type|subordinate#|parameter|count|usage|fixed|gets|getmisses|modifications|dlm_requests|dlm_conflicts}' from dual
&ls_from_12_1 select '{ls|' || :ls_part || '|v$rowcache|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_from_12_1   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_from_12_1           from (select rownum as n, count(*) over () as total,
&ls_from_12_1                        to_char(q.cache#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.type, 1, 200) || chr(1) || to_char(q.subordinate#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.parameter, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.parameter, 1, 200)
&ls_from_12_1                        || chr(1) || to_char(q.count, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.usage, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.fixed, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.gets, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.fastgets, 'TM9', 'nls_numeric_characters=''.,''')
&ls_from_12_1                        || chr(1) || to_char(q.getmisses, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.modifications, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.dlm_requests, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.dlm_conflicts, 'TM9', 'nls_numeric_characters=''.,''') as cells
&ls_from_12_1                   from (select /* latchscope v$rowcache */ cache#, type, subordinate#, parameter, count, usage, fixed, gets, getmisses,
&ls_from_12_1                         modifications, dlm_requests, dlm_conflicts, fastgets from v$rowcache) q))
&ls_from_12_1 union all
&ls_from_12_1 select '{ls|' || :ls_part || '|v$rowcache|' || 'end|117|cache#|type|subordinate#|parameter|count|usage|fixed|gets|fastgets|getmisses|modifications|dlm_requests|dlm_conflicts}' from dual
)
/

set termout on
prompt reading {ls|1|v$sys_time_model|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$sys_time_model|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.stat_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.stat_name, 1, 200) || chr(1) || to_char(q.value, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$sys_time_model */ stat_name, value
                          from v$sys_time_model
                         where stat_name in ('DB time', 'DB CPU', 'parse time elapsed', 'hard parse elapsed time',
                                             'failed parse elapsed time', 'connection management call elapsed time',
                                             'sequence load elapsed time')) q))
union all
select '{ls|' || :ls_part || '|v$sys_time_model|' || 'end|15|stat_name|value}' from dual
)
/

set termout on
prompt reading {ls|1|v$sysstat|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$sysstat|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.name, 1, 200) || chr(1) || to_char(q.value, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$sysstat */ name, value
                          from v$sysstat
                         where name in ('parse count (total)', 'parse count (hard)', 'parse count (failures)',
                                        'execute count', 'logons cumulative', 'user calls', 'user commits', 'user rollbacks',
                                        'recursive calls', 'session cursor cache hits')) q))
union all
select '{ls|' || :ls_part || '|v$sysstat|' || 'end|10|name|value}' from dual
)
/

set termout on
prompt reading {ls|1|v$system_event|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$system_event|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.event, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.event, 1, 200) || chr(1) || to_char(q.total_waits, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.total_timeouts, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.time_waited_micro, 'TM9', 'nls_numeric_characters=''.,''')
                       || chr(1) || to_char(q.total_waits_fg, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.time_waited_micro_fg, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$system_event */ event, total_waits, total_timeouts, time_waited_micro,
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
                                         'wait for stopper event to be increased')) q))
union all
select '{ls|' || :ls_part || '|v$system_event|' || 'end|86|event|total_waits|total_timeouts|time_waited_micro|total_waits_fg|time_waited_micro_fg}' from dual
)
/

set termout on
prompt reading {ls|1|v$latch|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$latch|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       to_char(q.latch#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.name, 1, 200) || chr(1) || to_char(q.gets, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.misses, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.sleeps, 'TM9', 'nls_numeric_characters=''.,''')
                       || chr(1) || to_char(q.spin_gets, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.wait_time, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$latch */
                               max(latch#) as latch#, name, sum(gets) as gets, sum(misses) as misses, sum(sleeps) as sleeps,
                               sum(spin_gets) as spin_gets, sum(wait_time) as wait_time
                          from v$latch
                         where latch# in ((select latch# from v$latchname where name = 'row cache objects'), (select latch# from v$latchname where name = 'Result Cache: RC Latch'), (select latch# from v$latchname where name = 'shared pool'), (select latch# from v$latchname where name = 'redo allocation'), (select latch# from v$latchname where name = 'session allocation'), (select latch# from v$latchname where name = 'enqueue hash chains'), (select latch# from v$latchname where name = 'undo global data'), (select latch# from v$latchname where name = 'messages'))
                         group by name) q))
union all
select '{ls|' || :ls_part || '|v$latch|' || 'end|50|latch#|name|gets|misses|sleeps|spin_gets|wait_time}' from dual
)
/

set termout on
prompt reading {ls|1|v$latch_children|open|0|}
set termout off
select ls_line from (
&ls_below_12_2 select '{ls|' || :ls_part || '|v$latch_children|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_below_12_2   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_below_12_2           from (select rownum as n, count(*) over () as total,
&ls_below_12_2                        to_char(q.latch#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.child#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.addr, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.addr, 1, 200) || chr(1) || to_char(q.gets, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.misses, 'TM9', 'nls_numeric_characters=''.,''')
&ls_below_12_2                        || chr(1) || to_char(q.sleeps, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.immediate_gets, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.immediate_misses, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.spin_gets, 'TM9', 'nls_numeric_characters=''.,''')
&ls_below_12_2                        || chr(1) || to_char(q.wait_time, 'TM9', 'nls_numeric_characters=''.,''') as cells
&ls_below_12_2                   from (select /* latchscope v$latch_children */
&ls_below_12_2                                latch#, child#, rawtohex(addr) as addr,
&ls_below_12_2                                gets, misses, sleeps, immediate_gets, immediate_misses, spin_gets, wait_time
&ls_below_12_2                           from v$latch_children
&ls_below_12_2                          where latch# = (select latch# from v$latchname where name = 'row cache objects')) q))
&ls_below_12_2 union all
&ls_below_12_2 select '{ls|' || :ls_part || '|v$latch_children|' || 'end|89|latch#|child#|addr|gets|misses|sleeps|immediate_gets|immediate_misses|spin_gets|wait_time}' from dual
&ls_from_12_2 select '{ls|' || :ls_part || '|v$latch_children|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_from_12_2   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_from_12_2           from (select rownum as n, count(*) over () as total,
&ls_from_12_2                        to_char(q.latch#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.child#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.addr, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.addr, 1, 200) || chr(1) || to_char(q.gets, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.misses, 'TM9', 'nls_numeric_characters=''.,''')
&ls_from_12_2                        || chr(1) || to_char(q.sleeps, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.immediate_gets, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.immediate_misses, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.spin_gets, 'TM9', 'nls_numeric_characters=''.,''')
&ls_from_12_2                        || chr(1) || to_char(q.wait_time, 'TM9', 'nls_numeric_characters=''.,''') as cells
&ls_from_12_2                   from (select /* latchscope v$latch_children */ 0 as latch#, 0 as child#, '-' as addr, 0 as gets, 0 as misses, 0 as sleeps, 0 as immediate_gets, 0 as immediate_misses, 0 as spin_gets, 0 as wait_time
&ls_from_12_2                          from dual
&ls_from_12_2                         where 1 = 0) q))
&ls_from_12_2 union all
&ls_from_12_2 select '{ls|' || :ls_part || '|v$latch_children|' || 'end|89|latch#|child#|addr|gets|misses|sleeps|immediate_gets|immediate_misses|spin_gets|wait_time}' from dual
)
/

set termout on
prompt {ls|look|v$session|open|0|} 30 times
set termout off
begin
  if :ls_wait is not null then
    execute immediate :ls_wait using 1;
  end if;
  :ls_n := :ls_n + 1;
  open :ls_look for '
select ls_line from (
&ls_below_12_1 select ''{ls|look'' || :n || ''|v$session|'' || n || ''/'' || total || ''|'' || nvl(length(body), 0) || ''|'' || body || ''}'' as ls_line
&ls_below_12_1   from (select n, total, translate(replace(replace(asciistr(cells), ''~'', ''\007E''), ''|'', ''\007C''), '' '' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), ''~~~~|'') as body
&ls_below_12_1           from (select rownum as n, count(*) over () as total,
&ls_below_12_1                        decode(substr(dump(q.sid, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.sid, 1, 200) || chr(1) || decode(substr(dump(q.event, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.event, 1, 200) || chr(1) || decode(substr(dump(q.p1, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.p1, 1, 200)
&ls_below_12_1                        || chr(1) || decode(substr(dump(q.p1raw, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.p1raw, 1, 200) || chr(1) || decode(substr(dump(q.p2, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.p2, 1, 200) || chr(1) || decode(substr(dump(q.p3, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.p3, 1, 200)
&ls_below_12_1                        || chr(1) || decode(substr(dump(q.sql_id, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.sql_id, 1, 200) || chr(1) || decode(substr(dump(q.module, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.module, 1, 200) || chr(1) || decode(substr(dump(q.program, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.program, 1, 200)
&ls_below_12_1                        || chr(1) || decode(substr(dump(q.username, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.username, 1, 200) || chr(1) || decode(substr(dump(q.blocking_instance, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.blocking_instance, 1, 200)
&ls_below_12_1                        || chr(1) || decode(substr(dump(q.blocking_session, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.blocking_session, 1, 200) || chr(1) || decode(substr(dump(q.final_blocking_instance, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.final_blocking_instance, 1, 200)
&ls_below_12_1                        || chr(1) || decode(substr(dump(q.final_blocking_session, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.final_blocking_session, 1, 200) || chr(1) || to_char(q.wait_time_micro, ''TM9'', ''nls_numeric_characters=''''.,'''''') as cells
&ls_below_12_1                   from (select /* latchscope v$session */
&ls_below_12_1                                sid, event, p1, rawtohex(p1raw) as p1raw, p2, p3, sql_id, module, program, username,
&ls_below_12_1                                blocking_instance, blocking_session, final_blocking_instance, final_blocking_session, wait_time_micro
&ls_below_12_1                           from v$session
&ls_below_12_1                          where state = ''WAITING''
&ls_below_12_1                            and event in (''latch: row cache objects'', ''row cache mutex'', ''row cache lock'', ''latch free'')
&ls_below_12_1                            and rownum <= 500) q))
&ls_below_12_1 union all
&ls_below_12_1 select ''{ls|look'' || :n || ''|v$session|'' || ''end|153|sid|event|p1|p1raw|p2|p3|sql_id|module|program|username|blocking_instance|blocking_session|final_blocking_instance|final_blocking_session|wait_time_micro}'' from dual
&ls_from_12_1 select ''{ls|look'' || :n || ''|v$session|'' || n || ''/'' || total || ''|'' || nvl(length(body), 0) || ''|'' || body || ''}'' as ls_line
&ls_from_12_1   from (select n, total, translate(replace(replace(asciistr(cells), ''~'', ''\007E''), ''|'', ''\007C''), '' '' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), ''~~~~|'') as body
&ls_from_12_1           from (select rownum as n, count(*) over () as total,
&ls_from_12_1                        decode(substr(dump(q.sid, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.sid, 1, 200) || chr(1) || decode(substr(dump(q.event, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.event, 1, 200) || chr(1) || decode(substr(dump(q.p1, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.p1, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.p1raw, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.p1raw, 1, 200) || chr(1) || decode(substr(dump(q.p2, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.p2, 1, 200) || chr(1) || decode(substr(dump(q.p3, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.p3, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.sql_id, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.sql_id, 1, 200) || chr(1) || decode(substr(dump(q.module, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.module, 1, 200) || chr(1) || decode(substr(dump(q.program, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.program, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.username, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.username, 1, 200) || chr(1) || decode(substr(dump(q.con_id, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.con_id, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.blocking_instance, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.blocking_instance, 1, 200) || chr(1) || decode(substr(dump(q.blocking_session, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.blocking_session, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.final_blocking_instance, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.final_blocking_instance, 1, 200) || chr(1) || decode(substr(dump(q.final_blocking_session, 10, 1, 1), 1, 6), ''Typ=2 '', null, ''"'') || substr(q.final_blocking_session, 1, 200)
&ls_from_12_1                        || chr(1) || to_char(q.wait_time_micro, ''TM9'', ''nls_numeric_characters=''''.,'''''') as cells
&ls_from_12_1                   from (select /* latchscope v$session */
&ls_from_12_1                                sid, event, p1, rawtohex(p1raw) as p1raw, p2, p3, sql_id, module, program, username,
&ls_from_12_1                                con_id, blocking_instance, blocking_session, final_blocking_instance, final_blocking_session, wait_time_micro
&ls_from_12_1                           from v$session
&ls_from_12_1                          where state = ''WAITING''
&ls_from_12_1                            and event in (''latch: row cache objects'', ''row cache mutex'', ''row cache lock'', ''latch free'')
&ls_from_12_1                            and rownum <= 500) q))
&ls_from_12_1 union all
&ls_from_12_1 select ''{ls|look'' || :n || ''|v$session|'' || ''end|160|sid|event|p1|p1raw|p2|p3|sql_id|module|program|username|con_id|blocking_instance|blocking_session|final_blocking_instance|final_blocking_session|wait_time_micro}'' from dual
)' using :ls_n, :ls_n;
end;
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look
prompt {ls|look|v$session|open|0|}
/
print ls_look

begin
  :ls_part := '2';
end;
/

set termout on
prompt reading {ls|2|v$instance|open|0|}
set termout off
select ls_line from (
&ls_below_18 select '{ls|' || :ls_part || '|v$instance|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_below_18   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_below_18           from (select rownum as n, count(*) over () as total,
&ls_below_18                        decode(substr(dump(q.instance_number, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.instance_number, 1, 200) || chr(1) || decode(substr(dump(q.instance_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.instance_name, 1, 200) || chr(1) || decode(substr(dump(q.host_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.host_name, 1, 200)
&ls_below_18                        || chr(1) || decode(substr(dump(q.version, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.version, 1, 200) || chr(1) || decode(substr(dump(q.status, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.status, 1, 200) || chr(1) || decode(substr(dump(q.parallel, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.parallel, 1, 200)
&ls_below_18                        || chr(1) || decode(substr(dump(q.startup_time, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.startup_time, 1, 200) || chr(1) || to_char(q.uptime_seconds, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.taken_at, 'YYYY-MM-DD"T"HH24:MI:SS.FF3') as cells
&ls_below_18                   from (select /* latchscope v$instance */
&ls_below_18                                instance_number, instance_name, host_name, version, status, parallel,
&ls_below_18                                to_char(startup_time, 'YYYY-MM-DD HH24:MI:SS') as startup_time,
&ls_below_18                                round((cast(systimestamp as date) - startup_time) * 86400) as uptime_seconds,
&ls_below_18                                sys_extract_utc(systimestamp) as taken_at
&ls_below_18                           from v$instance) q))
&ls_below_18 union all
&ls_below_18 select '{ls|' || :ls_part || '|v$instance|' || 'end|100|instance_number|instance_name|host_name|version|status|parallel|startup_time|uptime_seconds|taken_at}' from dual
&ls_from_18 select '{ls|' || :ls_part || '|v$instance|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_from_18   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_from_18           from (select rownum as n, count(*) over () as total,
&ls_from_18                        decode(substr(dump(q.instance_number, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.instance_number, 1, 200) || chr(1) || decode(substr(dump(q.instance_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.instance_name, 1, 200) || chr(1) || decode(substr(dump(q.host_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.host_name, 1, 200)
&ls_from_18                        || chr(1) || decode(substr(dump(q.version, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.version, 1, 200) || chr(1) || decode(substr(dump(q.version_full, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.version_full, 1, 200) || chr(1) || decode(substr(dump(q.status, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.status, 1, 200)
&ls_from_18                        || chr(1) || decode(substr(dump(q.parallel, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.parallel, 1, 200) || chr(1) || decode(substr(dump(q.startup_time, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.startup_time, 1, 200) || chr(1) || to_char(q.uptime_seconds, 'TM9', 'nls_numeric_characters=''.,''')
&ls_from_18                        || chr(1) || to_char(q.taken_at, 'YYYY-MM-DD"T"HH24:MI:SS.FF3') as cells
&ls_from_18                   from (select /* latchscope v$instance */
&ls_from_18                                instance_number, instance_name, host_name, version, version_full, status, parallel,
&ls_from_18                                to_char(startup_time, 'YYYY-MM-DD HH24:MI:SS') as startup_time,
&ls_from_18                                round((cast(systimestamp as date) - startup_time) * 86400) as uptime_seconds,
&ls_from_18                                sys_extract_utc(systimestamp) as taken_at
&ls_from_18                           from v$instance) q))
&ls_from_18 union all
&ls_from_18 select '{ls|' || :ls_part || '|v$instance|' || 'end|113|instance_number|instance_name|host_name|version|version_full|status|parallel|startup_time|uptime_seconds|taken_at}' from dual
)
/

set termout on
prompt reading {ls|2|v$latch_misses|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$latch_misses|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.parent_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.parent_name, 1, 200) || chr(1) || decode(substr(dump(q.location, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.location, 1, 200) || chr(1) || to_char(q.nwfail_count, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.sleep_count, 'TM9', 'nls_numeric_characters=''.,''')
                       || chr(1) || to_char(q.wtr_slp_count, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.longhold_count, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$latch_misses */
                               parent_name, location, sum(nwfail_count) as nwfail_count, sum(sleep_count) as sleep_count,
                               sum(wtr_slp_count) as wtr_slp_count, sum(longhold_count) as longhold_count
                          from v$latch_misses
                         where parent_name in ('row cache objects', 'Result Cache: RC Latch')
                           and (sleep_count > 0 or wtr_slp_count > 0)
                         group by parent_name, location) q))
union all
select '{ls|' || :ls_part || '|v$latch_misses|' || 'end|74|parent_name|location|nwfail_count|sleep_count|wtr_slp_count|longhold_count}' from dual
)
/

set termout on
prompt reading {ls|2|v$mutex_sleep|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$mutex_sleep|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.mutex_type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.mutex_type, 1, 200) || chr(1) || decode(substr(dump(q.location, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.location, 1, 200) || chr(1) || to_char(q.sleeps, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.wait_time, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$mutex_sleep */
                               mutex_type, replace(location, chr(0)) as location, sum(sleeps) as sleeps,
                               sum(wait_time) as wait_time
                          from v$mutex_sleep
                         where mutex_type = 'Row Cache'
                         group by mutex_type, replace(location, chr(0))) q))
union all
select '{ls|' || :ls_part || '|v$mutex_sleep|' || 'end|36|mutex_type|location|sleeps|wait_time}' from dual
)
/

set termout on
prompt reading {ls|2|v$osstat|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$osstat|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.stat_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.stat_name, 1, 200) || chr(1) || to_char(q.level_now, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.total, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$osstat */ stat_name,
                               case when stat_name in ('NUM_CPUS', 'NUM_CPU_CORES', 'LOAD', 'PHYSICAL_MEMORY_BYTES',
                                                       'SWAP_FREE_BYTES')
                                    then value end as level_now,
                               case when stat_name in ('BUSY_TIME', 'IDLE_TIME', 'OS_CPU_WAIT_TIME', 'RSRC_MGR_CPU_WAIT_TIME',
                                                       'VM_IN_BYTES', 'VM_OUT_BYTES')
                                    then value end as total
                          from v$osstat
                         where stat_name in ('NUM_CPUS', 'NUM_CPU_CORES', 'LOAD', 'PHYSICAL_MEMORY_BYTES', 'BUSY_TIME',
                                             'IDLE_TIME', 'OS_CPU_WAIT_TIME', 'RSRC_MGR_CPU_WAIT_TIME', 'VM_IN_BYTES',
                                             'VM_OUT_BYTES', 'SWAP_FREE_BYTES')) q))
union all
select '{ls|' || :ls_part || '|v$osstat|' || 'end|25|stat_name|level_now|total}' from dual
)
/

set termout on
prompt reading {ls|2|v$rowcache|open|0|}
set termout off
select ls_line from (
&ls_below_12_1 select '{ls|' || :ls_part || '|v$rowcache|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_below_12_1   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_below_12_1           from (select rownum as n, count(*) over () as total,
&ls_below_12_1                        to_char(q.cache#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.type, 1, 200) || chr(1) || to_char(q.subordinate#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.parameter, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.parameter, 1, 200)
&ls_below_12_1                        || chr(1) || to_char(q.count, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.usage, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.fixed, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.gets, 'TM9', 'nls_numeric_characters=''.,''')
&ls_below_12_1                        || chr(1) || to_char(q.getmisses, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.modifications, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.dlm_requests, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.dlm_conflicts, 'TM9', 'nls_numeric_characters=''.,''') as cells
&ls_below_12_1                   from (select /* latchscope v$rowcache */ cache#, type, subordinate#, parameter, count, usage, fixed, gets, getmisses,
&ls_below_12_1                         modifications, dlm_requests, dlm_conflicts from v$rowcache) q))
&ls_below_12_1 union all
&ls_below_12_1 select '{ls|' || :ls_part || '|v$rowcache|' || 'end|108|cache#|type|subordinate#|parameter|count|usage|fixed|gets|getmisses|modifications|dlm_requests|dlm_conflicts}' from dual
&ls_from_12_1 select '{ls|' || :ls_part || '|v$rowcache|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_from_12_1   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_from_12_1           from (select rownum as n, count(*) over () as total,
&ls_from_12_1                        to_char(q.cache#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.type, 1, 200) || chr(1) || to_char(q.subordinate#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.parameter, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.parameter, 1, 200)
&ls_from_12_1                        || chr(1) || to_char(q.count, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.usage, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.fixed, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.gets, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.fastgets, 'TM9', 'nls_numeric_characters=''.,''')
&ls_from_12_1                        || chr(1) || to_char(q.getmisses, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.modifications, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.dlm_requests, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.dlm_conflicts, 'TM9', 'nls_numeric_characters=''.,''') as cells
&ls_from_12_1                   from (select /* latchscope v$rowcache */ cache#, type, subordinate#, parameter, count, usage, fixed, gets, getmisses,
&ls_from_12_1                         modifications, dlm_requests, dlm_conflicts, fastgets from v$rowcache) q))
&ls_from_12_1 union all
&ls_from_12_1 select '{ls|' || :ls_part || '|v$rowcache|' || 'end|117|cache#|type|subordinate#|parameter|count|usage|fixed|gets|fastgets|getmisses|modifications|dlm_requests|dlm_conflicts}' from dual
)
/

set termout on
prompt reading {ls|2|v$sys_time_model|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$sys_time_model|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.stat_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.stat_name, 1, 200) || chr(1) || to_char(q.value, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$sys_time_model */ stat_name, value
                          from v$sys_time_model
                         where stat_name in ('DB time', 'DB CPU', 'parse time elapsed', 'hard parse elapsed time',
                                             'failed parse elapsed time', 'connection management call elapsed time',
                                             'sequence load elapsed time')) q))
union all
select '{ls|' || :ls_part || '|v$sys_time_model|' || 'end|15|stat_name|value}' from dual
)
/

set termout on
prompt reading {ls|2|v$sysstat|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$sysstat|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.name, 1, 200) || chr(1) || to_char(q.value, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$sysstat */ name, value
                          from v$sysstat
                         where name in ('parse count (total)', 'parse count (hard)', 'parse count (failures)',
                                        'execute count', 'logons cumulative', 'user calls', 'user commits', 'user rollbacks',
                                        'recursive calls', 'session cursor cache hits')) q))
union all
select '{ls|' || :ls_part || '|v$sysstat|' || 'end|10|name|value}' from dual
)
/

set termout on
prompt reading {ls|2|v$system_event|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$system_event|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.event, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.event, 1, 200) || chr(1) || to_char(q.total_waits, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.total_timeouts, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.time_waited_micro, 'TM9', 'nls_numeric_characters=''.,''')
                       || chr(1) || to_char(q.total_waits_fg, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.time_waited_micro_fg, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$system_event */ event, total_waits, total_timeouts, time_waited_micro,
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
                                         'wait for stopper event to be increased')) q))
union all
select '{ls|' || :ls_part || '|v$system_event|' || 'end|86|event|total_waits|total_timeouts|time_waited_micro|total_waits_fg|time_waited_micro_fg}' from dual
)
/

set termout on
prompt reading {ls|2|v$latch|open|0|}
set termout off
select ls_line from (
select '{ls|' || :ls_part || '|v$latch|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       to_char(q.latch#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.name, 1, 200) || chr(1) || to_char(q.gets, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.misses, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.sleeps, 'TM9', 'nls_numeric_characters=''.,''')
                       || chr(1) || to_char(q.spin_gets, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.wait_time, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$latch */
                               max(latch#) as latch#, name, sum(gets) as gets, sum(misses) as misses, sum(sleeps) as sleeps,
                               sum(spin_gets) as spin_gets, sum(wait_time) as wait_time
                          from v$latch
                         where latch# in ((select latch# from v$latchname where name = 'row cache objects'), (select latch# from v$latchname where name = 'Result Cache: RC Latch'), (select latch# from v$latchname where name = 'shared pool'), (select latch# from v$latchname where name = 'redo allocation'), (select latch# from v$latchname where name = 'session allocation'), (select latch# from v$latchname where name = 'enqueue hash chains'), (select latch# from v$latchname where name = 'undo global data'), (select latch# from v$latchname where name = 'messages'))
                         group by name) q))
union all
select '{ls|' || :ls_part || '|v$latch|' || 'end|50|latch#|name|gets|misses|sleeps|spin_gets|wait_time}' from dual
)
/

set termout on
prompt reading {ls|2|v$latch_children|open|0|}
set termout off
select ls_line from (
&ls_below_12_2 select '{ls|' || :ls_part || '|v$latch_children|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_below_12_2   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_below_12_2           from (select rownum as n, count(*) over () as total,
&ls_below_12_2                        to_char(q.latch#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.child#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.addr, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.addr, 1, 200) || chr(1) || to_char(q.gets, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.misses, 'TM9', 'nls_numeric_characters=''.,''')
&ls_below_12_2                        || chr(1) || to_char(q.sleeps, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.immediate_gets, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.immediate_misses, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.spin_gets, 'TM9', 'nls_numeric_characters=''.,''')
&ls_below_12_2                        || chr(1) || to_char(q.wait_time, 'TM9', 'nls_numeric_characters=''.,''') as cells
&ls_below_12_2                   from (select /* latchscope v$latch_children */
&ls_below_12_2                                latch#, child#, rawtohex(addr) as addr,
&ls_below_12_2                                gets, misses, sleeps, immediate_gets, immediate_misses, spin_gets, wait_time
&ls_below_12_2                           from v$latch_children
&ls_below_12_2                          where latch# = (select latch# from v$latchname where name = 'row cache objects')) q))
&ls_below_12_2 union all
&ls_below_12_2 select '{ls|' || :ls_part || '|v$latch_children|' || 'end|89|latch#|child#|addr|gets|misses|sleeps|immediate_gets|immediate_misses|spin_gets|wait_time}' from dual
&ls_from_12_2 select '{ls|' || :ls_part || '|v$latch_children|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_from_12_2   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_from_12_2           from (select rownum as n, count(*) over () as total,
&ls_from_12_2                        to_char(q.latch#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.child#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.addr, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.addr, 1, 200) || chr(1) || to_char(q.gets, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.misses, 'TM9', 'nls_numeric_characters=''.,''')
&ls_from_12_2                        || chr(1) || to_char(q.sleeps, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.immediate_gets, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.immediate_misses, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.spin_gets, 'TM9', 'nls_numeric_characters=''.,''')
&ls_from_12_2                        || chr(1) || to_char(q.wait_time, 'TM9', 'nls_numeric_characters=''.,''') as cells
&ls_from_12_2                   from (select /* latchscope v$latch_children */ 0 as latch#, 0 as child#, '-' as addr, 0 as gets, 0 as misses, 0 as sleeps, 0 as immediate_gets, 0 as immediate_misses, 0 as spin_gets, 0 as wait_time
&ls_from_12_2                          from dual
&ls_from_12_2                         where 1 = 0) q))
&ls_from_12_2 union all
&ls_from_12_2 select '{ls|' || :ls_part || '|v$latch_children|' || 'end|89|latch#|child#|addr|gets|misses|sleeps|immediate_gets|immediate_misses|spin_gets|wait_time}' from dual
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
prompt reading {ls|once|library_cache_sessions|open|0|}
set termout off
select ls_line from (
&ls_below_12_1 select '{ls|once|library_cache_sessions|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_below_12_1   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_below_12_1           from (select rownum as n, count(*) over () as total,
&ls_below_12_1                        decode(substr(dump(q.sid, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.sid, 1, 200) || chr(1) || to_char(q.serial#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.event, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.event, 1, 200)
&ls_below_12_1                        || chr(1) || decode(substr(dump(q.p1raw, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p1raw, 1, 200) || chr(1) || decode(substr(dump(q.p3, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p3, 1, 200) || chr(1) || decode(substr(dump(q.sql_id, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.sql_id, 1, 200)
&ls_below_12_1                        || chr(1) || decode(substr(dump(q.module, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.module, 1, 200) || chr(1) || decode(substr(dump(q.action, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.action, 1, 200) || chr(1) || decode(substr(dump(q.program, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.program, 1, 200)
&ls_below_12_1                        || chr(1) || decode(substr(dump(q.machine, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.machine, 1, 200) || chr(1) || decode(substr(dump(q.username, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.username, 1, 200) || chr(1) || decode(substr(dump(q.type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.type, 1, 200)
&ls_below_12_1                        || chr(1) || decode(substr(dump(q.blocking_instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_instance, 1, 200) || chr(1) || decode(substr(dump(q.blocking_session, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_session, 1, 200)
&ls_below_12_1                        || chr(1) || decode(substr(dump(q.final_blocking_instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_instance, 1, 200) || chr(1) || decode(substr(dump(q.final_blocking_session, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_session, 1, 200)
&ls_below_12_1                        || chr(1) || to_char(q.wait_time_micro, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.met, 'TM9', 'nls_numeric_characters=''.,''') as cells
&ls_below_12_1                   from (select /* latchscope library_cache_sessions */
&ls_below_12_1                                sid, serial#, event, p1raw, p3, sql_id, module, action, program, machine, username, type,
&ls_below_12_1                                blocking_instance, blocking_session, final_blocking_instance, final_blocking_session,
&ls_below_12_1                                wait_time_micro, met
&ls_below_12_1                           from (select sid, serial#, event, rawtohex(p1raw) as p1raw, p3, sql_id, module, action, program, machine, username, type,
&ls_below_12_1                                blocking_instance, blocking_session, final_blocking_instance, final_blocking_session,
&ls_below_12_1                                wait_time_micro, count(*) over () as met
&ls_below_12_1                                   from v$session
&ls_below_12_1                                  where state = 'WAITING'
&ls_below_12_1                                    and event in ('library cache lock', 'library cache pin')
&ls_below_12_1                                    and sid <> to_number(sys_context('userenv', 'sid'))
&ls_below_12_1                                  order by wait_time_micro desc)
&ls_below_12_1                          where rownum <= 200) q))
&ls_below_12_1 union all
&ls_below_12_1 select '{ls|once|library_cache_sessions|' || 'end|179|sid|serial#|event|p1raw|p3|sql_id|module|action|program|machine|username|type|blocking_instance|blocking_session|final_blocking_instance|final_blocking_session|wait_time_micro|met}' from dual
&ls_from_12_1 select '{ls|once|library_cache_sessions|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_from_12_1   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_from_12_1           from (select rownum as n, count(*) over () as total,
&ls_from_12_1                        decode(substr(dump(q.sid, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.sid, 1, 200) || chr(1) || to_char(q.serial#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.event, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.event, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.p1raw, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p1raw, 1, 200) || chr(1) || decode(substr(dump(q.p3, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p3, 1, 200) || chr(1) || decode(substr(dump(q.sql_id, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.sql_id, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.module, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.module, 1, 200) || chr(1) || decode(substr(dump(q.action, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.action, 1, 200) || chr(1) || decode(substr(dump(q.program, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.program, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.machine, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.machine, 1, 200) || chr(1) || decode(substr(dump(q.username, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.username, 1, 200) || chr(1) || decode(substr(dump(q.type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.type, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.con_id, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.con_id, 1, 200) || chr(1) || decode(substr(dump(q.blocking_instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_instance, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.blocking_session, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_session, 1, 200) || chr(1) || decode(substr(dump(q.final_blocking_instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_instance, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.final_blocking_session, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_session, 1, 200) || chr(1) || to_char(q.wait_time_micro, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.met, 'TM9', 'nls_numeric_characters=''.,''') as cells
&ls_from_12_1                   from (select /* latchscope library_cache_sessions */
&ls_from_12_1                                con_id, sid, serial#, event, p1raw, p3, sql_id, module, action, program, machine, username, type,
&ls_from_12_1                                blocking_instance, blocking_session, final_blocking_instance, final_blocking_session,
&ls_from_12_1                                wait_time_micro, met
&ls_from_12_1                           from (select con_id, sid, serial#, event, rawtohex(p1raw) as p1raw, p3, sql_id, module, action, program, machine, username, type,
&ls_from_12_1                                blocking_instance, blocking_session, final_blocking_instance, final_blocking_session,
&ls_from_12_1                                wait_time_micro, count(*) over () as met
&ls_from_12_1                                   from v$session
&ls_from_12_1                                  where state = 'WAITING'
&ls_from_12_1                                    and event in ('library cache lock', 'library cache pin')
&ls_from_12_1                                    and sid <> to_number(sys_context('userenv', 'sid'))
&ls_from_12_1                                  order by wait_time_micro desc)
&ls_from_12_1                          where rownum <= 200) q))
&ls_from_12_1 union all
&ls_from_12_1 select '{ls|once|library_cache_sessions|' || 'end|186|sid|serial#|event|p1raw|p3|sql_id|module|action|program|machine|username|type|con_id|blocking_instance|blocking_session|final_blocking_instance|final_blocking_session|wait_time_micro|met}' from dual
)
/

set termout on
prompt reading {ls|once|library_cache_waiters|open|0|}
set termout off
select ls_line from (
select '{ls|once|library_cache_waiters|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.event, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.event, 1, 200) || chr(1) || decode(substr(dump(q.p3, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p3, 1, 200) || chr(1) || decode(substr(dump(q.blocking_instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_instance, 1, 200)
                       || chr(1) || decode(substr(dump(q.blocking_session, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_session, 1, 200) || chr(1) || decode(substr(dump(q.final_blocking_instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_instance, 1, 200)
                       || chr(1) || decode(substr(dump(q.final_blocking_session, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_session, 1, 200) || chr(1) || to_char(q.sessions, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.wait_time_micro, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope library_cache_waiters */
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
                         where rownum <= 20) q))
union all
select '{ls|once|library_cache_waiters|' || 'end|115|event|p3|blocking_instance|blocking_session|final_blocking_instance|final_blocking_session|sessions|wait_time_micro}' from dual
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
prompt reading {ls|once|sys_context|open|0|}
set termout off
select ls_line from (
&ls_below_12_1 select '{ls|once|sys_context|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_below_12_1   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_below_12_1           from (select rownum as n, count(*) over () as total,
&ls_below_12_1                        decode(substr(dump(q.db_unique_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.db_unique_name, 1, 200) || chr(1) || decode(substr(dump(q.session_user, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.session_user, 1, 200) as cells
&ls_below_12_1                   from (select /* latchscope sys_context */
&ls_below_12_1                                sys_context('userenv', 'db_unique_name') as db_unique_name,
&ls_below_12_1                                sys_context('userenv', 'session_user') as session_user
&ls_below_12_1                           from dual) q))
&ls_below_12_1 union all
&ls_below_12_1 select '{ls|once|sys_context|' || 'end|27|db_unique_name|session_user}' from dual
&ls_from_12_1 &ls_below_18 select '{ls|once|sys_context|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_from_12_1 &ls_below_18   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_from_12_1 &ls_below_18           from (select rownum as n, count(*) over () as total,
&ls_from_12_1 &ls_below_18                        decode(substr(dump(q.db_unique_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.db_unique_name, 1, 200) || chr(1) || decode(substr(dump(q.con_id, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.con_id, 1, 200) || chr(1) || decode(substr(dump(q.con_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.con_name, 1, 200)
&ls_from_12_1 &ls_below_18                        || chr(1) || decode(substr(dump(q.cdb_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.cdb_name, 1, 200) || chr(1) || decode(substr(dump(q.session_user, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.session_user, 1, 200) as cells
&ls_from_12_1 &ls_below_18                   from (select /* latchscope sys_context */
&ls_from_12_1 &ls_below_18                                sys_context('userenv', 'db_unique_name') as db_unique_name,
&ls_from_12_1 &ls_below_18                                to_number(sys_context('userenv', 'con_id')) as con_id,
&ls_from_12_1 &ls_below_18                                sys_context('userenv', 'con_name') as con_name,
&ls_from_12_1 &ls_below_18                                sys_context('userenv', 'cdb_name') as cdb_name,
&ls_from_12_1 &ls_below_18                                sys_context('userenv', 'session_user') as session_user
&ls_from_12_1 &ls_below_18                           from dual) q))
&ls_from_12_1 &ls_below_18 union all
&ls_from_12_1 &ls_below_18 select '{ls|once|sys_context|' || 'end|52|db_unique_name|con_id|con_name|cdb_name|session_user}' from dual
&ls_from_18 select '{ls|once|sys_context|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_from_18   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_from_18           from (select rownum as n, count(*) over () as total,
&ls_from_18                        decode(substr(dump(q.db_unique_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.db_unique_name, 1, 200) || chr(1) || decode(substr(dump(q.con_id, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.con_id, 1, 200) || chr(1) || decode(substr(dump(q.con_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.con_name, 1, 200)
&ls_from_18                        || chr(1) || decode(substr(dump(q.cdb_name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.cdb_name, 1, 200) || chr(1) || decode(substr(dump(q.session_user, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.session_user, 1, 200)
&ls_from_18                        || chr(1) || decode(substr(dump(q.cloud_service, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.cloud_service, 1, 200) as cells
&ls_from_18                   from (select /* latchscope sys_context */
&ls_from_18                                sys_context('userenv', 'db_unique_name') as db_unique_name,
&ls_from_18                                to_number(sys_context('userenv', 'con_id')) as con_id,
&ls_from_18                                sys_context('userenv', 'con_name') as con_name,
&ls_from_18                                sys_context('userenv', 'cdb_name') as cdb_name,
&ls_from_18                                sys_context('userenv', 'session_user') as session_user,
&ls_from_18                                sys_context('userenv', 'cloud_service') as cloud_service
&ls_from_18                           from dual) q))
&ls_from_18 union all
&ls_from_18 select '{ls|once|sys_context|' || 'end|66|db_unique_name|con_id|con_name|cdb_name|session_user|cloud_service}' from dual
)
/

set termout on
prompt reading {ls|once|v$event_name|open|0|}
set termout off
select ls_line from (
select '{ls|once|v$event_name|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.name, 1, 200) as cells
                  from (select /* latchscope v$event_name */ name
                          from v$event_name
                         where name in ('latch: row cache objects', 'row cache mutex', 'row cache lock', 'latch free',
                                        'LCK0 row cache object free')) q))
union all
select '{ls|once|v$event_name|' || 'end|4|name}' from dual
)
/

set termout on
prompt reading {ls|once|v$latchname|open|0|}
set termout off
select ls_line from (
select '{ls|once|v$latchname|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       to_char(q.latch#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.name, 1, 200) as cells
                  from (select /* latchscope v$latchname */ latch#, name
                          from v$latchname
                         where name in ('row cache objects', 'Result Cache: RC Latch', 'shared pool', 'redo allocation', 'session allocation', 'enqueue hash chains', 'undo global data', 'messages')) q))
union all
select '{ls|once|v$latchname|' || 'end|11|latch#|name}' from dual
)
/

set termout on
prompt reading {ls|once|v$parameter|open|0|}
set termout off
select ls_line from (
&ls_below_12_1 select '{ls|once|v$parameter|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_below_12_1   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_below_12_1           from (select rownum as n, count(*) over () as total,
&ls_below_12_1                        decode(substr(dump(q.name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.name, 1, 200) || chr(1) || decode(substr(dump(q.value, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.value, 1, 200) || chr(1) || decode(substr(dump(q.isdefault, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.isdefault, 1, 200) as cells
&ls_below_12_1                   from (select /* latchscope v$parameter */ name, value, isdefault
&ls_below_12_1                           from v$system_parameter
&ls_below_12_1                          where name in ('undo_management', 'undo_tablespace', 'undo_retention', 'cpu_count', 'cursor_sharing',
&ls_below_12_1                                         'session_cached_cursors', 'open_cursors', 'shared_pool_size', 'sga_target',
&ls_below_12_1                                         'memory_target', 'statistics_level', 'result_cache_mode', 'result_cache_max_size',
&ls_below_12_1                                         '_rollback_segment_count', '_smu_debug_mode', '_undo_autotune',
&ls_below_12_1                                         'optimizer_adaptive_features', 'optimizer_adaptive_statistics',
&ls_below_12_1                                         'optimizer_dynamic_sampling', 'time_at_dbtimezone', 'sysdate_at_dbtimezone')) q))
&ls_below_12_1 union all
&ls_below_12_1 select '{ls|once|v$parameter|' || 'end|20|name|value|isdefault}' from dual
&ls_from_12_1 select '{ls|once|v$parameter|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_from_12_1   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_from_12_1           from (select rownum as n, count(*) over () as total,
&ls_from_12_1                        decode(substr(dump(q.con_id, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.con_id, 1, 200) || chr(1) || decode(substr(dump(q.name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.name, 1, 200) || chr(1) || decode(substr(dump(q.value, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.value, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.isdefault, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.isdefault, 1, 200) as cells
&ls_from_12_1                   from (select /* latchscope v$parameter */ con_id, name, value, isdefault
&ls_from_12_1                           from v$system_parameter
&ls_from_12_1                          where con_id <> 2
&ls_from_12_1                            and name in ('undo_management', 'undo_tablespace', 'undo_retention', 'cpu_count', 'cursor_sharing',
&ls_from_12_1                                         'session_cached_cursors', 'open_cursors', 'shared_pool_size', 'sga_target',
&ls_from_12_1                                         'memory_target', 'statistics_level', 'result_cache_mode', 'result_cache_max_size',
&ls_from_12_1                                         '_rollback_segment_count', '_smu_debug_mode', '_undo_autotune',
&ls_from_12_1                                         'optimizer_adaptive_features', 'optimizer_adaptive_statistics',
&ls_from_12_1                                         'optimizer_dynamic_sampling', 'time_at_dbtimezone', 'sysdate_at_dbtimezone')) q))
&ls_from_12_1 union all
&ls_from_12_1 select '{ls|once|v$parameter|' || 'end|27|con_id|name|value|isdefault}' from dual
)
/

set termout on
prompt reading {ls|once|v$sga_resize_ops|open|0|}
set termout off
select ls_line from (
select '{ls|once|v$sga_resize_ops|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       decode(substr(dump(q.component, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.component, 1, 200) || chr(1) || decode(substr(dump(q.start_time, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.start_time, 1, 200) || chr(1) || decode(substr(dump(q.oper_type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.oper_type, 1, 200)
                       || chr(1) || to_char(q.initial_size, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.final_size, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope v$sga_resize_ops */
                               component, to_char(start_time, 'YYYY-MM-DD HH24:MI:SS') as start_time, oper_type,
                               initial_size, final_size
                          from v$sga_resize_ops
                         where component = 'shared pool'
                           and start_time > cast(systimestamp as date) - 10 / 1440) q))
union all
select '{ls|once|v$sga_resize_ops|' || 'end|54|component|start_time|oper_type|initial_size|final_size}' from dual
)
/

set termout on
prompt reading {ls|once|v$sgastat|open|0|}
set termout off
select ls_line from (
&ls_below_12_1 select '{ls|once|v$sgastat|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_below_12_1   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_below_12_1           from (select rownum as n, count(*) over () as total,
&ls_below_12_1                        decode(substr(dump(q.pool, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.pool, 1, 200) || chr(1) || decode(substr(dump(q.name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.name, 1, 200) || chr(1) || to_char(q.bytes, 'TM9', 'nls_numeric_characters=''.,''') as cells
&ls_below_12_1                   from (select /* latchscope v$sgastat */ pool, name, bytes
&ls_below_12_1                           from v$sgastat
&ls_below_12_1                          where pool = 'shared pool'
&ls_below_12_1                            and (name like 'KQR%' or name like 'row cache%' or name = 'free memory')) q))
&ls_below_12_1 union all
&ls_below_12_1 select '{ls|once|v$sgastat|' || 'end|15|pool|name|bytes}' from dual
&ls_from_12_1 select '{ls|once|v$sgastat|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_from_12_1   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_from_12_1           from (select rownum as n, count(*) over () as total,
&ls_from_12_1                        decode(substr(dump(q.con_id, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.con_id, 1, 200) || chr(1) || decode(substr(dump(q.pool, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.pool, 1, 200) || chr(1) || decode(substr(dump(q.name, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.name, 1, 200)
&ls_from_12_1                        || chr(1) || to_char(q.bytes, 'TM9', 'nls_numeric_characters=''.,''') as cells
&ls_from_12_1                   from (select /* latchscope v$sgastat */ con_id, pool, name, bytes
&ls_from_12_1                           from v$sgastat
&ls_from_12_1                          where pool = 'shared pool'
&ls_from_12_1                            and (name like 'KQR%' or name like 'row cache%' or name = 'free memory')) q))
&ls_from_12_1 union all
&ls_from_12_1 select '{ls|once|v$sgastat|' || 'end|22|con_id|pool|name|bytes}' from dual
)
/

set termout on
prompt reading {ls|once|v$undostat|open|0|}
set termout off
select ls_line from (
&ls_below_12_1 select '{ls|once|v$undostat|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_below_12_1   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_below_12_1           from (select rownum as n, count(*) over () as total,
&ls_below_12_1                        decode(substr(dump(q.begin_time, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.begin_time, 1, 200) || chr(1) || decode(substr(dump(q.undotsn, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.undotsn, 1, 200) || chr(1) || to_char(q.txncount, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.maxconcurrency, 'TM9', 'nls_numeric_characters=''.,''')
&ls_below_12_1                        || chr(1) || to_char(q.maxquerylen, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.tuned_undoretention, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.unexpiredblks, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.expiredblks, 'TM9', 'nls_numeric_characters=''.,''') as cells
&ls_below_12_1                   from (select /* latchscope v$undostat */
&ls_below_12_1                                begin_time, undotsn, txncount, maxconcurrency, maxquerylen, tuned_undoretention,
&ls_below_12_1                                unexpiredblks, expiredblks
&ls_below_12_1                           from (select to_char(begin_time, 'YYYY-MM-DD HH24:MI:SS') as begin_time, undotsn, txncount,
&ls_below_12_1                                        maxconcurrency, maxquerylen, tuned_undoretention, unexpiredblks, expiredblks
&ls_below_12_1                                   from v$undostat
&ls_below_12_1                                  order by begin_time desc)
&ls_below_12_1                          where rownum <= 1) q))
&ls_below_12_1 union all
&ls_below_12_1 select '{ls|once|v$undostat|' || 'end|100|begin_time|undotsn|txncount|maxconcurrency|maxquerylen|tuned_undoretention|unexpiredblks|expiredblks}' from dual
&ls_from_12_1 select '{ls|once|v$undostat|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_from_12_1   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_from_12_1           from (select rownum as n, count(*) over () as total,
&ls_from_12_1                        decode(substr(dump(q.con_id, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.con_id, 1, 200) || chr(1) || decode(substr(dump(q.begin_time, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.begin_time, 1, 200) || chr(1) || decode(substr(dump(q.undotsn, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.undotsn, 1, 200)
&ls_from_12_1                        || chr(1) || to_char(q.txncount, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.maxconcurrency, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.maxquerylen, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.tuned_undoretention, 'TM9', 'nls_numeric_characters=''.,''')
&ls_from_12_1                        || chr(1) || to_char(q.unexpiredblks, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.expiredblks, 'TM9', 'nls_numeric_characters=''.,''') as cells
&ls_from_12_1                   from (select /* latchscope v$undostat */
&ls_from_12_1                                con_id, begin_time, undotsn, txncount, maxconcurrency, maxquerylen, tuned_undoretention,
&ls_from_12_1                                unexpiredblks, expiredblks
&ls_from_12_1                           from (select con_id, to_char(begin_time, 'YYYY-MM-DD HH24:MI:SS') as begin_time, undotsn, txncount,
&ls_from_12_1                                        maxconcurrency, maxquerylen, tuned_undoretention, unexpiredblks, expiredblks,
&ls_from_12_1                                        row_number() over (partition by con_id order by begin_time desc) as newest
&ls_from_12_1                                   from v$undostat)
&ls_from_12_1                          where newest = 1) q))
&ls_from_12_1 union all
&ls_from_12_1 select '{ls|once|v$undostat|' || 'end|107|con_id|begin_time|undotsn|txncount|maxconcurrency|maxquerylen|tuned_undoretention|unexpiredblks|expiredblks}' from dual
)
/

set termout on
prompt reading {ls|once|waiting_sessions|open|0|}
set termout off
select ls_line from (
&ls_below_12_1 select '{ls|once|waiting_sessions|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_below_12_1   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_below_12_1           from (select rownum as n, count(*) over () as total,
&ls_below_12_1                        decode(substr(dump(q.sid, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.sid, 1, 200) || chr(1) || to_char(q.serial#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.seq#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.event, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.event, 1, 200)
&ls_below_12_1                        || chr(1) || decode(substr(dump(q.p1, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p1, 1, 200) || chr(1) || decode(substr(dump(q.p1raw, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p1raw, 1, 200) || chr(1) || decode(substr(dump(q.p2, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p2, 1, 200)
&ls_below_12_1                        || chr(1) || decode(substr(dump(q.p3, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p3, 1, 200) || chr(1) || decode(substr(dump(q.sql_id, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.sql_id, 1, 200) || chr(1) || decode(substr(dump(q.module, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.module, 1, 200)
&ls_below_12_1                        || chr(1) || decode(substr(dump(q.program, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.program, 1, 200) || chr(1) || decode(substr(dump(q.username, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.username, 1, 200) || chr(1) || decode(substr(dump(q.type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.type, 1, 200)
&ls_below_12_1                        || chr(1) || decode(substr(dump(q.blocking_instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_instance, 1, 200) || chr(1) || decode(substr(dump(q.blocking_session, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_session, 1, 200)
&ls_below_12_1                        || chr(1) || decode(substr(dump(q.final_blocking_instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_instance, 1, 200) || chr(1) || decode(substr(dump(q.final_blocking_session, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_session, 1, 200)
&ls_below_12_1                        || chr(1) || to_char(q.wait_time_micro, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.met, 'TM9', 'nls_numeric_characters=''.,''') as cells
&ls_below_12_1                   from (select /* latchscope waiting_sessions */
&ls_below_12_1                                sid, serial#, seq#, event, p1, p1raw, p2, p3, sql_id, module, program, username, type,
&ls_below_12_1                                blocking_instance, blocking_session, final_blocking_instance, final_blocking_session,
&ls_below_12_1                                wait_time_micro, met
&ls_below_12_1                           from (select sid, serial#, seq#, event, p1, rawtohex(p1raw) as p1raw, p2, p3, sql_id, module, program, username, type,
&ls_below_12_1                                blocking_instance, blocking_session, final_blocking_instance, final_blocking_session,
&ls_below_12_1                                wait_time_micro, count(*) over () as met
&ls_below_12_1                                   from v$session
&ls_below_12_1                                  where state = 'WAITING'
&ls_below_12_1                                    and event in ('latch: row cache objects', 'row cache mutex', 'row cache lock', 'latch free')
&ls_below_12_1                                    and sid <> to_number(sys_context('userenv', 'sid'))
&ls_below_12_1                                  order by wait_time_micro desc)
&ls_below_12_1                          where rownum <= 200) q))
&ls_below_12_1 union all
&ls_below_12_1 select '{ls|once|waiting_sessions|' || 'end|175|sid|serial#|seq#|event|p1|p1raw|p2|p3|sql_id|module|program|username|type|blocking_instance|blocking_session|final_blocking_instance|final_blocking_session|wait_time_micro|met}' from dual
&ls_from_12_1 select '{ls|once|waiting_sessions|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
&ls_from_12_1   from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
&ls_from_12_1           from (select rownum as n, count(*) over () as total,
&ls_from_12_1                        decode(substr(dump(q.sid, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.sid, 1, 200) || chr(1) || to_char(q.serial#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.seq#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.event, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.event, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.p1, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p1, 1, 200) || chr(1) || decode(substr(dump(q.p1raw, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p1raw, 1, 200) || chr(1) || decode(substr(dump(q.p2, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p2, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.p3, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.p3, 1, 200) || chr(1) || decode(substr(dump(q.sql_id, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.sql_id, 1, 200) || chr(1) || decode(substr(dump(q.module, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.module, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.program, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.program, 1, 200) || chr(1) || decode(substr(dump(q.username, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.username, 1, 200) || chr(1) || decode(substr(dump(q.type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.type, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.con_id, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.con_id, 1, 200) || chr(1) || decode(substr(dump(q.blocking_instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_instance, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.blocking_session, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.blocking_session, 1, 200) || chr(1) || decode(substr(dump(q.final_blocking_instance, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_instance, 1, 200)
&ls_from_12_1                        || chr(1) || decode(substr(dump(q.final_blocking_session, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.final_blocking_session, 1, 200) || chr(1) || to_char(q.wait_time_micro, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.met, 'TM9', 'nls_numeric_characters=''.,''') as cells
&ls_from_12_1                   from (select /* latchscope waiting_sessions */
&ls_from_12_1                                con_id, sid, serial#, seq#, event, p1, p1raw, p2, p3, sql_id, module, program, username, type,
&ls_from_12_1                                blocking_instance, blocking_session, final_blocking_instance, final_blocking_session,
&ls_from_12_1                                wait_time_micro, met
&ls_from_12_1                           from (select con_id, sid, serial#, seq#, event, p1, rawtohex(p1raw) as p1raw, p2, p3, sql_id, module, program, username, type,
&ls_from_12_1                                blocking_instance, blocking_session, final_blocking_instance, final_blocking_session,
&ls_from_12_1                                wait_time_micro, count(*) over () as met
&ls_from_12_1                                   from v$session
&ls_from_12_1                                  where state = 'WAITING'
&ls_from_12_1                                    and event in ('latch: row cache objects', 'row cache mutex', 'row cache lock', 'latch free')
&ls_from_12_1                                    and sid <> to_number(sys_context('userenv', 'sid'))
&ls_from_12_1                                  order by wait_time_micro desc)
&ls_from_12_1                          where rownum <= 200) q))
&ls_from_12_1 union all
&ls_from_12_1 select '{ls|once|waiting_sessions|' || 'end|182|sid|serial#|seq#|event|p1|p1raw|p2|p3|sql_id|module|program|username|type|con_id|blocking_instance|blocking_session|final_blocking_instance|final_blocking_session|wait_time_micro|met}' from dual
)
/

set termout on
prompt latchscope: x$kqrst comes three times, through our view, through that of older releases, and as SYS reads it;
prompt latchscope: that all but one of them fail is expected
prompt reading {ls|once|x$kqrst|open|0|}
set termout off
select ls_line from (
select '{ls|once|x$kqrst|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       to_char(q.child#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.cache#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.type, 1, 200) || chr(1) || to_char(q.subordinate#, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope x$kqrst */
                               kqrstcln as child#, kqrstcid as cache#,
                               decode(kqrsttyp, 1, 'PARENT', 'SUBORDINATE') as type,
                               case when kqrsttyp <> 1 then kqrstsno end as subordinate#
                          from sys.latchscope_kqrst) q))
union all
select '{ls|once|x$kqrst|' || 'end|31|child#|cache#|type|subordinate#}' from dual
)
/

set termout on
prompt reading {ls|sys|x$kqrst|open|0|}
set termout off
select ls_line from (
select '{ls|sys|x$kqrst|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       to_char(q.child#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.cache#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.type, 1, 200) || chr(1) || to_char(q.subordinate#, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope x$kqrst */
                               kqrstcln as child#, kqrstcid as cache#,
                               decode(kqrsttyp, 1, 'PARENT', 'SUBORDINATE') as type,
                               case when kqrsttyp <> 1 then kqrstsno end as subordinate#
                          from x$kqrst) q))
union all
select '{ls|sys|x$kqrst|' || 'end|31|child#|cache#|type|subordinate#}' from dual
)
/

set termout on
prompt reading {ls|old|x$kqrst|open|0|}
set termout off
select ls_line from (
select '{ls|old|x$kqrst|' || n || '/' || total || '|' || nvl(length(body), 0) || '|' || body || '}' as ls_line
  from (select n, total, translate(replace(replace(asciistr(cells), '~', '\007E'), '|', '\007C'), ' ' || chr(9) || chr(10) || chr(13) || chr(1) || chr(0), '~~~~|') as body
          from (select rownum as n, count(*) over () as total,
                       to_char(q.child#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || to_char(q.cache#, 'TM9', 'nls_numeric_characters=''.,''') || chr(1) || decode(substr(dump(q.type, 10, 1, 1), 1, 6), 'Typ=2 ', null, '"') || substr(q.type, 1, 200) || chr(1) || to_char(q.subordinate#, 'TM9', 'nls_numeric_characters=''.,''') as cells
                  from (select /* latchscope x$kqrst */
                               kqrstcln as child#, kqrstcid as cache#,
                               decode(kqrsttyp, 1, 'PARENT', 'SUBORDINATE') as type,
                               case when kqrsttyp <> 1 then kqrstsno end as subordinate#
                          from sys.x_$kqrst) q))
union all
select '{ls|old|x$kqrst|' || 'end|31|child#|cache#|type|subordinate#}' from dual
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
