-- latchscope.sql, made by `latchscope script`
-- What it does   Reads the views in which an Oracle instance tells about its dictionary cache, twice, @SECONDS@ s apart, and
--                looks @LOOKS@ times in between at who waits. Writes ONE text file, latchscope_INSTANCE_TIME.txt, into
--                the current directory. Take that file to wherever latchscope is:  latchscope diagnose FILE
-- How to run it  sqlplus / as sysdba @latchscope.sql      (any user with the grants of `latchscope grants` will do)
--                sql / as sysdba @latchscope.sql          (SQLcl)
--                In a session of its own: it changes SET options. In CDB$ROOT, on the instance that is slow.
-- What it reads  @VIEWS@
-- What it costs  @STATEMENTS@ small SELECTs, one at a time, in @SECONDS@ s and what they take themselves; @LOOKS@ of them one a second
--                at v$session. Each holds a comment with the word latchscope, by which v$sql shows whose it is.
-- Licences       None is needed: it reads no session history, no workload repository, no SQL monitor.
-- Safety         SELECTs only, and blocks that sleep or open a SELECT. It creates, changes and locks nothing, alters
--                neither system nor session, and names itself in v$session.module.
-- If it hangs    Ctrl-C ends the statement that hangs. The file is good up to there, and says what is missing.

whenever sqlerror continue
whenever oserror continue
set echo off
set verify off
set feedback off
set timing off
set time off
set autotrace off
set define on
set escape off
set sqlblanklines on
set sqlterminator on
set heading off
set pagesize 0
set newpage none
set embedded off
set recsep off
set wrap on
set tab off
set trimout on
set trimspool on
set linesize 32767
set arraysize 100
set flush on
set pause off
set termout off

-- What the release decides: a text that is not for it is commented out. Oldest texts, should the release be hidden.
@DEFINES@
column ls_file new_value ls_file noprint

select
@SWITCHES@
       null as nothing
  from (select nvl(to_number(regexp_substr(version, '[0-9]+', 1, 1)), 0) * 1000000
               + nvl(to_number(regexp_substr(version, '[0-9]+', 1, 2)), 0) * 10000
               + nvl(to_number(regexp_substr(version, '[0-9]+', 1, 3)), 0) * 100
               + nvl(to_number(regexp_substr(version, '[0-9]+', 1, 4)), 0) as release
          from v$instance)
/

define ls_file = latchscope.txt
select 'latchscope_' || translate(lower(sys_context('userenv', 'instance_name')), 'x/\:*?"<>| ', 'x')
       || '_' || to_char(sysdate, 'YYYYMMDD_HH24MISS') || '.txt' as ls_file
  from dual
/

spool &ls_file
set termout on
prompt latchscope: reading this instance for about @SECONDS@ s; Ctrl-C ends a statement that hangs
prompt {ls|head|latchscope-spool-@FORMAT@|open|0|}
set termout off

begin
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

@SECTIONS@
spool off
set termout on
prompt latchscope: done. Take this file home: &ls_file
set feedback on
set heading on
set pagesize 14
set linesize 80
