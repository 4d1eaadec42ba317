-- Run once by the container, as SYS in CDB$ROOT: the user of the mutex era. The password is for this container only.
set echo off verify off
define latchscope_password = latchscope
@/opt/latchscope/grants-cdb.sql
