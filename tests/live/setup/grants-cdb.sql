-- latchscope on a container database, 12.1 and later.
-- Run it as SYS in CDB$ROOT, in SQL*Plus. It makes C##LATCHSCOPE, who can only read.
-- Run it in a quiet hour, never during an incident. A direct grant or revoke invalidates the cursors that depend on the
-- object, so every statement over these views is parsed again, and a hard parse needs the dictionary cache.
-- It grants READ, which allows queries and no locks. Before 12.1.0.2 it ends with ORA-00990, and where you
-- may not pass it on with ORA-01031: write select for read there.
alter session set container = CDB$ROOT;
-- A password that expired would end the monitoring some night. Where your rules want a lifetime, write it here, and
-- change the password in time: its file is read at each login. At most five sessions, if resource_limit is true:
-- one polls, one replaces it if it no longer answers, one acts for a person, one belongs to a command,
-- and one may be dead without the database knowing. Raise it if several latchscopes, or several entries of one,
-- watch the same instance with this user.
create profile C##LATCHSCOPE_PROFILE limit password_life_time unlimited sessions_per_user 5 container = all;
set verify off
create user C##LATCHSCOPE identified by "&latchscope_password" profile C##LATCHSCOPE_PROFILE container = all;
undefine latchscope_password
grant create session to C##LATCHSCOPE;
alter user C##LATCHSCOPE set container_data = all container = current;
grant read on sys.v_$instance to C##LATCHSCOPE;
grant read on sys.v_$session to C##LATCHSCOPE;
grant read on sys.v_$rowcache_parent to C##LATCHSCOPE;
grant read on sys.v_$event_name to C##LATCHSCOPE;
grant read on sys.v_$latch_misses to C##LATCHSCOPE;
grant read on sys.v_$latchname to C##LATCHSCOPE;
grant read on sys.v_$mutex_sleep to C##LATCHSCOPE;
grant read on sys.v_$osstat to C##LATCHSCOPE;
grant read on sys.v_$system_parameter to C##LATCHSCOPE;
grant read on sys.v_$rowcache to C##LATCHSCOPE;
grant read on sys.v_$sga_resize_ops to C##LATCHSCOPE;
grant read on sys.v_$sgastat to C##LATCHSCOPE;
grant read on sys.v_$sys_time_model to C##LATCHSCOPE;
grant read on sys.v_$sysstat to C##LATCHSCOPE;
grant read on sys.v_$system_event to C##LATCHSCOPE;
grant read on sys.v_$undostat to C##LATCHSCOPE;
-- For releases up to 12.1 only. From 12.2 on mutexes guard the row cache: leave out the next two statements there,
-- or print the script of your release, such as `latchscope grants --for 19c`, which has none of them.
-- ORA-00955 at create view: a view of that name is there already and stays as it is; drop it if it is not ours.
create view sys.latchscope_kqrst as select kqrstcln, kqrstcid, kqrsttyp, kqrstsno from x$kqrst;
grant read on sys.latchscope_kqrst to C##LATCHSCOPE;
grant read on sys.v_$latch to C##LATCHSCOPE;
grant read on sys.v_$latch_children to C##LATCHSCOPE;
grant read on sys.v_$latchholder to C##LATCHSCOPE;
grant read on sys.gv_$session to C##LATCHSCOPE;
-- Optional: the patches with SQL, by which a diagnosis says whether a bug is fixed here, and the waits and names
-- of containers, by which it says whose the waits are.
grant read on sys.dba_registry_sqlpatch to C##LATCHSCOPE;
grant read on sys.v_$con_system_event to C##LATCHSCOPE;
grant read on sys.v_$containers to C##LATCHSCOPE;
-- Optional, read only while sessions hang: undo to roll back, coordinators of slaves, modes of locks,
-- names of jobs. Leave them out, and a diagnosis says what it does not know.
grant read on sys.gv_$ges_blocking_enqueue to C##LATCHSCOPE;
grant read on sys.cdb_scheduler_running_jobs to C##LATCHSCOPE;
grant read on sys.v_$cleanup_process to C##LATCHSCOPE;
grant read on sys.v_$dead_cleanup to C##LATCHSCOPE;
grant read on sys.v_$lock to C##LATCHSCOPE;
grant read on sys.v_$px_session to C##LATCHSCOPE;
grant read on sys.v_$transaction to C##LATCHSCOPE;
-- Only for defaults.wait_chains: on, which reads Oracle's own analysis of a hang (ask for your licence first):
-- grant read on sys.v_$hang_info to C##LATCHSCOPE;
-- grant read on sys.v_$hang_session_info to C##LATCHSCOPE;
-- grant read on sys.v_$wait_chains to C##LATCHSCOPE;
-- Optional, for what changed before the waits began: DDL, statistics, jobs, windows, opened containers, patches. Read
-- once an hour and when a problem begins. Leave them out, and the timeline says which of these it does not know.
grant read on sys.cdb_objects to C##LATCHSCOPE;
grant read on sys.cdb_optstat_operations to C##LATCHSCOPE;
grant read on sys.cdb_scheduler_job_run_details to C##LATCHSCOPE;
grant read on sys.cdb_scheduler_window_log to C##LATCHSCOPE;
grant read on sys.cdb_registry_sqlpatch to C##LATCHSCOPE;
grant read on sys.v_$pdbs to C##LATCHSCOPE;
-- X$ tables cannot be granted (ORA-02030), so SYS owns a view of the four columns needed. Drop it before an
-- upgrade and create it again afterwards: drop view sys.latchscope_kqrst;
