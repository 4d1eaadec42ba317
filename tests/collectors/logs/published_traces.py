"""Traces that people have published, written anew: the layout of each source, with names and figures of our own.

Of every source: its address, what it says, the lines as such a file has them, and what we say of them.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """`kinds` and `said`: kinds of the events and words of theirs; `ends`: sessions at the end of the chains of the diagnosis."""

    name: str
    address: str
    says: str
    text: str
    kinds: tuple[str, ...]
    said: tuple[str, ...]
    ends: tuple[int, ...] = ()
    cache: str | None = None


TIMEOUT = """\
/opt/oracle/admin/MILL/udump/mill1_ora_4417.trc
Oracle Database 10g Enterprise Edition Release 10.2.0.4.0 - 64bit Production
With the Partitioning, Real Application Clusters, OLAP, Data Mining
ORACLE_HOME = /opt/oracle/product/dbs
System name:\tLinux
Node name:\tdb7
Release:\t2.6.18
Version:\t#1 SMP
Machine:\tx86_64
Instance name: MILL1
Redo thread mounted by this instance: 1
Oracle process number: 51
Unix process pid: 4417, image: oracle@db7

*** 2011-02-03 06:41:09.118
*** ACTION NAME:() 2011-02-03 06:41:09.118
*** MODULE NAME:(WEIGH) 2011-02-03 06:41:09.118
*** SERVICE NAME:(MILL) 2011-02-03 06:41:09.118
*** SESSION ID:(208.4411) 2011-02-03 06:41:09.118
>>> WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! <<<
row cache enqueue: session: 70000001c210e40, mode: N, request: S
row cache parent object: address=70000003a118c20 cid=0(dc_tablespaces)
hash=b1720cd1 typ=9 transaction=0 flags=00008000
"""

DEADLOCK = """\
*** 2015-06-09 21:11:40.771
DEADLOCK DETECTED ( ORA-00060 )

[Transaction Deadlock]

The following deadlock is not an ORACLE error.

Deadlock graph:
                       ---------Blocker(s)--------  ---------Waiter(s)---------
Resource Name          process session holds waits  process session holds waits
{first}
{second}

session {one}: DID 0001-00ED-0000004B\tsession {two}: DID 0001-01B9-00000053

Rows waited on:
  Session {one}: obj - rowid = 0009AF12 - AAAJvRAAHAAAAWjAAF
ORA-00060: deadlock detected while waiting for resource
"""


def deadlock(enqueue: str, one: int, two: int, modes: str) -> str:
    """A deadlock graph of two sessions."""
    return DEADLOCK.format(
        first=f"{enqueue}-00290010-00015f75        95    {one}     {modes}             88      {two}           {modes}",
        second=f"{enqueue}-00570012-00005d9b        88    {two}     {modes}             95      {one}           {modes}",
        one=one,
        two=two,
    )


def chained(waiter: int, event: str, parameters: str, ahead: int, ahead_waits: str, image: str = "oracle@db7") -> str:
    """A chain of two sessions as 11.2 and later write it."""
    return f"""\
Chain 1:
-------------------------------------------------------------------------------
    Oracle session identified by:
    {{
                instance: 1 (mill.mill1)
                   os id: 6605
              process id: 33, {image}
              session id: {waiter}
        session serial #: 87
    }}
    is waiting for '{event}' with wait info:
    {{
{parameters}
            time in wait: 4 min 6 sec
           timeout after: never
                 wait id: 23
                blocking: 0 sessions
    }}
    and is blocked by
 => Oracle session identified by:
    {{
                instance: 1 (mill.mill1)
                   os id: 6611
              process id: 42, oracle@db7 (TNS V1-V3)
              session id: {ahead}
        session serial #: 1248
    }}
    which is {ahead_waits}
    {{
                blocking: 1 session
    }}

Chain 1 Signature: x
"""


LOCK = "                      p1: 'cache id'={0}\n                      p2: 'mode'=0x0\n                      p3: 'request'=0x5"
TX = "                      p1: 'name|mode'=0x54580006\n                      p2: 'usn<<16 | slot'=0xa001b"
HANG = "*** 2016-08-19 10:20:30.401\n===========\nHANG ANALYSIS:\n  instances (db_name.oracle_sid): mill.mill1\n===========\n"

PUBLISHED = (
    Published(
        "time-out of 10.2.0.4",
        "https://arjuiut.blogspot.com/2010/09/waited-too-long-for-row-cache-enqueue.html",
        "a session of a 10.2.0.4 cluster waited too long for dc_tablespaces in share mode",
        TIMEOUT,
        ("row_cache_timeout",),
        ("dc_tablespaces (cache id 0), asked for in share mode by session 208,4411",),
    ),
    Published(
        "time-out with quotation marks",
        "http://oracledocaccess.blogspot.com/2009/08/row-cache-lock.html",
        "the time-out on one line, the address and the cache behind quotation marks",
        ">> WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! <<>> WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! << "
        'address="70000003a118c20" cid="0(dc_tablespaces)\nhash=b1720cd1 typ=9 transaction=0 flags=00008000\n',
        ("row_cache_timeout",),
        ("dc_tablespaces (cache id 0)",),
    ),
    Published(
        "time-out without a head",
        "https://oracle-dba-quickanswers.blogspot.com/2011/10/potential-reasons-for-waited-too-long.html",
        "the lines of the time-out alone, as a support note quotes them",
        "...\n"
        ">>> WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! <<<\n"
        "row cache enqueue: session: 70000001c210e40, mode: N, request: S\n"
        "row cache parent object: address=70000003a118c20 cid=0(dc_tablespaces)\n"
        "hash=b1720cd1 typ=9 transaction=0 flags=00008000\n...\n",
        ("row_cache_timeout",),
        ("dc_tablespaces (cache id 0), asked for in share mode",),
    ),
    Published(
        "time-out with holder",
        "https://e-com-net.com/article/5727785.htm",
        "the support note on the time-out: the holder is found in the system state by the address of the entry",
        TIMEOUT.replace("cid=0(dc_tablespaces)", "cid=13(dc_sequences)").replace("request: S", "request: X")
        + """\
own=70000003a118d00[700000010c0ffee,700000010c0ffee] wat=70000003a118d10[70000001c210e40,70000001c210e40] mode=X
status=VALID/-/-/-/-/-/-/-/-
===================================================
SYSTEM STATE
------------
PROCESS 51:
  ----------------------------------------
    SO: 70000001c210e40, type: 4, owner: 70000001a000000, flag: INIT/-/-/0x00
    (session) sid: 208 trans: 0, creator: 70000001a000000, flag: (41) USR/- BSY/-/-/-/-/-
    waiting for 'row cache lock' blocking sess=0x0 seq=88 wait_time=0 seconds since wait started=204
                cache id=d, mode=0, request=5
      SO: 70000002b0b0b0b, type: 50, owner: 70000001c210e40, flag: INIT/-/-/0x00
      row cache enqueue: count=1 session=70000001c210e40 object=70000003a118c20, request=X
      row cache parent object: address=70000003a118c20 cid=13(dc_sequences)
PROCESS 77:
  ----------------------------------------
    SO: 700000010c0ffee, type: 4, owner: 70000001a000111, flag: INIT/-/-/0x00
    (session) sid: 341 trans: 70000009, creator: 70000001a000111, flag: (41) USR/- BSY/-/-/-/-/-
              program: batch@app2 (TNS V1-V3)
    last wait for 'db file sequential read' blocking sess=0x0 seq=7 wait_time=31 seconds since wait started=0
      SO: 70000002b0b0c0c, type: 50, owner: 700000010c0ffee, flag: INIT/-/-/0x00
      row cache enqueue: count=1 session=700000010c0ffee object=70000003a118c20, mode=X
      row cache parent object: address=70000003a118c20 cid=13(dc_sequences)
END OF SYSTEM STATE
""",
        ("row_cache_timeout", "wait_chain"),
        (
            "dc_sequences (cache id 13), asked for in exclusive mode by session",
            "held in exclusive mode by another session",
            "behind session 341",
        ),
        (341,),
        "dc_sequences",
    ),
    Published(
        "cycle of row cache and library cache",
        "https://nenadnoveljic.com/blog/deadlock-row-cache-lock-library-cache-lock/",
        "DIA0 ends a wait of M007, which splits a partition and waits for the row cache; the other session for the library cache",
        """\
*** 2020-03-28T22:00:14.118204+01:00
Resolving deadlock by signaling ORA-00060 to 'instance: 1, os id: 27001, session id: 281'
  dump location: /u01/diag/rdbms/mill/mill1/trace/mill1_m007_27001.trc
    Oracle session identified by:
    {
                instance: 1 (mill.mill1)
                   os id: 27001
              process id: 55, oracle@db7 (M007)
              session id: 281
        session serial #: 14
             module name: 0 (MMON_SLAVE)
    }
    is waiting for 'row cache lock' with wait info:
    {
                      p1: 'cache id'=0x10
                      p2: 'mode'=0x0
                      p3: 'request'=0x5
            time in wait: 2.104411 sec
                blocking: 1 session
             current sql: alter table a split partition b
            wait history:
              * time between current wait and wait #1: 0.000044 sec
    }
    and is blocked by
 => Oracle session identified by:
    {
                instance: 1 (mill.mill1)
                   os id: 27114
              process id: 61, oracle@db7 (M003)
              session id: 60
        session serial #: 9
    }
    which is waiting for 'library cache lock' with wait info:
    {
                      p1: 'handle address'=0x7f00aa10
                      p2: 'lock address'=0x7f00bb20
                      p3: '100*mode+namespace'=0x2770900010003
            time in wait: 2.204411 sec
                blocking: 1 session
    }
    and is blocked by the session at the start of the chain.
""",
        ("deadlock", "wait_chain"),
        ("Oracle ends a wait of session 281 with ORA-00060", "2 sessions wait for each other in a circle"),
    ),
    Published(
        "level 1 without pointers",
        "http://what-when-how.com/Tutorial/topic-416hpkvq3/Secrets-of-the-Oracle-Database-527.html",
        "the session at the head of a chain locked a table, the next one waits for TM",
        "==============\nHANG ANALYSIS:\n==============\nOpen chains found:\n"
        "Chain 1 : <cnode/sid/sess_srno/ospid/wait_event> :\n"
        "<0/151/48/3581/No Wait> -- <0/157/519/6065/enq: TM - contention>\n"
        "Other chains found:\nChain 2 : <cnode/sid/sess_srno/ospid/wait_event> :\n<0/155/118/2500/jobq slave wait>\n",
        ("wait_chain",),
        ("1 session waits behind session 151,48, which is not in a wait; most wait for enq: TM - contention",),
    ),
    Published(
        "10g with an idle holder",
        "https://www.nameidi.com/n/w005ryrw.html",
        "a session that waits for its client blocks another one in a row lock",
        "*** MODULE NAME:(sqlplus@db7 (TNS V1-V3)) 2009-08-21 13:36:46.238\n*** SESSION ID:(532.3192) 2009-08-21 13:36:46.238\n"
        "==============\nHANG ANALYSIS:\n==============\nOpen chains found:\n\n"
        "Chain 1 : <cnode/sid/sess_srno/proc_ptr/ospid/wait_event> :\n\n"
        "<0/552/2127/0xd1006f29/25643/SQL*Net message from client>\n\n"
        "-- <0/1107/44387/0xd2001049/26065/enq: TX - row lock contention>\n\nOther chains found:\n",
        ("wait_chain",),
        ("1 session waits behind session 552,2127, which waits for SQL*Net message from client",),
    ),
    Published(
        "11.2.0.1 row lock",
        "https://e-com-net.com/article/1205295.htm",
        "an update waits behind another update that is not committed",
        HANG
        + chained(
            41, "enq: TX - row lock contention", TX, 35, "waiting for 'SQL*Net message from client' with wait info:"
        ),
        ("wait_chain",),
        ("1 session waits behind session 35,1248 on instance 1, which waits for SQL*Net message from client",),
    ),
    Published(
        "26ai with a summary of processes",
        "https://github.com/danimoya/autodiag/blob/661d6659034bc33249d0a7cb2172b0bbc46c55cf/tests/fixtures/23ai/traces/"
        "hanganalyze_systemstate.trc",
        "the head with number and id, a chain to a session that sleeps, nodes with times of waits, a summary of processes",
        "Trace file /opt/oracle/diag/rdbms/mill/MILL/trace/MILL_ora_1911.trc\n"
        "Oracle AI Database 26ai Free Release 23.26.3.0.0 - Develop, Learn, and Run for Free\nVersion 23.26.3.0.0\n"
        "Instance name: MILL\nInstance number: 1\nDatabase name: MILL\nDatabase id: 1501112213\n"
        "Unix process pid:       1911\n\n*** 2026-09-22T11:50:18.016435+00:00 (CDB$ROOT(1))\n"
        "*** SESSION ID:(48.53864) 2026-09-22T11:50:18.016445+00:00\n*** CLIENT IP:(10.1.2.3) 2026-09-22T11:50:18.016504+00:00\n"
        "=====\nHANG ANALYSIS:\n=====\n"
        + chained(178, "enq: TX - row lock contention", TX, 70, "waiting for 'PL/SQL lock timer' with wait info:")
        + "State of ALL nodes\n([nodenum]/cnode/sid/sess_srno/session/ospid/state/(wait_hash)/{time_in_wait}/[adjlist]):\n"
        "[69]/1/70/1248/0x878b51a0/6611/LEAF/(0x30c5f6b4)/{10793}\n[177]/1/178/87/0x879e92e8/6605/NLEAF/(0x12845616)/{6656}/[69]\n"
        "=====\nEND OF HANG ANALYSIS\n=====\nSYSTEM STATE (level=10, with short stacks)\n------------\n"
        "Dumping the Process Summary\n"
        "       1: PSEUDO process\n       2: PMON ospid 167 sid 1 ser 51353, waiting for 'pmon timer' \n\nEND OF SYSTEM STATE\n",
        ("wait_chain",),
        ("1 session waits behind session 70,1248 on instance 1, which waits for PL/SQL lock timer",),
    ),
    Published(
        "Hang Manager of a cluster",
        "https://docs.oracle.com/en/database/oracle/oracle-database/18/atnms/hang-manager-diagnostics-and-logging.html",
        "Hang Manager lists a hang over instances, its root session, and that it means to terminate the process",
        "*** 2016-07-16T12:39:02.715681-07:00\nResolvable Hangs in the System\n"
        "                      Root       Chain Total               Hang\n"
        "   Hang Hang          Inst Root  #hung #hung  Hang   Hang  Resolution\n"
        "     ID Type Status   Num  Sess   Sess  Sess  Conf   Span  Action\n"
        "  ----- ---- -------- ---- ----- ----- ----- ------ ------ -------------------\n"
        "      2 HANG RSLNPEND    3    47     3     6   HIGH GLOBAL Terminate Process\n\n"
        "  inst# SessId  Ser#     OSPID PrcNm Event\n  ----- ------ ----- --------- ----- -----\n"
        "      1    121  1239     34567    FG row cache lock\n      1     24  1349     34568    FG row cache lock\n"
        "      3     47  1459     34569    FG not in wait\n",
        ("wait_chain", "hang"),
        (
            "Hang Manager found hang 2: 6 sessions wait, session 47 on instance 3",
            "table of Hang Manager: 6 sessions wait behind session 47,1459 on instance 3",
        ),
        (47,),
    ),
    Published(
        "library cache lock in a system state",
        "http://datanotes4u.blogspot.com/2007/04/tip-42-package-compilation-took-long.html",
        "process 8 waits for a library cache lock, and process 9 holds a pin of the same handle",
        "SYSTEM STATE\n------------\nPROCESS 8:\n----------------------------------------\n"
        "    SO: 5005f000, type: 4, owner: 50000000, flag: INIT/-/-/0x00\n"
        "    (session) sid: 14 trans: 0, creator: 50000000, flag: (41) USR/- BSY/-/-/-/-/-\n"
        "    waiting for 'library cache lock' blocking sess=0x0 seq=253 wait_time=0\n"
        "                handle address=5023ff9c, lock address=5019dad4, 10*mode+namespace=15\n"
        "PROCESS 9:\n----------------------------------------\n    SO: 5005fad4, type: 4, owner: 50000011, flag: INIT/-/-/0x00\n"
        "    (session) sid: 15 trans: 0, creator: 50000011, flag: (41) USR/- BSY/-/-/-/-/-\n"
        "      LIBRARY OBJECT PIN: pin=5019d5e4 handle=5023ff9c mode=X lock=0\nEND OF SYSTEM STATE\n",
        (),
        (),
    ),
    Published(
        "deadlock of two transactions",
        "https://ruby-bash.developreference.com/article/21134726/Root+cause+of+deadlock",
        "two sessions of 12c hold and want rows of two tables",
        deadlock("TX", 1207, 11, "X"),
        ("deadlock",),
        ("deadlock of sessions 1207 and 11 on enqueues TX (ORA-00060), which are the application's",),
    ),
    Published(
        "deadlock seen in March",
        "http://www.linuxboy.net/linuxjc/80797.html",
        "two sessions wait for each other in TX, each exclusively",
        deadlock("TX", 1323, 697, "X"),
        ("deadlock",),
        ("deadlock of sessions 1323 and 697 on enqueues TX (ORA-00060), which are the application's",),
    ),
    Published(
        "deadlock with serial numbers",
        "https://github.com/danimoya/autodiag/blob/661d6659034bc33249d0a7cb2172b0bbc46c55cf/tests/fixtures/23ai/traces/deadlock_ora60.trc",
        "the graph of 18c and later has a column with the serial number after the modes",
        "*** 2023-06-06T05:37:54.554944+00:00 (CDB$ROOT(1))\nDEADLOCK DETECTED ( ORA-00060 )\nDeadlock graph:\n"
        "                                          ------------Blocker(s)-----------  ------------Waiter(s)------------\n"
        "Resource Name                             process session holds waits serial  process session holds waits serial\n"
        "TX-00030013-000003CD-00000001-00000000         73     139     X        39541      74     257           X  45851\n"
        "TX-00060006-000003BB-00000001-00000000         74     257     X        45851      73     139           X  39541\n",
        ("deadlock",),
        ("deadlock of sessions 139 and 257 on enqueues TX (ORA-00060), which are the application's",),
    ),
    Published(
        "global deadlock of three instances",
        "https://peasland.net/2015/03/02/gwfg-in-oracle-rac",
        "sessions on instances 4, 5 and 6 wait for each other in TM, as LMD writes",
        "*** 2015-02-27 04:16:33.183\nGlobal Wait-For-Graph(WFG) at ddTS[0.394e] :\n"
        "BLOCKED 0x551b2c618 2 wq 2 cvtops x1 TM 0x11ffa1.0x0(ext 0x0,0x0)[6B000-0004-0000022C] inst 4\n"
        "BLOCKER 0x5513ed318 2 wq 2 cvtops x1 TM 0x11ffa1.0x0(ext 0x0,0x0)[B6000-0006-00000098] inst 6\n"
        "BLOCKED 0x5513ef518 4 wq 2 cvtops x1 TM 0x11ffa1.0x0(ext 0x0,0x0)[66000-0005-00000FDA] inst 5\n"
        "* Cancel deadlock victim lockp 0x551b2c618\n",
        ("deadlock",),
        ("global deadlock over instances 4, 5, 6 on enqueues TM (ORA-00060)",),
    ),
    Published(
        "global deadlock of 10g",
        "https://www.orafaq.com/maillist/oracle-l/2010/11/25/0262.htm",
        "the layout of 10g, whose last column is the number of the node",
        "*** 2010-11-25 17:50:55.001\nGlobal Wait-For-Graph(WFG) at ddTS[0.1063] :\n"
        "BLOCKED 0x1d4929551 5 wq 2 cvtops x1 [0x1c001c][0x19645],[TX] [4A000-0001-00000D8B] 0 \n"
        "BLOCKER 0x1b81f25d1 5 wq 1 cvtops x8 [0x1c001c][0x19645],[TX] [B3000-0002-00000C61] 1 \n",
        ("deadlock",),
        ("global deadlock on enqueues TX (ORA-00060), which are the application's",),
    ),
    Published(
        "global deadlock of 11g",
        "https://gblog.hatenablog.jp/entry/2016/03/18/213705",
        "three waits on instances 2 and 3 in TX",
        "Global Wait-For-Graph(WFG) at ddTS[0.a] :\n"
        "BLOCKED 0xc0000000ef59db71 5 wq 2 cvtops x1 TX 0x1001c.0x40373(ext 0x2,0x0)[2002-0022-0003CECB] inst 3\n"
        "BLOCKER 0xc0000000ef47faf9 5 wq 1 cvtops x28 TX 0x1001c.0x40373(ext 0x2,0x0)[3002-0028-00013E58] inst 2\n",
        ("deadlock",),
        ("global deadlock over instances 2, 3 on enqueues TX (ORA-00060), which are the application's",),
    ),
    Published(
        "blockers named in a system state",
        "https://github.com/HuangChenning/sql_scripts/blob/master/oacle_sql_by_htz/ass1038.awk",
        "the script of Oracle Support on system states: 11g names direct and final blocker of a session",
        "SYSTEM STATE (level=10)\n------------\nPROCESS 31:\n"
        "    SO: 0x9fae1b60, type: 4, owner: 0x9f000000, flag: INIT/-/-/0x00 if: 0x3 c: 0x3\n"
        "    (session) sid: 771 ser: 1 trans: 0x0, creator: 0x0\n"
        "              flags: (0x41) USR/- flags_idl: (0x1) BSY/-/-/-/-/-\n"
        "    Current Wait Stack:\n     0: waiting for 'row cache lock'\n        cache id=0x8, mode=0x0, request=0x3\n"
        "        wait times: snap=12.000000 sec, exc=2 min 12 sec, total=2 min 12 sec\n"
        "    There is at least one session blocking this session.\n      Dumping 1 direct blocker(s):\n"
        "        inst: 1, sid: 1158, ser: 8824\n      Dumping final blocker:\n        inst: 1, sid: 1158, ser: 8824\n"
        "END OF SYSTEM STATE\n",
        ("wait_chain",),
        ("1 session waits behind session 1158,8824 on instance 1",),
        (1158,),
        "dc_objects",
    ),
)
