-- Heats dc_sequences and dc_rollback_segments for a while, on a database that exists for nothing else.
--
--   docker compose exec oracle sqlplus / as sysdba @/opt/workload.sql 8 300      (sessions, seconds)
--
-- Each session calls a sequence without a cache, so that every number is an update of the dictionary (dc_sequences,
-- `row cache lock`), and commits after every row, so that every row is a transaction with an undo segment to bind
-- (dc_rollback_segments). Half of the sessions parse a statement of its own for each row, which adds gets of the
-- object and user caches. Everything is dropped at the end; run it again after an interrupted one.
set serveroutput on verify off feedback off
define sessions = &1
define seconds = &2

declare
  procedure quietly(statement varchar2) is
  begin
    execute immediate statement;
  exception when others then null;
  end;
begin
  quietly('drop procedure latchscope_heat');
  quietly('drop table latchscope_rows purge');
  quietly('drop sequence latchscope_numbers');
end;
/
create sequence latchscope_numbers nocache order;
create table latchscope_rows (id number, session_no number);
create or replace procedure latchscope_heat(session_no number, seconds number) as
  until_then date := sysdate + seconds / 86400;
  found number;
begin
  while sysdate < until_then loop
    insert into latchscope_rows values (latchscope_numbers.nextval, session_no);
    commit;
    if mod(session_no, 2) = 0 then
      execute immediate 'select count(*) from latchscope_rows where id = ' || dbms_random.value(1, 1e9) into found;
    end if;
  end loop;
end;
/
begin
  for one in 1 .. &sessions loop
    dbms_scheduler.create_job(
      job_name => 'LATCHSCOPE_HEAT_' || one, job_type => 'PLSQL_BLOCK', enabled => true, auto_drop => true,
      job_action => 'begin latchscope_heat(' || one || ', &seconds); end;');
  end loop;
end;
/
declare
  still number;
begin
  loop
    execute immediate 'select count(*) from user_scheduler_jobs where job_name like ''LATCHSCOPE_HEAT_%''' into still;
    exit when still = 0;
    execute immediate 'begin dbms_lock.sleep(1); end;';
  end loop;
  dbms_output.put_line('done');
end;
/
drop procedure latchscope_heat;
drop table latchscope_rows purge;
drop sequence latchscope_numbers;
exit
