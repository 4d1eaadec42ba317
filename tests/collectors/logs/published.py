"""Alert logs as people published them, written anew: the figures, the order and the page are theirs, the rest is not.

Each case says what the log has, and what latchscope says of it: the kinds of the events in order, and facts of the first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from collectors.model import EventKind, Value


@dataclass(frozen=True, slots=True)
class PublishedLog:
    """A log from a page, and what must be said of it."""

    page: str
    log: str
    kinds: tuple[EventKind, ...]
    text: str
    """A part of the words of the first event."""
    facts: Mapping[str, Value] = field(default_factory=dict)
    """Of the first event."""
    at: str | None = None
    """Moment of the first event, in ISO."""
    release: str | None = None


PUBLISHED = (
    PublishedLog(
        "https://positivemh.tistory.com/265",
        """Thu Sep 13 22:47:23 KORST 2018
>>> WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! pid=128
System State dumped to trace file /u01/admin/DB/bdump/orcl_j001_5587004.trc
""",
        ("row_cache_timeout",),
        "process number 128 waited too long for a row cache enqueue lock",
        {"pid": 128, "trace_file": "orcl_j001_5587004.trc"},
        "2018-09-13T22:47:23",
    ),
    PublishedLog(
        "https://anbob6.rssing.com/chan-73215912/article14.html",
        """2017-11-21T04:22:55.526449+08:00
PDBX(12):WARNING: too many parse errors, count=2996 SQL hash=0x117d3781
PDBX(12):PARSE ERROR: ospid=56905, error=1446 for statement:
2017-11-21T04:22:55.526595+08:00
PDBX(12):select rowid, n from (select count(*) n from some_view)
PDBX(12):Additional information: hd=0x43f493be0 phd=0x4368401a0 flg=0x20 cisid=0 sid=0 ciuid=0 uid=0
PDBX(12):WARNING: too many parse errors, count=2996 SQL hash=0x92a117b7
PDBX(12):PARSE ERROR: ospid=56905, error=918 for statement:
""",
        ("parse_errors", "parse_errors"),
        "a statement fails to parse again and again, SQL hash 0x117d3781",
        {"count": 2996, "ospid": 56905, "error": "ORA-01446", "container": "PDBX"},
        "2017-11-21T04:22:55.526449+08:00",
    ),
    PublishedLog(
        "http://ksun-oracle.blogspot.com/2022/12/one-test-of-oracle-too-many-parse.html",
        """2022-12-01T20:01:08.221827+01:00
WARNING: too many parse errors, count=13300 SQL hash=0x49952973
PARSE ERROR: ospid=31115, error=12850 for statement:
2022-12-01T20:01:08.221953+01:00
with q as (select x from t) select x from q
""",
        ("parse_errors",),
        "SQL hash 0x49952973",
        {"count": 13300, "ospid": 31115, "error": "ORA-12850"},
        "2022-12-01T20:01:08.221827+01:00",
    ),
    PublishedLog(
        "https://mvelikikh.github.io/blog/2025/02/17/too-many-parse-errors-warning-%D0%B2-23ai",
        """<msg time='2025-02-17T17:43:59.577+00:00' org_id='oracle' comp_id='rdbms'
 msg_id='kksParseErrorWarning:11642:1481387665' type='UNKNOWN' group='cursor'
 level='16' host_id='h' host_addr='10.0.0.1' pid='14098' con_id='3' con_name='P'>
 <txt>WARNING: too many parse errors, count=101 SQL hash=0x19a22496
 </txt>
</msg>
""",
        ("parse_errors",),
        "SQL hash 0x19a22496",
        {"count": 101},
        "2025-02-17T17:43:59.577+00:00",
    ),
    PublishedLog(
        "https://smarttechways.com/2019/02/07/ora-00494-enqueue-cf-held-for-too-long-more-than-900-seconds/",
        """2019-02-03T20:24:13.252616-06:00
Errors in file E:\\ORACLE\\diag\\rdbms\\db\\inst\\trace\\inst_arc2_4388.trc (incident=482225):
ORA-00494: enqueue [CF] held for too long (more than 900 seconds) by 'inst 1, osid 4460'
Incident details in: E:\\ORACLE\\diag\\rdbms\\db\\inst\\incident\\incdir_482225\\inst_arc2_4388_i482225.trc
2019-02-03T20:24:43.252616-06:00
Killing enqueue blocker (pid=4460) on resource CF-00000000-00000000-00000000-00000000 by (pid=4388)
2019-02-03T20:24:43.721432-06:00
Result = ORA-29
""",
        ("enqueue_timeout", "enqueue_timeout", "other"),
        "enqueue CF was held for more than 900 s",
        {"seconds": 900, "ospid": 4460, "trace_file": "inst_arc2_4388_i482225.trc", "error": "ORA-00494"},
        "2019-02-03T20:24:13.252616-06:00",
    ),
    PublishedLog(
        "http://otn-world.blogspot.com/2013/12/ora-00494-enqueue-cf-held-for-too-long.html",
        """Sat Dec 21 02:18:33 2013
Killing enqueue blocker (pid=24599) on resource CF-00000000-00000000 by (pid=5707)
 by terminating the process
USER (ospid: 5707): terminating the instance due to error 2103
Sat Dec 21 02:18:49 2013
Instance terminated by USER, pid = 5707
""",
        ("enqueue_timeout", "instance_stop"),
        "operating system process 24599",
        {"ospid": 24599},
        "2013-12-21T02:18:33",
    ),
    PublishedLog(
        "https://heliodias.wordpress.com/2011/10/31/troubleshooting-internal-errors/",
        """Thu Jan 20 13:35:52 2011
Errors in file /data/admin/prod/udump/prod_ora_2131.trc:
ORA-00600: internal error code, arguments: [ktfbtgex-7], [1015817], [1024], [1015816], [], [], [], []
Thu Jan 20 13:40:00 2011
ORA-07445: exception encountered: core dump [kocgor()+96] [SIGSEGV] [ADDR:0xF000000104] [PC:0x861B7EC] []
""",
        ("internal_error", "internal_error"),
        "ORA-00600, ktfbtgex-7",
        {"argument": "ktfbtgex-7", "trace_file": "prod_ora_2131.trc"},
        "2011-01-20T13:35:52",
    ),
    PublishedLog(
        "http://arjuiut.blogspot.com/2008/11/what-is-ora-00600-internal-error-code.html",
        """Errors in file /var/opt/dumpfile/udump/standby_ora_15862.trc:
ORA-00600: internal error code, arguments: [15160], [], [], [], [], [], [], []
Sat Nov 15 17:49:27 2008
""",
        ("internal_error",),
        "ORA-00600, 15160",
        {"argument": "15160", "trace_file": "standby_ora_15862.trc"},
    ),
    PublishedLog(
        "http://blog.yannickjaquier.com/oracle/ora-00020-maximum-number-of-processes-string-exceeded.html",
        """Mon Mar 04 10:00:00 2013
ORA-00020: maximum number of processes (200) exceeded
 ORA-20 errors will NOT be written to the alert log for
 the next minute. Please look at trace files to see all
""",
        ("processes",),
        "no process is left",
        {"error": "ORA-00020"},
    ),
    PublishedLog(
        "http://blog.dbi-services.com/12c-online-datafile-move-and-resize/",
        """2016-06-18 14:23:10.600000 +00:00
Resize operation completed for file# 3, old size 15319040K, new size 15329280K
2016-06-18 14:23:12.126000 +00:00
Resize operation completed for file# 3, old size 15329280K, new size 15400960K
2016-06-18 14:23:13.836000 +00:00
""",
        ("resize",),
        "data file 3 was resized",
        {"times": 2},
        "2016-06-18T14:23:10.600000+00:00",
    ),
    PublishedLog(
        "https://levipereira.wordpress.com/2016/09/01/"
        "dumping-current-patch-information-in-alert-log-12c-can-lead-to-a-misinterpretation/",
        """2016-09-01 18:07:52.476000 -03:00
===========================================================
Dumping current patch information
===========================================================
Patch Id: 23144544
Patch Description: DATABASE BUNDLE PATCH: 12.1.0.2.160719 (23144544)
Patch Apply Time: 2016-08-31 17:44:09 GMT-03:00
""",
        ("patch",),
        "patch 23144544 is installed: DATABASE BUNDLE PATCH: 12.1.0.2.160719",
        {"patch": "23144544"},
        "2016-09-01T18:07:52.476000-03:00",
    ),
    PublishedLog(
        "https://support.oracle.com/knowledge/Oracle%20Database%20Products/1675470_1.html",
        """Fri Apr 21 09:00:00 2023
ORA-04031: unable to allocate 4160 bytes of shared memory ("shared pool","unknown object","sga heap(4,0)","modification ")
""",
        ("shared_pool",),
        "no piece of 4,160 bytes was free in the shared pool",
        {"bytes": 4160},
    ),
    PublishedLog(
        "http://www.dbas-oracle.com/2011/05/undo-tablespace-moved-to-pending-switch.html",
        """Sat Jan 21 15:50:00 2006
ALTER SYSTEM SET undo_tablespace='UNDOTBS2' SCOPE=BOTH;
Undo Tablespace 1 moved to Pending Switch-Out state.
""",
        ("parameter", "undo_switch"),
        "parameter undo_tablespace was set to UNDOTBS2",
    ),
    PublishedLog(
        "https://www.orasos.com/author/xifenfei/page/206",
        """Mon May 21 04:55:06 2012
Shutting down instance (immediate)
License high water mark = 373
Mon May 21 04:55:33 2012
ALTER DATABASE CLOSE NORMAL
""",
        ("instance_stop",),
        "the instance is shut down (immediate)",
        {},
        "2012-05-21T04:55:06",
    ),
    PublishedLog(
        "https://www.dbaglobe.com/2014/08/1z0-060-upgrade-to-12c-enableddllogging.html",
        """<msg time='2014-08-05T21:20:08.030+08:00' org_id='oracle' comp_id='rdbms'
 msg_id='opiexe:4383:2946163730' type='UNKNOWN' group='diag_adl'
 level='16' host_id='h' host_addr='::1' version='1'>
 <txt>drop table t1
 </txt>
</msg>
<msg time='2014-08-05T21:20:09.390+08:00' org_id='oracle' comp_id='rdbms'
 msg_id='opiexe:4383:2946163730' type='UNKNOWN' group='diag_adl'
 level='16' host_id='h' host_addr='::1'>
 <txt>create table t1 (id number)
 </txt>
</msg>
""",
        ("ddl", "ddl"),
        "DDL: drop table",
        {},
        "2014-08-05T21:20:08.030+08:00",
    ),
    PublishedLog(
        "http://orclbykuber.blogspot.com/2016/01",
        """Tue Jan 05 11:00:00 2016
ORA-32701: Possible hangs up to hang ID=24 detected
Incident details in: /u01/diag/rdbms/db/db1/incident/incdir_1/db1_dia0_9_i1.trc
DIA0 requesting termination of session sid:3768 with serial # 19475 (ospid:73677) on instance 2
""",
        ("hang", "hang"),
        "up to number 24",
        {"hang_id": 24, "trace_file": "db1_dia0_9_i1.trc"},
    ),
    PublishedLog(
        "https://tanelpoder.com/2009/03/21/oracle-11g-reading-alert-log-via-sql",
        """Sat Mar 21 10:00:00 2009
Starting ORACLE instance (normal)
LICENSE_MAX_SESSION = 0
Starting up ORACLE RDBMS Version: 11.1.0.7.0.
System parameters with non-default values:
  processes                = 150
  memory_target            = 404M
""",
        ("instance_start",),
        "the instance starts (normal)",
        {},
        "2009-03-21T10:00:00",
        "11.1.0.7.0",
    ),
)
