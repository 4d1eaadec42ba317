-- Run once by the container, as SYS: the user of the latch era. Its password was made up for this container.
set echo off verify off
@/run/generated/latchscope.sql
@/opt/latchscope/grants-11.2.sql
