-- @NAME@.sql, made by `latchscope script`
-- What it does   Reads the views in which an Oracle instance tells about its dictionary cache, twice, @SECONDS@ s apart@LOOKING@
--                ONE text file, latchscope_INSTANCE_TIME.txt, into the directory you start it from, which you must be
--                able to write to. Take that file to wherever latchscope is:  latchscope diagnose FILE
-- How to run it  sqlplus / as sysdba @@NAME@.sql      (any user with the grants of `latchscope grants` will do)
--                sql / as sysdba @@NAME@.sql          (SQLcl)
--                In a session of its own. In CDB$ROOT, on the instance that is slow. @ENDING@
-- What it reads  @VIEWS@
-- What it costs  @STATEMENTS@ SELECTs, one at a time, in @SECONDS@ s and what they take themselves@LOOKED@.
--                Each holds a comment with the word latchscope, by which v$sql shows whose it is.
--                @PARSED@ of them are different texts: each is hard parsed once, as SYS if SYS runs this, on the instance that is
--                sick. Where parsing is what it is sick of, each may take seconds; only the first snapshot has to bear it.
@CONFIRMING@-- Licences       None is needed: it reads no session history, no workload repository, no SQL monitor.
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
@DEFINES@

select
@SWITCHES@
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
prompt latchscope: reading this instance for about @SECONDS@ s@LONGER@; Ctrl-C ends a statement that hangs
prompt latchscope: if a prompt comes back (not with </dev/null), type  spool off  and  exit
prompt {ls|head|latchscope-spool-@FORMAT@|open|0|}
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

@SECTIONS@
begin
  dbms_application_info.set_module(:ls_module, :ls_action);
end;
/
set termout on
spool off
prompt latchscope: read to the end. Unless an error above says that the file could not be created,
prompt latchscope: take &ls_file home, from the directory you started from
@LEAVE@