-- latchscope on Oracle 11.2 or a non-CDB: run as SYS, in SQL*Plus. It creates LATCHSCOPE, who can only read.
create user LATCHSCOPE identified by &password;
grant create session to LATCHSCOPE;
grant select on sys.v_$instance to LATCHSCOPE;
grant select on sys.v_$rowcache_parent to LATCHSCOPE;
grant select on sys.v_$event_name to LATCHSCOPE;
grant select on sys.v_$latch to LATCHSCOPE;
grant select on sys.v_$latch_misses to LATCHSCOPE;
grant select on sys.v_$latchname to LATCHSCOPE;
grant select on sys.v_$mutex_sleep to LATCHSCOPE;
grant select on sys.v_$osstat to LATCHSCOPE;
grant select on sys.v_$system_parameter to LATCHSCOPE;
grant select on sys.v_$rowcache to LATCHSCOPE;
grant select on sys.v_$session to LATCHSCOPE;
grant select on sys.v_$sga_resize_ops to LATCHSCOPE;
grant select on sys.v_$sgastat to LATCHSCOPE;
grant select on sys.v_$sys_time_model to LATCHSCOPE;
grant select on sys.v_$sysstat to LATCHSCOPE;
grant select on sys.v_$system_event to LATCHSCOPE;
grant select on sys.v_$undostat to LATCHSCOPE;
create or replace view sys.x_$kqrst as select kqrstcln, kqrstcid, kqrsttyp, kqrstsno from x$kqrst;
grant select on sys.x_$kqrst to LATCHSCOPE;
grant select on sys.v_$latch_children to LATCHSCOPE;
grant select on sys.v_$latchholder to LATCHSCOPE;
-- X$ tables cannot be granted (ORA-02030), so SYS owns a view of the four columns needed. Drop it before an
-- upgrade and create it again afterwards: drop view sys.x_$kqrst;
