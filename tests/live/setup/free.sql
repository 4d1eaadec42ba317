-- Run once by the container, as SYS in CDB$ROOT: the user of the mutex era. Its password was made up for this container.
set echo off verify off
@/run/generated/latchscope.sql
@/opt/latchscope/grants-cdb.sql
