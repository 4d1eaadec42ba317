-- latchscope on 11.2, which has no containers.
-- Run it as SYS, in SQL*Plus. It makes LATCHSCOPE, who can only read.
-- Run it in a quiet hour, never during an incident. A direct grant or revoke invalidates the cursors that depend on the
-- object, so every statement over these views is parsed again, and a hard parse needs the dictionary cache.
-- It grants SELECT: READ, which allows queries and no locks, is there from 12.1.0.2 on.
-- A password that expired would end the monitoring some night. Where your rules want a lifetime, write it here, and
-- change the password in time: its file is read at each login. At most five sessions, if resource_limit is true:
-- one polls, one replaces it if it no longer answers, one acts for a person, one belongs to a command,
-- and one may be dead without the database knowing. Raise it if several latchscopes, or several entries of one,
-- watch the same instance with this user.
create profile LATCHSCOPE_PROFILE limit password_life_time unlimited sessions_per_user 5;
set verify off
create user LATCHSCOPE identified by "&latchscope_password" profile LATCHSCOPE_PROFILE;
undefine latchscope_password
grant create session to LATCHSCOPE;
grant select on sys.v_$instance to LATCHSCOPE;
grant select on sys.v_$session to LATCHSCOPE;
grant select on sys.v_$rowcache_parent to LATCHSCOPE;
grant select on sys.v_$event_name to LATCHSCOPE;
grant select on sys.v_$latch_misses to LATCHSCOPE;
grant select on sys.v_$latchname to LATCHSCOPE;
grant select on sys.v_$mutex_sleep to LATCHSCOPE;
grant select on sys.v_$osstat to LATCHSCOPE;
grant select on sys.v_$system_parameter to LATCHSCOPE;
grant select on sys.v_$rowcache to LATCHSCOPE;
grant select on sys.v_$sga_resize_ops to LATCHSCOPE;
grant select on sys.v_$sgastat to LATCHSCOPE;
grant select on sys.v_$sys_time_model to LATCHSCOPE;
grant select on sys.v_$sysstat to LATCHSCOPE;
grant select on sys.v_$system_event to LATCHSCOPE;
grant select on sys.v_$undostat to LATCHSCOPE;
-- ORA-00955 at create view: a view of that name is there already and stays as it is; drop it if it is not ours.
create view sys.latchscope_kqrst as select kqrstcln, kqrstcid, kqrsttyp, kqrstsno from x$kqrst;
grant select on sys.latchscope_kqrst to LATCHSCOPE;
grant select on sys.v_$latch to LATCHSCOPE;
grant select on sys.v_$latch_children to LATCHSCOPE;
grant select on sys.v_$latchholder to LATCHSCOPE;
grant select on sys.gv_$session to LATCHSCOPE;
-- Optional, read only while sessions hang: undo to roll back, coordinators of slaves, modes of locks,
-- names of jobs. Leave them out, and a diagnosis says what it does not know.
grant select on sys.gv_$ges_blocking_enqueue to LATCHSCOPE;
grant select on sys.dba_scheduler_running_jobs to LATCHSCOPE;
grant select on sys.v_$lock to LATCHSCOPE;
grant select on sys.v_$px_session to LATCHSCOPE;
grant select on sys.v_$transaction to LATCHSCOPE;
-- Only for defaults.wait_chains: on, which reads Oracle's own analysis of a hang (ask for your licence first):
-- grant select on sys.v_$hang_info to LATCHSCOPE;
-- grant select on sys.v_$hang_session_info to LATCHSCOPE;
-- grant select on sys.v_$wait_chains to LATCHSCOPE;
-- Optional, for what changed before the waits began: DDL, statistics, jobs, windows, opened containers, patches. Read
-- once an hour and when a problem begins. Leave them out, and the timeline says which of these it does not know.
grant select on sys.dba_objects to LATCHSCOPE;
grant select on sys.dba_optstat_operations to LATCHSCOPE;
grant select on sys.dba_scheduler_job_run_details to LATCHSCOPE;
grant select on sys.dba_scheduler_window_log to LATCHSCOPE;
-- X$ tables cannot be granted (ORA-02030), so SYS owns a view of the four columns needed. Drop it before an
-- upgrade and create it again afterwards: drop view sys.latchscope_kqrst;
