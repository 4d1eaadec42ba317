-- Run once by the container, as SYS: the user of the latch era. The password is for this container only.
set echo off verify off
define latchscope_password = latchscope
@/opt/latchscope/grants-11.2.sql
