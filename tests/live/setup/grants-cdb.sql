-- latchscope on a container database (12.1+): run as SYS in CDB$ROOT. It creates C##LATCHSCOPE, who can only read.
alter session set container = CDB$ROOT;
create user C##LATCHSCOPE identified by &password container = all;
grant create session to C##LATCHSCOPE;
alter user C##LATCHSCOPE set container_data = all container = current;
grant select on sys.v_$instance to C##LATCHSCOPE;
grant select on sys.v_$rowcache_parent to C##LATCHSCOPE;
grant select on sys.v_$event_name to C##LATCHSCOPE;
grant select on sys.v_$latch to C##LATCHSCOPE;
grant select on sys.v_$latch_misses to C##LATCHSCOPE;
grant select on sys.v_$latchname to C##LATCHSCOPE;
grant select on sys.v_$mutex_sleep to C##LATCHSCOPE;
grant select on sys.v_$osstat to C##LATCHSCOPE;
grant select on sys.v_$system_parameter to C##LATCHSCOPE;
grant select on sys.v_$rowcache to C##LATCHSCOPE;
grant select on sys.v_$session to C##LATCHSCOPE;
grant select on sys.v_$sga_resize_ops to C##LATCHSCOPE;
grant select on sys.v_$sgastat to C##LATCHSCOPE;
grant select on sys.v_$sys_time_model to C##LATCHSCOPE;
grant select on sys.v_$sysstat to C##LATCHSCOPE;
grant select on sys.v_$system_event to C##LATCHSCOPE;
grant select on sys.v_$undostat to C##LATCHSCOPE;
create or replace view sys.x_$kqrst as select kqrstcln, kqrstcid, kqrsttyp, kqrstsno from x$kqrst;
grant select on sys.x_$kqrst to C##LATCHSCOPE;
grant select on sys.v_$latch_children to C##LATCHSCOPE;
grant select on sys.v_$latchholder to C##LATCHSCOPE;
-- X$ tables cannot be granted (ORA-02030), so SYS owns a view of the four columns needed. Drop it before an
-- upgrade and create it again afterwards: drop view sys.x_$kqrst;
